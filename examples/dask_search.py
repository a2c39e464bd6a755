# SPDX-License-Identifier: Apache-2.0
"""Searches inputs for which two targets differ, over many dot products and on all workers of a Dask cluster.

    python3 dask_search.py --scheduler tcp://HOST:8786     # or without: two worker processes on this machine
    python3 dask_search.py --folder sweep                  # what is done is kept there: a second run goes on from it

The inputs are generated from a seed and the number of the case, so that the result does not depend on how the cases are split
into shares, nor on which workers compute them or die meanwhile. Exit status 1 if there is a difference.
"""

import argparse
import functools
import os
import pickle
import sys
import time
from pathlib import Path

import warpbit


def compare_share(instructions, cases, seed, profile, share):
    """One of the shares, on a worker: how many elements differ, by how much, and the first that does."""
    return warpbit.compare_generated(instructions, cases, seed, profile, shard=share)


def pieces(share, count):
    """Those of `count` pieces, from 0, that are in the share (i, n): consecutive ones, evenly divided."""
    i, n = share
    return range((i - 1) * (count // n) + min(i - 1, count % n), i * (count // n) + min(i, count % n))


def show(done, shares):
    """A bar on a terminal."""
    if sys.stderr.isatty():
        filled = 40 * done // shares
        print(f"\r[{'#' * filled}{'.' * (40 - filled)}] {done}/{shares}", end="" if done < shares else "\n", file=sys.stderr)


def sweep(client, work, shares, folder=None, attempts=10, progress=show):
    """work((i, shares)) for i from 1 to `shares`, each on some worker: a list in this order.

    Shares of a worker that dies are computed by another; `attempts` is how often one share may meet that or an exception. With a
    folder each result is kept there as soon as it is there, whole; those that an earlier sweep has kept are not computed again.
    The folder is for one sweep: the name of a file says which share it is, not of what.
    """
    from distributed import as_completed

    file_of = {i: Path(folder) / f"{i}-of-{shares}.pickle" for i in range(1, shares + 1)} if folder else {}
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    results = {i: pickle.loads(file.read_bytes()) for i, file in file_of.items() if file.exists()}
    progress(len(results), shares)

    def submit(i):
        return client.submit(work, (i, shares), pure=False)

    running = {submit(i): i for i in range(1, shares + 1) if i not in results}
    left = dict.fromkeys(running.values(), attempts)
    queue = as_completed(list(running))
    for future in queue:
        i = running.pop(future)
        left[i] -= 1
        if future.status == "finished":
            results[i] = future.result()
            if folder:
                beside = file_of[i].with_suffix(f".{os.getpid()}")
                beside.write_bytes(pickle.dumps(results[i]))
                os.replace(beside, file_of[i])
            progress(len(results), shares)
        elif left[i] > 0:
            again = submit(i)
            running[again] = i
            queue.add(again)
        else:
            future.result()  # raises what happened
    return [results[i] for i in range(1, shares + 1)]


def search(client, instructions, dot_products, seed=0, profile="mixed", shares=200, **how):
    """The Comparison of all cases, from `shares` shares of them."""
    elements = instructions[0].rows * instructions[0].columns * instructions[0].products
    cases = -(-dot_products // elements)
    work = functools.partial(compare_share, instructions, cases, seed, profile)
    return warpbit.merge(sweep(client, work, shares, **how))


def order_share(question, share):
    """One of the shares of hypotheses about the order of a sum, on a worker."""
    return warpbit.find_order(**question, shard=share)


def find_order(client, question, shares=50, **how):
    """warpbit.find_order(**question), by all workers: the same answer."""
    work = functools.partial(order_share, question)
    return warpbit.merge_orders(sweep(client, work, shares, **how))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--form", default="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    parser.add_argument("--targets", default="sm_80,sm_90", help="two, separated by a comma")
    parser.add_argument("--dot-products", type=int, default=10**8)
    parser.add_argument("--profile", default="mixed", help="of inputs: mixed, ordinary, cancellation, ...")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shares", type=int, default=200, help="into which the work is split")
    parser.add_argument("--folder", help="keeps the results of shares, so that a second run with the same arguments goes on")
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine, if there is no scheduler")
    parser.add_argument("--scheduler", help="the address of a Dask scheduler")
    options = parser.parse_args()

    from distributed import Client, LocalCluster

    instructions = [warpbit.Instruction(options.form, target) for target in options.targets.split(",")]
    where = options.scheduler or LocalCluster(n_workers=options.workers, threads_per_worker=1, processes=True,
                                              dashboard_address=None)
    with Client(where) as client:
        start = time.monotonic()
        comparison = search(client, instructions, options.dot_products, options.seed, options.profile, options.shares,
                            folder=options.folder)
        seconds = time.monotonic() - start
    print(f"{comparison.elements} dot products on {options.targets}: {comparison.results[1].differing} differ, "
          f"by at most {comparison.results[1].most_codes} codes")
    print(f"{seconds:.1f} s", file=sys.stderr)
    if comparison.first is None:
        return 0
    print(f"first: case {comparison.first.index}, row {comparison.first.at.row}, column {comparison.first.at.column}")
    print(comparison.first.comparison, end="")
    return 1


if __name__ == "__main__":
    sys.exit(main())
