#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU answers to texture instructions, as digests.

    record_textures.py OUT.zip [--only REGEX] [--words FOLDER] [--dry-run]

A record is an instruction, a texture that it reads, and 4096 places there. It needs NumPy, CuPy, and a GPU; every one is launched
twice, and nothing is written if the two differ. --words also writes inputs and results of each. OUT is a recording
(src/recording/FORMAT.md, texture_digests); src/verify/cases/texture.hpp makes the same inputs:

    texture   SHAPE FORMAT CHANNELS EXTENTS [LAYERS] ADDRESSING FILTER COORDINATES READ, as in
              "a2d u8 2 10x6 3 clamp linear normalized floats"; extents begin with the width
    draw(k)   finaliser of SplitMix64 of seed + G (k + 1); seed is FNV-1a (64 bits) of the form, a blank and the texture, and
              G = 0x9E3779B97F4A7C15
    texels    element i is x = draw(2 i), shaped by y = draw(2 i + 1): of f16 and f32 the exponent becomes bias - 8 +
              (y / 256) modulo 16, if y modulo 4 is not 0; the lowest bits of it count
    border    component i is x = (draw(2^40 + i) / 2^40 - 2^22) / 2^23, from -0.5 to 1.5; where results are floats, a number that
              the format has: of f16 x cut to it, of integers the one that the lowest bits of draw(2^40 + i) are
    places    coordinate j of place i is x = draw(2^41 + 8 i + 2 j), shaped by y = draw(2^41 + 8 i + 2 j + 1): if y modulo 32
              is 0, the lowest 32 bits of x, of a cube with the exponent bias - 64 + (x / 2^40) modulo 128. A layer, and a coordinate that is an integer: x modulo (n + 6), less 3, n being the
              extent or the number of layers. Of a cube (x / 2^40) / 2^23 - 1. Else, with t = x / 2^40 of 2^24: normalised
              t / 2^22 - 1.5, rounded; not normalised (n + 4) t / 2^24 - 2, rounded

Results are words, four to a place. A digest is the sum of warpbit::inputs::mix(position, word), modulo 2^64.
"""
import argparse
import ctypes
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording  # noqa: E402
from record_scalar import FLOATING, Device, draw, seed_of  # noqa: E402

PLACES = 4096
ADDRESSING = ('wrap', 'clamp', 'mirror', 'border')
DIMENSIONS = {'memory': 1, '1d': 1, '2d': 2, '3d': 3, 'a1d': 1, 'a2d': 2, 'cube': 3, 'acube': 3}
EXTENTS = {'1d': ((10,), (1000,), (12000,), (100000,)), '2d': ((10, 6), (37, 19)), '3d': ((5, 6, 4),), 'a2d': ((10, 6),),
           'cube': ((8, 8),), 'acube': ((8, 8),), 'memory': ((100,),)}
FORMATS = ('u8', 's8', 'u16', 's16', 'u32', 's32', 'f16', 'f32')


class Texture:
    def __init__(self, text):
        words = text.split()
        self.text, self.shape, self.format, self.channels = text, words[0], words[1], int(words[2])
        self.extents = [int(one) for one in words[3].split('x')]
        self.layered = self.shape.startswith('a')
        self.layers = int(words[4]) if self.layered else 1
        self.addressing, filter_, coordinates, read = words[-4:]
        self.linear, self.normalized, self.floats = filter_ == 'linear', coordinates == 'normalized', read == 'floats'
        self.bits, self.dimensions = int(self.format[1:]), DIMENSIONS[self.shape]
        self.faces = 6 if 'cube' in self.shape else 1


# ---- Rows

def texture_texts(shape, extents, points_alone=False):
    """Textures of a shape, with different numbers of channels in turn."""
    at = 0
    modes = [(a, n) for a in ADDRESSING for n in ('texels', 'normalized') if n == 'normalized' or a in ('clamp', 'border')]
    if 'cube' in shape:
        modes = [('clamp', 'normalized')]
    if points_alone:
        modes = [('clamp', 'texels')]
    for format_ in FORMATS:
        for read in ('floats', 'elements') if format_ in ('u8', 's8', 'u16', 's16') else ('elements',):
            for filter_ in ('point', 'linear'):
                if filter_ == 'linear' and (points_alone or (format_[0] != 'f' and read == 'elements')):
                    continue
                for mode in modes:
                    at += 1
                    layers = {'a': ' 3'}.get(shape[0], '')
                    yield f'{shape} {format_} {(1, 2, 4)[at % 3]} {"x".join(map(str, extents))}{layers} {mode[0]} {filter_} {mode[1]} {read}'


def further_rows():
    """Cubes whose faces are not clamped, sums of slices that are far apart, and integers that are filtered and read as such."""
    at = 0
    for shape in ('cube', 'acube'):
        for text in texture_texts(shape, (8, 8)):
            for addressing in ('wrap', 'mirror', 'border'):
                at += 1
                yield f'tex.{shape}.v4.f32.f32', text.replace('clamp', addressing)
                if 'point' in text:
                    yield f'tld4.{"rgba"[at % 4]}.{shape}.v4.f32.f32', text.replace('clamp', addressing)
    for text in texture_texts('3d', (33, 17, 9)):
        if 'linear' in text and ' f' in text:
            yield 'tex.3d.v4.f32.f32', text
    for shape in ('1d', '2d', '3d', 'a2d'):
        for text in texture_texts(shape, EXTENTS[shape][0]):
            if 'linear' in text and 'floats' in text:
                yield f'tex.{shape}.v4.{text.split()[1][0]}32.f32', text.replace('floats', 'elements')


def rows():
    yield from first_rows()
    yield from further_rows()


def first_rows():
    result = {'u': 'u32', 's': 's32', 'f': 'f32'}
    for shape, all_extents in EXTENTS.items():
        for extents in all_extents:
            for i, text in enumerate(texture_texts(shape, extents, shape == 'memory')):
                type_ = 'f32' if 'floats' in text or i % 2 else result[text.split()[1][0]]
                if shape != 'memory':
                    yield f'tex.{shape}.v4.{type_}.f32', text
                if shape in ('2d', '3d', 'a2d') and 'point' in text and ' clamp ' in text and 'texels' in text:
                    yield f'tex.{shape}.v4.{type_}.s32', text
                if shape == 'memory':
                    yield f'tex.1d.v4.{type_}.s32', text
                if shape in ('2d', 'a2d', 'cube', 'acube') and ('linear' not in text or i % 3 == 0):
                    yield f'tld4.{"rgba"[i // 2 % 4]}.{shape}.v4.{type_}.f32', text
                if shape in ('1d', '2d', '3d', 'a2d', 'cube') and 'f16' in text:
                    yield f'tex.level.{shape}.v4.{type_}.f32', text


# ---- Inputs

def texels(texture, seed):
    count = int(np.prod(texture.extents[:2 if texture.faces == 6 else 3])) * texture.layers * texture.faces * texture.channels
    k = np.arange(count, dtype=np.uint64)
    x, y = draw(seed, 2 * k), draw(seed, 2 * k + np.uint64(1))
    if texture.format in FLOATING:
        exponent, fraction = FLOATING[texture.format]
        field = np.uint64(((1 << exponent) - 1) << fraction)
        near = (y >> np.uint64(8)) % np.uint64(16) + np.uint64((1 << (exponent - 1)) - 1 - 8)
        x = np.where(y % np.uint64(4) != 0, (x & ~field) | near << np.uint64(fraction), x)
    return (x & np.uint64((1 << texture.bits) - 1)).astype(f'u{texture.bits // 8}')


def border(texture, seed):
    x = draw(seed, np.arange(4, dtype=np.uint64) + np.uint64(1 << 40))
    bits = texture.bits
    if texture.floats:
        code = (x & np.uint64((1 << bits) - 1)).astype(f'u{bits // 8}')
        if texture.format[0] == 'u':
            return (code / (2**bits - 1)).astype('f4')
        return np.maximum(code.view(f'i{bits // 8}') / (2**(bits - 1) - 1), -1).astype('f4')
    out = (((x >> np.uint64(40)).astype('f8') - 2.0**22) / 2.0**23).astype('f4')
    return (out.view('u4') & np.uint32(0xFFFFE000)).view('f4') if texture.format == 'f16' else out


def places(form, texture, seed):
    """For each place the layer, if there is one, and the coordinates: 32 bits each."""
    out = []
    integers = form.endswith('.s32')
    for j in range(texture.dimensions + texture.layered):
        k = np.uint64(8) * np.arange(PLACES, dtype=np.uint64) + np.uint64((1 << 41) + 2 * j)
        x, y = draw(seed, k), draw(seed, k + np.uint64(1))
        is_layer = texture.layered and j == 0
        axis = j - texture.layered
        t = (x >> np.uint64(40)).astype('f8')
        if is_layer or integers:
            n = texture.layers if is_layer else texture.extents[axis]
            shaped = ((x % np.uint64(n + 6)).astype('i8') - 3).astype('i4').view('u4')
        elif texture.faces == 6:
            shaped = (t / 2.0**23 - 1).astype('f4').view('u4')
        elif texture.normalized:
            shaped = (t / 2.0**22 - 1.5).astype('f4').view('u4')
        else:
            shaped = ((texture.extents[axis] + 4) * t / 2.0**24 - 2).astype('f4').view('u4')
        raw = x.astype('u4')
        if texture.faces == 6 and not is_layer:
            raw = (raw & np.uint32(0x807FFFFF)) | (((x >> np.uint64(40)) % np.uint64(128)).astype('u4') + np.uint32(63)) << np.uint32(23)
        out.append(np.where(y % np.uint64(32) == 0, raw, shaped))
    return np.stack(out, axis=1)


# ---- PTX

def kernel_text(name, form, texture):
    coordinates = [f'%c{i}' for i in range(texture.dimensions + texture.layered)]
    if len(coordinates) == 3:
        coordinates.append('%c0')
    loads = ''.join(f'ld.global.b32 %c{i}, [%p+{4 * i}];' for i in range(texture.dimensions + texture.layered))
    level = ', 0f40200000' if '.level' in form else ''
    return f'''.visible .entry {name}(.param .u64 texture, .param .u64 in, .param .u64 out, .param .u32 count)
{{ .reg .pred %outside; .reg .u32 %at, %block, %threads, %count; .reg .b32 %c<4>, %r<4>; .reg .u64 %p, %t;
mov.u32 %at, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %threads, %ntid.x; mad.lo.u32 %at, %block, %threads, %at;
ld.param.u32 %count, [count]; setp.ge.u32 %outside, %at, %count; @%outside ret;
ld.param.u64 %t, [texture]; ld.param.u64 %p, [in]; mad.wide.u32 %p, %at, {4 * (texture.dimensions + texture.layered)}, %p; {loads}
{form} {{%r0, %r1, %r2, %r3}}, [%t, {{{', '.join(coordinates)}}}]{level};
ld.param.u64 %p, [out]; mad.wide.u32 %p, %at, 16, %p; st.global.v4.b32 [%p], {{%r0, %r1, %r2, %r3}}; ret; }}
'''


# ---- Recording

class Textures(Device):
    def object(self, texture, elements, edge):
        from cupy.cuda import runtime, texture as made
        kinds = {'u': runtime.cudaChannelFormatKindUnsigned, 's': runtime.cudaChannelFormatKindSigned,
                 'f': runtime.cudaChannelFormatKindFloat}
        channels = [texture.bits] * texture.channels + [0] * (4 - texture.channels)
        format_ = made.ChannelFormatDescriptor(*channels, kinds[texture.format[0]])
        if texture.shape == 'memory':
            array = self.cupy.asarray(elements)
            resource = made.ResourceDescriptor(runtime.cudaResourceTypeLinear, arr=array, chDesc=format_, sizeInBytes=elements.nbytes)
        else:
            width, height, depth = (texture.extents + [0, 0])[:3]
            flags = texture.layered | (4 if texture.faces == 6 else 0)
            if flags:
                depth = texture.layers * texture.faces
            array = made.CUDAarray(format_, width, height, depth, flags)
            shape = [one for one in (depth, height, width) if one]
            typed = elements.view('f2' if texture.format == 'f16' else texture.format[0].replace('s', 'i') + str(texture.bits // 8))
            array.copy_from(typed.reshape(shape[:-1] + [shape[-1] * texture.channels]))
            resource = made.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
        if texture.linear and not texture.floats and texture.format[0] != 'f':
            return Filtered(array.ptr, texture, edge), array
        how = made.TextureDescriptor(
            (ADDRESSING.index(texture.addressing),) * 3,
            runtime.cudaFilterModeLinear if texture.linear else runtime.cudaFilterModePoint,
            runtime.cudaReadModeNormalizedFloat if texture.floats else runtime.cudaReadModeElementType,
            borderColors=tuple(float(one) for one in edge), normalizedCoords=int(texture.normalized))
        return made.TextureObject(resource, how), array

    def record(self, kernel, form, texture, folder):
        seed = seed_of(f'{form} {texture.text}')
        elements, edge, where = texels(texture, seed), border(texture, seed), places(form, texture, seed)
        handle = self.object(texture, elements, edge)
        runs = []
        for filler in (0, 0xA5):
            out = self.cupy.full((PLACES, 4), filler, dtype='u4')
            kernel((PLACES // 256,), (256,), (np.uint64(handle[0].ptr), self.cupy.asarray(where), out, np.uint32(PLACES)))
            runs.append(out.get())
        if (runs[0] != runs[1]).any():
            sys.exit(f'{form} {texture.text}: two launches differ')
        if folder:
            name = f'{form} {texture.text}.npz'.replace(' ', '_')
            np.savez_compressed(os.path.join(folder, name), results=runs[0])
        words = self.cupy.asarray(runs[0].ravel().astype('u8'))
        return int(self.mix(words, self.cupy.arange(words.size, dtype='u8')).sum(dtype='u8'))


class Filtered:
    """A texture of integers that are filtered and read as integers, which the driver makes, and the runtime refuses."""

    def __init__(self, array, texture, edge):
        class Resource(ctypes.Structure):  # CUDA_RESOURCE_DESC
            _fields_ = [('kind', ctypes.c_int), ('array', ctypes.c_void_p), ('others', ctypes.c_int * 30), ('flags', ctypes.c_uint)]

        class How(ctypes.Structure):  # CUDA_TEXTURE_DESC
            _fields_ = [('addressing', ctypes.c_int * 3), ('filter', ctypes.c_int), ('flags', ctypes.c_uint),
                        ('levels', ctypes.c_int * 5), ('border', ctypes.c_float * 4), ('reserved', ctypes.c_int * 12)]

        as_integers, normalized = 1, 2
        mode = ADDRESSING.index(texture.addressing)
        how = How((mode,) * 3, 1, as_integers | (normalized if texture.normalized else 0), border=(*map(float, edge),))
        handle = ctypes.c_uint64()
        made = ctypes.CDLL('libcuda.so.1').cuTexObjectCreate(
            ctypes.byref(handle), ctypes.byref(Resource(0, array)), ctypes.byref(how), None)
        if made:
            sys.exit(f'{texture.text}: cuTexObjectCreate answers {made}')
        self.ptr = handle.value


def record(form, text, digest):
    """A line of the recording."""
    return {'kind': 'texture_digests', 'name': f'{form} {text}', 'form': form, 'texture': text, 'elements': 4 * PLACES,
            'digest': f'{digest:016x}'}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out')
    parser.add_argument('--only', default='')
    parser.add_argument('--words')
    parser.add_argument('--dry-run', action='store_true')
    options = parser.parse_args()
    wanted = [(form, Texture(text)) for form, text in dict.fromkeys(rows()) if re.search(options.only, f'{form} {text}')]
    kernels = {(form, texture.shape): texture for form, texture in wanted}
    names = {key: f'k{i}' for i, key in enumerate(kernels)}
    source = '.version 9.0\n.target sm_90\n.address_size 64\n' + ''.join(
        kernel_text(names[key], key[0], texture) for key, texture in kernels.items())
    print(f'{len(wanted)} rows, {len(names)} kernels', flush=True)
    if options.dry_run:
        return print(source)
    device = Textures()
    with open(options.out + '.ptx', 'w') as file:
        file.write(source)
    module = device.cupy.RawModule(path=options.out + '.ptx')
    records = [record(form, texture.text, device.record(module.get_function(names[form, texture.shape]), form, texture, options.words))
               for form, texture in wanted]
    os.remove(options.out + '.ptx')
    recording.Recording(recording.header('sm_90', 'tools/capture/record_textures.py'), records).write(options.out)
    print(f'{len(records)} records, {4 * PLACES * len(records)} elements')


if __name__ == '__main__':
    main()
