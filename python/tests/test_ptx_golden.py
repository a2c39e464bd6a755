# SPDX-License-Identifier: Apache-2.0
"""Kernels leave from Python what a GPU left: those of golden/kernels with clusters, bulk copies and tensor maps."""

import json
import pathlib
import zipfile

import numpy as np
import pytest

import warpbit

FOLDER = pathlib.Path(__file__).parents[2] / "golden/kernels"
KERNELS = ["hopper_barriers", "hopper_bulk_copies", "hopper_cluster_multicast", "hopper_cluster_reduction", "hopper_persistent",
           "hopper_tensor_maps", "hopper_tma_gemm"]


def recording(name):
    """The launch, its kernel, and the arrays before and after it, by the addresses that they had on the GPU."""
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as file:
        launch = json.loads(file.read("recording.jsonl").splitlines()[1])
        kernel = warpbit.RawModule(file.read("data/" + launch["module"]).decode(), target="sm_90a").get_function(launch["entry"])
        before, after = ({int(part["address"], 16): np.frombuffer(file.read("data/" + part[when]), np.uint8).copy()
                          for part in launch["memory"] if part.get(when)} for when in ("before", "after"))
    return launch, kernel, before, after


def argument(parameter, memory):
    """Numbers, arrays, and structures in which each address of an array is the one that it has here."""
    data = bytes.fromhex(parameter["bytes"])
    if "value" in parameter:
        return parameter["value"]
    words = np.frombuffer(data, np.uint64).copy()
    if parameter["type"] == "pointer":
        return memory[int(words[0])]
    for i, word in enumerate(words):
        if int(word) in memory:
            words[i] = warpbit.address(memory[int(word)])
    return words.tobytes()


@pytest.mark.parametrize("name", KERNELS)
def test_what_a_gpu_left(name):
    launch, kernel, memory, after = recording(name)
    before = {address: array.tobytes() for address, array in memory.items()}
    arguments = [argument(parameter, memory) for parameter in launch["parameters"]]
    kernel(launch["grid"], launch["block"], arguments, shared_mem=launch["shared"], cluster=launch["cluster"])
    for address, left in after.items():
        assert memory[address].tobytes() == left.tobytes()
    assert any(before[address] != left.tobytes() for address, left in after.items())


def test_verify_reads_the_recording():
    (report,) = warpbit.verify(FOLDER / "hopper_tensor_maps.zip")
    assert (report.status, report.mismatches, report.kind, report.record) == ("replayed", 0, "launch", "hopper_tensor_maps")
    assert report.elements == 40960


def test_a_gemm_with_tensor_maps():
    """As a test of the kernel is written: rows of bf16 in boxes of 64 x 64, swizzled."""
    launch, kernel, memory, after = recording("hopper_tma_gemm")
    shapes = {part["name"]: (int(part["address"], 16), part["shape"]) for part in launch["memory"]}
    a, b = (memory[address].view(np.uint16).reshape(shape) for address, shape in (shapes["a"], shapes["b"]))
    d = memory[shapes["d"][0]]
    (m, k), n, unwritten = a.shape, len(b), d.tobytes()
    maps = [warpbit.TensorMap("bf16", warpbit.address(x), [k, len(x)], [2 * k], [64, 64], swizzle_mode=128) for x in (a, b)]
    kernel((1, 2), 128, (*maps, d, m, n, k), shared_mem=launch["shared"])
    assert d.tobytes() == after[shapes["d"][0]].tobytes() != unwritten
