# SPDX-License-Identifier: Apache-2.0
import os
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


def test_the_example():
    done = subprocess.run([sys.executable, EXAMPLES + "/dask_search.py", "--dot-products", "100000", "--shares", "4", "--seed", "7"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("100096 dot products on sm_80,sm_90: ")
    assert "first: case " in done.stdout and "sm_80  0x" in done.stdout
