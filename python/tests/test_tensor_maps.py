# SPDX-License-Identifier: Apache-2.0
"""Tensor maps from Python; that the bytes are right is tensor_map_test's."""

import pickle

import pytest

import warpbit

# 1024 rows of 4096 bf16, boxes of 128 rows of 64.
WORDS = [0x7F0000000000, 0x20000066510, 0, 0, 0x3FF00000FFF, 0, 0x3F00000000000000, 0x7F, 0x4000, 0x400]
MAP = b"".join(word.to_bytes(8, "little") for word in WORDS) + bytes(48)


def matrix(**changed):
    arguments = dict(elemtype="bf16", global_address=0x7F0000000000, global_dim=[4096, 1024], global_stride=[8192],
                     box_dim=[64, 128], swizzle_mode=128, l2_promotion="bytes_256")
    return warpbit.TensorMap(**{**arguments, **changed})


def test_a_map():
    m = matrix()
    assert m.encode() == MAP
    assert warpbit.TensorMap.decode(MAP) == m == pickle.loads(pickle.dumps(m))
    assert (m.rank, m.global_dim, m.global_stride, m.element_stride) == (2, [4096, 1024], [8192], [1, 1])
    assert (m.elemtype, m.mode, m.swizzle_mode, m.fill_mode) == ("bf16", "tiled", 128, "zeros")
    assert m != matrix(elemtype="f16")
    assert warpbit.TensorMap.check(MAP) == []


def test_an_image():
    m = warpbit.TensorMap("f16", 0, [64, 30, 20, 10], [128, 4096, 81920], mode="im2col", pixel_box_lower=[-1, -2],
                          pixel_box_upper=[1, 2], channels_per_pixel=64, pixels_per_column=128)
    back = warpbit.TensorMap.decode(m.encode())
    assert back == m
    assert (back.pixel_box_lower, back.pixel_box_upper, back.box_dim) == ([-1, -2], [1, 2], [])
    assert (back.channels_per_pixel, back.pixels_per_column) == (64, 128)


def test_what_is_wrong():
    wrong = matrix(global_address=8, box_dim=[72, 128])
    assert wrong.refusals() == ["global_address: 0x8; expected a multiple of 16",
                                "box_dim[0]: 72 elements of bf16, 144 bytes; expected at most the 128 bytes of the swizzle"]
    with pytest.raises(warpbit.Error, match="global_address: 0x8") as refused:
        wrong.encode()
    assert refused.value.code == "descriptor_field"
    assert warpbit.TensorMap.check(b"\x08" + MAP[1:]) == ["refused: global_address: 0x7f0000000008; expected a multiple of 16"]
    for call in [lambda: warpbit.TensorMap.decode(b"1"), lambda: matrix(box_dim=[1] * 6), lambda: matrix(swizzle_mode=16),
                 lambda: matrix(fill_mode="ones")]:
        with pytest.raises(warpbit.Error) as refused:
            call()
        assert refused.value.code == "usage"


@pytest.mark.parametrize("changed, message", [
    (dict(global_stride=[8192, 8192 * 1024]), "global_stride: 2 entries for 2 extents of global_dim; expected 1: the innermost dimension"),
    (dict(global_stride=[2, 8192]), "global_stride: 2 entries for 2 extents of global_dim; expected 1"),
    (dict(global_stride=[]), "global_stride: 0 entries for 2 extents of global_dim; expected 1"),
    (dict(box_dim=[64, 128, 1]), "box_dim: 3 entries for 2 extents of global_dim; expected 2"),
    (dict(box_dim=[64]), "box_dim: 1 entry for 2 extents of global_dim; expected 2"),
    (dict(box_dim=[]), "box_dim: 0 entries for 2 extents of global_dim; expected 2"),
    (dict(element_stride=[1]), "element_stride: 1 entry for 2 extents of global_dim; expected 2"),
    (dict(pixel_box_lower=[0]), "pixel_box_lower: 1 entry for 2 extents of global_dim; expected 0"),
    (dict(global_dim=[], global_stride=[], box_dim=[]), "global_dim: 0 extents; expected 1 to 5"),
    (dict(global_dim=[4096], global_stride=[8192], box_dim=[64]), "global_stride: 1 entry for 1 extent of global_dim; expected 0"),
])
def test_lengths_of_lists(changed, message):
    with pytest.raises(warpbit.Error) as refused:
        matrix(**changed)
    assert refused.value.code == "usage" and str(refused.value).startswith(message)
