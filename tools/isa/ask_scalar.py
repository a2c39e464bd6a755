#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas about every form of tests/isa/scalar_asked.tsv and factors what it accepts into tests/isa/scalar.tsv.

    ask_scalar.py [opcode,...]    only these opcodes, into part.tsv
"""
import itertools, os, re, subprocess, sys, tempfile
TABLES = os.path.join(os.path.dirname(__file__), '..', '..', 'tests', 'isa')
def table(name): return [line.rstrip('\n').split('\t') for line in open(os.path.join(TABLES, name + '.tsv'))][1:]
SETS = {name: words.split(',') for name, words in table('scalar_sets')}
TARGETS = 'sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_103f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f'.split()
REG = {'b128': 'k', 'pred': 'p', 'f16': 'g', 'f16x2': 'h', 'bf16': 'c', 'bf16x2': 'r', 'u16x2': 'r', 's16x2': 'r', 'tf32': 'r',
       'f32': 'f', 'f64': 'd', 'f32x2': 'q', 'b8': 'y', 'u8': 'z', 's8': 'o', 'b16': 'c', 'u16': 't', 's16': 'i', 'b32': 'r', 'u32': 'u', 's32': 's',
       'b64': 'q', 'u64': 'v', 's64': 'w'}
WIDE = {'u8': 'u16', 's8': 's16', 'b8': 'b16', 'u16': 'u32', 's16': 's32', 'b16': 'b32', 'u32': 'u64', 's32': 's64', 'b32': 'b64', 'f16': 'f32', 'bf16': 'f32', 'f32': 'f64', 'u64': 'b128', 's64': 'b128', 'b64': 'b128'}
# How many coordinates are written.
TEXTURES = {'1d': 1, '2d': 2, '3d': 4, 'a1d': 2, 'a2d': 4, 'cube': 4, 'acube': 4}
REGS = ('.reg .u32 %u<32>; .reg .s32 %s<32>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .f16x2 %h<32>; .reg .f64 %d<32>; .reg .b64 %q<32>; .reg .u64 %v<32>; '
  '.reg .s64 %w<32>; .reg .b16 %c<32>; .reg .u16 %t<32>; .reg .s16 %i<32>; .reg .f16 %g<32>; .reg .b8 %y<32>; .reg .u8 %z<32>; .reg .s8 %o<32>; .reg .b128 %k<32>; .reg .pred %p<32>; '
  '.shared .align 16 .b8 tile[1024];')

def slots(form):
    out, at = [], 0
    for m in re.finditer(r'\{([^}]*)\}|\$(\w)', form):
        if m.start() > at: out.append([form[at:m.start()]])
        out.append(m[1].split(',') if m[1] is not None else SETS[m[2]])
        at = m.end()
    if at < len(form): out.append([form[at:]])
    return out

def statement(parts, operands):
    """The statement of one point, or None if the operands have no meaning there."""
    name = ''.join(parts)
    quals = name.split('.')[1:]
    types = [q for q in quals if q in REG]
    n = 1
    for q in quals:
        if re.fullmatch(r'v[248]', q): n = int(q[1])
    count = itertools.count()
    def reg(t, i=None):
        t = {'T': lambda: types[-1], 'U': lambda: types[-2], 'V': lambda: types[-2], 'W': lambda: WIDE[types[-1]]}.get(t, lambda: t)()
        return '%' + REG[t] + str(next(count) if i is None else i)
    dimensions = next((int(q[0]) for q in quals if re.fullmatch('[1-5]d', q)), 0)
    def coordinates(): return 5 if 'tile::gather4' in quals or 'tile::scatter4' in quals else dimensions
    def offsets(): return 2 if 'im2col::w' in quals or 'im2col::w::128' in quals else max(dimensions - 2, 1)
    def vector(t, n): return '{' + ', '.join(reg(t) for _ in range(n)) + '}'
    def one(op):
        if op == '_': return op
        if op == '[t,c]': return '[%q1, ' + vector('s32', coordinates()) + ']'
        if op in ('[h,x]', '[h,s]'):
            shape = next(q for q in quals if q in TEXTURES)
            of = [types[-1] if op == '[h,x]' else 's32'] * TEXTURES[shape]
            if shape[0] == 'a': of[0] = 'u32'
            return '[%q1, {' + ', '.join(reg(t) for t in of) + '}]'
        if op == '{o}': return vector('b16', offsets())
        if op.startswith('{'): return '{' + ', '.join(one(o) for o in op[1:-1].split(',')) + '}'
        if op.startswith('#v:') or op.startswith('#w:'):
            r = [reg(op[3:]) for _ in range(n)]
            return r[0] if n == 1 else '{' + ', '.join(r) + '}'
        if op.startswith('#'): return op[1:]
        if op.startswith('['): return '[%q0]' if op == '[p]' else '[%q1]'
        if op.startswith('!'): return '!%p3'
        if m := re.fullmatch(r'(-?)\w(\.\w+)?:(\w+)', op): return m[1] + reg(m[3]) + (m[2] or '')
        n1, _, t = op.partition(':')
        if '|' in n1: return ('_' if n1[0] == '_' else reg(t)) + '|%p5'
        return reg(t)
    try: text = [one(o) for o in operands.split()]
    except (IndexError, KeyError): return None
    return name + ' ' + ', '.join(text) + ';'

PTXAS = os.environ.get('PTXAS', 'ptxas')
runs = 0
def ask(lines, target):
    global runs
    ok = [True] * len(lines)
    open_ = list(range(len(lines)))
    src, cub = TMP + '/t.ptx', TMP + '/t.cubin'
    def judge(open_):
        global runs
        while open_:
            runs += 1
            with open(src, 'w') as f:
                f.write(f'.version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p){{\n{REGS}\n')
                f.write('\n'.join(lines[i] for i in open_) + '\nret;\n}\n')
            p = subprocess.run([PTXAS, '-arch', 'compute_' + target[3:], src, '-o', cub], capture_output=True, text=True)
            if p.returncode == 0: return
            bad, fatal = set(), False
            for line in (p.stdout + p.stderr).splitlines():
                # Lines of <builtin> are of a macro that a statement is: halves of the list tell which.
                m = re.match(r'ptxas (?!<builtin>)\S+, line (\d+); (error|fatal)', line)
                if m and 6 <= int(m[1]) < 6 + len(open_):
                    bad.add(open_[int(m[1]) - 6])
                    if 'syntax error' in line or m[2] == 'fatal': fatal = True
            if bad:
                for i in bad: ok[i] = False
                open_ = [i for i in open_ if i not in bad]
            elif len(open_) == 1:
                print('crash?', target, lines[open_[0]], p.returncode, p.stderr[-200:], file=sys.stderr)
                ok[open_[0]] = False
                return
            else:
                judge(open_[:len(open_)//2]); open_ = open_[len(open_)//2:]
    for i in range(0, len(open_), 1500): judge(open_[i:i+1500])
    return ok

def rectangles(dims, sig):
    """Disjoint products of alternatives with one signature each, greedily the largest."""
    left = dict(sig)
    out = []
    order = [p for p in itertools.product(*[range(len(d)) for d in dims]) if p in left]
    for p in order:
        if p not in left: continue
        s = left[p]
        best = None
        for perm in itertools.islice(itertools.permutations([k for k in range(len(dims)) if len(dims[k]) > 1]), 120):
            box = [[i] for i in p]
            for k in perm:
                for j in range(len(dims[k])):
                    if j == p[k]: continue
                    trial = box[:k] + [[j]] + box[k+1:]
                    if all(left.get(q) == s for q in itertools.product(*trial)): box[k].append(j)
            size = 1
            for b in box: size *= len(b)
            if best is None or size > best[0]: best = (size, [sorted(b) for b in box])
        for q in itertools.product(*best[1]): del left[q]
        out.append((best[1], s))
    return out

TMP = tempfile.mkdtemp()
def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ''
    rows = table('scalar_asked')
    results, asked = [], []
    for form, operands in rows:
        if not form.startswith(tuple(only.split(','))): continue
        dims = slots(form)
        points = [p for p in itertools.product(*[range(len(d)) for d in dims])]
        lines, keep = [], []
        for p in points:
            s = statement([d[i] for d, i in zip(dims, p)], operands)
            if s: lines.append(s); keep.append(p)
        asked.append((form, operands, dims, keep, lines))
    # All rows at once: a run of ptxas takes 1,500 statements.
    lines = list(dict.fromkeys(line for one in asked for line in one[4]))
    answers = {line: '' for line in lines}
    for t in TARGETS:
        for line, ok in zip(lines, ask(lines, t)): answers[line] += '1' if ok else '0'
        print(t, 'runs', runs, file=sys.stderr)
    for form, operands, dims, keep, lines in asked:
        sig = {p: answers[line] for p, line in zip(keep, lines) if '1' in answers[line]}
        for box, s in rectangles(dims, sig):
            text = ''
            for d, b in zip(dims, box):
                alts = [d[i] for i in b]
                text += alts[0] if len(alts) == 1 else '{' + ','.join(alts) + '}'
            results.append((text, operands, *s))
    with open('part.tsv' if only else os.path.join(TABLES, 'scalar.tsv'), 'w') as f:
        f.write('form\toperands\t' + '\t'.join(TARGETS) + '\n')
        for r in results: f.write('\t'.join(r) + '\n')
    print(len(answers), sum('1' in one for one in answers.values()), len(results), runs, file=sys.stderr)
if __name__ == '__main__':
    main()
