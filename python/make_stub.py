# SPDX-License-Identifier: Apache-2.0
"""Prints the stub of the extension: the types of its signatures, and its docstrings.

A signature is the first line of a docstring by pybind11, whose words are translated here. `_kernel` and the like are
words of an enumeration, which the module has in `_words`.
"""

import inspect
import re
import textwrap

from warpbit import _core

HEAD = '''\
# Made of the extension by make_stub.py.
from os import PathLike
from pathlib import Path
from typing import Any, Callable, Iterable, Literal, Mapping, Optional, Protocol, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from ._error import Error

_AnyPath = Union[str, PathLike[str]]
class _Tensor(Protocol):
    """A tensor of PyTorch on the CPU."""
    def detach(self) -> Any: ...
    def element_size(self) -> int: ...
class _DLPack(Protocol):
    """An array of any other library, in the memory of this computer."""
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

_Array = Union[NDArray[Any], _Tensor, _DLPack]
_Number = Union[float, np.floating[Any], np.integer[Any]]
_Bits = _Array
_Element = Union[_Number, _Array]
_Elements = Union[Sequence[int], Sequence[float], _Array]
_Matrix = Union[Sequence[Sequence[int]], Sequence[Sequence[float]], _Array]
_Numbers = Union[_Number, Sequence[Any], _Array]
_Argument = Union[_Array, np.generic, int, float, bytes, "TensorMap", None]
_Extent = Union[int, Sequence[int]]

__version__: str
'''

# What pybind11 says, and what a stub says: everywhere, of an argument, of a result.
EVERYWHERE = [(r"\bwarpbit\._core\.", ""), (r"\bnumpy\.ndarray\[numpy\.(\w+)\]", r"NDArray[np.\1]"),
              (r"^dtype$", "np.dtype[Any]"), (r"\bTuple\[", "tuple["), (r"\bDict\[", "dict["),
              (r"(?<![\w.])_[a-z]\w*", lambda word: "Literal" + repr(_core._words[word.group()]))]
ARGUMENTS = [(r"\bself: [\w.]+", "self"), (r"\bos\.PathLike\b", "_AnyPath"), (r"\bList\[", "Sequence["),
             (r"\*args\b", "*sources: _Bits")]
RESULT = [(r"\bos\.PathLike\b", "Path"), (r"\bList\[", "list[")]


def translated(text, *tables):
    for pattern, replacement in sum(tables, []):
        text = re.sub(pattern, replacement, text)
    return text


def signature(doc):
    """(arguments, result) of the first line of a docstring."""
    arguments, result = doc.splitlines()[0].partition("(")[2].rsplit(") -> ", 1)
    return translated(arguments, EVERYWHERE, ARGUMENTS), translated(result, EVERYWHERE, RESULT)


def body(doc):
    doc = (doc or "").strip().replace("\\", "\\\\")
    return textwrap.indent(f'"""{doc}{" " if doc.endswith(chr(34)) else ""}"""' if doc else "...", "    ")


def function(name, doc, decorator=""):
    arguments, result = signature(doc)
    return f"{decorator}def {name}({arguments}) -> {result}:\n{body(doc.partition(chr(10))[2])}\n"


def read_only(name, member):
    result = signature(member.fget.__doc__)[1]
    return f"@property\ndef {name}(self) -> {result}:\n{body(member.__doc__)}\n"


SPECIAL = ("__init__", "__call__", "__eq__", "__hash__")


def members(cls):
    for name, member in vars(cls).items():
        if isinstance(member, property):
            yield read_only(name, member)
        elif isinstance(member, staticmethod):
            yield function(name, member.__func__.__doc__, "@staticmethod\n")
        elif name == "__hash__" and member is None:
            yield "__hash__: None  # type: ignore[assignment]\n"
        elif type(member).__name__ == "instancemethod" and (name in SPECIAL or not name.startswith("_")):
            yield function(name, member.__doc__)


def stub():
    yield HEAD
    for name, thing in vars(_core).items():
        if inspect.isclass(thing):
            inside = "\n".join([textwrap.dedent(body(thing.__doc__)) + "\n", *members(thing)])
            yield f"class {name}:\n{textwrap.indent(inside, '    ')}"
        elif not name.startswith("_"):
            yield function(name, thing.__doc__)


print("\n".join(stub()))
