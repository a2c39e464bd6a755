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


def explained_import(error: ImportError) -> ImportError:
    """The error with the Python that the extension was built for, and this one."""
    folder = pathlib.Path(__file__).parent
    tags = [re.findall(r"cpython-(\d)(\d+)", path.name) for path in folder.glob("_core.*.so")]
    versions = sorted({".".join(found) for tag in tags for found in tag})
    try:
        from ._built_for import EXECUTABLE
    except ImportError:  # a wheel
        EXECUTABLE = "python" + (versions[0] if versions else "3")
    built = f"warpbit was built for {EXECUTABLE} {', '.join(versions)}" if versions else "the extension of warpbit is not here"
    here = f"this is {sys.executable} {sys.version_info.major}.{sys.version_info.minor}"
    why = ", which has no NumPy" if error.name == "numpy" else ""
    return ImportError(f"{built}; {here}{why} ({error})", name=error.name, path=error.path)
