#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of tests/kernels/cuda/, runs them on a GPU and records what they leave in memory.

    record_kernels.py [--out DIR] [--only REGEX] [--triton | --random SEEDS] [--compile-only] [--jobs N]
                      [--rejected DIR] [--limit SECONDS]
    record_kernels.py --run RECORDING --to FILE

Each launch gets a recording NAME.zip in DIR (src/recording/FORMAT.md); one more, NAME.fmad_false.zip, where nvcc's
-fmad=false makes other PTX. Every launch runs twice, each time in a process and with inputs of its own, and nothing is
recorded where the two differ. Needs NumPy, nvcc and a driver; --triton needs Triton and PyTorch. --random 1 records the
six kernels of random_cases.py; with more seeds as many of each type.

--run launches what is in a recording, as it was recorded or will be, and writes its outputs: `record_kernels.py --run
golden/kernels/scan.zip --to again.npz` on another GPU shows whether it leaves the same.
"""
import argparse
import concurrent.futures
import ctypes
import datetime
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import hopper_cases  # adds its launches to the table
import kernel_cases
import recording
from driver import Driver, DriverError
from kernel_cases import Array, Scalar, Struct, TensorMap

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "tests/kernels/cuda"
SCALARS = {"s8": "i1", "u8": "u1", "s16": "<i2", "u16": "<u2", "s32": "<i4", "u32": "<u4", "s64": "<i8", "u64": "<u8",
           "f32": "<f4", "f64": "<f8"}
TENSOR_MAP_BYTES = 128
PARAMETER = "parameter_"  # before the number of a parameter with tensor maps among the outputs of a launch
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


class Location(ctypes.Structure):
    """CUmemLocation: a device."""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location), ("win32", ctypes.c_void_p),
                ("flags", ctypes.c_ubyte * 8)]


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class Gpu(Driver):
    """With a stack for deep recursion."""

    def __init__(self):
        super().__init__()
        self.call("cuCtxSetLimit", 0, ctypes.c_size_t(STACK_BYTES))

    def function(self, ptx, entry, shared):
        """Loads a module of its own, so that variables of the module have their first values."""
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), len(log))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx, 2, options, values)
        except DriverError as error:
            raise Failure(f"{error}\n{log.value.decode(errors='replace')}") from None
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, 8, shared)  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        return function

    def place(self, address, data):
        """Memory at the address that it has in a recording."""
        size, at = -(-len(data) // recording.PAGE) * recording.PAGE, ctypes.c_uint64()
        size, device = ctypes.c_size_t(size), Location(1, self.device.value)
        self.call("cuMemAddressReserve", ctypes.byref(at), size, ctypes.c_size_t(0), ctypes.c_uint64(address), ctypes.c_uint64(0))
        if at.value != address:
            raise Failure(f"the address {address:#x} is not free")
        handle = ctypes.c_uint64()
        pinned = AllocationProperties(1, 0, device)
        self.call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(pinned), ctypes.c_uint64(0))
        self.call("cuMemMap", at, size, ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
        self.call("cuMemSetAccess", at, size, ctypes.byref(Access(device, 3)), ctypes.c_size_t(1))
        self.write(address, data)

    def tensor_map(self, about, address):
        """The bytes of a map, by the arguments of TensorMap."""
        memory = ctypes.create_string_buffer(TENSOR_MAP_BYTES + 64)
        at = -ctypes.addressof(memory) % 64
        map, address = ctypes.byref(memory, at), ctypes.c_void_p(address)
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


def outputs_of(launch):
    """The parts of memory that a launch is about."""
    return [p for p in launch["memory"] if p["name"] in launch["outputs"]] if "outputs" in launch else \
        [p for p in launch["memory"] if p.get("after", p["before"])]


def run(path, to):
    """Launches what a recording holds and writes its outputs by name and, as parameter_NUMBER, what has maps that the
    driver has made here. What the kernel prints goes to the standard output."""
    file = recording.read(path)
    (launch,) = file.records
    gpu = Gpu()
    function = gpu.function(file.data[launch["module"]] + b"\0", launch["entry"], launch["shared"])
    for part in launch["memory"]:
        gpu.place(int(part["address"], 16), file.data[part["before"]])
    parameters = [bytearray.fromhex(p["bytes"]) for p in launch["parameters"]]
    made = {}
    for number, (parameter, about) in enumerate(zip(parameters, launch["parameters"])):
        for map in about.get("maps", []):
            at = map["at"]
            parameter[at : at + TENSOR_MAP_BYTES] = gpu.tensor_map(map["arguments"], int(map["address"], 16))
            made[f"{PARAMETER}{number}"] = np.frombuffer(parameter, np.uint8)
    gpu.launch(function, launch, [bytes(p) for p in parameters])
    np.savez(to, **made, **{p["name"]: np.frombuffer(gpu.read(int(p["address"], 16), p["bytes"]), np.uint8) for p in outputs_of(launch)})


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


def parameter(argument, layout):
    """A parameter of a recording. Where tensor maps lie, which the driver makes, and of what, is in `maps` until then."""
    if isinstance(argument, Array):
        return {"bytes": layout.address(argument.name).to_bytes(8, "little").hex(), "type": "pointer", "name": argument.name}
    if isinstance(argument, Scalar):
        data = np.dtype(SCALARS[argument.type]).type(argument.value).tobytes()
        return {"bytes": data.hex(), "type": argument.type, "value": argument.value, "name": argument.name}
    if isinstance(argument, TensorMap):
        map = {"at": 0, "arguments": argument.encode, "address": hex(layout.address(argument.of.name))}
        return {"bytes": bytes(TENSOR_MAP_BYTES).hex(), "type": "tensor_map", "name": argument.name, "maps": [map]}
    data, maps = bytearray(argument.size), []
    for at, field in argument.fields.items():
        piece = parameter(field, layout)
        data[at : at + len(piece["bytes"]) // 2] = bytes.fromhex(piece["bytes"])
        maps += [{**map, "at": at + map["at"]} for map in piece.get("maps", [])]
    return {"bytes": data.hex(), "type": "struct", "name": argument.name, **({"maps": maps} if maps else {})}


def arrays_of(arguments):
    """Each once: those that are arguments, and those of tensor maps."""
    fields = [f for a in arguments if isinstance(a, Struct) for f in a.fields.values()]
    arrays = [a.of if isinstance(a, TensorMap) else a for a in [*arguments, *fields]]
    return list({a.name: a for a in arrays if isinstance(a, Array)}.values())


def write_launch(path, program, about, ptx, arguments, scratch=()):
    """A launch that is ready to be run. `scratch`: what each block needs behind the arguments, by the names of parameters."""
    file = recording.Recording({"format": "recording-1", "target": "sm_90a", "source": "hardware", "program": program})
    layout = recording.Layout(file)
    for a in arrays_of(arguments):
        layout.add(a.name, a.data.tobytes(), dtype=a.dtype, shape=list(a.data.shape))
    parameters = [parameter(a, layout) for a in arguments]
    for name, size in dict(scratch).items():
        data = bytes(size * int(np.prod(about["grid"])))
        address = int(layout.add(name, data)["address"], 16) if data else 0
        parameters.append({"bytes": address.to_bytes(8, "little").hex(), "type": "pointer", "name": name})
    file.records.append({"kind": "launch", "name": path.name.removesuffix(".zip"), "module": file.add_data("kernel.ptx", ptx.encode()),
                         **about, "parameters": parameters, "memory": layout.parts})
    file.write(path)
    return path


def prepare_cuda(case, out):
    """The recordings of a case, ready to be run."""
    with tempfile.TemporaryDirectory() as work:
        texts = {fmad: compile_cuda(case, fmad, pathlib.Path(work) / f"{fmad}.ptx") for fmad in case.fmad}
    launches = []
    for fmad, text in texts.items():
        if not fmad and text == texts[True]:
            continue
        entry = re.search(r"\.visible \.entry (\w+)", text).group(1)
        about = {"library": f"nvcc {nvcc_version()}{'' if fmad else ' -fmad=false'}", "entry": entry, "grid": case.grid,
                 "block": case.block, "cluster": case.cluster, "shared": case.shared, "outputs": case.outputs,
                 "prints": case.prints}
        launches.append(write_launch(out / f"{case.name}{'' if fmad else '.fmad_false'}.zip",
                                     f"tools/capture/record_kernels.py --only {case.name}", about, text, case.arguments()))
    return launches


def launched(path, limit):
    """Outputs and printed text of a launch in a process of its own, which ends after so many seconds."""
    with tempfile.TemporaryDirectory() as work:
        to = pathlib.Path(work) / "out.npz"
        done = subprocess.run([sys.executable, __file__, "--run", str(path), "--to", str(to)], capture_output=True,
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


def check(path, outputs, reference, rejected):
    """That a kernel does what it should. What it left otherwise is kept in `rejected`."""
    file = recording.read(path)
    memory = [part for part in file.records[0]["memory"] if "dtype" in part]
    shaped = lambda part, data: np.frombuffer(data, np.uint8).reshape([*part["shape"][:-1], -1])
    inputs = {part["name"]: shaped(part, file.data[part["before"]]) for part in memory}
    left = {part["name"]: shaped(part, outputs[part["name"]].tobytes()) for part in memory if part["name"] in outputs}
    said = far_from(reference, inputs, left, {part["name"]: part["dtype"] for part in memory})
    if said and rejected:
        rejected.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(rejected / f"{path.stem}.npz", **outputs)
    if said:
        raise Failure("; ".join(said))


def record(path, provenance, reference, rejected, limit):
    """Runs a prepared launch twice and adds what came out."""
    first, second = launched(path, limit), launched(path, limit)
    differ = [name for name in first[0] if not np.array_equal(first[0][name], second[0][name])]
    if differ or first[1] != second[1]:
        raise Failure(f"two runs differ in {', '.join(differ) or 'what is printed'}")
    if reference:
        check(path, first[0], reference, rejected)
    file = recording.read(path)
    (launch,) = file.records
    prints = launch.pop("prints")
    if bool(first[1]) != prints:
        raise Failure(f"expected {'some' if prints else 'no'} printed text: {first[1]!r}")
    layout = recording.Layout(file)
    for part in outputs_of(launch):
        layout.leave(part, first[0][part["name"]].tobytes())
    for number, parameter in enumerate(launch["parameters"]):
        if parameter.pop("maps", None):
            parameter["bytes"] = first[0][f"{PARAMETER}{number}"].tobytes().hex()
    del launch["outputs"]
    launch.update(stable=True, printed=first[1])
    file.header.update(provenance)
    file.write(path)


def nvcc_version():
    text = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release .*V([\d.]+)", text).group(1)


def provenance():
    device = Gpu().name()
    smi = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(smi, capture_output=True, text=True, check=True).stdout.split()[0]
    return {"device": device, "driver": driver, "toolkit": nvcc_version(),
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
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("golden/kernels"), help="where the recordings go")
    parser.add_argument("--only", default="", help="cases whose name this is found in")
    parser.add_argument("--triton", action="store_true", help="the kernels of triton_cases.py instead")
    parser.add_argument("--random", type=int, default=0, help="random products and sums instead, of so many seeds")
    parser.add_argument("--compile-only", action="store_true", help="everything but the launches; needs no GPU")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers and launches at a time")
    parser.add_argument("--limit", type=float, default=120, help="seconds for a launch, after which its process ends")
    parser.add_argument("--rejected", type=pathlib.Path, help="where outputs go that are far from a case's reference")
    parser.add_argument("--run", type=pathlib.Path, help="launch what is in this recording")
    parser.add_argument("--to", type=pathlib.Path, help="where --run writes the outputs")
    return parser.parse_args()


def main():
    o = options()
    if o.run:
        run(o.run, o.to)
        return 0
    o.out.mkdir(parents=True, exist_ok=True)
    if o.random:
        import random_cases
        chosen = [(type, seed) for type in random_cases.TYPES for seed in range(o.random)]
        prepared, failed = each(1, lambda c: [random_cases.prepare(*c, o.out, write_launch)], chosen, lambda c: f"{c}")
    elif o.triton:
        import triton_cases
        chosen = [c for c in triton_cases.CASES if re.search(o.only, c.name)]
        prepared, failed = each(1, lambda c: triton_cases.prepare(c, o.out, write_launch), chosen, lambda c: c.name)
    else:
        chosen = [c for c in kernel_cases.CASES.values() if re.search(o.only, c.name)]
        prepared, failed = each(o.jobs, lambda c: prepare_cuda(c, o.out), chosen, lambda c: c.name)
    launches = [launch for some in prepared for launch in some]
    print(f"record_kernels: {len(launches)} launches of {len(chosen)} cases are compiled", flush=True)
    if not o.compile_only:
        about = provenance()
        references = {c.name: c.reference for c in chosen if hasattr(c, "reference")}
        reference_of = lambda path: references.get(path.stem.removesuffix(".fmad_false"))
        run_twice = lambda path: record(path, about, reference_of(path), o.rejected, o.limit)
        recorded, more = each(o.jobs, run_twice, launches, lambda path: path.name)
        failed += more
        print(f"record_kernels: {len(recorded)} are recorded, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, DriverError) as failure:
        sys.exit(f"record_kernels: {failure}")
