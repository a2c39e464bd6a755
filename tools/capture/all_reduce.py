#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of NCCL, by ring and by tree, as records of the kind `reduction`:

    tools/capture/all_reduce.py FOLDER [--driver VERSION] [--date DAY] [--most RANKS]

Needs PyTorch. Each rank has a GPU of its own where there are enough; else as many ranks as there are GPUs are a host (NCCL_HOSTID), and
hosts speak through sockets: what is added, and in which order, NCCL decides as for hosts that have these GPUs each.
"""
import datetime
import itertools
import os
import tempfile

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing

import reductions

ALGORITHMS = {  # by how many ranks there are: algorithms and protocols
    2: [("Ring", "Simple"), ("Tree", "Simple")],
    3: [("Ring", "Simple"), ("Tree", "LL")],
    4: [("Ring", "Simple"), ("Ring", "LL"), ("Tree", "Simple"), ("Tree", "LL"), (None, None)],
    8: [("Ring", "Simple"), ("Tree", "Simple"), ("Tree", "LL")],
}
CASES = [(reductions.f32, 1000), (reductions.f32, 1 << 15), (reductions.f32, 1 << 18), (reductions.f16, 1 << 15), (reductions.bf16, 1 << 15)]
OPS = {"all_reduce": distributed.ReduceOp.SUM, "all_reduce_mean": distributed.ReduceOp.AVG}


def numbers(rank, count, dtype):
    """Those of a rank: they repeat themselves after some thousand, and take little room in an archive."""
    stream = torch.randn(reductions.PERIOD, generator=torch.Generator().manual_seed(530 + rank), dtype=torch.float64)
    return stream.to(dtype).repeat(count // reductions.PERIOD + 1)[:count]


def work(rank, ranks, folder, gpus, algorithm, protocol):
    """One rank: it writes what it has after each of CASES to a file of the folder."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29553", NCCL_NVLS_ENABLE="0")
    if algorithm:
        os.environ.update(NCCL_ALGO=algorithm, NCCL_PROTO=protocol)
    if gpus < ranks:
        os.environ.update(NCCL_HOSTID=str(rank // gpus), NCCL_SOCKET_IFNAME="lo", NCCL_NET="Socket")
    device = torch.device("cuda", rank % gpus)
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=60))
    out = []
    for (dtype, count), (op, reduce) in itertools.product(CASES, OPS.items()):
        if op != "all_reduce" and count > 1 << 15:
            continue
        results = [numbers(rank, count, dtype).to(device) for _ in range(2)]
        for d in results:
            distributed.all_reduce(d, reduce)
        out.append((op, results[0].cpu(), bool(torch.equal(*results))))
    torch.save(out, os.path.join(folder, str(rank)))
    distributed.destroy_process_group()


def all_reduces(r):
    version = ".".join(map(str, torch.cuda.nccl.version()))
    for ranks, ways in ALGORITHMS.items():
        gpus = min(torch.cuda.device_count(), ranks)
        for algorithm, protocol in ways:
            name = f"nccl.{algorithm or 'default'}.{protocol or 'default'}".lower()
            try:
                with tempfile.TemporaryDirectory() as folder:
                    multiprocessing.spawn(work, (ranks, folder, gpus, algorithm, protocol), ranks)
                    results = [torch.load(os.path.join(folder, str(rank))) for rank in range(ranks)]
            except Exception as error:  # NCCL has no such algorithm for these ranks
                r.failed.append(f"{name} of {ranks}: {error!r}"[-600:])
                continue
            print(name, ranks, len(results[0]), flush=True)
            for of_ranks in zip(*results):
                op, d, stable = of_ranks[0]
                agree = all(torch.equal(one[1], d) for one in of_ranks)
                x = torch.stack([numbers(rank, len(d), d.dtype) for rank in range(ranks)])
                r.records.append({"kind": "reduction", "name": f"{name}.{op}.{reductions.NAMES[d.dtype]}.{ranks}x{len(d)}", "op": op,
                                  "x": r.array(x), "d": r.array(d), "axis": 0, "library": f"NCCL {version}", "stable": stable,
                                  "ranks_agree": agree, "gpus": gpus})


if __name__ == "__main__":
    reductions.run("tools/capture/all_reduce.py", __doc__, (all_reduces,))
