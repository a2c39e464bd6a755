# SPDX-License-Identifier: Apache-2.0
"""Kernels that record_kernels.py --random records: sequences of products, sums and what may lie between them, of which
the assembler fuses some. Each sequence loads four operands and stores some of its results; registers are written
again, some statements are guarded or jumped over, and some results nobody needs."""
import random
import zlib

import numpy as np

from kernel_cases import Array, CODES, bfloat16, unwritten

THREADS, SEQUENCES, OPERANDS = 32, 30, 4
TYPES = {"f32": ("b32", 4), "f64": ("b64", 8), "f16": ("b16", 2), "f16x2": ("b32", 4), "bf16": ("b16", 2),
         "bf16x2": ("b32", 4)}
WEIGHTS = {"mul": 30, "add": 22, "sub": 14, "neg": 5, "mov": 4, "fma": 5, "abs": 2, "bra": 4, "mul.rn": 3, "add.rn": 3}
HEAD = """.version 8.8
.target sm_90
.address_size 64
.visible .entry {name}(.param .u64 operands, .param .u64 results)
{{
.reg .pred even, low;
.reg .b64 from, to, offset;
.reg .b32 x, y;
.reg .{register} {registers};
ld.param.u64 from, [operands];
ld.param.u64 to, [results];
mov.u32 x, %tid.x;
mul.wide.u32 offset, x, {size};
add.u64 from, from, offset;
add.u64 to, to, offset;
and.b32 y, x, 1;
setp.eq.u32 even, y, 0;
setp.lt.u32 low, x, 10;
"""


class Sequence:
    """Statements, their registers, and those that are stored. All registers have a value from the first on."""

    def __init__(self, r, type, number):
        self.r, self.type, self.registers = r, type, [f"i{number}_{k}" for k in range(OPERANDS)]
        self.results, self.statements, self.label, self.left = [], [], None, 0
        for step in range(r.randrange(4, 13)):
            self.add(f"t{number}_{step}", f"L{number}_{step}")
        if self.label:
            self.statements.append(f"{self.label}:")
        self.stored = [x for x in self.results[:-2] if r.random() < 0.18] + self.results[-2:]

    def source(self):
        recent = self.results[-4:]
        return self.r.choice(recent if recent and self.r.random() < 0.6 else self.registers[:OPERANDS])

    def literal(self):
        value = self.r.uniform(-2, 2)
        if self.type == "f32":
            return "0f%08X" % np.float32(value).view(np.uint32)
        return "0d%016X" % np.float64(value).view(np.uint64)

    def modifiers(self, opcode):
        takes = self.type in ("f32", "f16", "f16x2") and opcode in ("mul", "add", "sub")
        ftz = takes and self.r.random() < 0.1
        return (".ftz" if ftz else "") + (".sat" if takes and self.r.random() < 0.05 else "")

    def add(self, fresh, label):
        r, type = self.r, self.type
        if self.label and self.left == 0:
            self.statements.append(f"{self.label}:")
            self.label = None
        self.left -= 1
        opcode = r.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        to = r.choice(self.results) if self.results and r.random() < 0.12 else fresh
        guard = ""
        if opcode in ("mul", "add", "sub") and r.random() < 0.06:
            guard = f"@{r.choice(['even', 'low', '!low'])} "
        if to == fresh:
            self.registers.append(to)
        if opcode == "bra":
            if not self.label:
                self.label, self.left = label, r.randrange(1, 5)
                self.statements.append(f"@{r.choice(['even', 'low'])} bra {label};")
            opcode = "mov"
        sources = [self.source() for _ in range({"fma": 3, "neg": 1, "mov": 1, "abs": 1}.get(opcode, 2))]
        if type in ("f32", "f64") and len(sources) == 2 and r.random() < 0.08:
            sources[1] = self.literal()
        form = f"{opcode}{'.rn' if opcode == 'fma' else self.modifiers(opcode)}.{type}"
        if opcode == "mov":
            form = f"mov.{TYPES[type][0]}"
        self.statements.append(f"{guard}{form} {to}, {', '.join(sources)};")
        if to not in self.results:
            self.results.append(to)


def kernel(name, type, r):
    """PTX, and the number of results."""
    register, size = TYPES[type]
    word = "u" + register[1:]
    sequences = [Sequence(r, type, k) for k in range(SEQUENCES)]
    lines, row = [], 0
    for s in sequences:
        lines += [f"ld.global.{word} {x}, [from+{k * THREADS * size}];" for k, x in enumerate(s.registers[:OPERANDS])]
        if any(line.startswith("@") for line in s.statements):
            lines += [f"mov.{register} {x}, {s.registers[0]};" for x in s.results]
        lines += s.statements
        for x in s.stored:
            lines.append(f"st.global.{word} [to+{row * THREADS * size}], {x};")
            row += 1
    registers = ", ".join(x for s in sequences for x in s.registers)
    head = HEAD.format(name=name, register=register, registers=registers, size=size)
    return head + "\n".join(lines) + "\nret;\n}\n", row


def operands(type, random):
    """Ordinary numbers; of f64 NaNs, too, which show the order of sources."""
    size = TYPES[type][1]
    elements = OPERANDS * THREADS * (2 if type.endswith("x2") else 1)
    x = random.standard_normal(elements)
    if type.startswith("bf16"):
        return bfloat16(x).view(np.uint8).reshape(OPERANDS, -1)
    x = x.astype({"f32": "<f4", "f64": "<f8"}.get(type, "<f2"))
    if type == "f64":
        codes = x.view(np.uint64).reshape(OPERANDS, THREADS)
        is_nan = random.rand(OPERANDS, 8) < 0.5
        codes[:, 24:] = np.where(is_nan, CODES[8][14] + random.randint(1, 2**31, (OPERANDS, 8)), codes[:, 24:])
    return x.view(np.uint8).reshape(OPERANDS, THREADS * size)


def prepare(type, seed, out, write_launch):
    """The recording of a launch, ready to be run."""
    name = f"random_{type}" + (f"_{seed}" if seed else "")
    text, rows = kernel(name, type, random.Random(name))
    inputs = operands(type, np.random.RandomState(zlib.crc32(name.encode())))
    about = {"library": "random_cases.py", "entry": name, "grid": [1, 1, 1], "block": [THREADS, 1, 1], "cluster": [1, 1, 1],
             "shared": 0, "outputs": ["results"], "prints": False}
    arguments = [Array("operands", inputs), Array("results", unwritten(rows, THREADS * TYPES[type][1], np.uint8))]
    return write_launch(out / f"{name}.zip", "tools/capture/record_kernels.py --random 1", about, text, arguments)
