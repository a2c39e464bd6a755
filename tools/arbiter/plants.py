#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels whose bytes on a GPU are not those of their PTX, each by a cause that is known: to try `warpbit arbiter` on hardware.

    plants.py check                    assembles all of them; needs nvcc and ptxas, and no GPU
    plants.py record FOLDER            runs each on a GPU, from code that is wrong, and writes a recording with the right PTX
    plants.py judge FOLDER WARPBIT     asks the tool WARPBIT for its verdicts, and compares them with the causes

A kernel is PTX or CUDA C++. `ran` is a replacement in its source, or in its PTX: what the GPU executes. `options` are those of ptxas.
"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "capture"))
import recording  # noqa: E402
from driver import Driver  # noqa: E402

THREADS, BLOCKS = 256, 8
COUNT = THREADS * BLOCKS
ARCH = "sm_90a"

# Thread %r1 of all has its word of `in` in %r2 and %f2, the next one in %r3 and %f3, and stores %r9.
PTX = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b16 %h<40>; .reg .b32 %r<400>; .reg .f32 %f<40>; .reg .b64 %rd<20>; .reg .pred %p<9>;
  .shared .align 16 .b8 s[2048];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r11, %tid.x;
  mov.u32 %r12, %ctaid.x;
  mad.lo.u32 %r1, %r12, 256, %r11;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  ld.global.u32 %r3, [%rd4+4];
  mov.b32 %f2, %r2;
  mov.b32 %f3, %r3;
BODY
  st.global.u32 [%rd5], %r9;
  ret;
}
"""


def ptx(body):
    return PTX.replace("BODY", "\n".join("  " + line.strip() for line in body.strip().split("\n")))


def mixed(seed, steps=90):
    """Statements that mix %r9 with itself."""
    forms, out = ("add.u32 %r9, %r9, {};", "xor.b32 %r9, %r9, {};", "mul.lo.u32 %r9, %r9, {};"), []
    for i in range(steps):
        seed = (seed * 1664525 + 1013904223) % 2**32
        out.append(forms[i % 3].format(seed >> 4 | 1))
    return "\n".join(out)


def long(middle):
    """A kernel of 200 statements, with these in the middle."""
    return ptx("mov.b32 %r9, %r2;\n" + mixed(1) + "\n" + middle + "\n" + mixed(2))


SHARED = """shl.b32 %r4, %r11, 2;
mov.u32 %r5, s;
add.u32 %r5, %r5, %r4;
add.u32 %r6, %r2, 21;
st.shared.u32 [%r5], %r6;
bar.sync 0;
xor.b32 %r5, %r5, 128;
ld.shared.u32 %r9, [%r5];"""

NORM = """extern "C" __global__ void k(const float* in, float* out) {
  __shared__ float sums[8];
  const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float x = in[i];
  float sum = x * x;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  float all = 0;
  for (int w = 0; w < 8; ++w) all += sums[w];
  out[i] = x * rsqrtf(all / 256 + 1e-5f) * 1.25f;
}
"""
GELU = """extern "C" __global__ void k(const float* in, float* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
"""
POLYNOMIAL = """extern "C" __global__ void k(const float* in, float* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float x = in[i], y = in[i + 1];
  float a = x * y + 0.25f, b = x * a - y;
  out[i] = a * b + x * y;
}
"""
HASH = """extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  unsigned h = in[i];
  #pragma unroll 1
  for (int round = 0; round < 12; ++round) { h ^= h >> 15; h *= 0x2c1b3c6d; h += in[i + 1]; }
  out[i] = h < 0x40000000 ? h : h ^ 0xff;
}
"""

# name, source, what ran (old and new text of the source, or None), options of ptxas, the ruling, a hypothesis (one of several by a
# bar), and what the statement or sentence that is named has in it.
PLANTS = [
    ("half_addend", long("mov.b32 %r4, 8257536;\nadd.s16x2 %r7, %r9, %r4;\nmov.b32 {_, %h4}, %r7;\ncvt.u32.u16 %r9, %h4;"),
     None, [], "assembler", "half-addend", "add.s16x2"),
    ("bfe_position", long("bfe.s32 %r9, %r9, 33, 8;"), None, [], "assembler", "bfe-position", "bfe.s32"),
    ("addend", ptx("add.u32 %r9, %r2, 5;\nxor.b32 %r9, %r9, %r3;"), ("%r2, 5;", "%r2, 9;"), [], "other_code", "literal",
     "add.u32 %r9, %r2, 5"),
    ("factor", ptx("mul.lo.u32 %r8, %r2, 3001;\nadd.u32 %r9, %r8, %r3;\nnot.b32 %r9, %r9;"), ("3001", "3191"), [],
     "other_code", "literal", "mul.lo.u32 %r8, %r2, 3001"),
    ("epsilon", ptx("fma.rn.f32 %f4, %f2, %f3, 0f3727C5AC;\nmul.rn.f32 %f5, %f4, %f4;\nmov.b32 %r9, %f5;"),
     ("0f3727C5AC", "0f358637BD"), [], "other_code", "literal", "0f3727C5AC"),
    ("shift", ptx("shl.b32 %r8, %r2, 3;\nsub.u32 %r9, %r3, %r8;"), ("%r2, 3;", "%r2, 5;"), [], "other_code", "literal",
     "shl.b32 %r8, %r2, 3"),
    ("bound", ptx("mov.u32 %r9, 0;\nsetp.lt.u32 %p1, %r1, 1000;\n@%p1 add.u32 %r9, %r2, %r3;"), ("1000", "777"), [],
     "other_code", "literal", "setp.lt.u32 %p1, %r1, 1000"),
    ("comparison", ptx("and.b32 %r8, %r2, 3;\nsetp.lt.u32 %p1, %r8, 2;\nselp.b32 %r9, %r2, %r3, %p1;"),
     ("setp.lt", "setp.le"), [], "other_code", "word|literal", "setp.lt.u32 %p1, %r8, 2"),
    ("opcode", ptx("min.u32 %r8, %r2, %r3;\nadd.u32 %r9, %r8, 77;"), ("min.u32", "max.u32"), [], "other_code", "opcode",
     "min.u32"),
    ("rounding", ptx("fma.rn.f32 %f4, %f2, %f3, %f2;\nmov.b32 %r9, %f4;"), ("fma.rn", "fma.rz"), [], "other_code", "word",
     "fma.rn.f32"),
    ("exchanged", ptx("sub.u32 %r8, %r2, %r3;\nmul.lo.u32 %r8, %r8, %r8;\nsub.u32 %r9, %r8, %r3;"),
     ("%r9, %r8, %r3", "%r9, %r3, %r8"), [], "other_code", "swapped", "sub.u32 %r9, %r8, %r3"),
    ("guard", ptx("and.b32 %r8, %r2, 1;\nsetp.eq.u32 %p1, %r8, 0;\nmov.u32 %r9, %r2;\n@%p1 add.u32 %r9, %r2, %r3;"),
     ("@%p1 add", "add"), [], "other_code", "guard", "@%p1 add.u32"),
    ("register", ptx("xor.b32 %r7, %r2, %r3;\nadd.u32 %r8, %r7, %r2;\nsub.u32 %r9, %r8, %r7;"),
     ("%r8, %r7, %r2", "%r8, %r7, %r1"), [], "other_code", "source", "add.u32 %r8, %r7, %r2"),
    ("through_shared", ptx(SHARED), ("%r2, 21", "%r2, 23"), [], "other_code", "literal", "add.u32 %r6, %r2, 21"),
    ("deep", long("add.u32 %r9, %r9, 1234567;"), ("1234567", "1234667"), [], "other_code", "literal", "1234567"),
    ("norm_literal", NORM, ("1e-5f", "1e-6f"), [], "other_code", "literal", ""),
    ("gelu_literal", GELU, ("0.044715f", "0.044f"), [], "other_code", "literal", ""),
    ("hash_rounds", HASH, ("round < 12", "round < 14"), [], "other_code", "literal", ""),
    ("polynomial_fmad", POLYNOMIAL, None, ["--fmad=false"], "other_code", "fmad", "--fmad=false"),
    ("polynomial_O0", POLYNOMIAL, None, ["-O0"], "other_code", "as-written|fmad", ""),
    ("race", ptx(SHARED.replace("bar.sync 0;\n", "")), None, [], "ptx_fault", "data_race", "shared.u32"),
    ("norm_race", NORM.replace("  __syncthreads();\n", ""), None, [], "ptx_fault", "data_race", "shared"),
    ("unwritten", ptx("add.u32 %r9, %r2, %r99;"), None, [], "ptx_fault", "never_written", "%r9"),
    ("beyond", ptx("ld.global.u32 %r9, [%rd4+32];"), None, [], "ptx_fault", "", "[%rd4+32]"),
    ("order", ptx("mov.u32 %r9, %r2;\nand.b32 %r4, %r2, 0x7fffffff;\nmov.b32 %f5, %r4;\nred.global.add.f32 [%rd2+8192], %f5;"), None, [],
     "open", "order", "red.global.add.f32"),
    ("as_it_is", GELU, None, [], "as_ptx", "", ""),
]


def nvcc(source, folder):
    (folder / "k.cu").write_text(source)
    subprocess.run(["nvcc", "-arch=" + ARCH, "-ptx", "-o", folder / "k.ptx", folder / "k.cu"], check=True)
    return (folder / "k.ptx").read_text()


def texts_of(plant, folder):
    """The PTX that the arbiter sees, and the one that runs."""
    source, ran = plant[1], plant[2]
    other = source
    if ran:
        assert source.count(ran[0]) == 1, (plant[0], source.count(ran[0]))
        other = source.replace(*ran)
    if source.startswith(".version"):
        return source, other
    seen = nvcc(source, folder)
    return seen, nvcc(other, folder) if ran else seen


def assembled(text, options, folder):
    (folder / "ran.ptx").write_text(text)
    subprocess.run(["ptxas", "-arch=" + ARCH, *options, "-o", folder / "ran.cubin", folder / "ran.ptx"], check=True)
    return (folder / "ran.cubin").read_bytes()


def inputs():
    """Words whose floats are from 1/2 to 2, of both signs."""
    out, state = bytearray(), 12345
    for _ in range(COUNT + 4):
        state = (state * 1664525 + 1013904223) % 2**32
        out += (0x3F000000 | state >> 8 & 0xFFFFFF | state & 0x80000000).to_bytes(4, "little")
    return bytes(out)


class Gpu(Driver):
    """Runs a kernel `k`."""

    def run(self, cubin, addresses):
        module, function = self.load(cubin, "k")
        values = [ctypes.c_uint64(one) for one in addresses]
        parameters = (ctypes.c_void_p * len(values))(*[ctypes.addressof(one) for one in values])
        self.call("cuLaunchKernel", function, BLOCKS, 1, 1, THREADS, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize")
        self.call("cuModuleUnload", module)


class Plants(recording.Recording):
    def __init__(self, device):
        super().__init__({"format": "recording-1", "target": ARCH, "source": "hardware", "program": "tools/arbiter/plants.py",
                          "device": device})

    def launch(self, name, text, options, addresses, before, after, stable):
        memory = [{"address": hex(address), "bytes": len(old), "name": of, "before": self.keep(old), "after": self.keep(new)}
                  for of, address, old, new in zip(("in", "out"), addresses, before, after)]
        self.records.append({"kind": "launch", "name": name, "entry": "k", "module": self.keep(text.encode()),
                             "grid": [BLOCKS, 1, 1], "block": [THREADS, 1, 1], "memory": memory, "stable": stable,
                             "parameters": [{"bytes": one.to_bytes(8, "little").hex()} for one in addresses],
                             "ptxas": " ".join(options)})


def check():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for plant in PLANTS:
            seen, ran = texts_of(plant, folder)
            right, wrong = assembled(seen, [], folder), assembled(ran, plant[3], folder)
            changed = plant[2] is not None or bool(plant[3])
            assert (right != wrong) == changed, f"{plant[0]}: the machine code is {'the same' if changed else 'another'}"
            print(f"{plant[0]}: {len(wrong)} bytes")


def record(to):
    gpu, before = Gpu(), (inputs(), bytes(4 * COUNT + 64))
    addresses = [gpu.allocate(len(one)) for one in before]
    plants = Plants(gpu.name())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for plant in PLANTS:
            seen, ran = texts_of(plant, folder)
            cubin, left = assembled(ran, plant[3], folder), []
            for _ in range(2):
                for address, data in zip(addresses, before):
                    gpu.write(address, data)
                gpu.run(cubin, addresses)
                left.append([gpu.read(address, len(data)) for address, data in zip(addresses, before)])
            plants.launch(plant[0], seen, plant[3], addresses, before, left[0], left[0] == left[1])
            print(f"{plant[0]}: {'stable' if left[0] == left[1] else 'not stable'}")
    plants.write(to)


def is_right(plant, verdict):
    _, _, _, _, ruling, hypothesis, part = plant
    if verdict["ruling"] != ruling:
        return False
    found = verdict["causes"]
    if hypothesis and not any(re.fullmatch(hypothesis, one["hypothesis"]) for one in found):
        return False
    texts = [one["sentence"] for one in found] + [at["statement"] for one in found for at in one["places"]]
    return not part or any(part in text for text in texts)


def judge(folder, tool):
    right, wrong = 0, []
    for plant in PLANTS:
        answer = subprocess.run([tool, "arbiter", folder, plant[0], "--json"], capture_output=True, text=True)
        if answer.returncode == 2:
            print(f"{plant[0]}: {answer.stderr.strip()}")
            continue
        verdict = json.loads(answer.stdout)
        good = is_right(plant, verdict)
        right += good
        if not good and verdict["certain"] and verdict["ruling"] != "unexplained":
            wrong.append(plant[0])
        said = "; ".join(f"{one['hypothesis']}: {one['sentence'].splitlines()[0]}" for one in verdict["causes"])
        print(f"{plant[0]}: {'right' if good else 'WRONG'}: {verdict['ruling']}{'' if verdict['certain'] else '?'} {said[:200]}")
    print(f"{right} of {len(PLANTS)} right, wrongly certain: {', '.join(wrong) or 'none'}")
    return 0 if right >= len(PLANTS) - 2 and not wrong else 1


def main():
    commands = {"check": (check, 0), "record": (record, 1), "judge": (judge, 2)}
    if len(sys.argv) < 2 or sys.argv[1] not in commands or len(sys.argv) != 2 + commands[sys.argv[1]][1]:
        sys.exit(__doc__)
    return commands[sys.argv[1]][0](*sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
