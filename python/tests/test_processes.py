# SPDX-License-Identifier: Apache-2.0
"""What is between this module and its process: fork, signals, objects without a value, arrays that are refused."""

import _thread
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import warpbit
from conftest import FORM, refusal


def arrays(cases):
    return [np.full((cases, 32, n), 0x3C003C00, np.uint32) for n in (4, 2, 4)]


FORKED = f"""
import multiprocessing, numpy as np, warpbit
mma = warpbit.Instruction({FORM!r}, "sm_90a")
def total(_):
    a, b, c = (np.full((64, 32, n), 0x3C003C00, np.uint32) for n in (4, 2, 4))
    d = warpbit.execute(mma, a, b, c, threads=4).d
    reports = warpbit.verify(["golden/sm_90a/mma"], shard=(1, 40))
    return int(d.astype(np.uint64).sum()), warpbit.totals(reports).mismatches
whole = total(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(total, range(4)) == [whole] * 4
print("done")
"""


def test_a_forked_process_computes():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


@pytest.mark.parametrize("name", [n for n, c in vars(warpbit).items() if isinstance(c, type) and n != "Error"])
def test_objects_without_a_value(name):
    cls = getattr(warpbit, name)
    empty = cls.__new__(cls)
    for member, value in vars(cls).items():
        if isinstance(value, property):
            with pytest.raises(TypeError, match="the object has no value"):
                getattr(empty, member)


def test_a_target_without_a_value_in_a_call():
    with pytest.raises(TypeError, match="the object has no value"):
        warpbit.Instruction(FORM, warpbit.Target.__new__(warpbit.Target))


@pytest.mark.parametrize("make, state", [
    (lambda: warpbit.Target("sm_80"), ()),
    (lambda: warpbit.Target("sm_80"), ("sm_1",)),
    (lambda: warpbit.Instruction(FORM, "sm_80").operand("a"), (warpbit.Instruction(FORM, "sm_80"), 99)),
    (lambda: warpbit.Instruction(FORM, "sm_80").operand("a"), (warpbit.Instruction(FORM, "sm_80"), "z")),
])
def test_a_pickle_that_was_changed(make, state):
    thing = make()
    cls = type(thing)
    with pytest.raises((TypeError, IndexError, RuntimeError, warpbit.Error)):
        cls.__new__(cls).__setstate__(state)
    lost = pickle.dumps(thing, 2)
    assert lost.endswith(b"b.")  # BUILD, STOP
    with pytest.raises((TypeError, pickle.UnpicklingError)):
        empty = pickle.loads(lost[:-2] + b"0.")  # POP the state instead
        repr(empty)


def interrupted(work):
    """Seconds from Ctrl-C to KeyboardInterrupt."""
    sent = []
    timer = threading.Timer(0.3, lambda: (sent.append(time.monotonic()), _thread.interrupt_main()))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        timer.cancel()
    return time.monotonic() - sent[0]


def mma():
    return warpbit.Instruction(FORM, "sm_90a")


@pytest.mark.parametrize("work", [
    lambda: warpbit.execute(mma(), *(np.broadcast_to(a[0], (10**6,) + a.shape[1:]) for a in arrays(1)), kernel="reference"),
    lambda: warpbit.gemm(mma(), np.ones((5000, 5000), np.uint16), np.ones((5000, 5000), np.uint16)),
    lambda: warpbit.verify(["golden-digests"]),
    lambda: warpbit.compare_generated([warpbit.Computation(mma(), order, 64) for order in ("ascending", "descending")], 9000,
                                      depth=64),
    lambda: [warpbit.quantize(np.ones((2048, 2048), np.float32), "nvfp4") for _ in range(100)],
    lambda: [warpbit.encode("ue8m0", np.ones((2048, 2048), np.float32)) for _ in range(100)],
    lambda: warpbit.explain_blocks("nvfp4", np.ones(10**7, np.float32)),
    lambda: [warpbit.tanh(np.ones((2048, 2048), np.float32), target="H100") for _ in range(100)],
], ids=["execute", "gemm", "verify", "compare", "quantize", "encode", "explain_blocks", "tanh"])
def test_ctrl_c(work):
    assert interrupted(work) < 1.0


def test_a_mask_is_not_ignored():
    a, b, c = arrays(1)
    masked = np.ma.masked_array(a, mask=np.zeros_like(a, bool))
    with pytest.raises(warpbit.Error, match=r"operand a is masked uint32 of shape \(1, 32, 4\)"):
        warpbit.execute(mma(), masked, b, c)
    assert "masked float64" in str(refusal(lambda: warpbit.encode("f16", np.ma.masked_array([1.0], mask=[True]))))


# ---- Progress

def long_compare(progress):
    return warpbit.compare_generated([mma(), mma()], 60000, progress=progress)


def test_progress_is_told():
    seen = []
    long_compare(lambda done, of: seen.append((done, of)))
    assert seen and seen == sorted(seen) and seen[-1] == (60000, 60000)


def test_what_progress_raises_ends_the_call():
    def stop(done, of):
        raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        long_compare(stop)
