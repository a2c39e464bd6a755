#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of tests/kernels/cuda/, runs them on a GPU and records what they leave in memory.

    record_kernels.py [--out DIR] [--only REGEX] [--triton | --random SEEDS] [--compile-only] [--jobs N]
                      [--rejected DIR] [--limit SECONDS]
    record_kernels.py --run FOLDER --to FILE

Each launch gets a folder of DIR with kernel.ptx.gz, case.json and arrays.npz; one more, NAME.fmad_false, where nvcc's
-fmad=false makes other PTX. Every launch runs twice, each time in a process and with inputs of its own, and nothing is
recorded where the two differ. Needs NumPy, nvcc and a driver; --triton needs Triton and PyTorch. --random 1 records the
six kernels of random_cases.py; with more seeds as many of each type.

--run launches what is in a folder, as it was recorded or will be, and writes its outputs: `record_kernels.py --run
golden/kernels/scan --to again.npz` on another GPU shows whether it leaves the same.
"""
import argparse
import concurrent.futures
import ctypes
import datetime
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import hopper_cases  # adds its launches to the table
import kernel_cases
from kernel_cases import Array, Scalar, Struct, TensorMap, write_ptx

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "tests/kernels/cuda"
SCALARS = {"s8": "i1", "u8": "u1", "s16": "<i2", "u16": "<u2", "s32": "<i4", "u32": "<u4", "s64": "<i8", "u64": "<u8",
           "f32": "<f4", "f64": "<f8"}
PTX_SCALARS = {"f32": "float", "f64": "double"}
TENSOR_MAP_BYTES = 128
MAP = "tensor_map_"  # before the name of a map among the outputs of a launch
STACK_BYTES = 16384  # for a thread, of which recursion needs more than the driver's default


class Failure(Exception):
    """What stands in the way of a case; the others go on."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute with the size of a cluster, which is at the beginning of a union of 64 bytes."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("cluster", ctypes.c_uint * 3),
                ("others", ctypes.c_char * 52)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint)]


class Gpu:
    """The first GPU, through the driver's library."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuCtxSetLimit", 0, ctypes.c_size_t(STACK_BYTES))

    def call(self, function, *arguments):
        code = getattr(self.cuda, function)(*arguments)
        if code != 0:
            name = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(name))
            raise Failure(f"{function}: {(name.value or b'an unknown error').decode()}")

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, len(text), self.device)
        return text.value.decode()

    def function(self, ptx, entry, shared):
        """Loads a module of its own, so that variables of the module have their first values."""
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), len(log))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx, 2, options, values)
        except Failure as failure:
            raise Failure(f"{failure}\n{log.value.decode(errors='replace')}") from None
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, 8, shared)  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        return function

    def upload(self, data):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(data.nbytes, 1)))
        self.call("cuMemcpyHtoD_v2", address, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        return address.value

    def download(self, address, like):
        data = np.empty_like(like)
        self.call("cuMemcpyDtoH_v2", data.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(address),
                  ctypes.c_size_t(data.nbytes))
        return data

    def scratch(self, count):
        """The address of so many bytes of zeros, or a null pointer for none."""
        return self.upload(np.zeros(count, np.uint8)) if count else 0

    def tensor_map(self, about, address):
        """The bytes of a map: the arguments of TensorMap, or a map in hexadecimal, which gets the address."""
        memory = ctypes.create_string_buffer(TENSOR_MAP_BYTES + 64)
        at = -ctypes.addressof(memory) % 64
        map, address = ctypes.byref(memory, at), ctypes.c_void_p(address)
        if isinstance(about, str):
            memory[at : at + TENSOR_MAP_BYTES] = bytes.fromhex(about)
            self.call("cuTensorMapReplaceAddress", map, address)
        else:
            numbers = lambda type, name: (type * len(about[name]))(*about[name])
            ends = [ctypes.c_int(about[name]) for name in ("interleave", "swizzle", "promotion", "fill")]
            tensor = [ctypes.c_int(about["type"]), ctypes.c_uint(len(about["dim"])), address,
                      numbers(ctypes.c_uint64, "dim"), numbers(ctypes.c_uint64, "stride")]
            steps = numbers(ctypes.c_uint, "element_stride")
            if "box" in about:
                self.call("cuTensorMapEncodeTiled", map, *tensor, numbers(ctypes.c_uint, "box"), steps, *ends)
            else:
                corners = [numbers(ctypes.c_int, name) for name in ("lower", "upper")]
                counts = [ctypes.c_uint(about[name]) for name in ("channels", "pixels")]
                self.call("cuTensorMapEncodeIm2col", map, *tensor, *corners, *counts, steps, *ends)
        return memory[at : at + TENSOR_MAP_BYTES]

    def launch(self, function, case, parameters):
        """Parameters: the bytes of each."""
        buffers = [ctypes.create_string_buffer(p, len(p)) for p in parameters]
        pointers = (ctypes.c_void_p * len(buffers))(*(ctypes.addressof(b) for b in buffers))
        cluster = LaunchAttribute(4, b"", tuple(case["cluster"]))  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        config = LaunchConfig(tuple(case["grid"]), tuple(case["block"]), case["shared"], None, ctypes.pointer(cluster),
                              int(case["cluster"] != [1, 1, 1]))
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        self.call("cuCtxSynchronize")


def flat(parameters):
    """Parameters and, instead of a struct, its fields."""
    for parameter in parameters:
        yield from flat(parameter["fields"]) if "struct" in parameter else [parameter]


def parameter_bytes(parameter, addresses, maps):
    """What the launch is given for an entry of case.json's `params`."""
    if "tensor_map" in parameter:
        return maps[parameter["name"]]
    if "array" in parameter:
        return np.uint64(addresses[parameter["array"]]).tobytes()
    if "scalar" in parameter:
        return np.dtype(SCALARS[parameter["scalar"]]).type(parameter["value"]).tobytes()
    if "struct" in parameter:
        data = bytearray(parameter["struct"])
        for field in parameter["fields"]:
            piece = parameter_bytes(field, addresses, maps)
            data[field["at"] : field["at"] + len(piece)] = piece
        return bytes(data)
    return np.uint64(addresses.get(parameter["null"], 0)).tobytes()


def run(folder, to):
    """Launches what a folder holds and writes its outputs and, as tensor_map_NAME, its maps without their addresses.
    What the kernel prints goes to the standard output."""
    case = json.loads((folder / "case.json").read_text())
    if case["profile_scratch"]:
        raise Failure("it needs a scratch buffer for profiles")
    gpu = Gpu()
    function = gpu.function(gzip.decompress((folder / "kernel.ptx.gz").read_bytes()) + b"\0", case["entry"], case["shared"])
    with np.load(folder / "arrays.npz") as file:
        inputs = {key[3:]: file[key] for key in file.files if key.startswith("in_")}
    addresses = {name: gpu.upload(data) for name, data in inputs.items()}
    mapped = [p for p in flat(case["params"]) if "tensor_map" in p]
    maps = {p["name"]: gpu.tensor_map(p["tensor_map"], addresses[p["of"]]) for p in mapped}
    blocks = int(np.prod(case["grid"]))
    addresses.update({"global_scratch": gpu.scratch(case["global_scratch"] * blocks), "profile_scratch": 0})
    gpu.launch(function, case, [parameter_bytes(p, addresses, maps) for p in case["params"]])
    outputs = {name: gpu.download(addresses[name], inputs[name]) for name in case["outputs"]}
    without = {MAP + name: np.frombuffer(bytes(8) + map[8:], np.uint8) for name, map in maps.items()}
    np.savez(to, **outputs, **without)


def compile_cuda(case, fmad, to):
    """PTX by nvcc, in the folder of the sources, so that it has no path of this machine."""
    command = ["nvcc", "-std=c++17", "-ptx", f"-arch={case.target}", f"-fmad={str(fmad).lower()}", f"{case.source}.cu"]
    command += ["-lineinfo"] if case.lineinfo else []
    done = subprocess.run([*command, "-o", str(to)], cwd=SOURCES, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"nvcc: {done.stderr}{done.stdout}")
    text = re.sub(r'^(\s*\.file\s+\d+ ")[^"]*/', r"\1", to.read_text(), flags=re.M)
    to.write_text(text)
    return text


def description(argument):
    """An entry of `args`, and one of `params`."""
    if isinstance(argument, Array):
        about = {"name": argument.name, "kind": "array", "dtype": argument.dtype, "shape": list(argument.data.shape)}
        return about, {"array": argument.name}
    if isinstance(argument, Scalar):
        value = argument.value
        about = {"name": argument.name, "kind": "scalar", "type": PTX_SCALARS.get(argument.type, "int"), "value": value}
        return about, {"scalar": argument.type, "value": value, "name": argument.name}
    if isinstance(argument, TensorMap):
        of, _ = description(argument.of)
        return ({"name": argument.name, "kind": "tensor_map", "of": of},
                {"tensor_map": argument.encode, "of": argument.of.name, "name": argument.name})
    fields = [{"at": at, **description(field)[1]} for at, field in argument.fields.items()]
    return ({"name": argument.name, "kind": "struct", "args": [description(f)[0] for f in argument.fields.values()]},
            {"struct": argument.size, "align": argument.align, "fields": fields, "name": argument.name})


def arrays_of(arguments):
    """Each once: those that are arguments, and those of tensor maps."""
    fields = [f for a in arguments if isinstance(a, Struct) for f in a.fields.values()]
    arrays = [a.of if isinstance(a, TensorMap) else a for a in [*arguments, *fields]]
    return list({a.name: a for a in arrays if isinstance(a, Array)}.values())


def as_bytes(data):
    """The codes, with the last dimension in bytes."""
    return data.view(np.uint8) if data.ndim else data.reshape(1).view(np.uint8)


def write_case(folder, about, arguments, scratch=()):
    """What a launch needs. `scratch`: names of parameters behind the arguments, for scratch buffers."""
    pairs = [description(a) for a in arguments]
    about = {"global_scratch": 0, "profile_scratch": 0, **about, "args": [a for a, _ in pairs],
             "params": [p for _, p in pairs] + [{"null": name} for name in scratch]}
    (folder / "case.json").write_text(json.dumps(about, indent=1) + "\n")
    np.savez_compressed(folder / "arrays.npz", **{"in_" + a.name: as_bytes(a.data) for a in arrays_of(arguments)})


def prepare_cuda(case, out):
    """The folders of a case, ready to be run."""
    with tempfile.TemporaryDirectory() as work:
        texts = {fmad: compile_cuda(case, fmad, pathlib.Path(work) / f"{fmad}.ptx") for fmad in case.fmad}
    folders = []
    for fmad, text in texts.items():
        if not fmad and text == texts[True]:
            continue
        folder = out / (case.name if fmad else case.name + ".fmad_false")
        folder.mkdir(parents=True, exist_ok=True)
        write_ptx(folder, text)
        entry = re.search(r"\.visible \.entry (\w+)", text).group(1)
        write_case(folder, {"entry": entry, "grid": case.grid, "block": case.block, "shared": case.shared,
                            "cluster": case.cluster, "outputs": case.outputs, "fmad": fmad, "prints": case.prints},
                   case.arguments())
        folders.append(folder)
    return folders


def launched(folder, limit):
    """Outputs and printed text of a launch in a process of its own, which ends after so many seconds."""
    with tempfile.TemporaryDirectory() as work:
        to = pathlib.Path(work) / "out.npz"
        done = subprocess.run([sys.executable, __file__, "--run", str(folder), "--to", str(to)], capture_output=True,
                              timeout=limit)
        if done.returncode != 0:
            raise Failure(done.stderr.decode(errors="replace").strip())
        with np.load(to) as file:
            return {name: file[name] for name in file.files}, done.stdout.decode()


def numbers(data, dtype):
    """Of bytes, in f64."""
    if dtype == "bfloat16":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return data.view(dtype).astype(np.float64)


def far_from(reference, arrays, outputs, types):
    """The outputs that are not what a reference says, within what rounding may do; in words."""
    codes = {"bfloat16": np.uint16}
    inputs = {name: data.view(codes.get(types[name], types[name])) for name, data in arrays.items()}
    said = []
    for name, expected in reference(inputs).items():
        got = numbers(outputs[name], types[name]).reshape(expected.shape)
        scale = np.sqrt(np.mean(np.where(np.isfinite(expected), expected, 0) ** 2, axis=-1, keepdims=True))
        with np.errstate(invalid="ignore"):
            near = (got == expected) | (np.abs(got - expected) <= np.abs(expected) / 64 + scale / 64)
        near |= np.isnan(got) & np.isnan(expected)
        if not near.all():
            at = tuple(int(i) for i in np.argwhere(~near)[0])
            said.append(f"{name}: {(~near).sum()} of {near.size} are far from the reference; at {at} {got[at]}, "
                        f"expected {expected[at]}")
    return said


def types_of(args):
    """The types of arrays by name, of case.json's `args`."""
    types = {}
    for arg in args:
        types.update(types_of(arg["args"]) if arg["kind"] == "struct" else types_of([arg["of"]]) if "of" in arg else
                     {arg["name"]: arg.get("dtype")})
    return types


def check(folder, types, outputs, reference, rejected):
    """That a kernel does what it should. What it left otherwise is kept in `rejected`."""
    with np.load(folder / "arrays.npz") as file:
        inputs = {name[3:]: file[name] for name in file.files}
    said = far_from(reference, inputs, outputs, types)
    if said and rejected:
        rejected.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(rejected / f"{folder.name}.npz", **outputs)
    if said:
        raise Failure("; ".join(said))


def add_maps(parameters, outputs):
    """The maps that the driver made, instead of its arguments."""
    for parameter in flat(parameters):
        if "tensor_map" in parameter:
            parameter["tensor_map"] = outputs.pop(MAP + parameter["name"]).tobytes().hex()


def record(folder, provenance, reference, rejected, limit):
    """Runs a prepared folder twice and adds what came out."""
    about = json.loads((folder / "case.json").read_text())
    first, second = launched(folder, limit), launched(folder, limit)
    differ = [name for name in first[0] if not np.array_equal(first[0][name], second[0][name])]
    if differ or first[1] != second[1]:
        raise Failure(f"two runs differ in {', '.join(differ) or 'what is printed'}")
    add_maps(about["params"], first[0])
    if reference:
        check(folder, types_of(about["args"]), first[0], reference, rejected)
    prints = about.pop("prints")
    if bool(first[1]) != prints:
        raise Failure(f"expected {'some' if prints else 'no'} printed text: {first[1]!r}")
    about.update(provenance, stable=True)
    if prints:
        about["printed"] = first[1]
    (folder / "case.json").write_text(json.dumps(about, indent=1) + "\n")
    with np.load(folder / "arrays.npz") as file:
        inputs = {name: file[name] for name in file.files}
    np.savez_compressed(folder / "arrays.npz", **inputs, **{"out_" + name: data for name, data in first[0].items()})


def provenance():
    device = Gpu().name()
    smi = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(smi, capture_output=True, text=True, check=True).stdout.split()[0]
    nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return {"device": device, "driver": driver, "toolkit": re.search(r"release .*V([\d.]+)", nvcc).group(1),
            "date": datetime.date.today().isoformat()}


def each(jobs, function, items, name_of):
    """The results of those that do not fail; what fails is said."""
    results, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [(item, pool.submit(function, item)) for item in items]
        for item, future in futures:
            try:
                results.append(future.result())
            except Exception as failure:  # a compiler's, too: the other cases go on
                failed += 1
                print(f"record_kernels: {name_of(item)}: {type(failure).__name__}: {failure}", file=sys.stderr)
    return results, failed


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("golden/kernels"), help="where the folders go")
    parser.add_argument("--only", default="", help="cases whose name this is found in")
    parser.add_argument("--triton", action="store_true", help="the kernels of triton_cases.py instead")
    parser.add_argument("--random", type=int, default=0, help="random products and sums instead, of so many seeds")
    parser.add_argument("--compile-only", action="store_true", help="everything but the launches; needs no GPU")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers and launches at a time")
    parser.add_argument("--limit", type=float, default=120, help="seconds for a launch, after which its process ends")
    parser.add_argument("--rejected", type=pathlib.Path, help="where outputs go that are far from a case's reference")
    parser.add_argument("--run", type=pathlib.Path, help="launch what is in this folder")
    parser.add_argument("--to", type=pathlib.Path, help="where --run writes the outputs")
    return parser.parse_args()


def main():
    o = options()
    if o.run:
        run(o.run, o.to)
        return 0
    if o.random:
        import random_cases
        chosen = [(type, seed) for type in random_cases.TYPES for seed in range(o.random)]
        prepared, failed = each(1, lambda c: [random_cases.prepare(*c, o.out, write_case)], chosen, lambda c: f"{c}")
    elif o.triton:
        import triton_cases
        chosen = [c for c in triton_cases.CASES if re.search(o.only, c.name)]
        prepared, failed = each(1, lambda c: triton_cases.prepare(c, o.out, write_case), chosen, lambda c: c.name)
    else:
        chosen = [c for c in kernel_cases.CASES.values() if re.search(o.only, c.name)]
        prepared, failed = each(o.jobs, lambda c: prepare_cuda(c, o.out), chosen, lambda c: c.name)
    folders = [folder for folders in prepared for folder in folders]
    print(f"record_kernels: {len(folders)} launches of {len(chosen)} cases are compiled", flush=True)
    if not o.compile_only:
        about = provenance()
        references = {c.name: c.reference for c in chosen if hasattr(c, "reference")}
        reference_of = lambda folder: references.get(folder.name.removesuffix(".fmad_false"))
        run_twice = lambda folder: record(folder, about, reference_of(folder), o.rejected, o.limit)
        recorded, more = each(o.jobs, run_twice, folders, lambda folder: folder.name)
        failed += more
        print(f"record_kernels: {len(recorded)} are recorded, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"record_kernels: {failure}")
