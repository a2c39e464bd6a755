#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the records of reductions.py their orders: explain_reductions.py RECORDING WARPBIT OUT.zip

The tool WARPBIT finds them (`warpbit order --sum`). Where several explain D, and data cannot tell them apart, one is taken whose blocks
have as many threads as the kernel's. Needs NumPy.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy

import recording

TYPES = {"f32": numpy.float32, "f16": numpy.float16, "f64": numpy.float64, "bf16": numpy.uint16}


def array(r, of):
    return numpy.frombuffer(r.data[of["data"]], TYPES[of["dtype"]]).reshape(of["shape"])


def orders(tool, r, record, folder):
    """The orders that explain a record, the likely ones first."""
    for name in "x", "d":
        numpy.save(folder / f"{name}.npy", array(r, record[name]))
    command = [tool, "order", "--sum", record["op"], folder / "x.npy", folder / "d.npy", "--json", "--axis", str(record.get("axis", "all")),
               "--epsilon", str(record.get("epsilon", 0))]
    found = []
    for hint in [], ["--threads", str(math.prod(record["kernels"][0]["block"]))]:
        answer = json.loads(subprocess.run([*command, *hint], stdout=subprocess.PIPE).stdout or "{}")
        found = [order for one in answer.get("classes", []) for order in one] + found
    return found


def main():
    source, tool, to = sys.argv[1:]
    r, left_out = recording.read(source), []
    with tempfile.TemporaryDirectory() as folder:
        for record in r.records:
            found = orders(tool, r, record, pathlib.Path(folder))
            if found:
                record["order"] = found[0]
            else:
                left_out.append(record["name"])
            print(record["name"], record.get("order", "-"), flush=True)
    r.write(to)
    print(f"{len(r.records) - len(left_out)} of {len(r.records)} have an order; without: {', '.join(left_out) or 'none'}")


if __name__ == "__main__":
    main()
