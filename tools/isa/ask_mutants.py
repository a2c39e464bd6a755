#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes modules of PTX at random places, and asks ptxas and `warpbit check --ptx` which mutants they take.

    ask_mutants.py WARPBIT COUNT SEED FOLDER-OR-FILE...    prints the mutants on which they differ, and how many

A mutant differs from its module in one place: a qualifier, an operand, a directive, a number or a character.
"""
import concurrent.futures, gzip, os, random, re, subprocess, sys, tempfile

def modules(paths):
    out = []
    for path in paths:
        names = [path] if os.path.isfile(path) else [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs if f.endswith(('.ptx', '.ptx.gz'))]
        for name in sorted(names):
            with (gzip.open if name.endswith('.gz') else open)(name, 'rt', errors='replace') as file: text = file.read()
            if len(text) < 40000 and '.version' in text and 'debug' not in text: out.append((name, text))
    return out

STATEMENT = re.compile(r'(?<=[;{}:\n])([ \t]*(?:@!?%?\w+[ \t]+)?)([a-z]\w*(?:\.[\w:]+)*)([ \t]+[^;{}\n]*(?:\{[^;}\n]*\}[^;{}\n]*)*)?;')
CONSTANTS = '0 1 -1 3 31 32 64 255 256 4096 65536 2147483647 4294967295 4294967296 0x10 077 0b101 1.0 -2.5 0f3F800000 0d3FF0000000000000 WARP_SZ (1+2) ~7 18446744073709551616'.split()
SPECIALS = '%tid.x %ctaid.y %laneid %clock64 %cluster_ctarank %smid %lanemask_lt %globaltimer %dynamic_smem_size %nclusterid.x'.split()
DIRECTIVES = ['.version 6.3', '.version 7.0', '.version 7.8', '.version 8.0', '.version 8.3', '.version 9.0', '.target sm_75', '.target sm_80',
              '.target sm_90', '.target sm_90a', '.target sm_100a', '.target sm_120', '.address_size 32', '.address_size 63']

class Mutator:
    def __init__(self, texts):
        self.words = sorted({w for t in texts for m in STATEMENT.finditer(t) for w in m[2].split('.')[1:]})
        self.names = sorted({m[2] for t in texts for m in STATEMENT.finditer(t)})
    def mutant(self, text, r):
        found = list(STATEMENT.finditer(text))
        kind = r.random()
        if kind < 0.08 or not found: return self.directive(text, r)
        if kind < 0.18: return self.character(text, r)
        m = r.choice(found)
        name, operands = m[2].split('.'), m[3] or ''
        if kind < 0.55: name = self.qualifiers(name, r)
        elif kind < 0.6: name = r.choice(self.names).split('.')
        else: operands = self.operands(operands, text, r)
        return text[:m.start()] + m[1] + '.'.join(name) + operands + ';' + text[m.end():]
    def qualifiers(self, name, r):
        name = list(name)
        what = r.randrange(5)
        if what == 0 and len(name) > 1: del name[r.randrange(1, len(name))]
        elif what == 1 and len(name) > 1: name[r.randrange(1, len(name))] = r.choice(self.words)
        elif what == 2: name.insert(r.randrange(1, len(name) + 1), r.choice(self.words))
        elif what == 3 and len(name) > 2:
            i, j = r.sample(range(1, len(name)), 2)
            name[i], name[j] = name[j], name[i]
        elif len(name) > 1:
            i = r.randrange(1, len(name))
            name.insert(i, name[i])
        return name
    def operands(self, operands, text, r):
        places = list(re.finditer(r'%?[\w$]+(?:\.[xyzw])?|0[xfd][0-9A-Fa-f]+|-?\d+', operands))
        if not places: return operands + r.choice([' %r1', ' 0', ' [%rd1]'])
        p = r.choice(places)
        what = r.randrange(8)
        if what < 3: new = r.choice(re.findall(r'%[a-z]+\d+', text) or ['%r1'])
        elif what == 3: new = r.choice(CONSTANTS)
        elif what == 4: new = r.choice(SPECIALS)
        elif what == 5: new = r.choice(['!', '-', '~', '+']) + p[0]
        elif what == 6: new = r.choice(['{%s}', '[%s]', '%s+4', '%s|%%p1', '(%s)', '_']).replace('%s', p[0])
        else:
            parts = operands.split(',')
            i = r.randrange(len(parts))
            if r.random() < 0.5: del parts[i]
            else: parts.insert(i, parts[i])
            return ','.join(parts)
        return operands[:p.start()] + new + operands[p.end():]
    def directive(self, text, r):
        new = r.choice(DIRECTIVES)
        key = new.split()[0]
        if r.random() < 0.4: return re.sub(re.escape(key) + r'\s+[\w.]+', new, text, count=1)
        lines = text.split('\n')
        of = [i for i, l in enumerate(lines) if l.strip().startswith('.')]
        i = r.choice(of)
        what = r.randrange(4)
        if what == 0: del lines[i]
        elif what == 1: lines.insert(i, lines[i])
        elif what == 2: lines[i] = re.sub(r'\d+', lambda m: r.choice([m[0], '0', '7', '100', '65536']), lines[i])
        else: lines[i] = re.sub(r'\.[a-z]\w+', lambda m: m[0] if r.random() < 0.6 else r.choice(['.b32', '.u64', '.f16', '.pred', '.shared', '.global', '.align', '.v2']), lines[i])
        return '\n'.join(lines)
    def character(self, text, r):
        i = r.randrange(text.find('{'), len(text)) if '{' in text else r.randrange(len(text))
        what = r.randrange(3)
        c = r.choice('abrsuf0123456789.,;:{}[]()%_|!@+-')
        return text[:i] + (c if what else '') + text[i + (what != 1):]

def answers(warpbit, text, folder):
    path = os.path.join(folder, f'm{os.getpid()}_{id(text)}.ptx')
    with open(path, 'w') as f: f.write(text)
    try:
        target = re.search(r'\.target\s+(sm_\w+)', text)
        arch = target[1] if target else 'sm_90a'
        ask = lambda level: subprocess.run(['ptxas', level, '-arch', arch, path, '-o', path + '.cubin'], capture_output=True, text=True, timeout=60)
        p = ask('-O0')
        w = subprocess.run([warpbit, 'check', '--ptx', path], capture_output=True, text=True, timeout=60)
        if p.returncode == 0 and w.returncode != 0: p = ask('-O3')
        if p.returncode < 0: return None  # ptxas has crashed, as it does where an address in a special register is used: no answer
        return p.returncode == 0, w.returncode == 0, (p.stdout + p.stderr).split('\n')[0].replace(path, ''), (w.stdout + w.stderr)[:300].replace('\n', ' ').replace(path, ''), w.returncode
    except subprocess.TimeoutExpired: return None
    finally:
        for f in (path, path + '.cubin'):
            if os.path.exists(f): os.remove(f)

def changed(before, after):
    b, a = before.split('\n'), after.split('\n')
    for i, line in enumerate(a):
        if i >= len(b) or b[i] != line: return f'{i + 1}: {line.strip()}'
    return 'the end'

def main():
    warpbit, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    all_ = modules(sys.argv[4:])
    mutator, r = Mutator([t for _, t in all_]), random.Random(seed)
    folder = tempfile.mkdtemp()
    # What ptxas refuses unchanged, or the tool, tells nothing.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        good = [m for m, a in zip(all_, pool.map(lambda m: answers(warpbit, m[1], folder), all_)) if a and a[0] and a[1]]
        print(f'{len(good)} of {len(all_)} modules')
        mutants = []
        while len(mutants) < count:
            name, text = r.choice(good)
            new = mutator.mutant(text, r)
            if new != text: mutants.append((name, text, new))
        asked = taken = differ = 0
        for (name, text, new), a in zip(mutants, pool.map(lambda m: answers(warpbit, m[2], folder), mutants)):
            if a is None: continue
            asked += 1
            taken += a[0]
            if a[0] != a[1] or a[4] > 2 or a[4] < 0:
                differ += 1
                print(f"{'ptxas takes' if a[0] else 'ptxas refuses'}\t{os.path.basename(name)} {changed(text, new)}\t{a[2]}\t{a[3]}", flush=True)
    print(f'{asked} mutants, {count - asked} without an answer, {taken} taken by ptxas, {differ} differ: {100 * differ / max(asked, 1):.2f} %')

if __name__ == '__main__': main()
