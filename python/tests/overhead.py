# SPDX-License-Identifier: Apache-2.0
"""What a batch costs more from Python than from C:

    ninja -C build/release libwarpbit.so
    PYTHONPATH=build/release/python python3 python/tests/overhead.py build/release/libwarpbit.so

The same 10,000 tiles in one process, alternately, on one thread: by warpbit.execute, and by warpbit_execute of that library.
Prints the medians' ratios; exit status 1 if one is above 1.1.
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


def main(library):
    c = ctypes.CDLL(library)
    handle = ctypes.c_void_p()
    assert c.warpbit_parse(FORM, TARGET, ctypes.byref(handle)) == 0
    mma = warpbit.Instruction(FORM.decode(), TARGET.decode())
    inputs = warpbit.generate(mma, CASES, profile="ordinary")
    sources = [np.ascontiguousarray(inputs[n]) for n in "abc"]
    outs = [np.zeros_like(inputs["d"]) for _ in range(2)]
    operands = (Registers * 4)(*(Registers(x.ctypes.data, x.strides) for x in (outs[0], *sources)))
    options = Options(ctypes.sizeof(Options), 0, 0, 1)
    ways = {
        "C": lambda: c.warpbit_execute(handle, operands, ctypes.c_size_t(4), ctypes.c_size_t(CASES), ctypes.byref(options)),
        "Python with out": lambda: warpbit.execute(mma, *sources, out=outs[1], threads=1),
        "Python with a new array": lambda: warpbit.execute(mma, *sources, threads=1),
    }
    times = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, work in ways.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    assert all(np.array_equal(out, inputs["d"]) for out in outs)
    ratios = {name: statistics.median(t) / statistics.median(times["C"]) for name, t in times.items()}
    print(f"{CASES} tiles, medians of {ROUNDS}: C {statistics.median(times['C']) * 1e3:.3f} ms; times that:", ratios)
    return int(max(ratios.values()) > 1.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
