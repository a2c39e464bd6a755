#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU answers to surface instructions, as digests.

    record_surfaces.py OUT.zip [--only REGEX] [--words OUT.npz] [--workers N] [--dry-run]

A record is an instruction, a surface, and places there. It needs NumPy, ptxas and a GPU; every one is launched twice, and is
left out if the two differ, or if the GPU refuses the launch: what is left out is printed. --words also writes the results of some;
--dry-run only assembles.
OUT is a recording (src/recording/FORMAT.md, surface_digests); src/verify/cases/surface.hpp makes the same inputs:

    surface   SHAPE FORMAT CHANNELS EXTENTS [LAYERS], as in "a2d u8 2 10x6 3"; extents begin with the width
    draw(k)   finaliser of SplitMix64 of seed + G (k + 1); seed is FNV-1a (64 bits) of the form, a blank and the surface, and
              G = 0x9E3779B97F4A7C15
    elements  as the texels of record_textures.py
    places    4096 of suld, 1024 of others. Coordinate j of place i is x = draw(2^41 + 8 i + 2 j), shaped by
              y = draw(2^41 + 8 i + 2 j + 1). n is the number of layers, the extent, or, of the bytes of a row, how many accesses
              begin there: (bytes + S - 1) / S of S bytes each. If y modulo 32 is 0 it is the lowest 32 bits of x, of bytes
              with the lowest bits of S - 1 cleared; else x modulo (n + 6), less 3, of bytes times S. Of .trap it is x modulo
              n, n being bytes / S for bytes
    values    element j of place i is x = draw(2^42 + 8 i + 2 j), shaped by y = draw(2^42 + 8 i + 2 j + 1). Of sust.p into a
              floating format: if y modulo 8 is not 0 the exponent becomes 127 - 28 + (y / 256) modulo 48, and if y / 2^16
              modulo 4 is 0 the lowest 12 bits are cleared. Of sust.p into others and of sured: if y is odd x is cut to its
              width and shifted right by (y / 256) modulo the width, and complemented if y / 2^16 is odd. The lowest bits count

suld gives words, those of each place: registers of 32 bits for .b8, .b16 and .b32, of 64 for .b64. The others give the elements of
the surface after each 16 places, which one thread has taken in their order. A digest is the sum of
warpbit::inputs::mix(position, word), modulo 2^64.
"""
import argparse
import ctypes
import itertools
import multiprocessing
import multiprocessing.connection
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording  # noqa: E402
from driver import Driver, DriverError  # noqa: E402
from record_scalar import draw, mixed, seed_of  # noqa: E402
from record_textures import texels  # noqa: E402

LOADED, STORED, ROUND = 4096, 1024, 16
MODES = ('trap', 'clamp', 'zero')
DIMENSIONS = {'1d': 1, '2d': 2, '3d': 3, 'a1d': 1, 'a2d': 2}
EXTENTS = {'1d': ('10', '37', '100'), '2d': ('10x6', '37x19', '16x4'), '3d': ('5x6x4', '16x3x5'), 'a1d': ('10 3', '37 4'),
           'a2d': ('10x6 3', '16x4 2')}
FORMATS = ('u8', 's8', 'u16', 's16', 'u32', 's32', 'f16', 'f32')
CHANNELS = (1, 2, 4)
REDUCTIONS = {'b': [('add', t) for t in ('u32', 'u64', 's32')] + [(f, t) for f in ('min', 'max') for t in ('u32', 's32', 'u64', 's64')]
              + [('and', 'b32'), ('or', 'b32')],
              'p': [('add', 'b32')] + [(f, t) for f in ('min', 'max') for t in ('b32', 'b64')] + [('and', 'b32'), ('or', 'b32')]}
ARRAY_FORMATS = {'u8': 1, 'u16': 2, 'u32': 3, 's8': 8, 's16': 9, 's32': 10, 'f16': 16, 'f32': 32}  # CUarray_format


class Surface:
    def __init__(self, text):
        words = text.split()
        self.text, self.shape, self.format, self.channels = text, words[0], words[1], int(words[2])
        self.extents = [int(one) for one in words[3].split('x')]
        self.layered, self.faces = self.shape[0] == 'a', 1
        self.layers = int(words[4]) if self.layered else 1
        self.bits = int(self.format[1:])
        self.row = self.extents[0] * self.channels * self.bits // 8


class Form:
    def __init__(self, name):
        words = name.split('.')
        self.name, self.opcode, self.bytewise, self.mode = name, words[0], words[1] == 'b', words[-1]
        self.shape = next(word for word in words if word in DIMENSIONS)
        self.vector = next((int(word[1]) for word in words if word in ('v2', 'v4')), 1)
        self.type = words[-2]
        self.width = int(self.type[1:])
        self.layered = self.shape[0] == 'a'
        self.coordinates = DIMENSIONS[self.shape] + self.layered
        self.size = self.vector * self.width // 8 if self.bytewise else 1  # of an access, in units of x
        self.places = LOADED if self.opcode == 'suld' else STORED


# ---- Rows

def forms():
    for mode, shape in itertools.product(MODES, DIMENSIONS):
        for vector, type_ in itertools.product(('', '.v2', '.v4'), ('b8', 'b16', 'b32', 'b64')):
            if (vector, type_) != ('.v4', 'b64'):
                yield f'suld.b.{shape}{vector}.{type_}.{mode}'
                yield f'sust.b.{shape}{vector}.{type_}.{mode}'
        for vector in ('', '.v2', '.v4'):
            yield f'sust.p.{shape}{vector}.b32.{mode}'
        if shape in ('1d', '2d', '3d'):
            for how, of in REDUCTIONS.items():
                for function, type_ in of:
                    yield f'sured.{how}.{function}.{shape}.{type_}.{mode}'
    for cache in ('ca', 'cg', 'cs', 'cv'):
        yield f'suld.b.2d.{cache}.v2.b32.clamp'
    for cache in ('wb', 'cg', 'cs', 'wt'):
        yield f'sust.b.2d.{cache}.v2.b32.clamp'


def rows():
    """Each form with six surfaces, a formatted one with all formats that it may have."""
    every = list(itertools.product(FORMATS, CHANNELS))
    for at, name in enumerate(forms()):
        form = Form(name)
        of = [every[(7 * at + 4 * m + m // 3) % len(every)] for m in range(6)] if form.bytewise else every
        extents = EXTENTS[form.shape]
        for m, (format_, channels) in enumerate(of):
            surface = Surface(f'{form.shape} {format_} {channels} {extents[(at + m) % len(extents)]}')
            if form.mode != 'trap' or surface.row >= form.size or not form.bytewise:
                yield form, surface


# ---- Inputs

def coordinates(form, surface, seed):
    """For each place the layer, if there is one, and the coordinates: 32 bits each."""
    out = []
    for j in range(form.coordinates):
        k = np.uint64(8) * np.arange(form.places, dtype=np.uint64) + np.uint64((1 << 41) + 2 * j)
        x, y = draw(seed, k), draw(seed, k + np.uint64(1))
        axis = j - form.layered
        size = form.size if axis == 0 else 1
        n = surface.layers if axis < 0 else surface.extents[axis]
        if axis == 0 and form.bytewise:
            n = surface.row // size if form.mode == 'trap' else (surface.row + size - 1) // size
        if form.mode == 'trap':
            out.append(((x % np.uint64(n)) * np.uint64(size)).astype('u4'))
            continue
        shaped = (((x % np.uint64(n + 6)).astype('i8') - 3) * size).astype('i4').view('u4')
        out.append(np.where(y % np.uint64(32) == 0, x.astype('u4') & np.uint32(~(size - 1) & 0xFFFFFFFF), shaped))
    return np.stack(out, axis=1)


def values(form, surface, seed):
    """The elements of each place, of 64 bits."""
    k = np.arange(form.places, dtype=np.uint64)[:, None] * np.uint64(8) + np.arange(form.vector, dtype=np.uint64) * np.uint64(2)
    x, y = draw(seed, k + np.uint64(1 << 42)), draw(seed, k + np.uint64((1 << 42) + 1))
    mask = np.uint64((1 << form.width) - 1)
    x &= mask
    if form.opcode == 'sust' and not form.bytewise and surface.format[0] == 'f':
        near = (y >> np.uint64(8)) % np.uint64(48) + np.uint64(127 - 28)
        cut = np.where((y >> np.uint64(16)) % np.uint64(4) == 0, np.uint64(0xFFF), np.uint64(0))
        return np.where(y % np.uint64(8) != 0, (x & np.uint64(0x807FFFFF)) | near << np.uint64(23), x) & ~cut
    if form.opcode == 'sured' or not form.bytewise:
        cut = np.where(y & np.uint64(1), x >> ((y >> np.uint64(8)) % np.uint64(form.width)), x)
        return np.where((y & np.uint64(1) != 0) & (y >> np.uint64(16) & np.uint64(1) != 0), ~cut, cut) & mask
    return x


# ---- PTX

HEAD = '.version 9.0\n.target sm_90\n.address_size 64\n'


def at(form, of='%c'):
    """The operand of the place."""
    names = [f'{of}{i}' for i in range(form.coordinates)]
    if len(names) == 3:
        names.append(names[-1])
    return f'[%surface, {{{", ".join(names)}}}]'


def elements(form, of='%r'):
    names = [f'{of}{i}' for i in range(form.vector)]
    return names[0] if form.vector == 1 else '{' + ', '.join(names) + '}'


def kernel_text(name, form):
    wide = max(form.width, 32)
    load_place = ''.join(f'ld.global.b32 %c{i}, [%p+{4 * i}];' for i in range(form.coordinates))
    head = f'''.visible .entry {name}(.param .u64 surface, .param .u64 in, .param .u64 data, .param .u32 first, .param .u32 last)
{{ .reg .pred %go; .reg .u32 %at, %block, %threads, %last; .reg .b32 %c<4>; .reg .b{wide} %r<4>; .reg .u64 %p, %surface;
ld.param.u64 %surface, [surface]; ld.param.u32 %last, [last];
'''
    if form.opcode == 'suld':
        return head + f'''mov.u32 %at, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %threads, %ntid.x; mad.lo.u32 %at, %block, %threads, %at;
setp.ge.u32 %go, %at, %last; @%go ret;
ld.param.u64 %p, [in]; mad.wide.u32 %p, %at, {4 * form.coordinates}, %p; {load_place}
{form.name} {elements(form)}, {at(form)};
ld.param.u64 %p, [data]; mad.wide.u32 %p, %at, {form.vector * wide // 8}, %p;
{"".join(f"st.global.b{wide} [%p+{i * wide // 8}], %r{i};" for i in range(form.vector))} ret; }}
'''
    return head + f'''ld.param.u32 %at, [first];
next: ld.param.u64 %p, [in]; mad.wide.u32 %p, %at, {4 * form.coordinates}, %p; {load_place}
ld.param.u64 %p, [data]; mad.wide.u32 %p, %at, {8 * form.vector}, %p;
{"".join(f"ld.global.b{wide} %r{i}, [%p+{8 * i}];" for i in range(form.vector))}
{form.name} {at(form)}, {elements(form)};
add.u32 %at, %at, 1; setp.lt.u32 %go, %at, %last; @%go bra next; ret; }}
'''


def assembled(text, folder, name):
    path = os.path.join(folder, name)
    with open(path + '.ptx', 'w') as file:
        file.write(text)
    subprocess.run(['ptxas', '-arch=sm_90', path + '.ptx', '-o', path + '.cubin'], check=True)
    with open(path + '.cubin', 'rb') as file:
        return file.read()


# ---- The GPU

class ArrayDescriptor(ctypes.Structure):  # CUDA_ARRAY3D_DESCRIPTOR
    _fields_ = [(name, ctypes.c_size_t) for name in ('width', 'height', 'depth')] + [
        (name, ctypes.c_uint) for name in ('format', 'channels', 'flags')]


class Side(ctypes.Structure):  # a half of CUDA_MEMCPY3D
    _fields_ = [(name, ctypes.c_size_t) for name in ('x', 'y', 'z', 'lod')] + [
        ('type', ctypes.c_uint), ('host', ctypes.c_void_p), ('device', ctypes.c_uint64), ('array', ctypes.c_void_p),
        ('reserved', ctypes.c_void_p), ('pitch', ctypes.c_size_t), ('height', ctypes.c_size_t)]


class Copy(ctypes.Structure):  # CUDA_MEMCPY3D
    _fields_ = [('source', Side), ('target', Side)] + [(name, ctypes.c_size_t) for name in ('bytes', 'height', 'depth')]


class Resource(ctypes.Structure):  # CUDA_RESOURCE_DESC of an array
    _fields_ = [('type', ctypes.c_uint), ('array', ctypes.c_void_p), ('rest', ctypes.c_uint64 * 15), ('flags', ctypes.c_uint)]


class TextureDescriptor(ctypes.Structure):  # CUDA_TEXTURE_DESC
    _fields_ = [('words', ctypes.c_uint * 64)]


class Gpu(Driver):
    def module(self, cubin):
        out = ctypes.c_void_p()
        self.call('cuModuleLoadData', ctypes.byref(out), cubin)
        return out

    def function(self, module, name):
        out = ctypes.c_void_p()
        self.call('cuModuleGetFunction', ctypes.byref(out), module, name.encode())
        return out

    def upload(self, array):
        array = np.ascontiguousarray(array)
        out = self.allocate(array.nbytes)
        self.write(out, array.tobytes())
        return out

    def free(self, address):
        self.call('cuMemFree_v2', ctypes.c_uint64(address))

    def array(self, surface):
        width, height, depth = (surface.extents + [0, 0])[:3]
        made = ArrayDescriptor(width, height, surface.layers if surface.layered else depth, ARRAY_FORMATS[surface.format],
                               surface.channels, 2 | surface.layered)
        out = ctypes.c_void_p()
        self.call('cuArray3DCreate_v2', ctypes.byref(out), ctypes.byref(made))
        return out

    def copy(self, surface, array, memory, store):
        """Between an array and memory of the host."""
        height, depth = (surface.extents[1:] + [1, 1])[:2]
        memory_side = Side(type=1, host=memory.ctypes.data, pitch=surface.row, height=height)
        array_side = Side(type=3, array=array)
        sides = (memory_side, array_side) if store else (array_side, memory_side)
        what = Copy(*sides, surface.row, height, surface.layers if surface.layered else depth)
        self.call('cuMemcpy3D_v2', ctypes.byref(what))

    def surface(self, array):
        out = ctypes.c_uint64()
        self.call('cuSurfObjectCreate', ctypes.byref(out), ctypes.byref(Resource(type=0, array=array)))
        return out.value

    def texture(self, array):
        """Texels at whole coordinates."""
        words = (ctypes.c_uint * 64)(1, 1, 1, 0, 1)  # clamp, point, read as integers
        out = ctypes.c_uint64()
        self.call('cuTexObjectCreate', ctypes.byref(out), ctypes.byref(Resource(type=0, array=array)),
                  ctypes.byref(TextureDescriptor(words)), None)
        return out.value

    def launch(self, function, blocks, threads, arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(one) for one in arguments])
        self.call('cuLaunchKernel', function, blocks, 1, 1, threads, 1, 1, 0, None, pointers, None)


def u64(x):
    return ctypes.c_uint64(x)


def results(gpu, function, form, surface, filler):
    """Words of one record."""
    seed = seed_of(f'{form.name} {surface.text}')
    memory = texels(surface, seed)
    array = gpu.array(surface)
    gpu.copy(surface, array, memory, True)
    handle = gpu.surface(array)
    places = gpu.upload(coordinates(form, surface, seed))
    if form.opcode == 'suld':
        out = np.full((form.places, form.vector), filler, dtype=f'u{max(form.width, 32) // 8}')
        data = gpu.upload(out)
        gpu.launch(function, form.places // 256, 256, [u64(handle), u64(places), u64(data), ctypes.c_uint(0), ctypes.c_uint(form.places)])
        words = np.frombuffer(gpu.read(data, out.nbytes), dtype=out.dtype)
    else:
        data = gpu.upload(values(form, surface, seed))
        words = np.empty((form.places // ROUND, memory.size), dtype=memory.dtype)
        for i in range(form.places // ROUND):
            gpu.launch(function, 1, 1, [u64(handle), u64(places), u64(data), ctypes.c_uint(ROUND * i), ctypes.c_uint(ROUND * (i + 1))])
            gpu.copy(surface, array, words[i], False)
        words = words.ravel()
    gpu.free(places), gpu.free(data)
    gpu.call('cuSurfObjectDestroy', u64(handle))
    gpu.call('cuArrayDestroy', array)
    return words


def work(cubin, names, some, out):
    """Records one after the other; each is told before it begins. A process whose launch is refused ends."""
    gpu = Gpu()
    module = gpu.module(cubin)
    for number, form, surface in some:
        out.send((number, 'begins', None))
        try:
            function = gpu.function(module, names[form.name])
            runs = [results(gpu, function, form, surface, filler) for filler in (0, 0xA5)]
        except DriverError as error:
            out.send((number, 'refused', str(error)))
            break
        out.send((number, 'words', runs[0]) if (runs[0] == runs[1]).all() else (number, 'differs', None))
    out.send((-1, 'ends', None))


def digest(words):
    word, position = words.astype('u8'), np.arange(words.size, dtype='u8')
    return int(mixed(word + np.uint64(0x9E3779B97F4A7C15) * (position + np.uint64(1))).sum(dtype='u8'))


def kind_of(form, surface):
    """Records that are refused together."""
    words = form.name.split('.')
    return words[0], words[1], form.type, form.vector, surface.format, surface.channels


def record_all(cubin, names, wanted, workers, take):
    """Gives `take` the words of each record; the number of those that the GPU refused, or answered in two ways."""
    left_out = []
    refused = set()
    shares = [[(i, *wanted[i]) for i in range(first, len(wanted), workers)] for first in range(workers)]
    running = {}
    context = multiprocessing.get_context('spawn')

    def start(share):
        share = [one for one in share if kind_of(*one[1:]) not in refused]
        if not share:
            return
        mine, theirs = context.Pipe(False)
        process = context.Process(target=work, args=(cubin, names, share, theirs))
        process.start()
        theirs.close()
        running[mine] = process, share, [None]
    for share in shares:
        start(share)
    while running:
        for pipe in multiprocessing.connection.wait(list(running)):
            process, share, at_ = running[pipe]
            try:
                number, what, value = pipe.recv()
            except EOFError:
                number, what, value = -1, 'ends', None
            if what == 'begins':
                at_[0] = number
            elif what == 'words':
                take(number, value)
            elif what != 'ends':
                left_out.append((number, what, value))
                if what == 'refused':
                    refused.add(kind_of(*wanted[number]))
            if what == 'ends':
                del running[pipe]
                process.join()
                if at_[0] is None:
                    sys.exit('there is no GPU that runs these kernels')
                if process.exitcode and not any(number == at_[0] for number, *_ in left_out):
                    left_out.append((at_[0], 'refused', f'the process ended with {process.exitcode}'))
                    refused.add(kind_of(*wanted[at_[0]]))
                start([one for one in share if one[0] > at_[0]])
    done = {number for number, *_ in left_out}
    left_out += [(i, 'refused', 'as others of its kind') for i, one in enumerate(wanted) if kind_of(*one) in refused and i not in done]
    return left_out


def record(form, surface, words):
    """A line of the recording."""
    return {'kind': 'surface_digests', 'name': f'{form.name} {surface.text}', 'form': form.name, 'surface': surface.text,
            'elements': int(words.size), 'digest': f'{digest(words):016x}'}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out')
    parser.add_argument('--only', default='')
    parser.add_argument('--words')
    parser.add_argument('--workers', type=int, default=6)
    parser.add_argument('--dry-run', action='store_true')
    options = parser.parse_args()
    wanted = [(form, surface) for form, surface in rows() if re.search(options.only, f'{form.name} {surface.text}')]
    names = {name: f'k{i}' for i, name in enumerate(dict.fromkeys(form.name for form, _ in wanted))}
    source = HEAD + ''.join(kernel_text(name, Form(form)) for form, name in names.items())
    print(f'{len(wanted)} rows, {len(names)} kernels', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        cubin = assembled(source, folder, 'surfaces')
    if options.dry_run:
        return
    records, kept, room = {}, {}, [12 << 20]

    def take(number, words):
        form, surface = wanted[number]
        records[number] = record(form, surface, words)
        loads = form.opcode == 'suld'
        if options.words and number % (9 if loads else 3) == 0 and (form.mode != 'trap') and room[0] > 0:
            room[0] -= words.nbytes if loads else words.nbytes // 16
            kept[f'{form.name} {surface.text}'.replace(' ', '_')] = words
    left_out = record_all(cubin, names, wanted, options.workers, take)
    for number, what, why in sorted(left_out):
        print(f'left out: {wanted[number][0].name} {wanted[number][1].text}: {what} {why or ""}')
    lines = [records[number] for number in sorted(records)]
    recording.Recording(recording.header('sm_90', 'tools/capture/record_surfaces.py'), lines).write(options.out)
    if options.words:
        np.savez_compressed(options.words, **kept)
    print(f'{len(lines)} records, {sum(line["elements"] for line in lines)} elements')


if __name__ == '__main__':
    main()
