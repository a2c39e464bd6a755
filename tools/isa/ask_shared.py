#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas how many bytes of static shared memory kernels have, and the alignment of that section, for sm_90a, and writes
tests/isa/shared.tsv: modules with variables of the module, of the kernel, of functions that it calls and of one that it does
not, each named by one of them or by nobody, by a seeded generator. No two orders of the same variables have as many bytes
often, so the bytes tell the order."""
import os, random, re, struct, subprocess, tempfile

TABLES = os.path.join(os.path.dirname(__file__), '..', '..', 'tests', 'isa')
HEAD = '.version 8.7 .target sm_90a .address_size 64 '
ROWS = 120

def module():
    owners = ['k', 'f', 'g', 'h']  # the kernel; f and g are called, h is not
    inner, names = {o: '' for o in owners + ['']}, {o: '' for o in owners}
    for i in range(random.randint(1, 6)):
        align = random.choice([1, 2, 4, 8, 16, 64, 128, 256])
        owner = random.choice(owners + ['', 'k', ''])
        inner[owner] += f'.shared .align {align} .b8 v{i}[{random.choice([1, 3, 8, 16, 20, 100])}]; '
        user = random.choice([owner or 'k', owner or random.choice(owners), None])
        if user: names[user] += f'mov.u32 %r0, v{i}; st.global.u32 [%rd0], %r0; '
    if random.random() < .4: inner[''] += f'.extern .shared .align {random.choice([1, 4, 16, 32, 128])} .b8 d[]; '
    def body(o, parameter): return f'.reg .b64 %rd<2>; .reg .b32 %r<2>; {inner[o]}ld.param.u64 %rd0, [{parameter}]; {names[o]}'
    def call(f): return f'{{ .param .u64 a; st.param.u64 [a], %rd0; call.uni {f}, (a); }} '
    functions = ''.join(f'.func {o}(.param .u64 q) {{ {body(o, "q")}ret; }} ' for o in owners[1:])
    kernel = f'.visible .entry k(.param .u64 p) {{ {body("k", "p")}{call("g")}{call("f")}ret; }} '
    return HEAD + inner[''] + (functions + kernel).strip()

def shared_section(cubin):
    """(bytes without what the system keeps, alignment) of .nv.shared.k; (0, 1) if there is none."""
    first, = struct.unpack_from('<Q', cubin, 40)
    size, count, names = struct.unpack_from('<HHH', cubin, 58)
    sections = [struct.unpack_from('<IIQQQQIIQQ', cubin, first + i * size) for i in range(count)]
    for s in sections:
        at = sections[names][4] + s[0]
        if cubin[at:cubin.index(b'\0', at)] == b'.nv.shared.k': return s[5] - 1024, s[8]
    return 0, 1

def ask(text, folder):
    ptx, cubin = os.path.join(folder, 'k.ptx'), os.path.join(folder, 'k.cubin')
    with open(ptx, 'w') as f: f.write(text + '\n')
    log = subprocess.run(['ptxas', '-v', '-arch=sm_90a', ptx, '-o', cubin], capture_output=True, text=True, check=True).stderr
    said = re.search(r'(\d+) bytes smem', log)
    with open(cubin, 'rb') as f: size, alignment = shared_section(f.read())
    assert size == (int(said[1]) if said else 0), text
    return size, alignment

def main():
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(TABLES, 'shared.tsv'), 'w') as f:
        f.write('bytes\talignment\tmodule\n')
        for _ in range(ROWS):
            text = module()
            f.write('\t'.join(map(str, ask(text, folder))) + f'\t{text}\n')

main()
