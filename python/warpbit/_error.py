# SPDX-License-Identifier: Apache-2.0
"""The exception of the package, which the extension raises; and what is said where the extension cannot be imported."""

import pathlib
import re
import sys


class Error(ValueError):
    """A refusal: what was seen, where, and what would have been accepted there.

    ``str()`` of it is one sentence. ``code`` is the name of the kind of refusal, e.g. "unknown_qualifier"; ``where``,
    ``seen`` and ``accepted`` are the parts of the sentence, each of which may be empty.
    """

    def __init__(self, code: str, where: str, seen: str, accepted: str, message: str) -> None:
        super().__init__(code, where, seen, accepted, message)
        self.code = code
        self.where = where
        self.seen = seen
        self.accepted = accepted
        self.message = message

    def __str__(self) -> str:
        return self.message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Error) and self.args == other.args

    __hash__ = ValueError.__hash__


def explained_import(error: ImportError, folder: pathlib.Path = pathlib.Path(__file__).parent, version: "tuple[int, int]" = sys.version_info[:2]) -> ImportError:
    """The error with the Python that the extension in the folder was built for, this one, and what helps."""
    tags = [re.findall(r"cpython-(\d)(\d+)", path.name) for path in folder.glob("_core.*.so")]
    versions = sorted({".".join(found) for tag in tags for found in tag})
    here = "{}.{}".format(*version)
    this = f"this is {sys.executable} {here}"
    if not versions:
        return ImportError(f"the extension of warpbit is not in {folder}; {this} ({error})", name=error.name, path=error.path)
    try:
        python = re.findall(r'"(.*)"', (folder / "_built_for.py").read_text())[0]
    except OSError:  # a wheel
        python = "python" + versions[0]
    if here not in versions:
        why, cure = "", f"run {python}, or build it for this one: python3 -m pip install . in a clone"
    elif error.name == "numpy":
        why, cure = ", which has no NumPy", f"run {python}, or {sys.executable} -m pip install numpy"
    else:
        why, cure = "", f"run {python}"
    return ImportError(f"warpbit was built for {python} {', '.join(versions)}; {this}{why}: {cure} ({error})", name=error.name, path=error.path)
