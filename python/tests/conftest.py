# SPDX-License-Identifier: Apache-2.0
"""What Hypothesis tries is the same in every run, and it keeps nothing. What the files of tests share."""

import pickle

import numpy as np
import pytest
import warpbit
from hypothesis import settings

settings.register_profile("warpbit", database=None, deadline=None, derandomize=True)
settings.load_profile("warpbit")

GOLDEN = "golden/sm_90a/"
FORM = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SM_80, SM_90 = (warpbit.Instruction(FORM, target) for target in ("sm_80", "sm_90"))
CAPTURE = GOLDEN + "mma/mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32.npz"


def arrays_of(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def again(thing):
    """What comes back of a pickle, by any protocol, which is the same."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        out = pickle.loads(pickle.dumps(thing, protocol))
        assert out == thing and repr(out) == repr(thing) and str(out) == str(thing)
    return out


def refusal(call):
    """The Error that a call raises."""
    with pytest.raises(warpbit.Error) as refused:
        call()
    return refused.value


@pytest.fixture()
def recorded():
    """The registers in CAPTURE."""
    return {name: array for name, array in arrays_of(CAPTURE).items() if name in "abcd"}
