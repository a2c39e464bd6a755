# SPDX-License-Identifier: Apache-2.0
"""Codes and numbers against fractions, struct and NumPy's own types."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import warpbit
from conftest import refusal

# Of the OCP's and IEEE's documents: exponent bits, fraction bits, bias, what the largest exponent field means.
SMALL = {
    "f16": (5, 10, 15, "ieee"),
    "bf16": (8, 7, 127, "ieee"),
    "e5m2": (5, 2, 15, "ieee"),
    "e4m3": (4, 3, 7, "nan"),  # NaN where all bits are ones
    "e3m2": (3, 2, 3, "numbers"),
    "e2m3": (2, 3, 1, "numbers"),
    "e2m1": (2, 1, 1, "numbers"),
}
INTEGERS = {"s32": (32, True), "s8": (8, True), "u8": (8, False), "s4": (4, True), "u4": (4, False), "b1": (1, False),
            "b8": (8, False), "b16": (16, False), "b32": (32, False)}


def number_of(code, exponent_bits, fraction_bits, bias, top):
    """A Fraction, an infinity or a NaN."""
    fraction = code & ((1 << fraction_bits) - 1)
    field = code >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = -1 if code >> (exponent_bits + fraction_bits) & 1 else 1
    if field == (1 << exponent_bits) - 1:
        if top == "ieee":
            return math.nan if fraction else sign * math.inf
        if top == "nan" and fraction == (1 << fraction_bits) - 1:
            return math.nan
    if field == 0:
        return sign * Fraction(fraction, 1 << fraction_bits) * Fraction(2) ** (1 - bias)
    return sign * (1 + Fraction(fraction, 1 << fraction_bits)) * Fraction(2) ** (field - bias)


def same(value, wanted):
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(value)
    return value == wanted


@pytest.mark.parametrize("name", SMALL)
def test_every_code_of_small_formats(name):
    row = SMALL[name]
    bits = 1 + row[0] + row[1]
    codes = np.arange(1 << bits, dtype=warpbit.format(name).dtype)
    values = warpbit.decode(name, codes)
    assert values.dtype == np.float64
    for code, value in enumerate(values):
        assert same(value if not math.isfinite(value) else Fraction(float(value)), number_of(code, *row)), hex(code)
        assert math.copysign(1, value) == (-1 if code >> (bits - 1) else 1) or math.isnan(value)


@np.errstate(invalid="ignore")  # signalling NaNs
def test_formats_that_numpy_and_struct_have():
    codes = np.arange(1 << 16, dtype=np.uint16)
    assert np.array_equal(warpbit.decode("f16", codes), codes.view(np.float16).astype(np.float64), equal_nan=True)
    words = np.concatenate([np.arange(0, 1 << 32, 65521, dtype=np.uint32), np.uint32([0x7F800000, 0xFF800000, 1])])
    assert np.array_equal(warpbit.decode("f32", words), words.view(np.float32).astype(np.float64), equal_nan=True)
    assert np.array_equal(warpbit.decode("tf32", words), (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64), equal_nan=True)
    assert np.array_equal(warpbit.decode("bf16", codes), (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64), equal_nan=True)
    longs = np.uint64([struct.unpack("<Q", struct.pack("<d", x))[0] for x in (0.1, -5e-324, 1e308, -math.inf, -0.0)])
    assert np.array_equal(warpbit.decode("f64", longs).view(np.uint64), longs)


def test_scale_formats():
    codes = np.arange(256, dtype=np.uint8)
    wanted = [2.0 ** (i - 127) for i in range(255)] + [math.nan]
    assert np.array_equal(warpbit.decode("ue8m0", codes), wanted, equal_nan=True)
    halves = [number_of(i & 0x7F, *SMALL["e4m3"]) for i in range(256)]
    assert np.array_equal(warpbit.decode("ue4m3", codes), np.array(halves, float), equal_nan=True)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    bits, signed = INTEGERS[name]
    dtype = warpbit.format(name).dtype
    codes = np.array([0, 1, (1 << bits) - 1, (1 << (bits - 1)) - 1, 1 << (bits - 1)], dtype)
    wanted = [int(c) - (1 << bits) if signed and int(c) >> (bits - 1) else int(c) for c in codes]
    assert warpbit.decode(name, codes).tolist() == wanted
    values = np.array(wanted, float)
    assert np.array_equal(warpbit.encode(name, values), codes)
    most, least = (1 << (bits - signed)) - 1, -(1 << (bits - 1)) if signed else 0
    beyond = np.array([most + 1, least - 1, 1e30, -1e30, math.inf])
    clamped = warpbit.encode(name, beyond, satfinite=True)
    assert warpbit.decode(name, clamped).tolist() == [most, least, most, least, most]
    assert warpbit.encode(name, beyond[:2]).tolist() == [(most + 1) % (1 << bits), (least - 1) % (1 << bits)]


def rounded(name, value, rounding, satfinite):
    """The code of a finite number, by a search among all numbers of the format."""
    row = SMALL[name]
    bits = 1 + row[0] + row[1]
    magnitudes = [number_of(code, *row) for code in range(1 << (bits - 1))]
    finite = [x for x in magnitudes if not isinstance(x, float)]
    sign, x = (1 << (bits - 1) if math.copysign(1, value) < 0 else 0), abs(Fraction(value))
    largest = len(finite) - 1
    # As if the exponents went on.
    steps = finite + [2 * finite[-1] - finite[-2]]
    below = max(i for i, y in enumerate(steps) if y <= x) if x < steps[-1] else len(steps) - 1
    rest = x - steps[below]
    if below == len(steps) - 1:
        up = False
    else:
        unit = steps[below + 1] - steps[below]
        up = {"rn": 2 * rest > unit or (2 * rest == unit and below % 2 == 1), "rna": 2 * rest >= unit, "rz": False,
              "rp": rest > 0 and not sign, "rm": rest > 0 and bool(sign)}[rounding]
    code = below + up
    if code <= largest:
        return sign | code
    inward = rounding == "rz" or rounding == ("rp" if sign else "rm")
    if satfinite or inward or row[3] == "numbers":
        return sign | largest
    if row[3] == "ieee":
        return sign | (largest + 1)
    return (1 << (bits - 1)) - 1  # the canonical NaN


@settings(max_examples=150)
@given(st.sampled_from([n for n in SMALL if n not in ("f16", "bf16")]), st.sampled_from(["rn", "rz", "rp", "rm", "rna"]), st.booleans(),
       st.lists(st.one_of(st.floats(allow_nan=False, allow_infinity=False),
                          st.floats(-500, 500), st.integers(-4096, 4096).map(lambda n: n / 128)), min_size=1, max_size=20))
def test_encoding_rounds_once(name, rounding, satfinite, values):
    codes = warpbit.encode(name, np.array(values, float), rounding, satfinite)
    assert codes.tolist() == [rounded(name, v, rounding, satfinite) for v in values]


def test_encoding_as_numpy_rounds():
    values = np.random.default_rng(1).standard_normal(20000) * 10.0 ** np.random.default_rng(2).integers(-9, 9, 20000)
    with np.errstate(over="ignore"):
        assert np.array_equal(warpbit.encode("f16", values), values.astype(np.float16).view(np.uint16))
        assert np.array_equal(warpbit.encode("f32", values), values.astype(np.float32).view(np.uint32))
    assert np.array_equal(warpbit.encode("f64", values), values.view(np.uint64))


@pytest.mark.parametrize("name", [f.name for f in warpbit.formats()])
def test_codes_come_back(name):
    f = warpbit.format(name)
    step = max(1, (1 << f.bits) // 5000)
    codes = np.arange(0, 1 << f.bits, step | 1, dtype=np.uint64).astype(f.dtype)
    codes &= f.dtype.type((1 << f.bits) - (1 << f.ignored_low)) & f.dtype.type((1 << (f.bits - f.ignored_high)) - 1)
    values = warpbit.decode(name, codes)
    numbers = ~np.isnan(values)
    assert np.count_nonzero(numbers) > 1
    assert np.array_equal(warpbit.encode(name, values[numbers]), codes[numbers])


def test_special_numbers():
    specials = np.array([math.nan, math.inf, -math.inf, -0.0])
    assert warpbit.encode("f16", specials).tolist() == [0x7FFF, 0x7C00, 0xFC00, 0x8000]
    assert warpbit.encode("e5m2", specials, satfinite=True).tolist() == [0x7F, 0x7B, 0xFB, 0x80]
    assert warpbit.encode("e4m3", specials).tolist() == [0x7F, 0x7F, 0x7F, 0x80]
    assert warpbit.encode("e2m1", specials[1:]).tolist() == [0x7, 0xF, 0x8]
    assert warpbit.encode("ue8m0", np.array([-1.0, 0.0])).tolist() == [0xFF, 0]
    with pytest.raises(warpbit.Error, match=r"encode e2m1, item \[1, 0\]|e2m1, item \[1, 0\]: it has no NaN; expected a number"):
        warpbit.encode("e2m1", np.array([[1.0, 2.0], [math.nan, 1.0]]))
    with pytest.raises(warpbit.Error, match=r"s8, item \[0\]: it has no infinity; expected a number, or saturation"):
        warpbit.encode("s8", np.array([math.inf]))


def test_shapes_and_strides():
    values = np.arange(24.0).reshape(2, 3, 4)
    codes = warpbit.encode("f16", values)
    assert codes.shape == (2, 3, 4) and codes.dtype == np.uint16
    assert np.array_equal(warpbit.decode("half", codes.T), values.T)
    assert np.array_equal(warpbit.decode("f16", codes[::-1, ::2, 1::2]), values[::-1, ::2, 1::2])
    assert np.array_equal(warpbit.encode("f16", values[:, ::-1].transpose(1, 2, 0)), codes[:, ::-1].transpose(1, 2, 0))
    assert warpbit.decode("f16", np.zeros((3, 0), np.uint16)).shape == (3, 0)
    assert warpbit.decode("f16", np.array(0x3C00, np.uint16)).shape == ()


@pytest.mark.parametrize("call, message", [
    (lambda: warpbit.decode("f16", np.full(3, 0x10000, np.uint32)),
     "decode f16: codes is uint32 of shape (3,) with integers beyond f16; expected from 0 to 65535"),
    (lambda: warpbit.decode("f16", np.zeros(3, np.uint8)), "decode f16: codes is uint8 of shape (3,); expected codes, uint16, or numbers"),
    (lambda: warpbit.decode("e4m3", [256]), "decode e4m3: codes is int64 of shape (1,) with integers beyond e4m3; expected from 0 to 255"),
    (lambda: warpbit.encode("f16", np.zeros(3, np.longdouble)), "encode f16: x is float128 of shape (3,); expected an array of floats"),
    (lambda: warpbit.encode("f16", np.array([2**53 + 1])), "encode f16: x is integers beyond 2^53"),
    (lambda: warpbit.encode("f16", "1.5"), "encode f16: x is object of type str; expected"),
    (lambda: warpbit.encode("f16", [[1.0], [1.0, 2.0]]), "encode f16: x is object of type list"),
    (lambda: warpbit.encode("f16", [True]), "encode f16: x is bool of shape (1,)"),
    (lambda: warpbit.encode("nvfp4", [1.0]), "encode: 'nvfp4', elements with scale factors; expected quantize(x, \"nvfp4\"), which gives both, or "
                                             "encode(\"e2m1\", x) for the elements alone"),
    (lambda: warpbit.encode("mxfp8", [1.0]), "encode: 'mxfp8', elements with scale factors; expected quantize(x, \"mxfp8_e4m3\")"),
    (lambda: warpbit.encode("f16", np.zeros(3), "up"), "rounding: 'up'; expected one of rn, rz, rm, rp, rna"),
    (lambda: warpbit.format("f17"), "format: 'f17'; expected one of f64, f32, tf32, "),
])
def test_refusals(call, message):
    assert str(refusal(call)).startswith(message)


def test_numbers_of_other_types():
    wanted = warpbit.encode("f16", np.array([1.0, 2.5]))
    for values in ([1, 2.5], (1.0, 2.5), np.array([1, 2.5], np.float32), np.array([1, 2.5], np.float16)):
        assert np.array_equal(warpbit.encode("f16", values), wanted)
    assert warpbit.encode("f16", 1) == 0x3C00 and warpbit.encode("s8", [[-3]]).tolist() == [[0xFD]]
    assert warpbit.encode("f16", np.float32(1)).shape == ()


def test_floats_are_their_own_codes():
    halves = np.array([1, -2, 0.5], np.float16)
    assert np.array_equal(warpbit.decode("f16", halves), halves)
    assert np.array_equal(warpbit.decode("f32", halves.astype(np.float32)), halves)
    assert warpbit.decode("e4m3", [0x38, 0x7E]).tolist() == [1, 448] and warpbit.decode("e4m3", 0x38) == 1


def test_one_code_in_words():
    code = warpbit.explain_code("e4m3", 0x7E)
    assert (code.decimal, code.power, code.kind, code.below, code.above) == ("448", "1.75 x 2^8", "normal", 0x7D, None)
    assert [(f.name, f.bits) for f in code.fields] == [("sign", "0"), ("exponent", "1111"), ("fraction", "110")]
    number = warpbit.encode_number("e4m3", "3.3", "rz")
    assert (number.code, number.is_exact) == (0x45, False)
    assert warpbit.landmarks("e2m1")["largest"] == 7
    assert warpbit.format("half").name == "f16"
