#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays recording.zip as a whole on this CPU, and prints the losses with their bits.

A loss is printed only if everything before it has left the bytes of the GPU.
"""
import json
import pathlib
import struct
import sys
import zipfile

import warpbit

RECORDING = pathlib.Path(__file__).parent / "recording.zip"
LOSS = "logsumexp_mean"  # in the name of the kernel that leaves it, in its 4 bytes of memory


def losses(archive):
    """The name of each record that leaves a loss, and the loss's 4 bytes, which the GPU left."""
    for line in archive.read("recording.jsonl").decode().splitlines()[1:]:
        record = json.loads(line)
        if record["kind"] == "launch" and LOSS in record["entry"]:
            yield from ((record["name"], archive.read("data/" + part["after"])) for part in record["memory"]
                        if part["bytes"] == 4 and part.get("after"))


def main():
    left = dict(losses(zipfile.ZipFile(RECORDING)))
    for report in warpbit.verify(RECORDING, whole=True):
        if report.status not in ("replayed", "not reproducible") or report.mismatches:
            sys.exit(f"{report.record}: {report.status}, {report.mismatches} bytes differ")
        if report.record in left:
            data = left[report.record]
            print("loss 0x%08x = %.6f" % (*struct.unpack("<I", data), *struct.unpack("<f", data)))


if __name__ == "__main__":
    main()
