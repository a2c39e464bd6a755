#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The inputs of captures, and digests of results: the same bits as include/warpbit/inputs.hpp, by NumPy alone.

    inputs.py FORM SEED PROFILE FIRST CASES <members

prints a line for each member that a line of the input describes: its registers in hexadecimal, by case, lane and
register. As a module: Member, key_of, fill, digests.
"""
import sys

import numpy as np

PROFILES = ["uniform", "ordinary", "narrow", "wide", "underflow", "overflow", "specials", "cancellation", "alignment",
            "mixed", "exhaustive"]
MIXED = 9
ELEMENTS, BITS, METADATA, OFFSET, OFFSETS, PERMUTED, FLAG, DESCRIPTOR = range(8)
LEFT, RIGHT, LEFT_SCALE, RIGHT_SCALE, SUM = range(5)
NONE, IEEE, ALL_ONES = range(3)  # codes that are no numbers
LANE = 1  # where the neighbour is
BLOCK_CASES = 4096
U64 = np.uint64


class Member:
    """The numbers of a member, from its text; those that it does not name are 0."""

    def __init__(self, text):
        self.__dict__.update((name, int(number)) for name, number in (word.split("=") for word in text.split()))

    def __getattr__(self, name):
        return 0


def u64(x):
    return np.asarray(x).astype(U64)


def ones(n):
    return U64((1 << n) - 1)


def key_of(form, seed):
    """The two words of the key: 64-bit FNV-1a."""
    key = 0xCBF29CE484222325
    for byte in form.encode() + seed.to_bytes(8, "little"):
        key = (key ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return key & 0xFFFFFFFF, key >> 32


def philox(key, counter):
    """Philox4x32-10: four words of random bits, in uint64, for counters of four words."""
    low = U64(0xFFFFFFFF)
    x = [u64(word) & low for word in np.broadcast_arrays(*counter)]
    k = list(key)
    for _ in range(10):
        p, q = U64(0xD2511F53) * x[0], U64(0xCD9E8D57) * x[2]
        x = [q >> U64(32) ^ x[1] ^ U64(k[0]), q & low, p >> U64(32) ^ x[3] ^ U64(k[1]), p & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return x


def below(random, n):
    """Of 16 random bits a number below n."""
    return ((u64(random) & U64(0xFFFF)) * u64(n) >> U64(16)).astype(np.int64)


def pick(random, least, most):
    return least + below(random, most - least + 1)


class Setting:
    """What the elements of a member have in common, in each of the cases of one profile."""

    def __init__(self, m, key, profile, cases):
        self.level = self.spread = self.gap = self.zeros = self.specials = self.width = self.negative = 0
        if profile not in ("uniform", "exhaustive") and m.fill == ELEMENTS:
            self.choose(m, key, profile, cases)
        for name, value in vars(self).items():  # beside [cases, lanes, registers]
            setattr(self, name, np.broadcast_to(np.asarray(value), len(cases))[:, None, None])
        self.profile = profile

    def choose(self, m, key, profile, cases):
        r = philox(key, (cases, cases >> U64(32), 0xFFFFFFFF, 0))
        high = [word >> U64(16) for word in r]
        self.width = width_of(m, profile, high[3])
        self.negative = (r[2] >> U64(24 + m.role) & U64(1)) != 0
        self.spread = spread_of(profile, r[2])
        self.zeros = zeros_of(profile, m.role, high[1])
        if profile == "specials":
            self.specials = np.left_shift(4, 2 * (high[2] & U64(3)).astype(np.int64))
        gap = left_gap = right_gap = 0
        if profile == "alignment":
            gap = 8 + below(high[3], 30)
            left_gap = np.minimum(below(r[2], gap + 1), m.left_most - m.left_least)
            right_gap = np.minimum(gap - left_gap, m.right_most - m.right_least)
        left, right, left_scale, right_scale, products = levels(m, profile, r, left_gap, right_gap)
        if m.role in (LEFT_SCALE, RIGHT_SCALE):
            self.level = left_scale if m.role == LEFT_SCALE else right_scale
            self.spread = np.minimum(self.spread, 3)
            self.zeros = 0
        elif m.role == SUM:
            self.level, self.gap = products + beside_products(profile, r[3]), gap
        else:
            self.level, self.gap = (left, left_gap) if m.role == LEFT else (right, right_gap)


def width_of(m, profile, random):
    fixed = {"underflow": 2, "ordinary": 4}
    if profile in fixed:
        return min(fixed[profile], m.bits)
    return 1 + below(random, min(20, m.bits) if m.role == SUM else m.bits)


def spread_of(profile, random):
    if profile == "ordinary":
        return 2
    if profile == "wide":
        return 4 + below(random, 40)
    if profile == "alignment":
        return below(random >> U64(16), 2)
    return below(random, {"specials": 13, "underflow": 7}.get(profile, 4))


def zeros_of(profile, role, random):
    if profile == "underflow" or (profile == "alignment" and role == SUM):
        return 128 if profile == "underflow" else 256
    if profile == "alignment":
        return 256 * (1 + below(random, 3))
    if profile in ("narrow", "wide"):
        return np.where(below(random, 4) == 0, 256, 0)
    return 0


def beside_products(profile, random):
    """The exponent of an accumulator, from that of the products."""
    if profile == "cancellation":
        return -below(random, 40)
    if profile == "alignment":
        return below(random, 3)
    least, most = {"ordinary": (-1, 3), "specials": (-1, 3), "overflow": (-4, 1)}.get(profile, (-4, 4))
    return pick(random, least, most)


def levels(m, profile, r, left_gap, right_gap):
    """Exponents of factors, scale factors and products."""
    left_least, right_least = m.left_least + left_gap, m.right_least + right_gap
    if profile in ("ordinary", "specials"):
        scale = np.clip(0, m.scale_least, m.scale_most)
        return np.clip(0, left_least, m.left_most), np.clip(0, right_least, m.right_most), scale, scale, 0
    least, most = left_least + right_least, m.left_most + m.right_most
    wanted = {"underflow": (m.sum_least - 12, m.sum_normal + 3), "overflow": (m.sum_most - 6, m.sum_most + 1)}.get(
        profile, (np.minimum(m.sum_least - 3 + left_gap + right_gap, m.sum_most), m.sum_most))
    target = pick(r[0], *(np.clip(x, least + 2 * m.scale_least, most + 2 * m.scale_most) for x in wanted))
    product = pick(r[0] >> U64(16), np.maximum(least, target - 2 * m.scale_most),
                   np.minimum(most, target - 2 * m.scale_least))
    left = pick(r[1], np.maximum(left_least, product - m.right_most), np.minimum(m.left_most, product - right_least))
    scales = target - product
    return left, product - left, scales >> 1, scales - (scales >> 1), target


class Share:
    """The random bits of element e of n, out of a register's."""

    def __init__(self, x, n, e):
        if n == 1:
            self.fraction, self.choice = x[0] | x[1] << U64(32), x[2]
        elif n == 2:
            self.fraction, self.choice = x[2 * e], x[2 * e + 1]
        elif n == 4:
            self.fraction, self.choice = x[e] & U64(0xFF), x[e] & U64(0xFFFFFF00)
        else:
            half = x[e // 2] >> U64(16 * (e % 2)) & U64(0xFFFF)
            self.fraction, self.choice = half & U64(0xF), half << U64(16)
        self.negative = self.choice >> U64(31) != 0
        self.exception = (self.choice >> U64(21) & U64(0x3FF)).astype(np.int64)
        self.kind = (self.choice >> U64(19) & U64(3)).astype(np.int64)

    def exponent_below(self, n):
        return ((self.choice << U64(11) & U64(0xFFFFFFFF)) * u64(n) >> U64(32)).astype(np.int64)


def greatest(m):
    everything = (1 << m.exponent_bits + m.fraction_bits) - 1
    if m.no_numbers == IEEE:
        return everything - (1 << m.fraction_bits)
    return everything - (m.no_numbers == ALL_ONES)


def floating_code(m, magnitude, r):
    """Exponent and fraction with a sign, and random bits where they do not count."""
    place = m.exponent_bits + m.fraction_bits
    sign = np.where(r.negative & bool(m.is_signed), ones(1) << U64(place), U64(0))
    low = (r.fraction & U64(0xFFFFFFFF)) >> U64(32 - m.ignored_low)
    high = r.fraction & ~ones(place + m.is_signed)
    return ((high | sign | u64(magnitude)) << U64(m.ignored_low) | low) & ones(m.bits)


def number_code(m, exponent, fraction, r):
    normal = 1 - m.bias if m.subnormals else -m.bias
    least = normal - m.fraction_bits if m.subnormals else normal
    e = np.clip(exponent, least, (greatest(m) >> m.fraction_bits) - m.bias)
    fraction = fraction & ones(m.fraction_bits)
    subnormal = (fraction | ones(1) << U64(m.fraction_bits)) >> u64(np.maximum(normal - e, 0))
    magnitude = np.where(e < normal, subnormal, u64(np.maximum(e + m.bias, 0)) << U64(m.fraction_bits) | fraction)
    return floating_code(m, np.minimum(magnitude, U64(greatest(m))), r)


def special_code(m, r):
    payload = r.fraction & ones(m.fraction_bits)
    nan = U64(greatest(m) + 1) + np.maximum(payload, U64(1)) if m.no_numbers == IEEE else \
        ones(m.exponent_bits + m.fraction_bits)
    first = greatest(m) + (m.no_numbers == IEEE)
    return floating_code(m, np.where(r.kind == 3, U64(0), np.where(r.kind == 2, nan, U64(first))), r)


def uniform_element(m, r):
    place = m.exponent_bits + m.fraction_bits
    top = np.where(r.fraction >> U64(m.ignored_low) & ones(place) > U64(greatest(m)), ones(1), U64(0))
    return r.fraction ^ np.where(r.exception < 4, U64(0), top << U64(place - 1 + m.ignored_low))


def floating_element(m, s, r):
    if s.profile == "uniform":
        return uniform_element(m, r)
    if s.profile == "alignment":
        place = (r.fraction >> U64(1) & U64(0x7F)) * U64(m.fraction_bits) >> U64(7)
        bit = np.where(r.fraction & U64(1 if m.fraction_bits else 0), ones(1) << place, U64(0))
        exponent = s.level - np.where(r.kind // 2, s.gap, 0) - r.kind % 2 * s.spread
        number = number_code(m, exponent, np.where(s.spread != 0, bit, U64(0)), r)
    else:
        number = number_code(m, s.level - r.exponent_below(s.spread + 1), r.fraction, r)
    special = np.where(r.exception >= 1024 - s.specials, special_code(m, r), number)
    return np.where(r.exception < s.zeros, floating_code(m, U64(0), r), special)


def integer_element(m, s, r):
    most = (1 << m.bits - m.is_signed) - 1
    if s.profile in ("uniform", "wide"):
        code = r.fraction
    elif s.profile == "overflow":
        code = r.fraction + U64(0)
        distance = r.fraction & (U64(1) << u64(s.width)) - U64(1) if m.role == SUM else U64(0)
        down = s.negative & bool(m.is_signed or m.role == SUM)
        edge = np.where(down, U64(most + 1 if m.is_signed else 0) + distance, U64(most) - distance)
        code = np.where(r.exception < 128, code, edge)
    elif s.profile == "specials":
        code = np.array([0, 1, most, most + 1 if m.is_signed else most - 1], U64)[r.kind]
    elif s.profile == "alignment":
        power = ones(1) << u64(r.exponent_below(m.bits))
        code = np.where(r.negative & bool(m.is_signed), ~power + U64(1), power)
    else:
        mask = (U64(1) << u64(s.width)) - U64(1)
        low = r.fraction & mask
        code = np.where((low >> u64(s.width - 1) != 0) & bool(m.is_signed), low | ~mask, low)
    return np.where(r.exception < s.zeros, U64(0), code)


def element_code(m, s, r, twin, own):
    """One element. `twin` says where it repeats its neighbour; `own` are its own random bits then."""
    code = (floating_element if m.exponent_bits else integer_element)(m, s, r)
    if m.role == LEFT and m.is_signed:
        code = np.where(twin, code ^ ones(1) << U64(m.bits - 1) if m.exponent_bits else ~code + U64(1), code)
    if m.role == RIGHT:
        code = np.where(twin & (own & U64(7) == 0), code ^ ones(1) << U64(m.ignored_low), code)
    return code & ones(m.bits)


def bits_word(profile, x):
    every = np.full_like(x[0], 0xFFFFFFFF)
    return {"narrow": lambda: x[0] & x[1], "wide": lambda: x[0] | x[1],
            "underflow": lambda: x[0] & x[1] & x[2] & x[3], "overflow": lambda: x[0] | x[1] | x[2] | x[3],
            "specials": lambda: np.where(x[1] & U64(1), x[0], np.where(x[1] & U64(2), U64(0), every)),
            "alignment": lambda: ones(1) << (x[0] & U64(0x1F))}.get(profile, lambda: x[0])()


def counter(m, cases, lane, reg):
    return cases, cases >> U64(32), m.operand, lane << U64(16) | reg


def elements(m, s, key, cases, lane, reg):
    if s.profile == "exhaustive":
        return cases * (U64(1) + U64(0x9E3779B0) * (U64(16 * m.operand) + reg)) + 0 * lane
    n = m.register_bits // m.slot_bits
    pairs = s.profile == "cancellation" and m.role <= RIGHT
    twin = np.zeros(np.broadcast_shapes(cases.shape, lane.shape, reg.shape), bool)
    if pairs and n == 1:
        along = lane if m.neighbour == LANE else reg
        twin = twin | (along & U64(1) != 0)
        lane, reg = (lane & ~U64(1), reg) if m.neighbour == LANE else (lane, reg & ~U64(1))
    x = philox(key, counter(m, cases, lane, reg))
    if m.slot_bits == 1:
        return bits_word(s.profile, x)
    out = U64(0)
    for e in range(n):
        second = pairs and n > 1 and e % 2 == 1
        own = x[3] if n == 1 else Share(x, n, e).choice >> U64(21)
        code = element_code(m, s, Share(x, n, e - second), twin | second, own)
        out = out | code << U64(m.slot_bits * e + m.low_bit)
    return out


def metadata(m, profile, x):
    out = U64(0)
    for i in range(8):
        bits = x[i // 2] >> U64(16 * (i % 2))
        which = below(bits, 2) * (m.count - 1) if profile == "cancellation" else below(bits, m.count)
        out = out | (U64(m.choices) >> u64(4 * which) & U64(0xF)) << U64(4 * i)
    return out


def descriptor(m, x):
    """One for each of the swizzles; see inputs.hpp."""
    out = np.zeros_like(x[0])
    for swizzle in range(4):
        span = 256 >> swizzle if swizzle else 16
        atom, groups, spans = 8 * span, m.lines // 8, -(-m.chunks * 16 // span)
        room = m.bytes - 1024
        step = atom * (1 + below(x[0], min(room // (atom * groups * spans), 3)))
        any_step, lines_first = 16 * below(x[2], 64), x[1] & U64(1) != 0
        lines = any_step if groups == 1 else np.where(lines_first, step, step * spans)
        along = any_step if spans == 1 else np.where(lines_first, step * groups, step)
        place = m.base + atom * below(x[1] >> U64(16), (room - step * groups * spans) // atom + 1)
        chunks = span // 16
        within = m.chunks * below(x[3], chunks // m.chunks) * 16 if m.chunks <= chunks else 0
        rows = np.where((x[3] >> U64(30) == 0) & bool(swizzle), below(x[3] >> U64(14), 8), 0)
        base_offset = np.where(rows != 0, (place + 128 * rows) // 128 % 8, 0)
        leading, stride = (lines, along) if m.mn and not swizzle else (along, lines)
        fields = [(place + 128 * rows + within) // 16, 0], [leading // 16, 16], [stride // 16, 32], [base_offset, 49]
        word = U64(swizzle << 62)
        for value, low in fields:
            word = word | u64(value) << U64(low)
        out = np.where(x[0] >> U64(30) == swizzle, word, out)
    return out


def others(m, profile, key, cases, lane, reg):
    """Registers of a member that holds no elements."""
    same = m.fill in (OFFSET, PERMUTED)
    x = philox(key, counter(m, cases, 0 * lane if same else lane, 0 * reg if same else reg))
    if m.fill == METADATA:
        return metadata(m, profile, x)
    if m.fill in (OFFSET, OFFSETS):
        return u64(m.least + m.step * below(x[0], m.count)) + 0 * lane
    if m.fill == PERMUTED:
        return U64(m.least) + U64(m.step) * ((lane ^ x[0]) * (x[1] | U64(1)) & U64(m.count - 1))
    if m.fill == FLAG:
        return u64(below(x[0], 8) != 0)
    return descriptor(m, x) if m.fill == DESCRIPTOR else x[0] | x[1] << U64(32)


def fill(m, key, profile, first, cases):
    """The registers m.first ... of a member, uint64 [cases, lanes, registers], from case `first` on."""
    index = U64(first) + np.arange(cases, dtype=U64)
    out = np.empty((cases, m.lanes, m.registers), U64)
    lane = np.arange(m.lanes, dtype=U64)[None, :, None]
    reg = U64(m.first) + np.arange(m.registers, dtype=U64)[None, None, :]
    for number, name in enumerate(PROFILES[:MIXED]) if profile == "mixed" else [(None, profile)]:
        chosen = slice(None) if number is None else index % U64(MIXED) == number
        s = Setting(m, key, name, index[chosen])
        each = index[chosen][:, None, None]
        out[chosen] = (elements(m, s, key, each, lane, reg) if m.fill == ELEMENTS else
                       others(m, name, key, each, lane, reg)) & ones(m.register_bits)
    return out


def digests(results, first=0):
    """Digests of blocks of BLOCK_CASES cases: results are unsigned, [cases, ...], from case `first` on, a multiple of
    that number."""
    word = np.ascontiguousarray(results).reshape(len(results), -1)
    position = U64(first * word.shape[1]) + np.arange(word.size, dtype=U64).reshape(word.shape)
    x = u64(word) + U64(0x9E3779B97F4A7C15) * (position + U64(1))
    x = (x ^ x >> U64(30)) * U64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> U64(27)) * U64(0x94D049BB133111EB)
    x ^= x >> U64(31)
    return np.array([x[i:i + BLOCK_CASES].sum(dtype=U64) for i in range(0, len(x), BLOCK_CASES)], U64)


def main():
    if len(sys.argv) != 6 or sys.argv[3] not in PROFILES:
        sys.exit("usage: inputs.py FORM SEED PROFILE FIRST CASES <members")
    form, seed, profile, first, cases = sys.argv[1:]
    for line in sys.stdin:
        words = fill(Member(line), key_of(form, int(seed)), profile, int(first), int(cases))
        print(*(format(int(word), "x") for word in words.ravel()))


if __name__ == "__main__":
    with np.errstate(over="ignore"):
        main()
