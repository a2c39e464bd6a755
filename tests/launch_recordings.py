#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a recording of launches that lie in folders of their own.

    launch_recordings.py FOLDER FILE.zip

A folder in FOLDER is a launch: `kernel.ptx`, `case.json` (entry, grid, block, cluster, shared, params, and outputs or none) and
`arrays.npz` (in_X: an array before the launch, out_X: after it; without outputs, an array that has no out_X is as it was).
Parameters are arrays, numbers (`buffer` with an `offset`, `array`, `scalar` with a `value`) and null pointers; where outputs are
missing, two pointers of Triton's own follow. Needs NumPy."""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools/capture"))
import recording

POINTER = np.dtype("<u8")


def scalar(type, value):
    """"u16" and 60000: its bytes. Triton's "i32" is either."""
    if type[0] == "f":
        return np.array(value, f"<f{int(type[1:]) // 8}").tobytes()
    bits = int(type[1:])
    return (value % (1 << bits)).to_bytes(bits // 8, "little")


def parameter(p, layout):
    if "scalar" in p:
        return {"bytes": scalar(p["scalar"], p["value"]).hex(), "type": p["scalar"]}
    name = str(p["buffer"]) if "buffer" in p else p.get("array", p.get("null"))
    if "null" in p and name != "profile_scratch":  # Triton gives both of its pointers one name
        name = "global_scratch"
    has_memory = any(part["name"] == name for part in layout.parts)
    address = layout.address(name) + p.get("offset", 0) if has_memory else 0
    return {"bytes": POINTER.type(address).tobytes().hex(), "type": p.get("type", "pointer")}


def record(folder, into):
    """Adds the launch of a folder."""
    case = json.loads((folder / "case.json").read_text())
    with np.load(folder / "arrays.npz") as file:
        arrays = {name: file[name].tobytes() for name in file.files}
    layout = recording.Layout(into, folder.name + ".")
    for key, before in arrays.items():
        if not key.startswith("in_"):
            continue
        name = key[3:]
        part = layout.add(name, before)
        if name in case["outputs"] if "outputs" in case else True:
            layout.leave(part, arrays.get("out_" + name, before))
    scratch = case.get("global_scratch", 0) * int(np.prod(case["grid"]))
    if scratch:
        layout.add("global_scratch", bytes(scratch))
    parameters = case["params"] + ([] if "outputs" in case else [{"null": "global_scratch"}, {"null": "profile_scratch"}])
    into.records.append({
        "kind": "launch", "name": folder.name, "entry": case["entry"],
        "module": into.add_data(folder.name + ".ptx", (folder / "kernel.ptx").read_bytes()),
        "grid": case["grid"], "block": case["block"], "cluster": case.get("cluster", [1, 1, 1]), "shared": case["shared"],
        "parameters": [parameter(p, layout) for p in parameters], "memory": layout.parts, "printed": case.get("printed", "")})


def main():
    root, to = map(pathlib.Path, sys.argv[1:])
    into = recording.Recording({"format": "recording-1", "target": "sm_90a", "source": "hardware", "program": str(root)})
    for folder in sorted(path.parent for path in root.glob("*/kernel.ptx")):
        record(folder, into)
    into.write(to)
    print(f"{len(into.records)} launches")


if __name__ == "__main__":
    main()
