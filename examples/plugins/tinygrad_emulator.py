# SPDX-License-Identifier: Apache-2.0
"""Tensor cores of tinygrad's emulator with a GPU's bits: DEV=PYTHON::sm_80, then install(FORM, "sm_80") once.

Replaced is tinygrad.runtime.ops_python.generic_wmma_helper, as read in tinygrad/tinygrad at 00517ee5:
    generic_wmma_helper(inp, warp_size, WARP_THREADS, K, NUM_A, NUM_B, NUM_C, a_elem, b_elem, c_map)
inp[0][i][lane] is element i of a lane's A, a float; a_elem(inp[0], k, row, first lane) finds one by its place,
b_elem(inp[1], column, k, first lane), too, and c_map(lane, i) is the (column, row) of an element of C. Products of another K stay as they were.
"""

import numpy as np
import warpbit

FORM = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def install(form=FORM, target="sm_80"):
    from tinygrad.runtime import ops_python

    instruction = warpbit.Instruction(form, target)
    original = ops_python.generic_wmma_helper

    def generic_wmma_helper(inp, warp_size, WARP_THREADS, K, NUM_A, NUM_B, NUM_C, a_elem, b_elem, c_map):
        rows, columns = instruction.rows, instruction.columns
        if K != instruction.depth or NUM_C * WARP_THREADS != rows * columns:
            return original(inp, warp_size, WARP_THREADS, K, NUM_A, NUM_B, NUM_C, a_elem, b_elem, c_map)
        out = [list(lanes) for lanes in inp[2]]
        for first in range(0, warp_size, WARP_THREADS):
            a = [[a_elem(inp[0], k, row, first) for k in range(K)] for row in range(rows)]
            b = [[b_elem(inp[1], column, k, first) for column in range(columns)] for k in range(K)]
            c = np.zeros((rows, columns))
            places = [(i, first + lane, c_map(lane, i)) for i in range(NUM_C) for lane in range(WARP_THREADS)]
            for i, lane, (column, row) in places:
                c[row, column] = inp[2][i][lane]
            d = warpbit.gemm(instruction, a, b, c).d  # exact: the floats came of these formats
            for i, lane, (column, row) in places:
                out[i][lane] = float(d[row, column])
        return out

    ops_python.generic_wmma_helper = generic_wmma_helper
