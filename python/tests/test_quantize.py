# SPDX-License-Identifier: Apache-2.0
"""Block formats of arrays, against fractions; and scale factors in memory, against reshapes as PyTorch's to_blocked has them."""

import time
from fractions import Fraction

import numpy as np
import pytest

import warpbit
from conftest import refusal


def magnitudes(exponent_bits, fraction_bits, largest):
    """The numbers of the codes 0, 1, 2, ... without a sign."""
    bias, out = 2 ** (exponent_bits - 1) - 1, []
    for code in range(1 << (exponent_bits + fraction_bits)):
        field, fraction = code >> fraction_bits, code & (1 << fraction_bits) - 1
        significand = Fraction(fraction, 1 << fraction_bits) + (field > 0)
        out.append(significand * Fraction(2) ** (max(field, 1) - bias))
    return [x for x in out if x <= largest]


E2M1, E4M3, E5M2 = magnitudes(2, 1, 6), magnitudes(4, 3, 448), magnitudes(5, 2, 57344)
FORMATS = {"nvfp4": (E2M1, 4, 16, 1), "mxfp4": (E2M1, 4, 32, 1), "mxfp8_e4m3": (E4M3, 8, 32, 3), "mxfp8_e5m2": (E5M2, 8, 32, 2),
           "mxfp6_e3m2": (magnitudes(3, 2, 28), 6, 32, 2), "mxfp6_e2m3": (magnitudes(2, 3, 7.5), 6, 32, 3)}


def nearest(numbers, x):
    """The code of a magnitude, to nearest even; the largest beyond it."""
    if x >= numbers[-1]:
        return len(numbers) - 1
    below = max(i for i, y in enumerate(numbers) if y <= x)
    twice = 2 * x - numbers[below] - numbers[below + 1]
    return below + (twice > 0 or (twice == 0 and below % 2 == 1))


def floor_log2(x):
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1


def power(rule, amax, numbers, fraction_bits):
    if amax == 0:
        return -127
    most, n = floor_log2(numbers[-1]), floor_log2(amax)
    if rule == "ceil":
        n += amax > Fraction(2) ** n
    if rule == "even":  # rounded to fraction bits below the leading one
        unit = Fraction(2) ** (n - fraction_bits)
        whole = amax / unit
        up = whole - int(whole) > Fraction(1, 2) or (whole - int(whole) == Fraction(1, 2) and int(whole) % 2 == 1)
        n = floor_log2((int(whole) + up) * unit)
    if rule == "rceil":
        n = next(e for e in range(n - most - 1, n + 9) if amax <= numbers[-1] * Fraction(2) ** e) + most
    return min(max(n - most, -127), 127)


def expected(format, row, tensor_scale, rule):
    """Codes and scale factors of a row."""
    numbers, bits, block, fraction_bits = FORMATS[format]
    codes, scales = [], []
    for first in range(0, len(row), block):
        x = [Fraction(float(v)) for v in row[first:first + block]]
        amax = max(map(abs, x))
        if format == "nvfp4":
            scales.append(nearest(E4M3, amax / 6 / tensor_scale))
            scale = E4M3[scales[-1]] * tensor_scale
        else:
            scales.append(power(rule, amax, numbers, fraction_bits) + 127)
            scale = Fraction(2) ** (scales[-1] - 127)
        codes += [(np.signbit(v) << (bits - 1)) | (nearest(numbers, abs(y) / scale) if scale else 0)
                  for v, y in zip(row[first:first + block], x)]
    return codes, scales


def inputs(seed, columns):
    random = np.random.default_rng(seed)
    x = (random.standard_normal((3, columns)) * 2.0 ** random.integers(-12, 12, (3, 1))).astype(np.float32)
    x[0, ::5] = random.integers(-12, 13, x[0, ::5].shape) / 4  # ties
    x[1, 3], x[2, 32:48] = -0.0, 0
    return x


CASES = [(f, "") for f in FORMATS] + [(f, r) for f in ("mxfp4", "mxfp8_e4m3", "mxfp6_e3m2") for r in ("floor", "ceil", "rceil", "even")]


@pytest.mark.parametrize("format, rule", CASES)
def test_every_code(format, rule):
    for seed, scale in enumerate((1.0, None, 0.37) if format == "nvfp4" else (None,)):
        x = inputs(seed, 70)
        codes, scales, tensor_scale = warpbit.quantize(x, format, tensor_scale=scale, rule=rule)
        if scale is None:
            amax = Fraction(float(np.abs(x).max()))
            assert tensor_scale == (np.float32(float(amax / 2688)) if format == "nvfp4" else 1)
        assert tensor_scale.dtype == np.float32 and codes.shape == x.shape and codes.dtype == scales.dtype == np.uint8
        for row in range(3):
            wanted = expected(format, x[row], Fraction(float(tensor_scale)), rule or "floor")
            assert (codes[row].tolist(), scales[row].tolist()) == wanted
        # And back, exactly.
        numbers, bits, block, _ = FORMATS[format]
        back = warpbit.dequantize(codes, format, scales, tensor_scale)
        for place in ((0, 0), (1, 3), (2, 40), (0, 69)):
            code, by = int(codes[place]), int(scales[place[0], place[1] // block])
            value = numbers[code & (1 << bits - 1) - 1] * (E4M3[by] if format == "nvfp4" else Fraction(2) ** (by - 127))
            value *= Fraction(float(tensor_scale)) * (-1 if code >> bits - 1 else 1)
            assert Fraction(float(back[place])) == value


def test_by_hand():
    codes, scales, tensor_scale = warpbit.quantize([6, 3, -1, 0.25, 0.75, 5, 2.5], "nvfp4", tensor_scale=1)
    assert codes.tolist() == [7, 5, 0xA, 0, 2, 6, 4] and scales.tolist() == [0x38] and tensor_scale == 1  # 5, 2.5: to even
    # 1000 is 7.8 x 2^7: e4m3 holds 448, so floor saturates it, and rceil does not.
    for rule, wanted in {"floor": ([0x7E], [127]), "rceil": ([0x78 + 0x06 - 0x01], [129])}.items():
        x = [500.0] if rule == "floor" else [1000.0]
        codes, scales, _ = warpbit.quantize(x, "mxfp8", rule=rule)
        assert (codes.tolist(), scales.tolist()) == (([0x7E], [127]) if rule == "floor" else ([0x78], [129]))  # 250 is 256


def test_axes_and_containers():
    x = inputs(5, 64).astype(np.float64)
    codes, scales, _ = warpbit.quantize(x, "mxfp4")
    down = warpbit.quantize(x.T, "mxfp4", axis=0)
    assert np.array_equal(down[0], codes.T) and np.array_equal(down[1], scales.T)
    assert np.array_equal(warpbit.dequantize(down[0], "mxfp4", down[1], axis=0), warpbit.dequantize(codes, "mxfp4", scales).T)
    deep = warpbit.quantize(np.stack([x, x]), "mxfp4", axis=-1)
    assert np.array_equal(deep[0][1], codes) and deep[1].shape == (2, 3, 2)
    for other in (x.tolist(), x.astype(np.float32), np.asfortranarray(x)):
        assert np.array_equal(warpbit.quantize(other, "mxfp4")[0], codes)
    assert warpbit.quantize(np.zeros((2, 0)), "nvfp4")[1].shape == (2, 0)


def test_a_product_takes_them():
    x = np.float32(np.random.default_rng(1).integers(-6, 7, (16, 64)))
    mma = warpbit.Instruction(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "sm_120a")
    (a, a_scale, _), (b, b_scale, _) = warpbit.quantize(x, "nvfp4", tensor_scale=1), warpbit.quantize(x.T, "nvfp4", axis=0, tensor_scale=1)
    exact = warpbit.dequantize(a, "nvfp4", a_scale) @ warpbit.dequantize(b, "nvfp4", b_scale, axis=0)
    assert np.array_equal(warpbit.gemm(mma, a, b, a_scale=a_scale, b_scale=b_scale).d, exact)


@pytest.mark.parametrize("call, message", [
    (lambda: warpbit.quantize("nvfp4", [1.0]), "'nvfp4' as the array; expected quantize(x, \"nvfp4\"); explain_blocks"),
    (lambda: warpbit.quantize([1.0], [1.0]), "object of type list as the format; expected a name"),
    (lambda: warpbit.quantize([1.0], "nvfp5"), "block format: 'nvfp5'; expected one of nvfp4, mxfp4"),
    (lambda: warpbit.quantize([1.0, np.inf], "mxfp4"), "number 1: inf; expected a finite number"),
    (lambda: warpbit.quantize([1.0], "mxfp4", tensor_scale=2), "tensor_scale 2; expected none: mxfp4 has no second scale factor"),
    (lambda: warpbit.quantize([1.0], "nvfp4", tensor_scale=0), "tensor_scale 0; expected a positive number"),
    (lambda: warpbit.quantize([1.0], "mxfp4", rule="quotient"), "rule 'quotient'; expected one for mxfp4: floor, ceil, rceil, even"),
    (lambda: warpbit.quantize([[1.0]], "mxfp4", axis=2), "axis 2 of float64 of shape (1, 1); expected an axis of the array"),
    (lambda: warpbit.dequantize(np.uint8([[1]]), "mxfp4", np.uint8([[1, 2]])), "scales is uint8 of shape (1, 2); expected one for each 32"),
    (lambda: warpbit.to_scale_layout(np.uint8([1])), "scales is uint8 of shape (1,); expected two dimensions"),
    (lambda: warpbit.from_scale_layout(np.zeros(100, np.uint8), 3, 3), "memory is uint8 of shape (100,); expected 512 bytes"),
])
def test_refusals(call, message):
    assert message in str(refusal(call))


@pytest.mark.parametrize("shape", [(128, 4), (1, 1), (200, 9), (384, 16)])
def test_scale_factors_in_memory(shape):
    scales = np.random.default_rng(3).integers(1, 255, shape).astype(np.uint8)
    down, across = -(-shape[0] // 128), -(-shape[1] // 4)
    padded = np.zeros((down * 128, across * 4), np.uint8)
    padded[:shape[0], :shape[1]] = scales
    # (tiles down, 4 groups, 32 rows, tiles across, 4 blocks): in a tile rows of 32 are innermost but one.
    wanted = padded.reshape(down, 4, 32, across, 4).transpose(0, 3, 2, 1, 4).ravel()
    memory = warpbit.to_scale_layout(scales)
    assert np.array_equal(memory, wanted) and np.array_equal(warpbit.from_scale_layout(memory, *shape), scales)
    assert np.array_equal(warpbit.to_scale_layout(scales, "linear"), scales.ravel())


def test_it_is_as_fast_as_numpy():
    x = np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32)
    began = time.monotonic()
    warpbit.quantize(x, "nvfp4")
    assert time.monotonic() - began < 5  # 0.1 s where nothing else runs; exact texts take minutes
