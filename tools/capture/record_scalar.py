#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU answers to scalar instructions: each form of tests/isa/scalar.tsv that computes on registers, as digests.

    record_scalar.py OUT.zip [--target sm_90a] [--only REGEX] [--words FOLDER] [--no-exhaustive] [--dry-run]

Every form is launched twice on the same inputs; nothing is written if the two differ. It needs NumPy, CuPy, ptxas and a GPU;
--dry-run only assembles; --words also writes the sources and results of each form, for those whose digests differ. OUT is a
recording (src/recording/FORMAT.md, scalar_digests); src/verify/cases/scalar.hpp makes the same inputs, in the same order:

1.  Sources are a form's operands but for the result and constants, whole registers whatever part of them a statement takes;
    then the carry, of addc, subc and madc. A predicate and a carry are 0 or 1; the others are the numbers that are counted
    below.
2.  One number of 8 or 16 bits: all its values, in order, and nothing else.
3.  Otherwise first all combinations of the boundary values of the types (`boundary`), the last source fastest: the long list
    for one or two numbers, the short list for three, the least for four. A packed type has one value for each value of its
    half: half i below, half (7 i + 3) modulo their count above.
4.  Then drawn cases, 4096, and 16384 of a form with one number. draw(k) = finaliser of SplitMix64 of seed + G (k + 1), where
    seed is FNV-1a (64 bits) of the form, a blank and its operands, and G = 0x9E3779B97F4A7C15. Source j of drawn case i is
    x = draw(16 i + 2 j), and y = draw(16 i + 2 j + 1) shapes it:
        integers of 32 and 64 bits   if y is odd, x is cut to its width and shifted right by (y / 256) modulo the width
        floating, a half h of it     z = y >> 32 h; if z is odd, the exponent becomes bias - 8 + (z / 256) modulo 16
    and the lowest bits of it count.
5.  The functions of `EXHAUSTIVE` have more records: all 2^32 inputs, in order, 2^24 each.

Results are words: the result; then the second predicate, or the carry (of a subtraction the borrow), 0 or 1. `elements` counts
them. A digest is the sum of warpbit::inputs::mix(position, word), modulo 2^64, over a block of 4096 cases, of all 2^32
over 2^24; positions count the words of a form.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import recording

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
OPCODES = set('''abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos cvt div dp2a dp4a ex2 fma fns lg2 lop3 mad mad24
madc max min mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr sin slct sqrt sub subc szext tanh testp
vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr
vsub vsub2 vsub4 xor'''.split())
EXHAUSTIVE = set('''ex2.approx.f32 ex2.approx.ftz.f32 lg2.approx.f32 lg2.approx.ftz.f32 rcp.approx.f32 rcp.approx.ftz.f32
rsqrt.approx.f32 rsqrt.approx.ftz.f32 sqrt.approx.f32 sqrt.approx.ftz.f32 sin.approx.f32 sin.approx.ftz.f32 cos.approx.f32
cos.approx.ftz.f32 tanh.approx.f32 ex2.approx.f16x2 ex2.approx.ftz.bf16x2 tanh.approx.f16x2 tanh.approx.bf16x2'''.split())
WIDE = {'u16': 'u32', 's16': 's32', 'u32': 'u64', 's32': 's64'}
FLOATING = {'f16': (5, 10), 'bf16': (8, 7), 'f32': (8, 23), 'f64': (11, 52)}  # bits of exponent, of fraction
HALF = {'f16x2': 'f16', 'bf16x2': 'bf16', 'u16x2': 'u16', 's16x2': 's16'}
TYPE = re.compile(r'(?:[usbf]|bf)(\d+)(x2)?|pred')
BLOCK, LARGE_BLOCK = 4096, 1 << 24
FORMS_OF_MODULE = 100
GAMMA = 0x9E3779B97F4A7C15


def bits(type_):
    if type_ in ('pred', 'carry'):
        return 1
    number, packed = TYPE.fullmatch(type_).groups()
    return int(number) * (2 if packed else 1)


# ---- Forms

def names(pattern):
    """Of 'add{,.sat}.s32': 'add.s32' and 'add.sat.s32'."""
    pieces = re.split(r'\{([^}]*)\}', pattern)
    return [''.join(one) for one in itertools.product(*[p.split(',') if i % 2 else [p] for i, p in enumerate(pieces)])]


class Form:
    """A statement: `sources` and `results` are types; `arguments` what the statement names."""

    def __init__(self, name, operands):
        self.name, self.operands = name, operands
        words = name.split('.')
        self.opcode = words[0]
        self.carry_out = 'cc' in words
        self.carry_in = self.opcode in ('addc', 'subc', 'madc')
        types = [word for word in words[1:] if TYPE.fullmatch(word)]
        first, *rest = operands.split()
        self.sources, self.results, self.arguments = [], [], []
        roles, type_ = first.split(':')
        roles, dot, part = roles.partition('.')  # d.b0:u32, of video instructions
        self.results = [resolved(type_, types)] + ['pred'] * ('|' in roles) + ['carry'] * self.carry_out
        self.arguments = ['|'.join(f'%d{i}' for i in range(1 + ('|' in roles))) + dot + part]
        for one in rest:
            if one.startswith('#'):
                self.arguments.append(one[1:])
                continue
            role, dot, part = one.partition(':')[0].partition('.')  # -a.b0:u32
            self.arguments.append(('!' if one == '!q' else '-' if role[0] == '-' else '') + f'%s{len(self.sources)}' + dot + part)
            self.sources.append('pred' if one == '!q' else resolved(one.split(':')[1], types))
        if self.carry_in:
            self.sources.append('carry')

    def numbers(self):
        return [one for one in self.sources if one not in ('pred', 'carry')]


def resolved(letter, types):
    if letter in ('T', 'U', 'V', 'W'):
        type_ = types[-1] if letter in 'TW' else types[-2]
        return WIDE[type_] if letter == 'W' else type_
    return letter


def forms(target, only):
    lines = [line.rstrip('\n').split('\t') for line in open(os.path.join(ROOT, 'tests', 'isa', 'scalar.tsv'))]
    column = lines[0].index(target)
    out = {}
    for row in lines[1:]:
        if row[column] != '1' or re.split(r'[.{]', row[0])[0] not in OPCODES:
            continue
        for name in names(row[0]):
            # Predicates alone are no numbers: the grid computes them.
            if '.pred' not in name and re.search(only, name):
                out.setdefault((name, row[1]), Form(name, row[1]))
    return list(out.values())


# ---- PTX

def register(type_):
    """The kind of register that has the bits of a type."""
    return '.pred' if type_ == 'pred' else f'.b{max(bits(type_), 8) if type_ != "carry" else 32}'


def stored(type_):
    """Bytes of an element in memory."""
    return 4 if type_ in ('pred', 'carry') else bits(type_) // 8


def entry(number, form):
    """in0... and out0... are arrays, one element of each for a thread."""
    out = [f'.visible .entry f{number}(' + ', '.join(f'.param .u64 {p}{i}' for p, n in (('in', 5), ('out', 2)) for i in range(n))
           + ', .param .u32 count)', '{',
           '.reg .pred %outside; .reg .u32 %at, %block, %threads, %count, %flag; .reg .u64 %p;',
           'mov.u32 %at, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %threads, %ntid.x;',
           'mad.lo.u32 %at, %block, %threads, %at; ld.param.u32 %count, [count];',
           'setp.ge.u32 %outside, %at, %count; @%outside ret;']
    for i, type_ in enumerate(form.sources):
        out += [f'.reg {register(type_)} %s{i};', f'ld.param.u64 %p, [in{i}]; mad.wide.u32 %p, %at, {stored(type_)}, %p;']
        if type_ == 'pred':
            out.append(f'ld.global.u32 %flag, [%p]; setp.ne.u32 %s{i}, %flag, 0;')
        else:
            out.append(f'ld.global.b{8 * stored(type_)} %s{i}, [%p];')
    out += [f'.reg {register(type_)} %d{i};' for i, type_ in enumerate(form.results)]
    if form.carry_in:
        carry = f'%s{len(form.sources) - 1}'
        out.append(f'sub.cc.u32 %flag, 0, {carry};' if form.opcode == 'subc' else f'add.cc.u32 %flag, {carry}, -1;')
    out.append(f'{form.name} {", ".join(form.arguments)};')
    if form.carry_out:
        out.append(f'{"subc" if form.opcode in ("sub", "subc") else "addc"}.u32 %d1, 0, 0; and.b32 %d1, %d1, 1;')
    for i, type_ in enumerate(form.results):
        out.append(f'ld.param.u64 %p, [out{i}]; mad.wide.u32 %p, %at, {stored(type_)}, %p;')
        if type_ == 'pred':
            out.append(f'selp.u32 %flag, 1, 0, %d{i}; st.global.u32 [%p], %flag;')
        else:
            out.append(f'st.global.b{8 * stored(type_)} [%p], %d{i};')
    return '\n'.join(out + ['ret;', '}'])


def assembled(target, folder, number, some):
    """A module of these forms, as a file for the driver."""
    path = os.path.join(folder, f'{number}')
    with open(path + '.ptx', 'w') as file:
        file.write(f'.version 9.0\n.target {target}\n.address_size 64\n')
        file.write('\n'.join(entry(i, form) for i, form in enumerate(some)) + '\n')
    subprocess.run(['ptxas', f'-arch={target}', path + '.ptx', '-o', path + '.cubin'], check=True)
    return path + '.cubin'


# ---- Boundary values

def distinct(values, width):
    return list(dict.fromkeys(value & ((1 << width) - 1) for value in values))


def floating_boundary(exponent, fraction, length):
    bias, unit = (1 << (exponent - 1)) - 1, 1 << fraction
    ones, half, top = unit - 1, unit >> 1, ((1 << exponent) - 1) << fraction
    one, two = bias << fraction, (bias + 1) << fraction
    positive = [0, 1, ones, unit, one - 1, one, one + 1, top - 1, top, top + 1, top + half + 5]
    if exponent + fraction == 15:
        positive.append(0x7FF7)  # what a tensor map fills places with that do not exist
    if length == 'long':
        positive += [2, ones >> 1, unit + 1, 2 * unit + ones, one + half, two, two + (half >> 1), two + half, one - unit,
                     one - unit + 1, one + fraction * unit, one + fraction * unit + 1, two + fraction * unit + ones,
                     one - fraction * unit, (bias // 2) * unit + 3, (bias + bias // 2) * unit + 7, top - unit, top + half,
                     top + ones]
        for power in (7, 8, 15, 16, 31, 32, 63, 64):
            if power < bias:
                positive += [one + power * unit - 1, one + power * unit]
    sign = 1 << (exponent + fraction)
    return distinct(positive + [sign + value for value in positive], exponent + fraction + 1)


def integer_boundary(width, length):
    most, sign = (1 << width) - 1, 1 << (width - 1)
    least = [0, 1, 8, 31, 32, 33, 64, 255, most, 0x0123456789ABCDEF]
    short = [2, 7, 63, 100, most - 1, sign, sign - 1, 1 << (width // 2), (1 << (width // 2)) - 1, 0x5555555555555555,
             0xAAAAAAAAAAAAAAAA]
    long_ = [3, 5, 15, 16, 65, 127, 128, 256, 1000, most - 2, most - 31, most - 32, sign + 1, 1 << (width // 2 - 1),
             (1 << (width // 2 - 1)) - 1, most - (1 << (width // 2)), 0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000,
             0xFFFFFFFF, 0x8080808080808080, 0x7F7F7F7F7F7F7F7F]
    return distinct(least + (short if length != 'least' else []) + (long_ if length == 'long' else []), width)


def boundary(type_, length):
    if type_ in ('pred', 'carry'):
        return [0, 1]
    if type_ in HALF:
        half = boundary(HALF[type_], length)
        return [low | half[(7 * i + 3) % len(half)] << 16 for i, low in enumerate(half)]
    if type_ in FLOATING:
        return floating_boundary(*FLOATING[type_], length)
    return integer_boundary(bits(type_), length)


# ---- Inputs

def mixed(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def seed_of(text):
    out = 0xCBF29CE484222325
    for byte in text.encode():
        out = (out ^ byte) * 0x100000001B3 % (1 << 64)
    return out


def draw(seed, k):
    return mixed(np.uint64(seed) + np.uint64(GAMMA) * (k + np.uint64(1)))


def with_exponent(type_, x, y):
    """One number of a floating type, near 1 if y is odd."""
    exponent, fraction = FLOATING[type_]
    field = np.uint64(((1 << exponent) - 1) << fraction)
    near = (y >> np.uint64(8)) % np.uint64(16) + np.uint64((1 << (exponent - 1)) - 1 - 8)
    return np.where(y & np.uint64(1), (x & ~field) | near << np.uint64(fraction), x)


def drawn(type_, x, y):
    width = bits(type_)
    mask = np.uint64((1 << width) - 1)
    half = HALF.get(type_)
    if half in FLOATING:
        low = with_exponent(half, x, y) & np.uint64(0xFFFF)
        high = with_exponent(half, x >> np.uint64(16), y >> np.uint64(32)) & np.uint64(0xFFFF)
        return low | high << np.uint64(16)
    if type_ in FLOATING:
        return with_exponent(type_, x, y) & mask
    if half is None and width >= 32:
        return np.where(y & np.uint64(1), (x & mask) >> ((y >> np.uint64(8)) % np.uint64(width)), x & mask)
    return x & mask


def inputs(form):
    """An array of numbers, of 64 bits each, for every source."""
    numbers = form.numbers()
    if len(numbers) == 1 and len(form.sources) == 1 and bits(numbers[0]) <= 16:
        return [np.arange(1 << bits(numbers[0]), dtype=np.uint64)]
    length = {1: 'long', 2: 'long', 3: 'short', 4: 'least'}[len(numbers)]
    lists = [np.array(boundary(type_, length), dtype=np.uint64) for type_ in form.sources]
    crossed = [grid.ravel() for grid in np.meshgrid(*lists, indexing='ij')]
    case = np.arange(16384 if len(numbers) == 1 else 4096, dtype=np.uint64) * np.uint64(16)
    seed = seed_of(form.name + ' ' + form.operands)
    return [np.concatenate([crossed[j], drawn(type_, draw(seed, case + np.uint64(2 * j)), draw(seed, case + np.uint64(2 * j + 1)))])
            for j, type_ in enumerate(form.sources)]


# ---- Recording

class Device:
    def __init__(self):
        import cupy
        self.cupy = cupy
        self.mix = cupy.ElementwiseKernel(
            'uint64 word, uint64 position', 'uint64 y',
            'unsigned long long x = word + 0x9E3779B97F4A7C15ull * (position + 1);'
            'x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull; x = (x ^ (x >> 27)) * 0x94D049BB133111EBull; y = x ^ (x >> 31)', 'mix')

    def launch(self, kernel, form, arrays):
        """The results of one launch, in arrays of the device. Those of another launch must equal them."""
        count = int(arrays[0].size)
        runs = []
        for filler in (0, 0xA5):
            results = [self.cupy.full(count, filler, dtype=f'u{stored(type_)}') for type_ in form.results]
            pointers = arrays + [np.uint64(0)] * (5 - len(arrays)) + results + [np.uint64(0)] * (2 - len(results))
            kernel(((count + 255) // 256,), (256,), (*pointers, np.uint32(count)))
            runs.append(results)
        for first, second in zip(*runs):
            if not bool((first == second).all()):
                sys.exit(f'{form.name}: two launches differ')
        return runs[0]

    def digests(self, kernel, form, folder):
        """The number of words, and the digest of each block."""
        arrays = [self.cupy.asarray(x.astype(f'u{stored(t)}')) for x, t in zip(inputs(form), form.sources)]
        results = self.launch(kernel, form, arrays)
        if folder:
            name = f'{form.name} {len(form.sources)} {len(form.results)}.npz'.replace(' ', '_')
            np.savez_compressed(os.path.join(folder, name), *[one.get() for one in arrays + results])
        words = self.cupy.stack([one.astype('u8') for one in results], axis=1).ravel()
        mixed_ = self.mix(words, self.cupy.arange(words.size, dtype='u8')).get()
        block = BLOCK * len(results)
        return words.size, [int(mixed_[i:i + block].sum(dtype=np.uint64)) for i in range(0, words.size, block)]

    def exhaustive(self, kernel, form):
        """Of all inputs of 32 bits the first of each block, and the block's digest."""
        for start in range(0, 1 << 32, LARGE_BLOCK):
            source = self.cupy.arange(start, start + LARGE_BLOCK, dtype='u8')
            result = self.launch(kernel, form, [source.astype('u4')])[0]
            yield start, int(self.mix(result.astype('u8'), source).sum(dtype='u8'))


def record(form, elements, digests, first=None):
    """A line of the recording."""
    name = f'{form.name} {form.operands}'
    out = {'kind': 'scalar_digests', 'name': name, 'form': form.name, 'operands': form.operands, 'elements': elements,
           'digests': [f'{digest:016x}' for digest in digests]}
    return out if first is None else {**out, 'name': f'{name} from {first:#010x}', 'first': first}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out')
    parser.add_argument('--target', default='sm_90a')
    parser.add_argument('--only', default='')
    parser.add_argument('--words')
    parser.add_argument('--no-exhaustive', action='store_true')
    parser.add_argument('--dry-run', action='store_true')
    options = parser.parse_args()
    wanted = forms(options.target, options.only)
    groups = [wanted[i:i + FORMS_OF_MODULE] for i in range(0, len(wanted), FORMS_OF_MODULE)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = list(pool.map(lambda one: assembled(options.target, folder, *one), enumerate(groups)))
        print(f'{len(wanted)} forms in {len(paths)} modules', flush=True)
        if options.dry_run:
            return
        device, records = Device(), []
        for path, group in zip(paths, groups):
            module = device.cupy.RawModule(path=path)
            for i, form in enumerate(group):
                kernel = module.get_function(f'f{i}')
                records.append(record(form, *device.digests(kernel, form, options.words)))
                if form.name in EXHAUSTIVE and not options.no_exhaustive:
                    records += [record(form, LARGE_BLOCK, [digest], first) for first, digest in device.exhaustive(kernel, form)]
        recording.Recording(recording.header(options.target, 'tools/capture/record_scalar.py'), records).write(options.out)
        elements = sum(one['elements'] for one in records)
        print(f'{len(records)} records, {elements} elements, {os.path.getsize(options.out)} bytes')


if __name__ == '__main__':
    main()
