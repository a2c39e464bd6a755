# SPDX-License-Identifier: Apache-2.0
"""Programs in Numba: Python that it compiles to PTX. Where it is not installed, they are left out."""
import math

import numpy

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack  # releases of Numba ask for the old name

from numba import cuda, float32

from common import program

random = numpy.random.default_rng(6)


@cuda.jit
def product(a, b, c):
    """Tiles of 16 in shared memory."""
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for tile in range((a.shape[1] + 15) // 16):
        left[y, x] = a[row, tile * 16 + x] if row < a.shape[0] and tile * 16 + x < a.shape[1] else 0
        right[y, x] = b[tile * 16 + y, column] if column < b.shape[1] and tile * 16 + y < b.shape[0] else 0
        cuda.syncthreads()
        for k in range(16):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@program
def matmul():
    a, b = (random.standard_normal(s).astype(numpy.float32) for s in ((40, 50), (50, 30)))
    c = cuda.device_array((40, 30), numpy.float32)
    product[(2, 3), (16, 16)](cuda.to_device(a), cuda.to_device(b), c)
    return [c.copy_to_host()]


@cuda.jit
def walk(starts, ends, visits, steps):
    """A walk with a generator of its own; visits are counted by atomics."""
    i = cuda.grid(1)
    if i >= starts.shape[0]:
        return
    state, place = numpy.uint32(i * 747796405 + 2891336453), starts[i]
    for _ in range(steps):
        state = numpy.uint32(state * numpy.uint32(1664525) + numpy.uint32(1013904223))
        place += math.sin(state / 4294967296.0 * 6.283185307179586)
        cuda.atomic.add(visits, int(abs(place)) % visits.shape[0], 1)
    ends[i] = place


@program
def random_walk():
    starts = cuda.to_device(random.standard_normal(200))
    ends, visits = cuda.device_array(200), cuda.to_device(numpy.zeros(8, numpy.int32))
    walk[2, 128](starts, ends, visits, 10)
    return [ends.copy_to_host(), visits.copy_to_host()]
