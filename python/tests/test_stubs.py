# SPDX-License-Identifier: Apache-2.0
"""The stub, which is made of the extension: mypy's stubtest finds it right, no type in it is vague, all has a docstring."""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys

import warpbit
from warpbit import _core

FOLDER = pathlib.Path(warpbit.__file__).parents[1]  # where mypy keeps its cache, too
STUB = ast.parse((FOLDER / "warpbit/_core.pyi").read_text())

# What every class of pybind11 has and a stub cannot say.
OF_PYBIND11 = re.compile(r"warpbit\.(_core\.|testing\.)?\w+ is inconsistent, metaclass differs|"
                         r"warpbit\.(_core\.|testing\.)?\w+\.__init__ is inconsistent, stub does not have \*args argument")


def mypy(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=FOLDER,
                          env={**os.environ, "PYTHONPATH": str(FOLDER)})
    return (done.stdout + done.stderr).splitlines()


def test_names():
    lines = mypy("mypy.stubtest", "--concise", "--ignore-missing-stub", "warpbit")
    assert [line for line in lines if not OF_PYBIND11.match(line) and not line.startswith("Found ")] == []
    assert any(OF_PYBIND11.match(line) for line in lines)


def test_all_that_is_public_is_in_the_stub():
    declared = {n.name for n in STUB.body if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and not n.name.startswith("_")}
    assert declared | {"Error"} == {
        n for n in dir(warpbit) if not n.startswith("_") and not inspect.ismodule(getattr(warpbit, n))}
    for node in STUB.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            there = {n for n in vars(getattr(warpbit, node.name)) if not n.startswith("_")}
            assert {n for n in members if not n.startswith("__")} == there, node.name


def test_no_type_is_vague():
    for node in ast.walk(STUB):
        if isinstance(node, ast.FunctionDef) and node.name != "__eq__":
            types = [a.annotation for a in node.args.args + node.args.kwonlyargs if a.arg != "self"] + [node.returns]
            for text in map(ast.unparse, types):
                assert re.search(r"\b(object|ndarray|list|dict|tuple)\b(?!\[)", text) is None, (node.name, text)


PROGRAM = """
import numpy as np
import warpbit
import warpbit.testing
mma = warpbit.Instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", warpbit.Target("sm_90"))
a = warpbit.scatter(mma.operand("a"), np.zeros((16, 16), np.float16))
done = warpbit.execute(mma, a, a, np.zeros((32, 4), np.float32), kernel="avx2")
reveal_type(done.d)
reveal_type(done.kernel)
reveal_type(warpbit.decode("f16", warpbit.encode("f16", [1.0, 2.0])))
reveal_type(warpbit.layout(mma).operands[0].cells)
reveal_type(warpbit.verify("x.npz", target="sm_80")[0].error)
reveal_type(mma.operand("a").shape)
kernel = warpbit.RawModule(path="kernel.ptx", target="sm_90a").get_function("f")
reveal_type(kernel.launch((2, 3), 32, (np.zeros(1), np.float32(1), 2, None, b"1234"), shared_mem=8).fault)
warpbit.execute(mma, a, a, a, kernel="mmx")
warpbit.explain(mma, ["1"], [1.0])
warpbit.gemm(mma, [[1, 2.5]], np.ones((2, 1)), codes=False)
warpbit.quantize(np.ones(16), "nvfp4")
warpbit.ex2(1.0, target="H100")
warpbit.testing.assert_bits_equal(done.d, done.d, launch=None, name="d")
"""


def test_types_that_a_checker_sees(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    lines = mypy("mypy", "--strict", str(tmp_path / "program.py"))
    found = [re.sub(r'^.*?: (note: Revealed type is "(.*)"|error: (.*))$', r"\2\3", line) for line in lines]
    assert found[:7] == [
        "numpy.ndarray[Any, numpy.dtype[Any]]",
        "Union[Literal['reference'], Literal['scalar'], Literal['avx2'], Literal['avx512'], Literal['neon']]",
        "numpy.ndarray[Any, numpy.dtype[numpy.floating[numpy._typing._64Bit]]]",
        "numpy.ndarray[Any, numpy.dtype[numpy.signedinteger[numpy._typing._64Bit]]]",
        "Union[warpbit._error.Error, None]",
        "builtins.tuple[builtins.int, ...]",
        "Union[warpbit._core.LaunchFault, None]",
    ]
    assert 'Argument "kernel" to "execute" has incompatible type "Literal[\'mmx\']"' in found[7]
    assert 'to "explain" has incompatible type "List[str]"' in found[8] or 'List item 0 has incompatible type "str"' in found[8]
    assert not any('"gemm"' in line or '"quantize"' in line or '"ex2"' in line or "testing" in line for line in found[9:]), found[9:]


def test_everything_has_a_docstring():
    for name, thing in vars(_core).items():
        if name.startswith("_"):
            continue
        assert len(thing.__doc__.splitlines()) > 2 or inspect.isclass(thing), name
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not member.startswith("_"):
                assert value.__doc__, f"{name}.{member}"
