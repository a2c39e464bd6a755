# SPDX-License-Identifier: Apache-2.0
"""Searches inputs for which two targets differ, over many dot products and on all workers of a Dask cluster.

    python3 dask_search.py --scheduler tcp://HOST:8786     # or without: two worker processes on this machine

The inputs are generated from a seed and the number of the case, so that the result does not depend on how the cases are split
into shares. Exit status 1 if there is a difference.
"""

import argparse
import sys
import time

import warpbit


def compare_share(instructions, cases, seed, profile, share):
    """One of the shares, on a worker: how many elements differ, by how much, and the first that does."""
    return warpbit.compare_generated(instructions, cases, seed, profile, shard=share)


def search(client, instructions, dot_products, seed=0, profile="mixed", shares=200):
    """The Comparison of all cases, from `shares` shares of them."""
    elements = instructions[0].rows * instructions[0].columns * instructions[0].products
    cases = -(-dot_products // elements)
    futures = [client.submit(compare_share, instructions, cases, seed, profile, (i, shares), pure=False)
               for i in range(1, shares + 1)]
    return warpbit.merge(client.gather(futures))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--form", default="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    parser.add_argument("--targets", default="sm_80,sm_90", help="two, separated by a comma")
    parser.add_argument("--dot-products", type=int, default=10**8)
    parser.add_argument("--profile", default="mixed", help="of inputs: mixed, ordinary, cancellation, ...")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shares", type=int, default=200, help="into which the work is split")
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine, if there is no scheduler")
    parser.add_argument("--scheduler", help="the address of a Dask scheduler")
    options = parser.parse_args()

    from distributed import Client, LocalCluster

    instructions = [warpbit.Instruction(options.form, target) for target in options.targets.split(",")]
    where = options.scheduler or LocalCluster(n_workers=options.workers, threads_per_worker=1, processes=True,
                                              dashboard_address=None)
    with Client(where) as client:
        start = time.monotonic()
        comparison = search(client, instructions, options.dot_products, options.seed, options.profile, options.shares)
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
