# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys

import numpy as np
from distributed import Client, LocalCluster

import warpbit
from conftest import SM_80, SM_90

EXAMPLES = os.path.abspath("examples")


def test_a_search_on_two_workers():
    instructions = [SM_80, SM_90]
    dot_products = 500_000
    cases = -(-dot_products // 128)
    whole = warpbit.compare_generated(instructions, cases, 7, "mixed")
    # And by other means: the registers of all cases at once.
    inputs = warpbit.generate(instructions[1], cases, 7, "mixed")
    differing = warpbit.execute(instructions[0], *(inputs[n] for n in "abc")).d != inputs["d"]
    assert whole.results[1].differing == np.count_nonzero(differing) > 0
    assert whole.first.index == np.flatnonzero(differing.any(axis=(1, 2)))[0]
    sys.path.insert(0, EXAMPLES)
    import dask_search as search
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            workers = set(client.run(os.getpid).values())
            assert len(workers) == 2 and os.getpid() not in workers
            client.run(lambda: sys.path.insert(0, EXAMPLES))
            for shares in (2, 7):
                assert search.search(client, instructions, dot_products, 7, "mixed", shares) == whole
            assert len(client.run(os.getpid)) == 2


def cluster_of_two():
    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)


def test_a_worker_that_dies_costs_nothing_but_time(tmp_path):
    instructions = [SM_80, SM_90]
    cases, shares = 4000, 8
    whole = warpbit.compare_generated(instructions, cases, 7, "ordinary")
    sys.path.insert(0, EXAMPLES)
    import dask_search as search
    with cluster_of_two() as cluster, Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        killed = []

        def kill_one(done, of):
            if done == 2 and not killed:
                killed.append(min(before))
                os.kill(killed[0], signal.SIGKILL)

        def work(share):
            return warpbit.compare_generated(instructions, cases, 7, "ordinary", shard=share)

        parts = search.sweep(client, work, shares, folder=tmp_path / "kept", progress=kill_one)
        assert killed
        merged = warpbit.merge(parts)
        assert merged == whole
        assert merged.results[1].errors.tobytes() == whole.results[1].errors.tobytes()
        # Where a sweep was ended, the next goes on: what is kept is not computed again.
        gone = [tmp_path / "kept" / f"{i}-of-{shares}.pickle" for i in (3, 8)]
        for file in gone:
            file.unlink()
        computed = []
        real = client.submit
        client.submit = lambda f, share, **how: (computed.append(share), real(f, share, **how))[1]
        assert warpbit.merge(search.sweep(client, work, shares, folder=tmp_path / "kept")) == whole
        assert computed == [(3, shares), (8, shares)]


def test_digests_are_verified_by_two_workers_of_which_one_dies():
    digests = sorted(os.listdir("golden-digests/sm_90a/cvt"))[:3]
    paths = ["golden-digests/sm_90a/cvt/" + name for name in digests] + ["golden/sm_90a/ldmatrix"]

    def verify(share):
        return warpbit.verify(paths, shard=share)

    one = verify((1, 1))
    sys.path.insert(0, EXAMPLES)
    import dask_search as search
    assert [list(search.pieces((i, 3), 8)) for i in (1, 2, 3)] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    with cluster_of_two() as cluster, Client(cluster) as client:
        workers = sorted(client.run(os.getpid).values())
        progress = iter([lambda: None, lambda: os.kill(workers[0], signal.SIGKILL)])
        shares = search.sweep(client, verify, 4, progress=lambda done, of: next(progress, lambda: None)())
    whole = warpbit.merge_reports(shares)
    assert [str(r) for r in whole] == [str(r) for r in one]
    assert warpbit.totals(whole) == warpbit.totals(one)


def test_the_records_of_a_recording_are_verified_by_two_workers():
    path = "golden-digests/textures/sm_90.zip"
    one = warpbit.verify(path)
    sys.path.insert(0, EXAMPLES)
    import dask_search as search
    with cluster_of_two() as cluster, Client(cluster) as client:
        shares = search.sweep(client, lambda share: warpbit.verify(path, shard=share), 4)
    assert all(0 < warpbit.totals(share).records < 1336 for share in shares)
    whole = warpbit.merge_reports(shares)
    assert [str(r) for r in whole] == [str(r) for r in one]
    totals = warpbit.totals(whole)
    assert totals == warpbit.totals(one)
    assert (totals.records, totals.mismatches, totals.not_reproducible) == (1336, 0, 0)


def test_an_order_is_found_by_two_workers_of_which_one_dies(tmp_path):
    random = np.random.default_rng(1)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((16, 300), (300, 12)))
    d = warpbit.gemm(warpbit.Instruction("mma.m16n8k16.f32.f16", "H100"), a, b, order="split_k=4 unit=64 promote=32").d
    question = {"a": a, "b": b, "d": d, "target": "H100", "types": "f16", "limit": 3e9}
    whole = warpbit.find_order(**question)
    assert whole.found and whole.tried > 1000
    sys.path.insert(0, EXAMPLES)
    import dask_search as search
    with cluster_of_two() as cluster, Client(cluster) as client:
        client.run(lambda: sys.path.insert(0, EXAMPLES))
        workers = sorted(client.run(os.getpid).values())
        killed = []

        def kill_one(done, of):
            if done == 1 and not killed:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        found = search.find_order(client, question, shares=6, folder=tmp_path, progress=kill_one)
        assert killed and found == whole and str(found) == str(whole)
        # Where a search was ended, the next goes on.
        (tmp_path / "4-of-6.pickle").unlink()
        assert search.find_order(client, question, shares=6, folder=tmp_path) == whole


def test_the_example():
    done = subprocess.run([sys.executable, EXAMPLES + "/dask_search.py", "--dot-products", "100000", "--shares", "4", "--seed", "7"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("100096 dot products on sm_80,sm_90: ")
    assert "first: case " in done.stdout and "sm_80  0x" in done.stdout
