#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a small GPU program, as people write them: to record it, and to replay the recording on a CPU.

    run.py NAME              runs it; prints a digest of each result
    run.py --list [GROUP]    names of all programs, or of a group: models, triton, cupy, numba, cuda
    run.py --build [NAME]... compiles the programs in CUDA C++ beforehand, all or these (--jobs of nvcc at a time)

Programs are functions with the decorator @program in the modules below, and the rows of CUDA. Seeds are fixed. Data
are made on the CPU and copied to the GPU, so that few kernels run that the program did not bring. Compiled programs go
to $PROGRAMS_BUILD, or build/programs.
"""
import argparse
import ast
import importlib
import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("PROGRAMS_BUILD", HERE.parents[1] / "build" / "programs"))
MODULES = {"models": ["models", "operations"], "triton": ["triton_rows", "triton_numbers", "triton_products"],
           "cupy": ["cupy_programs"], "numba": ["numba_programs"]}

EMBEDDED = ["-gencode", "arch=compute_90a,code=[sm_90a,compute_90a]"]
CUBIN = ["-gencode", "arch=compute_90a,code=sm_90a"]

# Programs in CUDA C++: source, flags of nvcc.
CUDA = {
    "reduce": ("reduce.cu", EMBEDDED),
    "stencil": ("stencil.cu", EMBEDDED),
    "scan": ("scan.cu", EMBEDDED),
    "cluster": ("cluster.cu", EMBEDDED),
    "wmma": ("wmma.cu", EMBEDDED),
    "tensor_map": ("tensor_map.cu", EMBEDDED + ["-lcuda"]),
    "printing": ("printing.cu", EMBEDDED),
    "histogram": ("histogram.cu", EMBEDDED),
    "driver": ("driver.cu", EMBEDDED + ["-lcuda", "-lnvrtc"]),
    "nbody": ("nbody.cu", EMBEDDED + ["-use_fast_math"]),
    "nbody_exact": ("nbody.cu", EMBEDDED + ["-fmad=false"]),
    "bitonic": ("bitonic.cu", EMBEDDED),
    "mandelbrot": ("mandelbrot.cu", CUBIN),
    "structures": ("structures.cu", EMBEDDED),
    "thrust": ("thrust.cu", EMBEDDED),
    "graph": ("graph.cu", EMBEDDED),
    "cublas": ("cublas.cu", CUBIN + ["-lcublas", "-lcublasLt"]),
}


def functions_of(module):
    source = ast.parse((HERE / f"{module}.py").read_text())
    return [f.name for f in source.body if isinstance(f, ast.FunctionDef)
            and any(getattr(d, "id", "") == "program" for d in f.decorator_list)]


def programs():
    """Modules of all programs, by name; None for CUDA C++."""
    found = {f"{group}.{name}": module for group, modules in MODULES.items() for module in modules
             for name in functions_of(module)}
    return found | {f"cuda.{name}": None for name in CUDA}


def binary(name):
    return BUILD / name


def build(name):
    """Compiles a program in CUDA C++; None, or what nvcc said if it failed."""
    source, flags = CUDA[name]
    BUILD.mkdir(parents=True, exist_ok=True)
    command = ["nvcc", "-std=c++17", "-O3", *flags, "-o", str(binary(name)), str(HERE / "cuda" / source)]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


def digest(result):
    """Of the bytes of a tensor of PyTorch, or an array of CuPy or NumPy; or the value of a number."""
    if hasattr(result, "untyped_storage"):
        import torch
        result = result.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    elif hasattr(result, "get"):
        result = result.get()
    return f"{zlib.crc32(result.tobytes()):08x}" if hasattr(result, "tobytes") else str(result)


def run(full_name):
    group, _, name = full_name.partition(".")
    if full_name not in programs():
        sys.exit(f"run.py: there is no program {full_name!r}; --list says which there are")
    if group == "cuda":
        failure = None if binary(name).exists() else build(name)
        if failure:
            sys.exit(failure)
        sys.stdout.flush()
        os.execv(binary(name), [full_name])
    sys.path.insert(0, str(HERE))
    results = getattr(importlib.import_module(programs()[full_name]), name)()
    print(full_name, *(digest(r) for r in results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.list:
        print(*(n for n in programs() if not arguments.name or n.split(".")[0] in arguments.name), sep="\n")
    elif arguments.build:
        chosen = [n.removeprefix("cuda.") for n in arguments.name] or sorted(CUDA)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            failures = [f"{n}: {f}" for n, f in zip(chosen, pool.map(build, chosen)) if f]
        if failures:
            sys.exit("\n".join(failures))
    elif len(arguments.name) == 1:
        run(arguments.name[0])
    else:
        parser.error("name one program, or --list, or --build")


if __name__ == "__main__":
    main()
