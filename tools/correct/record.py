#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the kernels of tests/correct/ by a GPU: does it leave the bytes that their heads say?

    tools/correct/record.py [--jobs N] [--times N] [--csv FILE] [FILE.ptx ...]

Each kernel is assembled by ptxas at -O3 and at -O0 and launched in a process of its own, since a hang or an illegal
instruction must not stop the others. Needs nothing but the driver (libcuda) and ptxas. The heads are explained in
tests/kernel_head.hpp. Exit status 0 if all kernels that this GPU runs are as expected.
"""
import argparse
import concurrent.futures
import ctypes
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "capture"))
from driver import Driver  # noqa: E402

TIMEOUT = 20  # seconds for a kernel, with all its launches
FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
MAP_TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"]
SWIZZLES = {"none": 0, "32": 1, "64": 2, "128": 3}


def size_of(kind):
    return int(re.search(r"\d+", kind).group()) // 8


def element(kind, number):
    if kind == "bf16":
        return struct.pack("<f", number)[2:]
    if kind in FLOATS:
        return struct.pack(FLOATS[kind], number)
    return (number % (1 << 8 * size_of(kind))).to_bytes(size_of(kind), "little")


def formula(text):
    """A function of the index. The operators are Python's, but for the quotient."""
    code = re.sub(r"sum\((\d+),", r"total(\1, lambda k:", text.replace("/", "//")).strip()
    return eval(f"lambda i: int({code})", {"total": lambda n, f: sum(int(f(k)) for k in range(n)), "int": int})


def elements(kind, count, text):
    if "{" in text:
        numbers = [formula(word)(0) for word in text.strip(" {}").split()]
    else:
        numbers = map(formula(text), range(count))
    return b"".join(element(kind, number) for number in numbers)


def extents(text):
    return ([int(word) for word in text.split(",")] + [1, 1])[:3]


class Head:
    """What stands before the module."""

    def __init__(self, text):
        self.launch, self.arguments, self.prints = {}, [], ""
        self.target = re.search(r"^\.target (sm_\w+)", text, re.M).group(1)
        self.entry = re.search(r"\.entry (\w+)", text).group(1)
        for line in text.splitlines():
            key, _, rest = line.removeprefix("// ").partition(": ")
            if not line.startswith("//"):
                break
            if key == "launch":
                words = rest.split()
                self.launch = dict(zip(words[::2], words[1::2]))
            elif key == "array":
                kind, count, before, after = re.fullmatch(r"(\w+)\[(\d+)\] = (.*?)(?:->(.*))?", rest).groups()
                before = elements(kind, int(count), before)
                after = elements(kind, int(count), after) if after else before
                self.arguments.append(("array", kind, before, after))
            elif key == "value":
                kind, number = rest.split()
                self.arguments.append(("value", element(kind, formula(number)(0))))
            elif key == "map":
                self.arguments.append(("map", rest.split()))
            elif key == "prints":
                self.prints += rest + "\n"


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("extents", ctypes.c_uint * 6), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint)]


class Gpu(Driver):
    """That knows its compute capability, as 90 for 9.0."""

    def __init__(self):
        super().__init__()
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, self.device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, self.device)
        self.capability = major.value * 10 + minor.value

    def array(self, content):
        at = self.allocate(len(content))
        self.write(at, content)
        return ctypes.c_uint64(at)

    def tensor_map(self, words, arrays):
        at, kind, lists, key = arrays[int(words[1])], words[2], {"dims": [], "box": [], "swizzle": ["none"]}, ""
        for word in words[3:]:
            if word in lists:
                key, lists[word] = word, []
            else:
                lists[key].append(word)
        dims, box = [int(x) for x in lists["dims"]], [int(x) for x in lists["box"]]
        strides, stride = [], size_of(kind)
        for dim in dims[:-1]:
            stride *= dim
            strides.append(stride)
        rank, room = len(dims), ctypes.create_string_buffer(192)
        aligned = (ctypes.addressof(room) + 63) // 64 * 64
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(aligned), MAP_TYPES.index(kind), rank, at,
                  (ctypes.c_uint64 * rank)(*dims), (ctypes.c_uint64 * 4)(*strides), (ctypes.c_uint32 * rank)(*box),
                  (ctypes.c_uint32 * rank)(*[1] * rank), 0, SWIZZLES[lists["swizzle"][0]], 0, 0)
        return ctypes.string_at(aligned, 128)

    def run(self, cubin, head):
        """Launches a fresh module; returns what is not as expected, or nothing."""
        module, function = self.load(cubin, head.entry)
        arrays = [self.array(argument[2]) for argument in head.arguments if argument[0] == "array"]
        given, parameters = iter(arrays), []
        for argument in head.arguments:
            content = (bytes(next(given)) if argument[0] == "array" else
                       self.tensor_map(argument[1], arrays) if argument[0] == "map" else argument[1])
            parameters.append(ctypes.create_string_buffer(content, len(content)))
        pointers = (ctypes.c_void_p * (len(parameters) + 1))(*[ctypes.addressof(each) for each in parameters])
        shared = int(head.launch.get("shared", 0))
        self.call("cuFuncSetAttribute", function, 8, shared)
        attributes = (LaunchAttribute * 2)()
        count = 0
        for name, number in (("cluster", 4), ("cooperative", 2)):
            if name in head.launch:
                attributes[count].id = number
                attributes[count].value[:3] = extents(head.launch[name])
                count += 1
        config = LaunchConfig((ctypes.c_uint * 6)(*extents(head.launch["grid"]), *extents(head.launch["block"])), shared,
                              None, attributes, count)
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        self.call("cuCtxSynchronize")
        given, wrong = iter(arrays), ""
        for argument in head.arguments:
            if argument[0] != "array" or wrong:
                continue
            got = self.read(next(given).value, len(argument[3]))
            wrong = difference(argument[1], got, argument[3])
        for at in arrays:
            self.call("cuMemFree_v2", at)
        self.call("cuModuleUnload", module)
        return wrong


def difference(kind, got, expected):
    size = size_of(kind)
    bad = [at for at in range(0, len(got), size) if got[at:at + size] != expected[at:at + size]]
    if not bad:
        return ""
    hexadecimal = [content[bad[0]:bad[0] + size][::-1].hex() for content in (got, expected)]
    return f"{len(bad)} elements differ; element {bad[0] // size} is {hexadecimal[0]} instead of {hexadecimal[1]}"


def one(path, times):
    """In a process of its own: a line for each level of optimisation, on the error stream."""
    text = pathlib.Path(path).read_text()
    head, gpu = Head(text), Gpu()
    target = int(re.search(r"\d+", head.target).group())
    if target // 10 > gpu.capability // 10:
        print("-\tnot for this GPU", file=sys.stderr)
        return
    arch = head.target if target // 10 == gpu.capability // 10 else f"sm_{gpu.capability}"
    for level in "-O3", "-O0":
        with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
            assembled = subprocess.run([ptxas(), "-arch=" + arch, level, path, "-o", cubin.name], capture_output=True,
                                       text=True, check=False)
            if assembled.returncode:
                wrong = assembled.stderr.strip()
            else:
                code = pathlib.Path(cubin.name).read_bytes()
                wrong = next(filter(None, (gpu.run(code, head) for _ in range(times))), "")
        print(f"{level}\t{' '.join(wrong.split()) or 'as expected'}", file=sys.stderr, flush=True)


def ptxas():
    return shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"


def judge(path, times):
    """The verdicts on a kernel: a list of (level, text)."""
    head = Head(pathlib.Path(path).read_text())
    times = 1 if head.prints else times
    command = [sys.executable, str(HERE), "--one", str(path), "--times", str(times)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        out, err, end = done.stdout, done.stderr, ""
    except subprocess.TimeoutExpired as late:
        out, err = [(stream or b"").decode() for stream in (late.stdout, late.stderr)]
        end = f"no answer in {TIMEOUT} s"
    verdicts = [tuple(line.split("\t", 1)) for line in err.splitlines() if "\t" in line]
    if not end and len(verdicts) < 2 and "not for" not in err:
        end = err.strip().splitlines()[-1] if err.strip() else f"exit status {done.returncode}"
    if end:
        verdicts.append(("-O3" if not verdicts else "-O0", end))
    elif "not for" not in err and out != head.prints * 2:
        verdicts.append(("printed", repr(out)))
    return verdicts


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="*")
    options.add_argument("--one", help=argparse.SUPPRESS)
    options.add_argument("--jobs", type=int, default=8, help="processes at a time")
    options.add_argument("--times", type=int, default=20, help="launches of each kernel")
    options.add_argument("--csv", help="where the table goes, too, with tabs")
    options = options.parse_args()
    if options.one:
        return one(options.one, options.times)
    files = sorted(options.files or map(str, (HERE.parents[2] / "tests/correct").glob("*.ptx")))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        verdicts = list(pool.map(lambda path: judge(path, options.times), files))
    rows = [(os.path.basename(path)[:-4], level, text) for path, each in zip(files, verdicts) for level, text in each]
    table = "\n".join("\t".join(row) for row in rows) + "\n"
    if options.csv:
        pathlib.Path(options.csv).write_text(table)
    wrong = [row for row in rows if row[2] not in ("as expected", "not for this GPU")]
    print(table + f"{len(files)} kernels, {sum(row[2] == 'as expected' for row in rows)} verdicts as expected, "
          f"{sum(row[1] == '-' for row in rows)} kernels not for this GPU, {len(wrong)} verdicts wrong")
    for row in wrong:
        print("wrong:", *row)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
