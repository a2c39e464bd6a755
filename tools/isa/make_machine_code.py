#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/isa/machine_code.inc from tests/isa/lowering.tsv: forms that become the same machine code on every target are a
row together, with braces around the words in which they differ. Undocumented forms are left out."""
import collections, csv, os

ROOT = os.path.join(os.path.dirname(__file__), '..', '..')
SIZES = ('m64n8k', 'm64n16k', 'm64n256k')  # of wgmma, those that were compiled; all others are taken to be alike

def table(name):
    with open(os.path.join(ROOT, 'tests', 'isa', name)) as file:
        return list(csv.reader(file, delimiter='\t', quoting=csv.QUOTE_NONE))

def code(cell, target):
    """"HMMA*2 F2FP*6 call:..." -> "2 HMMA, 6 F2FP, routine"."""
    out, calls = [], False
    for word in cell.split():
        if word in ('-', 'none'): return word
        calls |= word.startswith('call:')
        if word.startswith('call:'): continue
        name, count = word.split('*')
        for end in ('.reg', '.desc'): name = name.removesuffix(end)
        if name == 'op236': name = 'HMMA' if target == 'sm_75' else '0x236'  # HMMA.884 there
        out.append(name if count == '1' else f'{count} {name}')
    return ', '.join(out + ['routine'] * calls)

def codes(row, targets):
    """Of all targets, with = for what the target before has."""
    all_codes = [code(cell, target) for cell, target in zip(row, targets)]
    return ' | '.join(c if i == 0 or c != all_codes[i - 1] else '=' for i, c in enumerate(all_codes))

def merged(forms):
    """Forms as lists of sets of words; '' is a word that may be absent."""
    rows = [tuple(frozenset([word]) for word in form) for form in sorted(forms)]
    before = None
    while before != len(rows):
        before = len(rows)
        for slot in range(max(map(len, rows))):
            groups = collections.OrderedDict()
            for row in rows:
                key = (len(row), row[:slot], row[slot + 1:]) if slot < len(row) else row
                groups.setdefault(key, []).append(row)
            rows = [group[0] if len(group) == 1 else
                    group[0][:slot] + (frozenset().union(*(row[slot] for row in group)),) + group[0][slot + 1:]
                    for group in groups.values()]
    while (pair := longer(rows)) is not None:
        short, long, slot = pair
        rows = [row for row in rows if row not in (short, long)] + [long[:slot] + (long[slot] | {''},) + long[slot + 1:]]
    return rows

def longer(rows):
    """Two rows of which one has a word more."""
    for short in sorted(rows, key=str):
        for slot in range(1, len(short) + 1):
            for long in rows:
                if len(long) == len(short) + 1 and long[:slot] == short[:slot] and long[slot + 1:] == short[slot:]:
                    return short, long, slot
    return None

def pattern(row):
    return '.'.join(next(iter(words)) if len(words) == 1 else '{' + ','.join(sorted(words)) + '}' for words in row)

def main():
    undocumented = {(row[1], row[2]) for row in table('instructions.tsv') if row[-1].startswith('undocumented')}
    header, *rows = table('lowering.tsv')
    targets, by_code = header[3:], collections.OrderedDict()
    for row in rows:
        if (row[1], row[2]) in undocumented: continue
        form = row[1]
        if form.startswith('wgmma.mma_async'):
            for size in SIZES: form = form.replace('.' + size, '.m64n*k')
        by_code.setdefault(codes(row[3:], targets), set()).add(tuple(form.split('.')))
    lines = sorted((pattern(row), code) for code, forms in by_code.items() for row in merged(forms))
    with open(os.path.join(ROOT, 'src', 'isa', 'machine_code.inc'), 'w') as out:
        out.write(f'''// SPDX-License-Identifier: Apache-2.0
// Made by tools/isa/make_machine_code.py: WARPBIT_MACHINE_CODE(forms, codes). What the instruction of a kernel of its own became
// when ptxas 13.0 (V13.0.88) compiled it for each target, in the order {', '.join(targets)}.
// "=" is what the target before has, "-" no such form there, "none" no instruction of these names, "routine" that an internal
// one of the toolkit is called. Names were read from opcode bits. Of wgmma N = 8, 16 and 256 were compiled. It is what was seen,
// not a promise: another toolkit may compile otherwise.
''')
        for forms, code in lines: out.write(f'WARPBIT_MACHINE_CODE("{forms}", "{code}")\n')

main()
