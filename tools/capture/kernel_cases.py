# SPDX-License-Identifier: Apache-2.0
"""The launches of tests/kernels/cuda/ that record_kernels.py records: a function for each, named as its case, whose
decorator has the launch and which returns the arguments in order. Inputs come from a generator seeded by the name."""
import zlib

import numpy as np

CASES = {}


class Array:
    """An argument that is the address of an array. Types that NumPy lacks are given as codes: "bfloat16" in uint16."""

    def __init__(self, name, data, dtype=None):
        self.name, self.data, self.dtype = name, np.ascontiguousarray(data), dtype or str(data.dtype)


class Scalar:
    """A number passed by value; its type is one of PTX: s32, u64, f32."""

    def __init__(self, name, type, value):
        self.name, self.type, self.value = name, type, value


class Struct:
    """A struct passed by value: its size and alignment, and arguments by the byte that they are at."""

    def __init__(self, name, size, align, fields):
        self.name, self.size, self.align, self.fields = name, size, align, fields


# CUtensorMapDataType, and the bytes of an element.
TENSOR_TYPES = {"u8": (0, 1), "u16": (1, 2), "u32": (2, 4), "s32": (3, 4), "u64": (4, 8), "s64": (5, 8), "f16": (6, 2),
                "f32": (7, 4), "f64": (8, 8), "bf16": (9, 2), "f32_ftz": (10, 4), "tf32": (11, 4), "tf32_ftz": (12, 4)}


class TensorMap:
    """A tensor map of an array, passed by value: arguments of cuTensorMapEncodeTiled, or with corners of
    cuTensorMapEncodeIm2col. Strides, in bytes, are those of a dense tensor unless given."""

    def __init__(self, name, of, type, dim, box=None, stride=None, element_stride=None, interleave=0, swizzle=0,
                 promotion=0, fill=0, lower=None, upper=None, channels=0, pixels=0):
        self.name, self.of = name, of
        code, size = TENSOR_TYPES[type]
        dense = [int(np.prod(dim[:i], dtype=np.int64)) * size for i in range(1, len(dim))]
        self.encode = {"type": code, "dim": list(dim), "stride": list(stride or dense),
                       "element_stride": list(element_stride or [1] * len(dim)), "interleave": interleave,
                       "swizzle": swizzle, "promotion": promotion, "fill": fill}
        self.encode.update({"box": list(box)} if box else {"lower": list(lower), "upper": list(upper),
                                                           "channels": channels, "pixels": pixels})


class Case:
    """How a kernel is compiled and launched. `outputs` are names of arrays. `fmad`: the values of nvcc's option.
    `reference` makes of the arrays before the launch, by name, what some outputs are about: only to see whether a
    kernel does what it should."""

    def __init__(self, make, grid, block, outputs, source, target, shared, lineinfo, prints, cluster, fmad, reference):
        self.name, self.source = make.__name__ if not source else source[0], source[1] if source else make.__name__
        self.make, self.grid, self.block, self.outputs = make, triple(grid), triple(block), outputs.split()
        self.target, self.shared, self.lineinfo, self.prints = target, shared, lineinfo, prints
        self.cluster, self.fmad, self.reference = triple(cluster), fmad, reference

    def arguments(self):
        return self.make(Generator(self.source))


def triple(size):
    return [*size, 1, 1][:3]


def case(grid, block, outputs, source=None, target="sm_80", shared=0, lineinfo=False, prints=False, cluster=(1,),
         fmad=(True, False), reference=None):
    """A row of the table. `source`: the case's name and its file's, where they differ."""

    def add(make):
        row = Case(make, grid, block, outputs, source, target, shared, lineinfo, prints, cluster, fmad, reference)
        CASES[row.name] = row
        return make

    return add


def bfloat16(x):
    """Codes of the nearest bfloat16, to even; NaN stays NaN."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where((bits & 0x7FFFFFFF) > 0x7F800000, bits >> 16 | 0x40, rounded).astype(np.uint16)


# Numbers that arithmetic treats apart, as codes: zeros, least and largest subnormal and normal numbers, one and its
# neighbours, infinities, NaNs.
CODES = {
    2: [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x83FF, 0x3C00, 0xBC00, 0x3C01, 0x3BFF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
        0x7E00, 0xFE01, 0x7C01, 0x7F, 0x80, 0x3F80, 0xBF81, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0],
    4: [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x807FFFFF, 0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF,
        0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x4F000000, 0xCF000000,
        0x4F7FFFFF, 0x3F000000, 0x40200000, 0x7E800001, 0x00FFFFFF, 0x4B800001],
    8: [0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52, 0x3FF0 << 48, 0xBFF0 << 48, (0x3FF0 << 48) + 1,
        (0x3FF0 << 48) - 1, (0x7FF0 << 48) - 1, (0xFFF0 << 48) - 1, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48,
        (0xFFF8 << 48) + 0x12345, (0x7FF0 << 48) + 1, 0x43E0 << 48, 0xC3E0 << 48, 0x3FE0 << 48, 0x4004 << 48,
        0x47EFFFFFE << 28, 0x47EFFFFFF << 28, 0x380FFFFFE << 28, 0x36A0 << 48, 0x433F << 48],
}


def unwritten(rows, columns, dtype):
    """Rows of results before they are written."""
    return np.full((rows, columns * np.dtype(dtype).itemsize), 0xAA, np.uint8).view(dtype)


class Generator:
    """Random inputs; the same for the same name."""

    def __init__(self, name):
        self.random = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def words(self, *shape, bits=32):
        return np.frombuffer(self.random.bytes(int(np.prod(shape)) * bits // 8), f"<u{bits // 8}").reshape(shape).copy()

    def integers(self, low, high, shape, dtype=np.int32):
        return self.random.randint(low, high, shape).astype(dtype)

    def codes(self, n, bits, k):
        """Operand k of n: the special codes, against each other in turn, then random codes and ordinary numbers."""
        special = np.array(CODES[bits // 8], f"<u{bits // 8}")
        ordinary = self.random.standard_normal(n).astype(f"<f{bits // 8}").view(special.dtype)
        mixed = np.where(self.random.rand(n) < 0.5, ordinary, self.words(n, bits=bits))
        rounds = n // (2 * len(special)) * len(special)
        at = np.arange(rounds)
        mixed[:rounds] = special[(at + k * (3 * (at // len(special)) + 1)) % len(special)]
        return mixed


def with_specials(x):
    """Puts numbers that sums show into some rows: a NaN, infinities, zeros, subnormal and very large numbers."""
    x = np.array(x)
    tiny, most = np.float32(np.finfo(x.dtype).tiny), np.finfo(x.dtype).max
    x[3, 1], x[5, 2], x[6, 0], x[6, 3] = np.nan, np.inf, -np.inf, np.inf
    x[9] = -0.0
    x[10] = x[10] * tiny
    x[11] = np.sign(x[11]) * most
    return x


def to_bfloat16(x):
    """The same for bfloat16, which has the exponents of f32."""
    return bfloat16(with_specials(x))


@case((2, 2), (128,), "d")
def gemm_mma(r):
    m, n, k = 61, 128, 96
    return [Array("a", to_bfloat16(r.normal(m, k)), "bfloat16"), Array("b", bfloat16(r.normal(k, n)), "bfloat16"),
            Array("d", np.full((m, n), -1, np.float32)), Scalar("m", "s32", m), Scalar("n", "s32", n),
            Scalar("k", "s32", k)]


@case((2, 2), (64,), "d e")
def gemm_wmma(r):
    m, n, k = 64, 64, 48
    f16 = lambda *shape: r.normal(*shape).astype(np.float16)
    return [Array("a", with_specials(f16(m, k))), Array("b", f16(n, k)), Array("b2", f16(k, n)),
            Array("c", with_specials(f16(m, n))), Array("d", np.full((n, m), -1, np.float32)),
            Array("e", np.full((m, n), -1, np.float16)), Scalar("m", "s32", m), Scalar("n", "s32", n),
            Scalar("k", "s32", k)]


@case((3, 2), (128,), "d", target="sm_90a")
def gemm_wgmma(r):
    m, n, k = 128, 96, 128
    return [Array("a", to_bfloat16(r.normal(m, k)), "bfloat16"), Array("b", bfloat16(r.normal(k, n)), "bfloat16"),
            Array("d", np.full((m, n), -1, np.float32)), Scalar("n", "s32", n), Scalar("k", "s32", k)]


@case((3, 2), (128,), "d e q")
def gemm_int8(r):
    m, n, k = 64, 48, 96
    c = r.integers(-40000, 40000, (m, n))
    c[4], c[20] = 2**31 - 20000, -(2**31) + 20000
    return [Array("a", r.integers(-128, 128, (m, k), np.int8)), Array("b", r.integers(-128, 128, (n, k), np.int8)),
            Array("c", c), Array("d", np.full((m, n), -1, np.int32)), Array("e", np.full((m, n), -1, np.int32)),
            Array("q", np.full((m, n), -1, np.int8)), Scalar("n", "s32", n), Scalar("k", "s32", k),
            Scalar("scale", "f32", 0.0009765625)]


@case((3, 2), (128,), "d e", shared=4 * 48 * 41)
def gemm_tf32(r):
    m, n, k = 64, 48, 40
    return [Array("a", with_specials(r.normal(m, k))), Array("b", r.normal(n, k)),
            Array("d", np.full((m, n), -1, np.float32)), Array("e", np.full((m, n), -1, np.float32)),
            Scalar("n", "s32", n), Scalar("k", "s32", k)]


@case((3, 2), (128,), "d")
def gemm_f64(r):
    m, n, k = 64, 48, 32
    f64 = lambda *shape: r.random.standard_normal(shape)
    return [Array("a", with_specials(f64(m, k))), Array("b", f64(k, n)), Array("c", with_specials(f64(m, n))),
            Array("d", np.full((m, n), -1, np.float64)), Scalar("n", "s32", n), Scalar("k", "s32", k),
            Scalar("alpha", "f64", 0.7), Scalar("beta", "f64", -1.1)]


@case((2, 2), (128,), "d")
def gemm_sparse(r):
    m, n, k = 64, 64, 96
    groups = np.array([0x4, 0x8, 0xC, 0x9, 0xD, 0xE])[r.integers(0, 6, (m, k // 16, 4))]
    metadata = (groups << np.array([0, 4, 8, 12])).sum(-1).astype(np.uint16)
    return [Array("a", with_specials(r.normal(m, k // 2).astype(np.float16))), Array("metadata", metadata),
            Array("b", r.normal(n, k).astype(np.float16)), Array("d", np.full((m, n), -1, np.float32)),
            Scalar("n", "s32", n), Scalar("k", "s32", k)]


@case((3, 3), (64,), "o logs")
def attention(r):
    heads, length = 3, 80
    q, k, v = (r.normal(heads, length, 32, scale=s).astype(np.float16) for s in (1, 1.5, 1))
    q[1, 70, 3] = np.nan
    k[1, 60, 5] = np.inf  # seen by the rows behind it
    v[2, 40, 7], v[2, 41, 8], v[2, 42, 9] = np.nan, -np.inf, 60000
    q[2, 50] *= 600  # one weight of nearly 1
    return [Array("q", q), Array("k", k), Array("v", v), Array("o", np.full((heads, length, 32), -1, np.float16)),
            Array("logs", np.full((heads, length), -1, np.float32)), Scalar("length", "s32", length),
            Scalar("scale", "f32", 0.25503486)]


def rows_to_normalize(r):
    x = with_specials(r.normal(24, 384))
    x[12] = 1e30 * x[12]  # squares overflow
    x[13] = 3.0
    return [Array("x", x), Array("weight", r.normal(384)), Array("bias", r.normal(384)),
            Array("y", np.full((24, 384), -1, np.float32)), Array("mean", np.full(24, -1, np.float32)),
            Array("factor", np.full(24, -1, np.float32)), Scalar("epsilon", "f32", 1e-5)]


case((24,), (96,), "y mean factor", source=("layernorm", "layernorm"))(rows_to_normalize)
case((24,), (96,), "y mean factor", source=("layernorm.lineinfo", "layernorm"), lineinfo=True)(rows_to_normalize)


@case((9,), (128,), "results differences tickets")
def reduction(r):
    x = r.normal(9, 128, scale=100)
    x[1] *= np.float32(1e-42)  # subnormal
    x[3, 77], x[5, 3], x[6, 40] = np.nan, np.inf, -3e38
    x[7] = -0.0
    return [Array("x", x), Array("results", np.full((10, 5), -1, np.int32)),
            Array("differences", np.full((9, 64), -1, np.float32)), Array("tickets", np.zeros(1, np.uint32))]


@case((11,), (128,), "y z words flags counter")
def scan(r):
    n = 10 * 128 + 57
    return [Array("x", r.words(n)), Array("y", np.zeros(n, np.uint32)), Array("z", np.zeros(n, np.uint32)),
            Array("words", np.zeros(11, np.uint64)), Array("flags", np.zeros((3, 11), np.uint32)),
            Array("counter", np.zeros(1, np.uint32)), Scalar("n", "s32", n)]


@case((5,), (256,), "sorted places by_digit")
def sort(r):
    x = r.normal(5, 256)
    x[1] = r.codes(256, 32, 0).view(np.float32)
    x[2] = np.round(x[2])  # many equal ones, both zeros
    return [Array("x", x), Array("sorted", np.zeros((5, 256), np.float32)),
            Array("places", np.zeros((5, 256), np.uint32)), Array("by_digit", np.zeros((5, 256), np.float32)),
            Scalar("shift", "s32", 20)]


@case((3,), (64,), "count first last")
def histogram(r):
    n = 12345
    x = np.minimum(np.abs(r.normal(n, scale=50)), 255).astype(np.uint8)
    return [Array("x", x), Array("count", np.zeros(256, np.uint32)), Array("first", np.full(256, n, np.int32)),
            Array("last", np.full(256, -1, np.int32)), Scalar("n", "s32", n)]


@case((3, 3), (32, 8), "y turned")
def transpose(r):
    rows, columns = 70, 83
    return [Array("x", r.words(rows, columns).view(np.float32)), Array("y", np.zeros((columns, rows), np.float32)),
            Array("bytes", r.words(rows, columns, bits=8)), Array("turned", np.zeros((columns, rows), np.uint8)),
            Scalar("rows", "s32", rows), Scalar("columns", "s32", columns)]


@case((4,), (64,), "moved speeds")
def nbody(r):
    bodies = np.concatenate([r.normal(256, 3, scale=10), np.abs(r.normal(256, 1))], axis=1)
    bodies[200] = bodies[17]  # at the same place
    bodies[201, :3], bodies[202, 3], bodies[203, 3] = 1e25, 0, 1e-40
    return [Array("bodies", bodies), Array("moved", np.full((256, 4), -1, np.float32)),
            Array("speeds", r.normal(256, 3)), Scalar("softening", "f32", 1e-3), Scalar("step", "f32", 0.01)]


def plane(type, dtype):
    columns, rows = 60, 45
    return [Array("steps", np.zeros((rows, columns), np.int32)), Array("x", np.zeros((rows, columns), dtype)),
            Array("y", np.zeros((rows, columns), dtype)), Scalar("left", type, -2.1), Scalar("top", type, 1.3),
            Scalar("width", type, 3.1), Scalar("columns", "s32", columns), Scalar("rows", "s32", rows),
            Scalar("limit", "s32", 200)]


@case((4, 6), (16, 8), "steps x y")
def mandelbrot_f32(r):
    return plane("f32", np.float32)


@case((4, 6), (16, 8), "steps x y")
def mandelbrot_f64(r):
    return plane("f64", np.float64)


@case((2,), (64,), "results fractions", prints=True)
def recursion(r):
    return [Array("x", r.integers(0, 64, 128)), Array("results", np.full((4, 128), -1, np.int32)),
            Array("fractions", np.full((128, 2), -1, np.int32)), Scalar("third", "f32", 1 / 3),
            Scalar("large", "f64", 123456789.125)]


@case((3,), (64,), "out wide")
def integers(r):
    edges = np.array([0, 1, 2, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0x7FFFFFFF, 0xFFFF, 0x10000, 31, 32, 33, 63, 64,
                      0x80, 0x8000, 0xFF7F, 0x00FF00FF, 0x76543210, 7], np.uint32)
    x, y, z = r.words(3, 192)
    x[:100], y[:100] = np.tile(edges, 5), np.repeat(edges[[0, 3, 5, 10, 15]], 20)
    z[:100] = np.tile(np.roll(edges, 7), 5)
    y[100:120] >>= np.arange(8, 28, dtype=np.uint32)
    z[110:130] >>= np.arange(8, 28, dtype=np.uint32)
    return [Array("x", x), Array("y", y), Array("z", z), Array("out", unwritten(119, 192, np.uint32)),
            Array("wide", unwritten(37, 192, np.uint64))]


@case((2,), (64,), "out")
def votes(r):
    x = r.words(4, 32)
    x[0] &= 0x3F
    x[1] = 5
    x[2] &= 3
    return [Array("x", x), Array("out", unwritten(96, 128, np.uint32))]


def pairs_of_halves(r):
    n = 128
    x, y, z = (r.codes(2 * n, 16, k).view(np.uint32) for k in range(3))
    f = r.codes(n, 32, 0).view(np.float32)
    f[64:] = r.normal(64, scale=1e4)
    return [Array("x", x), Array("y", y), Array("z", z), Array("f", f), Array("out", unwritten(77, n, np.uint16)),
            Array("wide", unwritten(53, n, np.uint32))]


case((2,), (64,), "out wide", source=("halves", "halves"))(pairs_of_halves)
case((2,), (64,), "out wide", source=("halves.sm_90", "halves"), target="sm_90")(pairs_of_halves)


OWN = np.dtype([("u", "<u4", 11), ("s", "<i4", 2), ("f", "<f4"), ("w", "<u8", 9), ("l", "<i8", 2), ("d", "<f8"),
                ("h", "<u4"), ("unused", "<u4")])
ALL = np.dtype([("sum", "<u4"), ("inc", "<u4"), ("dec", "<u4"), ("least", "<u4"), ("most", "<u4"), ("both", "<u4"),
                ("either", "<u4"), ("odd", "<u4"), ("signed", "<i4", 2), ("float_sum", "<f4"), ("magnitude", "<f4"),
                ("wide", "<u8", 3), ("double_sum", "<f8"), ("halves", "<u4"), ("block_scope", "<u4")])


@case((3,), (32,), "own copies old all of_blocks")
def atomics(r):
    n = 96
    x, w = r.words(n), r.words(n, bits=64)
    x[:30] = np.arange(30)
    f, d = r.codes(n, 32, 1).view(np.float32), r.codes(n, 64, 1).view(np.float64)
    own = np.frombuffer(r.random.bytes(n * OWN.itemsize), OWN).copy()
    own["u"][::2, 10], own["w"][::2, 7] = x[::2], w[::2]
    own["u"][:30, 5:7] = np.arange(60).reshape(30, 2) % 31
    own["f"], own["d"] = r.codes(n, 32, 0).view(np.float32), r.codes(n, 64, 0).view(np.float64)
    own["h"] = r.codes(2 * n, 16, 0).view(np.uint32)
    shared = np.zeros(4, ALL)
    shared["least"], shared["both"], shared["signed"], shared["dec"] = 2**32 - 1, 2**32 - 1, [2**31 - 1, -(2**31)], 17
    as_bytes = lambda a: a.view(np.uint8).reshape(len(a), a.dtype.itemsize)
    return [Array("own", as_bytes(own)), Array("copies", np.zeros((n, OWN.itemsize), np.uint8)),
            Array("old", unwritten(54, n, np.uint64)), Array("all", as_bytes(shared[:1])),
            Array("of_blocks", as_bytes(shared[1:])), Array("x", x), Array("w", w), Array("f", f), Array("d", d)]


@case((2,), (32,), "memory old", target="sm_90")
def reductions(r):
    n, rows = 64, {64: 18, 32: 23, 16: 22}  # by the bits of most of a row's operands
    codes = lambda k: [r.codes(n * 128 // bits, bits, k).view(np.uint32) for bits in rows for _ in range(rows[bits])]
    memory, operands = (np.stack(codes(k)).reshape(-1, n, 4) for k in range(2))
    memory[12, ::2] = operands[12, ::2]  # cas exchanges these
    as_bytes = lambda a: a.reshape(-1, 4 * n)
    return [Array("memory", as_bytes(memory)), Array("operands", as_bytes(operands)),
            Array("old", unwritten(sum(rows.values()), 4 * n, np.uint32))]


@case((2,), (64,), "scratch out", target="sm_90")
def control(r):
    return [Array("in", r.words(128, 4)), Array("choices", r.words(128)), Array("counts", r.words(128) % 40 + 1),
            Array("scratch", r.words(128)), Array("out", unwritten(26, 128, np.uint32))]


@case((4,), (96,), "out scaled totals", shared=5 * 96)
def divergence(r):
    x = r.words(384)
    x[:128] >>= np.arange(128, dtype=np.uint32) % 24
    return [Array("x", x), Array("out", unwritten(8, 384, np.uint32)), Array("scaled", np.zeros(384, np.float64)),
            Array("totals", np.zeros(2, np.uint32)), Scalar("limit", "s32", 40)]


def operands_to_contract(r):
    """a, b, c and d where a b + c shows how often it was rounded: c is near -a b, or special."""
    n = 64

    def operands(bits, dtype):
        special = np.stack([r.codes(n, bits, k) for k in range(4)])
        ordinary = r.random.standard_normal((4, n)).astype(dtype)
        ordinary[2] = ordinary[0] * ordinary[1] * r.random.choice([-1, 1], n)
        return np.concatenate([special[:, : n // 2], ordinary.view(special.dtype)[:, n // 2 :]], axis=1)

    f32, f64 = operands(32, np.float32), operands(64, np.float64)
    f16, bf16 = (np.stack([operands(bits, f"<f{bits // 8}") for _ in range(2)], axis=-1) for bits in (16, 32))
    pairs = lambda x: np.ascontiguousarray(x).view(np.uint32).reshape(4, n)
    out = lambda rows: unwritten(rows, n, np.uint64)
    return [Array("f32", f32), Array("f64", f64), Array("f16x2", pairs(f16)),
            Array("bf16x2", pairs(bfloat16(bf16.view(np.float32)))), Array("out_f32", out(27)),
            Array("out_f64", out(19)), Array("out_f16", out(45)), Array("out_bf16", out(32))]


case((2,), (32,), "out_f32 out_f64 out_f16", source=("contraction", "contraction"))(operands_to_contract)
case((2,), (32,), "out_f32 out_f64 out_f16 out_bf16", source=("contraction.sm_90", "contraction"),
     target="sm_90")(operands_to_contract)


@case((3,), (32,), "to integers")
def structs(r):
    line = Struct("line", 48, 8, {0: Array("from", r.codes(80, 32, 0).view(np.float32)),
                                  8: Array("to", np.full(80, -1, np.float32)), 16: Scalar("count", "s32", 80),
                                  24: Scalar("slope", "f64", -0.3), 32: Scalar("offset0", "s16", -2),
                                  34: Scalar("offset1", "s16", 300), 36: Scalar("offset2", "s16", 0),
                                  38: Scalar("offset3", "s16", 7), 40: Scalar("offset4", "s16", -32768),
                                  42: Scalar("squared", "u8", 1)})
    fields = {4 * k: Scalar(f"coefficient{k}", "f32", (-0.7) ** k) for k in range(7)}
    polynomial = Struct("polynomial", 32, 4, {**fields, 28: Scalar("degree", "u8", 5)})
    flag = Struct("flag", 1, 1, {0: Scalar("on", "u8", 1)})
    return [line, Scalar("small", "s8", -5), polynomial, Scalar("medium", "u16", 60000), flag,
            Scalar("large", "s64", 2**61 + 12345), Array("integers", np.full(80, -1, np.int64))]


@case((2, 2, 2), (8, 2, 4), "copies cells out", shared=4 * 64)
def memory(r):
    return [Array("bytes", r.words(512, 32, bits=8)), Array("copies", unwritten(512, 32, np.uint8)),
            Array("cells", r.words(512)), Array("out", unwritten(20, 512, np.uint32))]


@case((4,), (32,), "out wide")
def floats(r):
    x, y, z = (r.codes(128, 32, k).view(np.float32) for k in range(3))
    u, v, w = (r.codes(128, 64, k).view(np.float64) for k in range(3))
    x[96:], u[96:112] = r.normal(32, scale=1000), r.normal(16, scale=1000)
    return [Array("x", x), Array("y", y), Array("z", z), Array("u", u), Array("v", v), Array("w", w),
            Array("out", unwritten(113, 128, np.uint32)), Array("wide", unwritten(49, 128, np.uint64))]


@case((3,), (32,), "out")
def functions_f32(r):
    x, y, z = (r.codes(96, 32, k).view(np.float32) for k in range(3))
    x[26:], y[26:], z[26:] = r.normal(70, scale=3), r.normal(70, scale=3), r.normal(70, scale=30)
    x[26:36] *= np.float32(1e5)  # angles whose reduction needs many bits
    x[36:46] = r.random.rand(10)
    return [Array("x", x), Array("y", y), Array("z", z), Array("out", unwritten(58, 96, np.float32))]


@case((2,), (32,), "out")
def functions_f64(r):
    x, y = (r.codes(64, 64, k).view(np.float64) for k in range(2))
    x[26:], y[26:] = r.random.standard_normal(38) * 3, r.random.standard_normal(38) * 3
    x[26:30] *= 1e8
    return [Array("x", x), Array("y", y), Array("out", unwritten(26, 64, np.float64))]
