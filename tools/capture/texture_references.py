#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a GPU reads textures and surfaces by reference as it does by handle.

    texture_references.py [--only REGEX]

A reference is a variable .texref or .surfref of a module, whose array is set by its name (cuModuleGetTexRef, cuTexRefSetArray,
cuSurfRefSetArray, which are deprecated). Each question is asked in a process of its own, as a GPU's refusal ends one. A line says
what it was, and the answer: `same` if each way left the bytes of a handle. It needs NumPy, ptxas and a GPU.
"""
import argparse
import ctypes
import itertools
import multiprocessing
import os
import re
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import DriverError  # noqa: E402
from record_surfaces import Gpu, Resource, Surface, TextureDescriptor, assembled, u64  # noqa: E402

PLACES = 2048
ADDRESSING = ('wrap', 'clamp', 'mirror', 'border')
WORDS = {'wrap': 'wrap', 'clamp': 'clamp_to_edge', 'mirror': 'mirror', 'border': 'clamp_to_border'}
READ_AS_INTEGER, NORMALIZED = 1, 2
EXTENTS = {'1d': '37', '2d': '37x19', '3d': '16x3x5', 'a2d': '10x6 3'}
UNIFIED, INDEPENDENT = 'sm_90', 'sm_90, texmode_independent'


def kernel(name, shape, parameters, at, before=''):
    """Reads at floats, and stores four words of each place."""
    n = {'1d': 1, '2d': 2, '3d': 3, 'a2d': 3}[shape]
    loads = ''.join(f'ld.global.b32 %c{i}, [%p+{4 * i}];' for i in range(n))
    names = ', '.join([f'%c{i}' for i in range(n)] + (['%c0'] if n == 3 else []))
    return f'''.visible .entry {name}({parameters}.param .u64 in, .param .u64 out)
{{ .reg .u32 %i, %b, %n; .reg .b32 %c<4>, %r<4>; .reg .u64 %p, %t, %s;
mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %i;
ld.param.u64 %p, [in]; mad.wide.u32 %p, %i, {4 * n}, %p; {loads}
{before} tex.{shape}.v4.u32.f32 {{%r0, %r1, %r2, %r3}}, [{at}, {{{names}}}];
ld.param.u64 %p, [out]; mad.wide.u32 %p, %i, 16, %p; st.global.v4.b32 [%p], {{%r0, %r1, %r2, %r3}}; ret; }}
'''


def module(text, target=UNIFIED):
    return f'.version 9.0\n.target {target}\n.address_size 64\n{text}'


class References(Gpu):
    def load_text(self, text):
        with tempfile.TemporaryDirectory() as folder:
            return self.module(assembled(text, folder, 'k'))

    def texels(self, of):
        array = self.array(of)
        count = of.layers * of.channels * int(np.prod(of.extents))
        draw = np.random.default_rng(1)
        if of.format == 'f32':
            memory = draw.integers(-512, 512, count).astype('f4') / 64
        else:
            memory = draw.integers(0, 256, count * of.bits // 8).astype('u1')
        self.copy(of, array, memory, True)
        return array

    def handle(self, array, addressing, linear, flags, border=None):
        words = (ctypes.c_uint * 64)(*[ADDRESSING.index(addressing)] * 3, int(linear), flags)
        words[10:14] = [int(one) for one in np.array(border or [0] * 4, 'f4').view('u4')]  # behind three floats of mipmaps and anisotropy
        out = ctypes.c_uint64()
        self.call('cuTexObjectCreate', ctypes.byref(out), ctypes.byref(Resource(type=0, array=array)),
                  ctypes.byref(TextureDescriptor(words)), None)
        return out.value

    def reference(self, loaded, name):
        out = ctypes.c_void_p()
        self.call('cuModuleGetTexRef', ctypes.byref(out), loaded, name.encode())
        return out

    def state(self, reference):
        mode, flags, filtering = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
        modes = []
        for i in range(3):
            self.call('cuTexRefGetAddressMode', ctypes.byref(mode), reference, i)
            modes.append(ADDRESSING[mode.value])
        self.call('cuTexRefGetFilterMode', ctypes.byref(filtering), reference)
        self.call('cuTexRefGetFlags', ctypes.byref(flags), reference)
        return f'addressing {" ".join(modes)}, filter {filtering.value}, flags {flags.value}'

    def bind(self, reference, array, addressing=None, linear=False, flags=None, border=None):
        self.call('cuTexRefSetArray', reference, array, 1)
        if addressing:
            for i in range(3):
                self.call('cuTexRefSetAddressMode', reference, i, ADDRESSING.index(addressing))
            self.call('cuTexRefSetFilterMode', reference, int(linear))
        if flags is not None:
            self.call('cuTexRefSetFlags', reference, flags)
        if border:
            self.call('cuTexRefSetBorderColor', reference, (ctypes.c_float * 4)(*border))

    def places(self, of, normalized):
        draw = np.random.default_rng(2)
        n = len(of.extents)
        extents = np.ones(n) if normalized else np.array(of.extents)
        where = (draw.random((PLACES, n)) * (extents * 3) - extents).astype('f4').view('u4')
        if of.layered:
            where = np.concatenate([draw.integers(0, of.layers, (PLACES, 1)).astype('u4'), where], axis=1)
        return self.upload(where)

    def read_all(self, loaded, name, arguments, places):
        out = self.upload(np.full((PLACES, 4), 0xA5, 'u4'))
        self.launch(self.function(loaded, name), PLACES // 256, 256, [*arguments, u64(places), u64(out)])
        self.call('cuCtxSynchronize')
        return np.frombuffer(self.read(out, 16 * PLACES), 'u4')


def compared(words, to):
    out = []
    for name, one in words.items():
        differ = int((one != to).sum())
        out.append(f'{name} same' if differ == 0 else f'{name} differs in {differ} of {one.size}: {one[:8]} for {to[:8]}')
    return f'{"; ".join(out)} ({len(np.unique(to))} different words)'


# ---- Questions: functions of a GPU that say what they saw

def unified(of, addressing, linear, flags, border):
    def ask(gpu):
        shape = of.shape
        loaded = gpu.load_text(module('.global .texref t;\n' + kernel('handle', shape, '.param .u64 h, ', '%t', 'ld.param.u64 %t, [h];')
                                      + kernel('variable', shape, '', 't')
                                      + kernel('pointer', shape, '', '%t', 'mov.u64 %t, t;')))
        array = gpu.texels(of)
        gpu.bind(gpu.reference(loaded, 't'), array, addressing, linear, flags, border)
        places = gpu.places(of, flags & NORMALIZED)
        by_handle = gpu.read_all(loaded, 'handle', [u64(gpu.handle(array, addressing, linear, flags, border))], places)
        return compared({name: gpu.read_all(loaded, name, [], places) for name in ('variable', 'pointer')}, by_handle)
    return ask


def independent(of, addressing, linear, flags, sampler, expected_flags=None):
    """The texture's own modes are others than the sampler's."""
    def ask(gpu):
        shape, other = of.shape, ADDRESSING[(ADDRESSING.index(addressing) + 1) % 4]
        loaded = gpu.load_text(module(f'.global .texref t;\n.global .samplerref s{sampler};\n' + kernel('variable', shape, '', 't, s')
                                      + kernel('pointer', shape, '', '%t, %s', 'mov.u64 %t, t; mov.u64 %s, s;'), INDEPENDENT))
        handles = gpu.load_text(module(kernel('handle', shape, '.param .u64 h, ', '%t', 'ld.param.u64 %t, [h];')))
        array = gpu.texels(of)
        gpu.bind(gpu.reference(loaded, 't'), array, other, not linear and of.format == 'f32', flags)
        normalized = flags if expected_flags is None else expected_flags
        places = gpu.places(of, normalized & NORMALIZED)
        by_handle = gpu.read_all(handles, 'handle', [u64(gpu.handle(array, addressing, linear, normalized))], places)
        return compared({name: gpu.read_all(loaded, name, [], places) for name in ('variable', 'pointer')}, by_handle)
    return ask


def all_modes(of, sampler, flags):
    """Which modes of a handle give what a sampler gives."""
    def ask(gpu):
        loaded = gpu.load_text(module(f'.global .texref t;\n.global .samplerref s{sampler};\n' + kernel('variable', of.shape, '', 't, s'),
                                      INDEPENDENT))
        handles = gpu.load_text(module(kernel('handle', of.shape, '.param .u64 h, ', '%t', 'ld.param.u64 %t, [h];')))
        array = gpu.texels(of)
        gpu.bind(gpu.reference(loaded, 't'), array, flags=flags)
        places = gpu.places(of, flags & NORMALIZED)
        words = gpu.read_all(loaded, 'variable', [], places)
        found = []
        for addressing, linear, more in itertools.product(ADDRESSING, (False, True), (0, NORMALIZED)):
            as_read = gpu.read_all(handles, 'handle', [u64(gpu.handle(array, addressing, linear, flags & READ_AS_INTEGER | more))], places)
            equal = int((as_read == words).sum())
            found.append((words.size - equal, f'{addressing} {"linear" if linear else "nearest"} {"normalized" if more else "texels"}'))
        return f'nearest: {sorted(found)[:3]} of {words.size}'
    return ask


def two_d(target):
    if target == UNIFIED:
        return kernel('variable', '2d', '', 't')
    return '.global .samplerref s;\n' + kernel('variable', '2d', '', 't, s')


def fresh(text, target=UNIFIED):
    def ask(gpu):
        loaded = gpu.load_text(module(f'.global .texref t{text};\n' + two_d(target), target))
        return gpu.state(gpu.reference(loaded, 't'))
    return ask


def unbound(target):
    def ask(gpu):
        loaded = gpu.load_text(module('.global .texref t;\n' + two_d(target), target))
        words = gpu.read_all(loaded, 'variable', [], gpu.places(Surface('2d f32 1 37x19'), 0))
        return f'words {np.unique(words)[:8]}'
    return ask


def parameter(gpu):
    loaded = gpu.load_text(module(kernel('parameter', '2d', '.param .texref t, ', 't')
                                  + kernel('handle', '2d', '.param .u64 h, ', '%t', 'ld.param.u64 %t, [h];')))
    of = Surface('2d f32 1 37x19')
    offsets = []
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    for i in range(3):
        gpu.call('cuFuncGetParamInfo', gpu.function(loaded, 'parameter'), ctypes.c_size_t(i), ctypes.byref(offset), ctypes.byref(size))
        offsets.append((offset.value, size.value))
    handle, places = gpu.handle(gpu.texels(of), 'clamp', True, 0), gpu.places(of, 0)
    print(f'parameters {offsets}', flush=True)
    return compared({'parameter': gpu.read_all(loaded, 'parameter', [u64(handle)], places)},
                    gpu.read_all(loaded, 'handle', [u64(handle)], places))


def pointers(gpu):
    loaded = gpu.load_text(module('''.global .texref t, t2; .global .surfref s;
.visible .entry k(.param .u64 out) { .reg .u64 %p, %v; .reg .pred %q<3>; .reg .u32 %r<3>; ld.param.u64 %p, [out];
mov.u64 %v, t; st.global.u64 [%p], %v; istypep.texref %q0, %v; istypep.surfref %q1, %v; selp.u32 %r0, 1, 0, %q0; selp.u32 %r1, 1, 0, %q1;
st.global.v2.u32 [%p+8], {%r0, %r1}; mov.u64 %v, s; istypep.texref %q0, %v; istypep.surfref %q1, %v;
selp.u32 %r0, 1, 0, %q0; selp.u32 %r1, 1, 0, %q1; st.global.v2.u32 [%p+16], {%r0, %r1}; st.global.u64 [%p+24], %v;
mov.u64 %v, t2; st.global.u64 [%p+32], %v; txq.width.b32 %r0, [t]; txq.height.b32 %r1, [%v]; suq.width.b32 %r2, [s];
st.global.v2.u32 [%p+40], {%r0, %r1}; st.global.u32 [%p+48], %r2; ret; }
'''))
    gpu.bind(gpu.reference(loaded, 't'), gpu.texels(Surface('2d f32 1 37x19')), 'clamp', False, 0)
    gpu.bind(gpu.reference(loaded, 't2'), gpu.texels(Surface('2d f32 1 10x6')), 'clamp', False, 0)
    surface(gpu, loaded, 's', gpu.texels(Surface('2d f32 1 16x4')))
    out = gpu.upload(np.zeros(16, 'u4'))
    gpu.launch(gpu.function(loaded, 'k'), 1, 1, [u64(out)])
    words = np.frombuffer(gpu.read(out, 64), 'u4')
    return f'istypep of a texture {words[2:4]}, of a surface {words[4:6]}; txq, suq {words[10:13]}; pointers {words[0:2]} {words[6:10]}'


def surface(gpu, loaded, name, array):
    out = ctypes.c_void_p()
    gpu.call('cuModuleGetSurfRef', ctypes.byref(out), loaded, name.encode())
    gpu.call('cuSurfRefSetArray', out, array, 0)


def surfaces(of, access):
    def ask(gpu):
        def text(name, at, parameters='', before=''):
            return f'''.visible .entry {name}({parameters}.param .u64 out) {{ .reg .u32 %x, %y; .reg .b32 %v, %w; .reg .u64 %p, %s;
mov.u32 %x, %tid.x; mov.u32 %y, %ctaid.x; mad.lo.u32 %v, %x, 77, %y; {before}
{"shl.b32 %x, %x, 2;" if access == "b" else ""}
sust.{access}.2d.b32.clamp [{at}, {{%x, %y}}], %v; suld.b.2d.b8.zero %w, [{at}, {{%y, %x}}];
ld.param.u64 %p, [out]; mad.lo.u32 %x, %y, 64, %x; mad.wide.u32 %p, %x, 4, %p; st.global.u32 [%p], %w; ret; }}
'''
        loaded = gpu.load_text(module('.global .surfref s;\n' + text('variable', 's') + text('pointer', '%s', '', 'mov.u64 %s, s;')
                                      + text('handle', '%s', '.param .u64 h, ', 'ld.param.u64 %s, [h];')))
        left = {}
        for name in ('handle', 'variable', 'pointer'):
            array = gpu.texels(of)
            surface(gpu, loaded, 's', array)
            arguments = [u64(gpu.surface(array))] if name == 'handle' else []
            out = gpu.upload(np.zeros(64 * 64, 'u4'))
            gpu.launch(gpu.function(loaded, name), 1, 4, [*arguments, u64(out)])
            texels = np.zeros(of.row * of.extents[1], 'u1')
            gpu.copy(of, array, texels, False)
            left[name] = np.concatenate([np.frombuffer(gpu.read(out, 4 * 64 * 64), 'u1'), texels])
        to = left.pop('handle')
        return compared(left, to)
    return ask


def questions():
    for (shape, extents), addressing, linear in itertools.product(EXTENTS.items(), ADDRESSING, (False, True)):
        for format_, channels, flags in (('f32', 2, 0), ('f32', 1, NORMALIZED), ('u8', 4, NORMALIZED)):
            of = Surface(f'{shape} {format_} {channels} {extents}')
            yield (f'unified {of.text} {addressing} linear={linear} flags={flags}',
                   unified(of, addressing, linear, flags, (0.5, 1, 0, 0.25) if format_ == 'f32' else None))
    of = Surface('2d u8 4 37x19')
    yield 'unified integers', unified(of, 'clamp', False, READ_AS_INTEGER, None)
    yield 'fresh, without fields', fresh('')
    yield 'fresh, with fields', fresh(' = { normalized_coords = 1, filter_mode = linear, addr_mode_0 = mirror, addr_mode_1 = clamp_to_border }')
    yield 'fresh, with width', fresh(' = { width = 4, height = 4, normalized_coords = 0, addr_mode_0 = clamp_to_edge }')
    yield 'fresh, independent', fresh('', INDEPENDENT)
    for addressing, linear, flags in itertools.product(ADDRESSING, (False, True), (0, NORMALIZED)):
        fields = ', '.join(f'addr_mode_{i} = {WORDS[addressing]}' for i in range(3)) + f', filter_mode = {"linear" if linear else "nearest"}'
        for text in ('2d f32 1 37x19', '2d u8 4 37x19'):
            yield (f'independent {text} {addressing} linear={linear} flags={flags}',
                   independent(Surface(text), addressing, linear, flags, f' = {{ {fields} }}'))
        if flags:
            yield (f'independent forced {addressing} linear={linear}',
                   independent(Surface('2d f32 1 37x19'), addressing, linear, flags, f' = {{ {fields}, force_unnormalized_coords = 1 }}', 0))
    of = Surface('2d f32 1 37x19')
    for flags in (0, NORMALIZED):
        yield f'independent, a sampler without fields, flags={flags}', all_modes(of, '', flags)
        for filtering in ('nearest', 'linear'):
            yield (f'independent, clamp_ogl {filtering}, flags={flags}',
                   all_modes(of, f' = {{ addr_mode_0 = clamp_ogl, addr_mode_1 = clamp_ogl, filter_mode = {filtering} }}', flags))
            yield (f'independent, only filter_mode = {filtering}, flags={flags}', all_modes(of, f' = {{ filter_mode = {filtering} }}', flags))
        yield f'independent, only addr_mode_0 = mirror, flags={flags}', all_modes(of, ' = { addr_mode_0 = mirror }', flags)
    for text, access in itertools.product(('2d u32 1 16x4', '2d f32 1 16x4', '2d u8 4 16x4'), ('b', 'p')):
        yield f'surface {text} sust.{access}', surfaces(Surface(text), access)
    yield 'pointers and queries', pointers
    yield 'a parameter .texref with a handle', parameter
    yield 'unbound', unbound(UNIFIED)
    yield 'unbound, independent', unbound(INDEPENDENT)


def answer(number):
    name, ask = list(questions())[number]
    try:
        said = ask(References())
    except DriverError as error:
        said = f'refused: {error}'
    print(f'{name}: {said}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='')
    parser.add_argument('--workers', type=int, default=12)
    options = parser.parse_args()
    wanted = [i for i, (name, _) in enumerate(questions()) if re.search(options.only, name)]
    context = multiprocessing.get_context('spawn')
    running = []
    for number in wanted:
        while len(running) >= options.workers:
            running = [one for one in running if one.join(0.02) or one.is_alive()]
        running.append(context.Process(target=answer, args=(number,)))
        running[-1].start()
    for one in running:
        one.join(30)


if __name__ == '__main__':
    main()
