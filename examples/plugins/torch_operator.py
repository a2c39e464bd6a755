# SPDX-License-Identifier: Apache-2.0
"""A matrix product of PyTorch with a GPU's bits, on the CPU: torch.ops.warpbit.mm, and a mode in which it stands for aten.mm.

    torch_operator.mm(a, b, "sm_90")          # float16, bfloat16, float8_e4m3fn, float8_e5m2 -> float32; int8 -> int32
    with torch_operator.Bits("sm_80"):
        y = layer(x)                          # each mm of these types, rounded once more to the type of A

By torch.library.custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None), there since PyTorch 2.4.
"""

import torch
import warpbit
from torch.utils._python_dispatch import TorchDispatchMode

FORMS = {
    "torch.float16": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "torch.bfloat16": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "torch.float8_e4m3fn": "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "torch.float8_e5m2": "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32",
    "torch.int8": "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
}


@torch.library.custom_op("warpbit::mm", mutates_args=(), device_types="cpu")
def mm(a: torch.Tensor, b: torch.Tensor, target: str) -> torch.Tensor:
    instruction = warpbit.Instruction(FORMS[str(a.dtype)], target)
    return torch.from_numpy(warpbit.gemm(instruction, a, b).d)  # tensors are taken as they lie


@mm.register_fake
def _(a, b, target):
    return a.new_empty((a.shape[0], b.shape[1]), dtype=torch.int32 if a.dtype == torch.int8 else torch.float32)


class Bits(TorchDispatchMode):
    """Within it aten.mm on the CPU is warpbit::mm of a target."""

    def __init__(self, target):
        super().__init__()
        self.target = target

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.mm.default and str(args[0].dtype) in FORMS:
            return mm(*args, self.target).to(args[0].dtype)
        return func(*args, **(kwargs or {}))
