#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""digest_table.py FOLDER...

One table of what unpacked archives of tools/capture/run hold, all of one GPU: a line for each file of digests, and for each of
probes of a statement whose probes golden/ has, with one digest of all its results. That of digests is the sum of the digests of its
blocks; that of probes is made of D in the same way (FORMAT.md, "digests").
"""
import ast
import json
import pathlib
import struct
import sys
import zipfile

MASK = (1 << 64) - 1
INDEX = pathlib.Path(__file__).resolve().parents[2] / "golden/index.tsv"


def load(path):
    """The members of a capture: texts, numbers, and lists of numbers."""
    out = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            end = 10 + struct.unpack("<H", data[8:10])[0]
            header, data = ast.literal_eval(data[10:end].decode()), data[end:]
            if "S" in header["descr"]:
                value = data.rstrip(b"\0").decode(errors="replace")
            else:
                size = int(header["descr"][2:])
                value = list(struct.unpack(f"<{len(data) // size}{dict(zip((1, 2, 4, 8), 'BHIQ'))[size]}", data))
                value = value if header["shape"] else value[0]
            out[name.removesuffix(".npy")] = value
    return out


def mix(place, word):
    x = word + 0x9E3779B97F4A7C15 * (place + 1) & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def row_of(capture):
    if capture["layout"] == "digests":
        profile, seed, cases, parts = capture["profile"], capture["seed"], capture["count"], capture["digest"]
    else:
        profile, seed, cases = "probes", "-", len(capture["d"])
        parts = [mix(place, word) for place, word in enumerate(capture["d"])]
    return f"{capture['statement']}\t{profile}\t{seed}\t{cases}\t{sum(parts) & MASK:016x}"


def main(folders):
    index = (line.split("\t") for line in INDEX.read_text(encoding="utf-8").splitlines())
    with_probes = {fields[1] for fields in index if fields[5] == "probes"}
    head, rows = set(), []
    for path in sorted(file for folder in folders for file in pathlib.Path(folder).rglob("*.npz")):
        capture = load(path)
        if capture["layout"] == "digests" or path.name.endswith(".probes.npz") and capture["statement"] in with_probes:
            about = json.loads(capture["provenance"])
            head.add((about["device"], about["driver"], about["toolkit"], capture["target"], about["date"]))
            rows.append(row_of(capture))
    if len(head) != 1:
        sys.exit(f"the files are of several GPUs, drivers, targets or days, or there are none: {sorted(head)}")
    for name, value in zip(("device", "driver", "toolkit", "target", "date"), head.pop()):
        print(f"# {name}: {value}")
    print("# program: tools/capture/run, tools/capture/digest_table.py")
    print("statement\tprofile\tseed\tcases\tdigest", *rows, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
