#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU leaves of random kernels (src/verify/cases/random/), assembled by ptxas -O0 and -O3.

    record.py OUT [--kinds A,B] [--first 0] [--count 1200] [--whole 0] [--sass 0] [--seeds FILE] [--known OLD.zip] [--compile-only]

OUT/digests.zip is a recording (src/recording/FORMAT.md, kernel_digests). A digest is the sum of mixed(word + gamma * (place + 1)) of
draw.hpp over the 8 words of each thread, modulo 2^64. Every kernel is launched twice; one whose launches differ, or whose module did
not run, is named and left out. --known takes over what an older recording says of kernels that differ. --whole N keeps every word of the first N kernels of each kind, in OUT/whole_*.npz:
KIND has the axes kernel, level (0: -O0, 1: -O3), word, and KIND_seeds says which. --sass N keeps the machine code at -O3 of the
first N, in OUT/kernels.sass.xz. --seeds takes the kernels of a file instead, a line "KIND SEED" each. It needs g++, ptxas, NumPy and a
GPU; --compile-only needs none.
"""
import argparse
import concurrent.futures
import ctypes
import itertools
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / 'tools' / 'capture'))
import recording  # noqa: E402
from driver import Driver  # noqa: E402

LEVELS = ('O0', 'O3')
WORDS = 8 * 128  # of a kernel, with room for 128 threads
KERNELS = 50     # of a module
KINDS_OF_FILE = 6
GAMMA = np.uint64(0x9E3779B97F4A7C15)
SECONDS = 120    # for the launches of a process


class Module:
    """Kernels of consecutive seeds; its files lie beside each other."""

    def __init__(self, folder, kind, first, count):
        self.kind, self.first, self.count = kind, first, count
        self.path = folder / f'{kind}_{first}'

    def file(self, ending):
        return self.path.with_suffix('.' + ending)

    def names(self):
        return [f'{self.kind}_{seed}' for seed in range(self.first, self.first + self.count)]

    def threads(self):
        return [int(line) for line in self.file('threads').read_text().split()]


# ---- Compiling

def compile_module(generator, module):
    """A module that is refused has no cubin, and fails when it is launched."""
    subprocess.run([generator, module.kind, str(module.first), str(module.count), module.path], check=True)
    for level in LEVELS:
        subprocess.run(['ptxas', '-arch=sm_90a', f'-{level}', module.file('ptx'), '-o', module.file(f'{level}.cubin')], check=False)


def disassembled(module):
    return subprocess.run(['nvdisasm', '-c', module.file('O3.cubin')], check=True, capture_output=True, text=True).stdout


# ---- Launching, in a process of its own: a fault ends it

class Gpu(Driver):
    """With room for the words of a module's kernels."""

    def __init__(self):
        super().__init__()
        self.bytes = KERNELS * WORDS * 4
        self.inputs, self.outputs = self.allocate(self.bytes), self.allocate(self.bytes)

    def run(self, cubin, names, threads, data):
        """The words that each kernel leaves in a row of zeros."""
        loaded = ctypes.c_void_p()
        self.call('cuModuleLoadData', ctypes.byref(loaded), ctypes.c_char_p(cubin))
        self.write(self.inputs, data)
        self.call('cuMemsetD8_v2', ctypes.c_uint64(self.outputs), ctypes.c_ubyte(0), ctypes.c_size_t(self.bytes))
        for i, (name, count) in enumerate(zip(names, threads)):
            function = ctypes.c_void_p()
            self.call('cuModuleGetFunction', ctypes.byref(function), loaded, name.encode())
            arrays = [ctypes.c_uint64(base + i * WORDS * 4) for base in (self.inputs, self.outputs)]
            pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(a) for a in arrays))
            shape = [ctypes.c_uint(n) for n in (1, 1, 1, count, 1, 1, 0)]
            self.call('cuLaunchKernel', function, *shape, None, pointers, None)
        self.call('cuCtxSynchronize')
        words = np.frombuffer(self.read(self.outputs, len(names) * WORDS * 4), np.uint32).reshape(-1, WORDS)
        self.call('cuModuleUnload', loaded)
        return words


def launch(paths):
    """Of each module and level the words of two runs: PATH.LEVEL.npy."""
    gpu = Gpu()
    for path in map(pathlib.Path, paths):
        kind, first = path.name.rsplit('_', 1)
        module = Module(path.parent, kind, int(first), 0)
        threads, data = module.threads(), module.file('in').read_bytes()
        module.count = len(threads)
        for level in LEVELS:
            cubin = module.file(f'{level}.cubin').read_bytes()
            runs = [gpu.run(cubin, module.names(), threads, data) for _ in range(2)]
            np.save(module.file(f'{level}.part.npy'), np.stack(runs))
        for level in LEVELS:
            os.replace(module.file(f'{level}.part.npy'), module.file(f'{level}.npy'))


def launch_all(modules):
    """One process after another: what ends in the middle of a module goes on behind it."""
    left = list(modules)
    while left:
        command = [sys.executable, __file__, '--launch', *(str(module.path) for module in left)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            said = done.stderr.strip().split('\n')[-1]
        except subprocess.TimeoutExpired:
            said = f'no end after {SECONDS} seconds'
        while left and left[0].file('O3.npy').exists():
            left.pop(0)
        if left:
            print(f'{left[0].path.name}: {said}', flush=True)
            left.pop(0)


# ---- Results

def mixed(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def digests(words, threads):
    """Of rows of words, of which the first eight of each thread count."""
    places = np.arange(1, WORDS + 1, dtype=np.uint64) * GAMMA
    numbers = mixed(words.astype(np.uint64) + places)
    counted = np.arange(WORDS) < 8 * np.array(threads)[:, None]
    return np.where(counted, numbers, np.uint64(0)).sum(axis=1, dtype=np.uint64)


def record(kind, seed, digests_):
    """A line of the recording."""
    return {'kind': 'kernel_digests', 'name': f'{kind} {seed}', 'generator': kind, 'seed': seed, **dict(zip(LEVELS, digests_))}


def records_of(module):
    """One for each kernel that ran and whose launches are equal; the others are named."""
    columns = []
    for level in LEVELS:
        if not module.file('O3.npy').exists():
            print(f'{module.path.name}: failed')
            return
        first, second = np.load(module.file(f'{level}.npy'))
        stable = (first == second).all(axis=1)
        columns.append([f'{d:016x}' if s else None for d, s in zip(digests(first, module.threads()), stable)])
    for seed, *both in zip(range(module.first, module.first + module.count), *columns):
        if None in both:
            print(f'{module.kind} {seed}: unstable')
        else:
            yield record(module.kind, seed, both)


def take_over(records, old):
    """What an older recording says of kernels that leave the same."""
    known = {one['name']: one for one in old.records}
    for one in records:
        before = known.get(one['name'], {})
        if all(before.get(level) == one[level] for level in LEVELS):
            one.update({name: before[name] for name in ('defects', 'differs') if name in before})


def write_whole(out, kinds, modules, count):
    """Files of a few kinds each."""
    for at in range(0, len(kinds), KINDS_OF_FILE):
        arrays = {}
        for kind in kinds[at : at + KINDS_OF_FILE]:
            mine = [m for m in modules if m.kind == kind and m.file('O3.npy').exists()]
            words = [np.stack([np.load(m.file(f'{level}.npy'))[0] for level in LEVELS], axis=1) for m in mine]
            if mine:
                arrays[kind] = np.concatenate(words)[:count]
                arrays[kind + '_seeds'] = np.concatenate([np.arange(m.first, m.first + m.count) for m in mine])[:count]
        np.savez_compressed(out / f'whole_{at // KINDS_OF_FILE}.npz', **arrays)


def write_sass(out, modules, count, first, pool):
    chosen = [m for m in modules if count < 0 or m.first - first < count]
    with lzma.open(out / 'kernels.sass.xz', 'wt', preset=2) as file:
        for text in pool.map(disassembled, chosen):
            file.write(text)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--kinds', default='')
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--count', type=int, default=1200)
    parser.add_argument('--whole', type=int, default=0)
    parser.add_argument('--sass', type=int, default=0)
    parser.add_argument('--seeds', type=pathlib.Path)
    parser.add_argument('--known', type=pathlib.Path)
    parser.add_argument('--compile-only', action='store_true')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    return parser.parse_args()


def modules_of(o, kinds, folder):
    if o.seeds:
        chosen = [line.split() for line in o.seeds.read_text().split('\n') if line.strip()]
        return [Module(folder, kind, int(seed), 1) for kind, seed in chosen]
    firsts = range(o.first, o.first + o.count, KERNELS)
    return [Module(folder, kind, first, min(KERNELS, o.first + o.count - first)) for kind, first in itertools.product(kinds, firsts)]


def main():
    o = options()
    o.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        folder = pathlib.Path(work)
        generator = folder / 'generate'
        subprocess.run(['g++', '-std=c++20', '-O1', '-I', ROOT / 'src', '-o', generator, HERE / 'generate.cpp'], check=True)
        every = subprocess.run([generator, '--kinds'], check=True, capture_output=True, text=True).stdout.split()
        kinds = [kind for kind in every if not o.kinds or kind in o.kinds.split(',')]
        modules = modules_of(o, kinds, folder)
        list(pool.map(lambda module: compile_module(generator, module), modules))
        print(f'{sum(m.count for m in modules)} kernels in {len(modules)} modules', flush=True)
        if o.compile_only:
            return
        launch_all(modules)
        records = [one for module in modules for one in records_of(module)]
        if o.known:
            take_over(records, recording.read(o.known))
        recording.Recording(recording.header('sm_90a', 'tools/random/record.py'), records).write(o.out / 'digests.zip')
        print(f'{len(records)} kernels')
        if o.whole or o.seeds:
            write_whole(o.out, kinds, modules, o.whole or None)
        if o.sass or o.seeds:
            write_sass(o.out, modules, -1 if o.seeds else o.sass, o.first, pool)


if __name__ == '__main__':
    if sys.argv[1:2] == ['--launch']:
        launch(sys.argv[2:])
    else:
        main()
