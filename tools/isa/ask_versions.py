#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas from which .version on it takes each form of tests/isa/scalar.tsv and tests/isa/instructions.tsv, on the oldest
target that has the form, and writes tests/isa/versions.tsv: forms that are later than their target's own first version.

    ask_versions.py
"""
import collections, itertools, os, re, subprocess, sys
sys.path.insert(0, os.path.dirname(__file__))
import ask_scalar
VERSIONS = '6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0'.split()
REGS = ask_scalar.REGS.replace('<32>', '<160>').replace('%d<160>', '%d<512>')

def tensor_statement(name, notation):
    """Of a row of instructions.tsv, with fresh registers and the least immediates."""
    count = itertools.count()
    def reg(t): return '%' + ask_scalar.REG[t] + str(next(count))
    def one(op):
        if op.startswith('['): return '[' + reg(op[1:-1].split(':')[1]) + ']'
        if op.startswith('{'): return reg(op[1:-1].split(':')[1])
        if ':=' in op: return op.split('=', 1)[1]
        t = op.partition(':')[2]
        if m := re.match(r'imm\((>=)?(-?\d+)?', t): return m[2] or '0'
        if t.startswith('{'): return '{' + ', '.join('%c' + str(next(count)) for _ in t.split(',')) + '}'
        if m := re.match(r'(\d+)x(\w+)', t): return '{' + ', '.join(reg(m[2]) for _ in range(int(m[1]))) + '}'
        return reg(t)
    return name + ' ' + ', '.join(one(o) for o in notation.split()) + ';'

def accepted(lines, target, version):
    """Of each line whether ptxas takes it."""
    ok, open_ = [True] * len(lines), list(range(len(lines)))
    src = ask_scalar.TMP + '/v.ptx'
    def judge(open_):
        while open_:
            with open(src, 'w') as f:
                f.write(f'.version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p){{\n{regs(version)}\n')
                f.write('\n'.join(lines[i] for i in open_) + '\nret;\n}\n')
            p = subprocess.run([ask_scalar.PTXAS, '-arch', 'compute_' + target[3:], src, '-o', ask_scalar.TMP + '/v.cubin'], capture_output=True, text=True)
            if p.returncode == 0: return
            bad = set()
            for line in (p.stdout + p.stderr).splitlines():
                m = re.match(r'ptxas \S+, line (\d+); (error|fatal)', line)
                if m and 6 <= int(m[1]) < 6 + len(open_): bad.add(open_[int(m[1]) - 6])
            if not bad and len(open_) == 1: bad = set(open_)
            if bad:
                for i in bad: ok[i] = False
                open_ = [i for i in open_ if i not in bad]
            else:
                judge(open_[:len(open_)//2]); open_ = open_[len(open_)//2:]
    for i in range(0, len(open_), 1000): judge(open_[i:i+1000])
    return ok
def regs(version):
    return REGS if float(version) >= 8.3 else REGS.replace('.reg .b128 %k<160>; ', '')

def first_of(target):
    for v in VERSIONS:
        if all(accepted(['ret;'], target, v)): return v

def main():
    forms = []  # family, form, operands, statement, oldest target; of scalar ones the row and the point in it
    rows = ask_scalar.table('scalar')
    for number, row in enumerate(rows):
        target = next((t for t, c in zip(ask_scalar.TARGETS, row[2:]) if c == '1'), None)
        dims = ask_scalar.slots(row[0])
        for point in itertools.product(*[range(len(d)) for d in dims]):
            s = ask_scalar.statement([d[i] for d, i in zip(dims, point)], row[1])
            if s: forms.append(('scalar', (number, point), row[1], s, target))
    path = os.path.join(ask_scalar.TABLES, 'instructions.tsv')
    instructions = [line.rstrip('\n').split('\t') for line in open(path)]
    columns = {name: i for i, name in enumerate(instructions[0])}
    for row in instructions[1:]:
        if row[columns['note']].startswith('undocumented'): continue
        target = next((t for t in ask_scalar.TARGETS if row[columns[t]] == '1'), None)
        if target: forms.append((row[0], row[1], row[2], tensor_statement(row[1], row[2]), target))
    groups = collections.defaultdict(list)
    for form in forms: groups[form[4]].append(form)
    out = []
    for target, group in groups.items():
        first = first_of(target)
        open_ = group
        for v in VERSIONS[VERSIONS.index(first):]:
            ok = accepted([f[3] for f in open_], target, v)
            out += [(*f[:3], target, first, v) for f, o in zip(open_, ok) if o]
            open_ = [f for f, o in zip(open_, ok) if not o]
            print(target, v, len(open_), file=sys.stderr, flush=True)
            if not open_: break
        out += [(*f[:3], target, first, 'none') for f in open_]
    later = [r for r in out if r[5] != r[4]]
    lines = [(family, form, operands, target, since) for family, form, operands, target, first, since in later if family != 'scalar']
    for number, row in enumerate(rows):  # rows of one version each, as in scalar.tsv
        of = [r for r in later if r[0] == 'scalar' and r[1][0] == number]
        dims = ask_scalar.slots(row[0])
        for box, since in ask_scalar.rectangles(dims, {r[1][1]: r[5] for r in of}):
            parts = [[d[i] for i in b] for d, b in zip(dims, box)]
            text = ''.join(p[0] if len(p) == 1 else '{' + ','.join(p) + '}' for p in parts)
            lines.append(('scalar', text, row[1], of[0][3], since))
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ask_scalar.TABLES, 'versions.tsv'), 'w') as f:
        f.write('family\tform\toperands\ttarget\tsince\n')
        for line in sorted(lines): f.write('\t'.join(line) + '\n')
if __name__ == '__main__': main()
