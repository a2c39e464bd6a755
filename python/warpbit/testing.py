# SPDX-License-Identifier: Apache-2.0
"""Assertions for tests of kernels: arrays that are equal bit by bit, and else what is wrong with them.

    from warpbit.testing import assert_bits_equal

    assert_bits_equal(d, expected, name="d")
    assert_bits_equal(d, expected, a=a, b=b, instruction="mma.m16n8k16.f32.f16", target="H100")
    assert_bits_equal(d, expected, launch=(kernel, (4, 4), 32, (a, b, d)))

It is a function for any framework. BitsAssertions gives a unittest.TestCase the method assertBitsEqual, and
warpbit.pytest_plugin a fixture of the same name, which also draws the map of what is wrong.
"""

import pathlib
import re
import sys
from os import PathLike
from typing import Any, Optional, Union

from . import BitsComparison, Diagnosis, Error, Instruction, RawKernel, add_remark, compare_bits, diagnose_product

__all__ = ["BitsAssertions", "BitsDiffer", "assert_bits_equal"]

__unittest = True  # its frames are none of the test

_MOST_LINES = 12  # of a diagnosis


class BitsDiffer(AssertionError):
    """Arrays differ. ``str()`` of it says how; ``comparison`` has the same as data, ``diagnosis`` the mistake, if it was asked for."""

    def __init__(self, text: str, comparison: BitsComparison, diagnosis: Optional[Diagnosis] = None) -> None:
        super().__init__(text)
        self.comparison = comparison
        self.diagnosis = diagnosis

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.comparison, self.diagnosis)

    def write_svg(self, path: "Union[str, PathLike[str]]") -> None:
        """Draws the map into a file, in folders that are made where they are missing; the message then names it."""
        file = pathlib.Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.comparison.svg(), encoding="utf-8")
        self.args = (f"{self}\nmap: {file}",)


def _refuse(seen: str, accepted: str) -> Error:
    return Error("usage", "assert_bits_equal", seen, accepted, f"assert_bits_equal: {seen}; expected {accepted}")


def _instruction_of(a: Any, b: Any, c: Any, instruction: Union[Instruction, str, None], target: Optional[str]) -> Optional[Instruction]:
    """The instruction to diagnose with, or None where nothing of a product is given."""
    given = {"a": a, "b": b, "instruction": instruction}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given) and c is None and target is None:
        return None
    if missing:
        raise _refuse(f"no {missing[0]}", "a, b and an instruction for a diagnosis, or none of them")
    if isinstance(instruction, Instruction):
        return instruction
    if target is None:
        raise _refuse(f"the instruction {instruction!r} without a target", "target=, such as \"H100\", or a warpbit.Instruction")
    return Instruction(str(instruction), target)


def _cut(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(lines[:_MOST_LINES] + ["  ..."] * (len(lines) > _MOST_LINES))


def _diagnosed(instruction: Instruction, got: Any, a: Any, b: Any, c: Any, store: str) -> "tuple[str, Optional[Diagnosis]]":
    try:
        found = diagnose_product(instruction, a, b, c, d=got, store=store)
    except Error as error:
        return f"no diagnosis: {error}", None
    if found.verdict == "correct":
        return f"the array is what {found.statement} gives on {found.target}: look at what was expected", found
    return _cut(str(found)), found


def _stored(launch: "tuple[Any, ...]", got: Any, index: "list[int]") -> "tuple[str, list[tuple[str, int]]]":
    """The statement that stored an element in words, and its lines, the innermost first."""
    kernel, grid, block, args, *more = launch
    try:
        found = kernel.find_store(grid, block, args, array=got, index=index, **(more[0] if more else {}))
    except Error as error:
        return f"no store found: {error}", []
    if not found:
        return "no store of a thread was found", []
    return f"stored by {found}", [(link.file, link.line) for link in reversed(found.at.chain)]


def _lines_of_caller() -> "list[tuple[str, int]]":
    """Where the test called this file, or the plugin, from outside of the package."""
    package, frame = str(pathlib.Path(__file__).parent), sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return [(frame.f_code.co_filename, frame.f_lineno)]


def _check_launch(launch: "Optional[tuple[Any, ...]]") -> None:
    accepted = "(kernel, grid, block, args), or with a dict of shared_mem and cluster behind them"
    if launch is None:
        return
    if not isinstance(launch, tuple) or len(launch) not in (4, 5) or not isinstance(launch[0], RawKernel):
        raise _refuse(f"launch is a {type(launch).__name__}", accepted)
    if len(launch) == 5 and not (isinstance(launch[4], dict) and set(launch[4]) <= {"shared_mem", "cluster"}):
        raise _refuse(f"launch ends with {launch[4]!r}", accepted)


def assert_bits_equal(got: Any, expected: Any, *, a: Any = None, b: Any = None, c: Any = None,
                      instruction: Union[Instruction, str, None] = None, target: Optional[str] = None, store: str = "",
                      name: str = "the array", format: str = "", launch: "Optional[tuple[Any, ...]]" = None,
                      svg: "Union[str, PathLike[str], None]" = None) -> None:
    """Raises BitsDiffer, an AssertionError, unless two arrays have the same bits: payloads of NaNs and signs of zeros, too.

    got, expected: arrays or tensors of one shape and one dtype; one may be codes, unsigned integers of the same size. format:
    whose codes they are, where no dtype says it. name: of the array, for the message.

    a, b, c, instruction, target, store: got was to be A B + C, made of this mma or wgmma (`diagnose_product`); the message
    then says which mistake in a kernel gives exactly these bits. launch: (kernel, grid, block, args), which has written got;
    it is run again to find the store of the first wrong element (`RawKernel.find_store`). In a test that `warpbit findings` runs,
    a difference is told there, too, at the line of that store, or of the test. svg: a file for a picture of the map.

    Errors: view_mismatch for arrays that cannot be compared, usage.
    """
    __tracebackhide__ = True
    product = _instruction_of(a, b, c, instruction, target)
    _check_launch(launch)
    comparison = compare_bits(got, expected, name=name, format=format)
    if comparison.first is None:
        return
    said, at, diagnosis = comparison.lines(), _lines_of_caller(), None
    if launch is not None:
        stored, lines = _stored(launch, got, comparison.first.index)
        said.append(stored)
        at = lines + at
    if product is not None:
        mistake, diagnosis = _diagnosed(product, got, a, b, c, store)
        said.append(mistake)
    add_remark("bits_differ", "\n".join(said), at=at, sentence="an array has other bits than a test expects")
    differ = BitsDiffer("\n".join([*said, comparison.picture()]).rstrip("\n"), comparison, diagnosis)
    if svg is not None:
        differ.write_svg(svg)
    raise differ


class BitsAssertions:
    """For a unittest.TestCase: ``class Test(BitsAssertions, unittest.TestCase)``."""

    bits_maps: "Union[str, PathLike[str], None]" = None
    """A folder for pictures of what is wrong, each named by its test; None: there are none."""

    def assertBitsEqual(self, got: Any, expected: Any, msg: Optional[str] = None, **how: Any) -> None:
        """assert_bits_equal, whose arguments `how` are; fails as other methods do, and `msg` stands behind the message."""
        try:
            assert_bits_equal(got, expected, **how)
        except BitsDiffer as differ:
            if self.bits_maps is not None and how.get("svg") is None:
                test = re.sub(r"[^\w.-]+", "_", str(getattr(self, "id", lambda: type(self).__name__)()))
                differ.write_svg(pathlib.Path(self.bits_maps, test + ".svg"))
            text = str(differ) if msg is None else f"{differ}\n{msg}"
            raise getattr(self, "failureException", AssertionError)(text) from None
