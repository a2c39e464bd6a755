# SPDX-License-Identifier: Apache-2.0
"""The launches of tests/kernels/cuda/hopper_*.cu, in the table of kernel_cases.py. What is random is repeated with
other neighbours, so that files stay small."""
import functools

import numpy as np

from kernel_cases import Array, Scalar, Struct, TensorMap, bfloat16, case, unwritten, with_specials

TILE = 64  # rows of a tile, each of 128 bytes
SWIZZLE_32, SWIZZLE_64, SWIZZLE_128 = 1, 2, 3
FILL_NAN = 1
kernel = functools.partial(case, target="sm_90a", fmad=(True,))


def rolled(r, rows, columns, base=8, scale=1.0):
    """Normal numbers: some rows, then the same ones, each time eight columns further."""
    first = r.normal(base, columns, scale=scale)
    return np.stack([np.roll(first[i % base], 8 * (i // base)) for i in range(rows)])


def f64(codes):
    """Of bfloat16."""
    return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def rows_of(name, of, type, rows, columns, tile=TILE, **more):
    """A map of a matrix whose boxes are `tile` rows of 128 bytes."""
    size = 1 if type == "u8" else 2
    return TensorMap(name, of, type, (columns, rows), (128 // size, tile), swizzle=SWIZZLE_128, **more)


def product(inputs):
    with np.errstate(invalid="ignore"):
        return {"d": f64(inputs["a"]) @ f64(inputs["b"]).T}


def gemm(r, m, n, k):
    """A and B with K in a row, and their maps."""
    a = Array("a", bfloat16(with_specials(rolled(r, m, k))), "bfloat16")
    b = Array("b", bfloat16(rolled(r, n, k)), "bfloat16")
    return a, b, rows_of("map_a", a, "bf16", m, k), rows_of("map_b", b, "bf16", n, k, promotion=2)


def sizes(m, n, k):
    return [Scalar("m", "s32", m), Scalar("n", "s32", n), Scalar("k", "s32", k)]


@kernel((1, 2), (128,), "d", shared=6 * 8192 + 1024 + 48, reference=product)
def hopper_tma_gemm(r):
    m, n, k = 72, 40, 296
    _, _, map_a, map_b = gemm(r, m, n, k)
    return [map_a, map_b, Array("d", np.full((m, n), -1, np.float32)), *sizes(m, n, k)]


@kernel((2, 2), (384,), "d", shared=3 * 24576 + 1024 + 48, reference=product)
def hopper_warp_specialised(r):
    m, n, k = 152, 72, 320
    a, _, _, map_b = gemm(r, m, n, k)
    d = Array("d", np.full((m, n), 0xAAAA, np.uint16), "bfloat16")
    return [rows_of("map_a", a, "bf16", m, k, tile=128), map_b, d, *sizes(m, n, k)]


@kernel((2, 1), (160,), "d", shared=4 * 8192 + 1024 + 32, cluster=(2,), reference=product)
def hopper_cluster_multicast(r):
    m, n, k = 64, 128, 384
    a, _, _, map_b = gemm(r, m, n, k)
    return [rows_of("map_a", a, "bf16", m, k, tile=32), map_b, Array("d", np.full((m, n), -1, np.float32)),
            Scalar("n", "s32", n), Scalar("k", "s32", k)]


@kernel((2,), (384,), "d", shared=10 * 8192 + 1024 + 64, reference=product)
def hopper_persistent(r):
    m, n, k = 136, 104, 160
    _, _, map_a, map_b = gemm(r, m, n, k)
    d = Array("d", np.full((m, n), 0xAAAA, np.uint16), "bfloat16")
    return [map_a, map_b, rows_of("map_d", d, "bf16", m, n), *sizes(m, n, k)]


def e4m3(codes):
    """Numbers of codes."""
    sign, exponent, fraction = np.where(codes >> 7, -1.0, 1.0), codes >> 3 & 15, (codes & 7).astype(np.float64)
    value = np.where(exponent > 0, (8 + fraction) * 2.0 ** (exponent.astype(np.float64) - 10), fraction * 2.0**-9)
    return sign * np.where(codes & 0x7F == 0x7F, np.nan, value)


def scaled_product(inputs):
    a, b = (e4m3(inputs[name]).reshape(len(inputs[name]), -1, 128) for name in "ab")
    a, b = a * inputs["scales_a"][:, :, None], b * np.repeat(inputs["scales_b"], TILE, axis=0)[:, :, None]
    return {"d": np.einsum("mbk,nbk->mn", a, b)}


@kernel((2, 1), (128,), "d", shared=4 * 8192 + 32, reference=scaled_product)
def hopper_fp8_promotion(r):
    m, n, k = 64, 128, 384

    def codes(rows):
        first = r.words(8, k, bits=8)
        first = np.where(r.random.rand(8, k) < 0.02, first, first & 0xBF)  # of large numbers there are few
        first[(first & 0x7F) == 0x7F] = 0x7E
        return np.stack([np.roll(first[i % 8], 16 * (i // 8)) for i in range(rows)])

    a, b = Array("a", codes(m)), Array("b", codes(n))
    a.data[5, 200], a.data[9] = 0x7F, 0x80
    scales = lambda rows: np.abs(r.normal(rows, k // 128, scale=0.01)) + np.float32(1e-3)
    return [rows_of("map_a", a, "u8", m, k), rows_of("map_b", b, "u8", n, k), Array("scales_a", scales(m)),
            Array("scales_b", scales(n // TILE)), Array("d", np.full((m, n), 0xAAAA, np.uint16), "bfloat16"),
            Scalar("n", "s32", n), Scalar("k", "s32", k)]


def sparse_product(inputs):
    a, metadata, b = inputs["a"].astype(np.float64), inputs["metadata"], inputs["b"].astype(np.float64)
    m, half = a.shape
    dense, row, column = np.zeros((m, 2 * half)), np.arange(m)[:, None], np.arange(half)
    at = metadata[:, column // 8] >> (2 * (column % 8)) & 3
    dense[row, column // 2 * 4 + at] = a
    with np.errstate(invalid="ignore"):
        return {"d": dense @ b.T}


@kernel((1, 1), (128,), "d", shared=6 * 8192 + 16, reference=sparse_product)
def hopper_sparse(r):
    m, n, k = 64, 64, 512
    a = Array("a", with_specials(rolled(r, m, k // 2).astype(np.float16)))
    a.data[[3, 5, 6]] = r.normal(3, k // 2)  # a reference of dense numbers has no zeros there
    b = Array("b", rolled(r, n, k).astype(np.float16))
    pairs = np.array([i | j << 2 for j in range(4) for i in range(j)], np.uint16)
    nibbles = pairs[r.integers(0, len(pairs), (m, k // 4))].reshape(m, -1, 4)
    metadata = (nibbles << (4 * np.arange(4))).sum(-1).astype(np.uint16)
    return [rows_of("map_a", a, "f16", m, k // 2), rows_of("map_b", b, "f16", n, k), Array("metadata", metadata),
            Array("d", np.full((m, n), -1, np.float32)), Scalar("n", "s32", n), Scalar("k", "s32", k)]


HEADS, QUERIES, KEYS, SIZE = 2, 96, 200, 64


def attention(inputs):
    q, k, v = (f64(inputs[name]) for name in "qkv")
    scores = q @ k.transpose(0, 2, 1) * (np.log2(np.e) / 8)
    scores[:, np.arange(KEYS) > np.arange(QUERIES)[:, None] + KEYS - QUERIES] = -np.inf
    weights = 2.0**scores
    return {"out": weights @ v / weights.sum(-1, keepdims=True), "logs": np.log2(weights.sum(-1))}


@kernel((1, HEADS), (384,), "out logs", shared=6 * 8192 + 72, reference=attention)
def hopper_attention(r):
    heads = lambda rows: bfloat16(np.stack([rolled(r, rows, SIZE, base=32) for _ in range(HEADS)]))
    arrays = [Array(name, heads(rows), "bfloat16") for name, rows in (("q", QUERIES), ("k", KEYS), ("v", KEYS))]
    maps = [TensorMap("map_" + a.name, a, "bf16", a.data.shape[::-1], (SIZE, TILE, 1), swizzle=SWIZZLE_128)
            for a in arrays]
    return [*maps, Array("out", np.full((HEADS, QUERIES, SIZE), 0xAAAA, np.uint16), "bfloat16"),
            Array("logs", np.full((HEADS, QUERIES), -1, np.float32)), Scalar("queries", "s32", QUERIES),
            Scalar("keys", "s32", KEYS), Scalar("scale", "f32", float(np.float32(np.log2(np.e) / 8)))]


def normalised(inputs):
    x = inputs["from"].astype(np.float64)
    return {"to": (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)}


@kernel((4, 3), (128,), "to counts places", cluster=(4,), reference=normalised)
def hopper_cluster_reduction(r):
    rows = 3
    x = r.normal(rows, 1024, scale=3) + np.array([[0], [100], [-1e-3]], np.float32)
    words = r.integers(-(2**31), 2**31 - 1, (rows, 4, 4))
    return [Array("from", x), Array("to", np.full_like(x, -1)), Array("words", words),
            Array("counts", np.full((4 * rows, 6), 2**64 - 1, np.uint64)),
            Array("places", np.full((4 * rows, 28), 2**32 - 1, np.uint32))]


def image(r):
    """Special and ordinary numbers, 4096 bytes."""
    return Array("image", r.codes(1024, 32, 0))


def copy(rank, size, at, offsets=()):
    """What a block copies: the rank, negative for im2col; bytes; coordinates; offsets."""
    return [rank, size, *at, *[0] * (5 - len(at)), *offsets, *[0] * (3 - len(offsets))]


@kernel((10,), (64,), "out")
def hopper_tensor_maps(r):
    image_of_4 = dict(lower=(-1, -1), upper=(-1, -1), channels=8, pixels=20)
    image_of_3 = dict(lower=(-2,), upper=(0,), channels=16, pixels=12, swizzle=SWIZZLE_32)
    slices = dict(interleave=1, stride=(96, 480, 1440), fill=FILL_NAN)
    rows = [  # arguments of a map, and what a block copies by it
        (("u32", (40,), (64,)), {}, copy(1, 256, (-4,))),
        (("f16", (24, 5, 4), (32, 3, 2)), dict(swizzle=SWIZZLE_64, fill=FILL_NAN), copy(3, 384, (-8, 3, -1))),
        (("f32", (20, 30), (16, 8)), dict(element_stride=(1, 3)), copy(2, 192, (8, 26))),
        (("f32", (8, 6, 5, 2)), image_of_4, copy(-4, 640, (0, 2, 1, 0), (1, 2))),
        (("u8", (32, 3, 3, 2, 2), (16, 2, 2, 2, 2)), {}, copy(5, 256, (16, -1, 2, 1, 0))),
        (("f32_ftz", (16, 20), (16, 8)), dict(fill=FILL_NAN), copy(2, 512, (0, 16))),
        (("tf32", (16, 20), (16, 16)), dict(swizzle=SWIZZLE_64), copy(2, 1024, (0, 0))),
        (("bf16", (16, 10, 3)), image_of_3, copy(-3, 384, (0, 3, 1), (1,))),
        (("f16", (6, 5, 3, 2), (8, 3, 1, 2)), slices, copy(4, 768, (-1, 3, 1, 0))),
    ]
    of = image(r)
    fields = {128 * i: TensorMap(f"map{i}", of, *arguments, **more) for i, (arguments, more, _) in enumerate(rows)}
    replacing = copy(2, 192, (4, 5))  # by the map that the kernel makes of the first one
    copies = np.array([*(copied for *_, copied in rows), replacing], np.int32)
    return [Struct("maps", 1152, 64, fields), Array("copies", copies), of, Array("replaced", np.zeros(32, np.uint32)),
            Array("out", unwritten(len(copies), 1024, np.uint32))]


def of_kinds(r, bits_of_kinds, k):
    """Operand k of bulk reductions, 512 bytes for each kind."""
    return np.stack([r.codes(4096 // bits, bits, k).view(np.uint8) for bits in bits_of_kinds])


@kernel((16,), (64,), "memory shared copy tensor", cluster=(2,))
def hopper_bulk_copies(r):
    bits = [32, 16, 16, 64, 16, 16, 32, 32, 64, 64, 32, 32, 32, 64, 32, 64]
    source, memory = of_kinds(r, bits, 0), of_kinds(r, bits, 1)
    words = source.view(np.uint32)
    near = lambda numbers: numbers + r.integers(-1, 2, numbers.shape).astype(np.uint32)
    # Of inc and dec: numbers on both sides of the limit, and at it.
    for kind in (10, 11):
        small = r.integers(0, 3, 128).astype(np.uint32)
        memory[kind].view(np.uint32)[:] = np.where(r.random.rand(128) < 0.7, near(words[kind]), small)
    shared = near(words[np.arange(16) ^ 1])  # what the other block of the cluster has
    tensor = Array("tensor", near(np.roll(words[:8, :64].reshape(16, 32), 4, axis=1)))
    return [Array("from", source), Array("memory", memory), Array("shared", shared),
            Array("copy", np.full((16, 512), 0xAA, np.uint8)), TensorMap("map", tensor, "u32", (32, 16), (32, 2))]


@kernel((1,), (128,), "answers out")
def hopper_barriers(r):
    return [Array("x", r.words(128)), Array("answers", np.full(48, 2**32 - 1, np.uint32)),
            Array("out", np.full(260, 2**32 - 1, np.uint32))]
