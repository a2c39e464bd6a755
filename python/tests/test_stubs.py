# SPDX-License-Identifier: Apache-2.0
"""The stub says what the module has: names by mypy's stubtest, names and defaults of arguments by docstrings."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import warpbit

STUB = ast.parse((pathlib.Path(warpbit.__file__).parent / "__init__.pyi").read_text())


# What every class of pybind11 has and a stub cannot say.
OF_PYBIND11 = re.compile(r"warpbit\.\w+ is inconsistent, metaclass differs|warpbit\.\w+\.__init__ is inconsistent, stub does not have \*args argument")


def test_names():
    folder = pathlib.Path(warpbit.__file__).parents[1]  # where mypy keeps its cache, too
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--concise", "--ignore-missing-stub", "warpbit"],
                          capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(folder)})
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if not OF_PYBIND11.match(line) and not line.startswith("Found ")] == []
    assert any(OF_PYBIND11.match(line) for line in lines)


def test_all_that_is_public_is_in_the_stub():
    declared = {n.name for n in STUB.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    public = {n for n in dir(warpbit) if not n.startswith("_")}
    assert declared == public
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            there = {n for n in vars(getattr(warpbit, node.name)) if not n.startswith("__")}
            if node.name != "Error":
                assert {n for n in members if not n.startswith("__")} == there, node.name


def arguments(function):
    """Of a stub: names as in a docstring of pybind11; those with a default end in "="."""
    a = function.args
    out = [x.arg for x in a.args]
    for i in range(len(a.defaults)):
        out[len(out) - 1 - i] += "="
    if a.vararg:
        out.append("*")
    elif a.kwonlyargs:
        out.append("*")
    out += [x.arg + ("=" if default is not None else "") for x, default in zip(a.kwonlyargs, a.kw_defaults)]
    return out


def documented(name, doc):
    """The same of the first line of a docstring."""
    text = doc.splitlines()[0]
    inner = text[text.index("(") + 1:text.rindex(") ->")]
    depth, parts, part = 0, [], ""
    for character in inner + ",":
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        depth += (character in "([{<") - (character in ")]}>")
        part += character
    out = []
    for part in filter(None, parts):
        if part.startswith("*"):
            out.append("*")
            continue
        out.append(re.match(r"\w+", part).group() + ("=" if " = " in part else ""))
    return out


def functions():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node, getattr(warpbit, node.name)
        if isinstance(node, ast.ClassDef) and node.name != "Error":
            for n in node.body:
                if isinstance(n, ast.FunctionDef) and not n.name.startswith("_") and not any(
                        isinstance(d, ast.Name) and d.id == "property" for d in n.decorator_list):
                    yield f"{node.name}.{n.name}", n, getattr(getattr(warpbit, node.name), n.name)
                if isinstance(n, ast.FunctionDef) and n.name == "__init__":
                    yield f"{node.name}()", n, getattr(warpbit, node.name).__init__


def test_arguments():
    checked = 0
    for name, stub, function in functions():
        wanted = documented(name, function.__doc__)
        assert arguments(stub) == wanted, name
        checked += 1
    assert checked > 50


def test_everything_has_a_docstring():
    for name, _, function in functions():
        if not name.endswith("()"):
            assert len(function.__doc__.splitlines()) > 2, name
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            cls = getattr(warpbit, node.name)
            assert cls.__doc__, node.name
            for name, member in vars(cls).items():
                if isinstance(member, property):
                    assert member.__doc__, f"{node.name}.{name}"
