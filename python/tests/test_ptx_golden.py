# SPDX-License-Identifier: Apache-2.0
"""Kernels leave from Python what a GPU left: those of golden/kernels with clusters, bulk copies and tensor maps."""

import gzip
import json
import pathlib
import struct

import numpy as np
import pytest

import warpbit

FOLDER = pathlib.Path(__file__).parents[2] / "golden/kernels"
KERNELS = ["hopper_barriers", "hopper_bulk_copies", "hopper_cluster_multicast", "hopper_cluster_reduction", "hopper_persistent",
           "hopper_tensor_maps", "hopper_tma_gemm"]
SCALARS = {"s32": "<i", "f32": "<f"}


def recording(name):
    folder = FOLDER / name
    case = json.loads((folder / "case.json").read_text())
    module = warpbit.RawModule(gzip.open(folder / "kernel.ptx.gz", "rt").read(), target="sm_90a")
    return case, dict(np.load(folder / "arrays.npz")), module.get_function(case["entry"])


def tensor_map(code, array):
    """The map of a recording, of an array that has another address here."""
    m = warpbit.TensorMap.decode(bytes.fromhex(code))
    return warpbit.TensorMap(m.elemtype, warpbit.address(array), m.global_dim, m.global_stride, m.box_dim, m.element_stride,
                             interleave_layout=m.interleave_layout, swizzle_mode=m.swizzle_mode, l2_promotion=m.l2_promotion,
                             fill_mode=m.fill_mode, mode=m.mode, pixel_box_lower=m.pixel_box_lower,
                             pixel_box_upper=m.pixel_box_upper, channels_per_pixel=m.channels_per_pixel,
                             pixels_per_column=m.pixels_per_column)


def argument(parameter, memory):
    if "array" in parameter:
        return memory[parameter["array"]]
    if "tensor_map" in parameter:
        return tensor_map(parameter["tensor_map"], memory[parameter["of"]])
    if "struct" not in parameter:
        return parameter["value"]
    out = bytearray(parameter["struct"])
    for field in parameter["fields"]:
        piece = field_bytes(field, memory)
        out[field["at"]:field["at"] + len(piece)] = piece
    return bytes(out)


def field_bytes(field, memory):
    value = argument(field, memory)
    if "tensor_map" in field:
        return value.encode()
    if "array" in field:
        return struct.pack("<Q", warpbit.address(value))
    return struct.pack(SCALARS[field["scalar"]], value)


@pytest.mark.parametrize("name", KERNELS)
def test_what_a_gpu_left(name):
    case, arrays, kernel = recording(name)
    memory = {key[3:]: array.copy() for key, array in arrays.items() if key.startswith("in_")}
    arguments = [argument(parameter, memory) for parameter in case["params"]]
    kernel(case["grid"], case["block"], arguments, shared_mem=case["shared"], cluster=case["cluster"])
    for name in case["outputs"]:
        assert memory[name].tobytes() == arrays["out_" + name].tobytes(), name
    assert any(arrays["in_" + name].tobytes() != arrays["out_" + name].tobytes() for name in case["outputs"])


def test_a_gemm_with_tensor_maps():
    """As a test of the kernel is written: rows of bf16 in boxes of 64 x 64, swizzled."""
    case, arrays, kernel = recording("hopper_tma_gemm")
    a, b, d = (arrays["in_" + name] for name in "abd")
    a, b, d = a.view(np.uint16), b.view(np.uint16), d.copy()
    (m, k), n = a.shape, len(b)
    maps = [warpbit.TensorMap("bf16", warpbit.address(x), [k, len(x)], [2 * k], [64, 64], swizzle_mode=128) for x in (a, b)]
    kernel((1, 2), 128, (*maps, d, m, n, k), shared_mem=case["shared"])
    assert d.tobytes() == arrays["out_d"].tobytes() != arrays["in_d"].tobytes()
