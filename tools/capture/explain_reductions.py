#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the records of reductions.py and all_reduce.py their orders: explain_reductions.py RECORDING WARPBIT OUT.zip

The tool WARPBIT finds them (`warpbit order --sum`). Where several explain D, and data cannot tell them apart, it is one whose blocks have as many
threads as the kernel's. Needs NumPy.
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
    """Orders that explain a record: of as many threads as a block of its kernel has, or its first or second extent; else any."""
    for name in {"x", "d", "v"} & record.keys():
        numpy.save(folder / f"{name}.npy", array(r, record[name]))
    command = [tool, "order", "--sum", record["op"], folder / "x.npy", folder / "d.npy", "--json", "--axis", str(record.get("axis", "all")),
               "--epsilon", str(record.get("epsilon", 0))]
    if "v" in record:
        command += ["--v", folder / "v.npy"]
    if record["op"].startswith("all_reduce"):
        order = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout or "{}").get("order")
        return [order] if order else []
    block, grid = (record["kernels"][0][name] for name in ("block", "grid"))
    counts = dict.fromkeys((math.prod(block), block[0], block[1]))
    hints = [["--threads", str(count), "--blocks", str(blocks)] for blocks in dict.fromkeys((1, grid[0], grid[1])) for count in counts]
    for hint in *hints, []:
        answer = json.loads(subprocess.run([*command, *hint], stdout=subprocess.PIPE).stdout or "{}")
        if answer.get("classes"):
            return answer["classes"][0]
    return []


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
