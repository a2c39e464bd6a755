# SPDX-License-Identifier: Apache-2.0
import pickle

import pytest

import warpbit
from conftest import FORM, SM_90, again, refusal


def test_targets():
    names = [t.name for t in warpbit.targets()]
    assert names[0] == "sm_70" and "sm_90a" in names
    assert warpbit.Target("sm_90") == warpbit.Target("sm_90") != warpbit.Target("sm_80")
    assert len({warpbit.Target("sm_90"), warpbit.Target("sm_90")}) == 1
    assert repr(warpbit.Target("sm_90")) == "Target('sm_90')"


def test_an_instruction_says_its_shapes():
    i = SM_90
    assert (i.rows, i.columns, i.depth, i.terms, i.lanes, i.products) == (16, 8, 16, 16, 32, 1)
    assert [o.role for o in i.operands] == ["d", "a", "b", "c"]
    assert [o.shape for o in i.operands] == [(16, 8), (16, 16), (16, 8), (16, 8)]
    assert [o.register_shape for o in i.operands] == [(32, 4), (32, 4), (32, 2), (32, 4)]
    assert [o.format for o in i.operands] == ["f32", "f16", "f16", "f32"]
    assert [o.dtype.name for o in i.operands] == ["uint32"] * 4
    assert [o.code_dtype.name for o in i.operands] == ["uint32", "uint16", "uint16", "uint32"]
    assert i.basis == "captured" and not i.inferred
    assert i.evidence["order"][0] == "captured"
    assert str(i).splitlines() == [
        FORM + " on sm_90",
        "  d: f32 16x8; registers uint32 of shape (cases, 32, 4) or (32, 4)",
        "  a: f16 16x16; registers uint32 of shape (cases, 32, 4) or (32, 4)",
        "  b: f16 16x8; registers uint32 of shape (cases, 32, 2) or (32, 2)",
        "  c: f32 16x8; registers uint32 of shape (cases, 32, 4) or (32, 4)",
    ]
    assert "f16 16x16" in repr(i.operand("a"))


def test_statements_and_several_products():
    i = warpbit.Instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", warpbit.Target("sm_70"))
    assert i.products == 4 and i.operand("d").shape == (4, 8, 8)
    sparse = warpbit.Instruction(
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 1;", "sm_80")
    assert (sparse.depth, sparse.terms) == (32, 16)
    assert [o.role for o in sparse.operands if not o.takes_registers] == ["f"]


@pytest.mark.parametrize(
    "call, code, message",
    [
        (lambda: warpbit.Target("sm_1"), "unknown_target", "'sm_1' is not a known target; known are sm_70, "),
        (lambda: warpbit.Instruction("mma.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", "sm_90"), "no_such_form",
         "mma: m16n8k64 does not exist for e4m3; it has m16n8k16 and m16n8k32"),
        (lambda: SM_90.operand("e"), "operand_kind",
         FORM + ": no operand 'e'; expected one of d, a, b, c"),
    ],
)
def test_refusals(call, code, message):
    refused = refusal(call)
    assert refused.code == code and str(refused).startswith(message)
    assert isinstance(refused, ValueError)
    again(refused)


def test_a_target_is_a_target_or_a_name():
    with pytest.raises(TypeError, match="expected a Target or its name, got 90"):
        warpbit.Instruction(FORM, 90)


def test_pickles():
    target, instruction = warpbit.Target("sm_80"), warpbit.Instruction(FORM + " {d}, {a}, {b}, {c};", "sm_80")
    for thing in (target, instruction):
        assert hash(again(thing)) == hash(thing)
    operand = pickle.loads(pickle.dumps(instruction.operand("b")))
    assert operand.role == "b" and repr(operand) == repr(instruction.operand("b"))
    computation = warpbit.Computation(instruction, "descending+split_k=2", 64)
    copy = pickle.loads(pickle.dumps(computation))
    assert (copy.order, copy.instruction) == ("descending split_k=2", instruction)


def test_forms():
    forms = {f.canonical: f for f in warpbit.forms()}
    assert forms[FORM].operands == "d:4xf32 a:4xb32 b:2xb32 c:4xf32"
    assert warpbit.Target("sm_75") not in forms[FORM].targets and warpbit.Target("sm_80") in forms[FORM].targets
    assert warpbit.nearest_forms("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f23", "sm_90", 1) == [FORM]


def test_kernels():
    assert warpbit.kernels()[:2] == ["reference", "scalar"]
    assert warpbit.chosen_kernel() in warpbit.kernels()
