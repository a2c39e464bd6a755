# SPDX-License-Identifier: Apache-2.0
"""The injected library, which writes the recording."""
import ctypes
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HAS_KERNELS = not os.environ.get("WARPBIT_RECORD_NO_KERNELS")
HAS_PRODUCTS = not os.environ.get("WARPBIT_RECORD_NO_PRODUCTS")
PRODUCTS = re.compile(os.environ.get("WARPBIT_RECORD_PRODUCTS", ""))
FIRST = int(os.environ.get("WARPBIT_RECORD_FIRST") or 0)
AGAIN = os.environ.get("WARPBIT_RECORD_AGAIN") != "0"

_library = ctypes.CDLL(os.environ["WARPBIT_RECORD_LIBRARY"])
_u64, _text = ctypes.c_uint64, ctypes.c_char_p
FIND_BLOCK = ctypes.CFUNCTYPE(ctypes.c_int, _u64, ctypes.POINTER(_u64), ctypes.POINTER(_u64))


def _function(name, result, *arguments):
    out = getattr(_library, "warpbit_record_" + name)
    out.restype, out.argtypes = result, arguments
    return out


_wants = _function("wants", ctypes.c_int, ctypes.c_void_p)
_hint = _function("hint", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, _text, _text)
_pause = _function("pause", None, ctypes.c_int)
_ptx = _function("ptx", None, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, _text)
_next_ptx = _function("next_ptx", None, ctypes.c_char_p, ctypes.c_size_t, _text)
_take = _function("take", _text, _u64, _u64, ctypes.c_int)
_room = _function("room", ctypes.c_int, _u64)
_collect = _function("collect", None)
_collected = _function("collected", _text)
_product = _function("product", None, _text, _text)
_left_out = _function("left_out", None, _text)
_blocks = _function("blocks", None, FIND_BLOCK)
flush = _function("flush", None)


def wants(function):
    """Whether a launch of a kernel, by its handle, would be recorded."""
    return bool(_wants(function))


def left_out(why):
    _left_out(why.encode())


def knows_ptx(program, text, library):
    """Tells the PTX that a machine program, bytes, was made of."""
    text = text.encode() if isinstance(text, str) else bytes(text)
    text = text.rstrip(b"\0")
    _ptx(bytes(program), len(program), text, len(text), library.encode())


class NextPtx:
    """While it lasts, an image that this thread loads was made of this PTX, whatever its bytes are."""

    def __init__(self, text, library):
        self.text, self.library = (text.encode() if isinstance(text, str) else bytes(text)).rstrip(b"\0"), library.encode()

    def __enter__(self):
        _next_ptx(self.text, len(self.text), self.library)

    def __exit__(self, *_):
        _next_ptx(b"", 0, b"")


class Paused:
    """While it lasts, launches of this thread are not recorded."""

    def __enter__(self):
        _pause(1)

    def __exit__(self, *_):
        _pause(-1)


class Hint:
    """While it lasts, launches of this thread can reach these parts of memory: (address, bytes, name)."""

    def __init__(self, parts, where, library):
        self.parts, self.where, self.library = parts, where, library

    def __enter__(self):
        count = len(self.parts)
        pairs = (_u64 * (2 * count))(*(n for part in self.parts for n in part[:2]))
        names = (_text * count)(*((part[2] or "").encode() for part in self.parts))
        _hint(pairs, names, count, self.where.encode(), self.library.encode())

    def __exit__(self, *_):
        _hint(None, None, 0, None, None)


class Collected:
    """While it lasts, launches of this thread are of a product. `kernels` is their JSON, afterwards."""

    def __enter__(self):
        _collect()
        return self

    def __exit__(self, *_):
        self.kernels = _collected().decode()


def take(address, size):
    """The name of the data file of GPU memory, or "" if it cannot be read."""
    return _take(address, size, 1).decode()


def fingerprint(address, size):
    """What take() would return, without the file."""
    return _take(address, size, 0).decode()


def has_room(size):
    return bool(_room(size))


def product(op, members):
    _product(op.encode(), json.dumps(members, separators=(",", ":")).encode())


_kept = []  # or Python frees what the library calls


def find_blocks_by(function):
    """function(address) says (start, bytes) of the piece of memory that an address lies in, or None."""

    def find(address, start, size):
        try:
            found = function(address)
        except Exception:
            return 0
        if found is None:
            return 0
        start[0], size[0] = found
        return 1

    _kept.append(FIND_BLOCK(find))
    _blocks(_kept[-1])


LIBRARIES = re.compile(r"[/\\](site-packages|dist-packages|torchinductor_\w+)[/\\]|<frozen|[/\\]lib[/\\]python3")


def where():
    """The line of the program that is at work: the innermost one outside of libraries. "" in threads of libraries."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((HERE, "<")) and not LIBRARIES.search(name):
            return f"{os.path.relpath(name) if os.path.isabs(name) else name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
