# SPDX-License-Identifier: Apache-2.0
"""What a batch costs more from Python than from C++:

    cmake --build build/release --target overhead_batch
    PYTHONPATH=build/release/python python3 python/tests/overhead.py

The same 10,000 tiles in the same memory, in one process, alternately, on one thread: by warpbit.execute, timed from Python, and
by overhead_batch.cpp, which is C++ alone, linked with the same library and timed by itself. Prints medians and their ratio; exit
status 1 if it is above 1.1.
"""

import ctypes
import statistics
import sys
import time

import numpy as np

import warpbit

FORM, TARGET, CASES, ROUNDS = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90", 10_000, 101


def main(library):
    batch = ctypes.CDLL(library).overhead_batch
    batch.restype = ctypes.c_double
    batch.argtypes = [ctypes.c_char_p, ctypes.c_char_p] + [ctypes.c_void_p] * 4 + [ctypes.c_size_t]
    mma = warpbit.Instruction(FORM, TARGET)
    inputs = warpbit.generate(mma, CASES, profile="ordinary")
    a, b, c = (np.ascontiguousarray(inputs[n]) for n in "abc")
    out = np.empty_like(inputs["d"])
    fresh, given, plain = [], [], []
    for _ in range(ROUNDS):
        out[...] = 0
        plain.append(batch(FORM.encode(), TARGET.encode(), a.ctypes.data, b.ctypes.data, c.ctypes.data, out.ctypes.data, CASES))
        assert np.array_equal(out, inputs["d"])
        start = time.perf_counter()
        warpbit.execute(mma, a, b, c, out=out, threads=1)
        given.append(time.perf_counter() - start)
        start = time.perf_counter()
        d = warpbit.execute(mma, a, b, c, threads=1).d
        fresh.append(time.perf_counter() - start)
        assert np.array_equal(d, out)
    base = statistics.median(plain)
    print(f"{CASES} tiles, medians of {ROUNDS}: C++ {base * 1e3:.3f} ms")
    ratios = [statistics.median(times) / base for times in (given, fresh)]
    print(f"Python with out: ratio {ratios[0]:.3f}; with a new array: ratio {ratios[1]:.3f}")
    return int(max(ratios) > 1.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "build/release/python/tests/liboverhead_batch.so"))
