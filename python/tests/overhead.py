# SPDX-License-Identifier: Apache-2.0
"""What a batch costs more from Python than from C:

    PYTHONPATH=build/release/python python3 python/tests/overhead.py

The same 10,000 tiles in the same memory, in one process, alternately, on one thread: by warpbit.execute, and by warpbit_execute
of the same library. Prints medians and their ratio; exit status 1 if it is above 1.1.
"""

import ctypes
import statistics
import sys
import time

import numpy as np

import warpbit

FORM, TARGET, CASES, ROUNDS = b"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", b"sm_90", 10_000, 101


class Registers(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("strides", ctypes.c_ssize_t * 3)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("as_measured", ctypes.c_int32), ("refuse_inferred", ctypes.c_int32), ("threads", ctypes.c_int32)]


def seconds(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main():
    c_interface = ctypes.CDLL("libwarpbit.so." + warpbit.__version__.split(".")[0])  # which the module has loaded
    handle = ctypes.c_void_p()
    assert c_interface.warpbit_parse(FORM, TARGET, ctypes.byref(handle)) == 0
    mma = warpbit.Instruction(FORM.decode(), TARGET.decode())
    inputs = warpbit.generate(mma, CASES, profile="ordinary")
    a, b, c = (np.ascontiguousarray(inputs[n]) for n in "abc")
    out = np.empty_like(inputs["d"])
    operands = (Registers * 4)(*(Registers(x.ctypes.data, x.strides) for x in (out, a, b, c)))
    options = Options(ctypes.sizeof(Options), 0, 0, 1)
    of_c = lambda: c_interface.warpbit_execute(handle, operands, ctypes.c_size_t(4), ctypes.c_size_t(CASES), ctypes.byref(options))
    plain, given, fresh = [], [], []
    for _ in range(ROUNDS):
        out[...] = 0
        taken, status = seconds(of_c)
        assert status == 0 and np.array_equal(out, inputs["d"])
        plain.append(taken)
        given.append(seconds(lambda: warpbit.execute(mma, a, b, c, out=out, threads=1))[0])
        taken, result = seconds(lambda: warpbit.execute(mma, a, b, c, threads=1))
        fresh.append(taken)
        assert np.array_equal(result.d, out)
    base = statistics.median(plain)
    ratios = [statistics.median(times) / base for times in (given, fresh)]
    print(f"{CASES} tiles, medians of {ROUNDS}: C {base * 1e3:.3f} ms")
    print(f"Python with out: ratio {ratios[0]:.3f}; with a new array: ratio {ratios[1]:.3f}")
    return int(max(ratios) > 1.1)


if __name__ == "__main__":
    sys.exit(main())
