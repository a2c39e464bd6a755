#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas which operands it takes in each place of the forms of tests/isa/scalar.tsv, for sm_90a or, where that lacks
the form, for sm_100a, and writes tests/isa/scalar_operands.tsv: one form for each opcode, list of operands and types, of the
asynchronous families one for each row; each operand replaced by each choice.

    ask_operands.py [opcode,...]    only these opcodes, into part.tsv
"""
import itertools, os, re, sys
import ask_scalar
from ask_scalar import REG, TABLES, ask, slots, statement, table

TARGETS = ['sm_90a', 'sm_100a']
BY_ROW = ('mbarrier', 'cp.async.bulk', 'cp.reduce', 'st.async', 'st.bulk', 'red.async', 'tensormap', 'multimem', 'clusterlaunchcontrol', 'fence.proxy.tensormap', 'prefetch')
REGISTERS = ['%' + letter + '12' for letter in 'zoytigcusrfhvwqdkp']
VALUES = REGISTERS + ['1', '-1', '1.0', '0f3F800000', '0d3FF0000000000000', '_', '!%p12', '!%r12', '%r12|%p12', '%f12|%p12', '%r12|_',
  '_|%p12', '%p12|%p13', '128', '300', '%tid.x', '%clock64', 'tile', '{%r12}', '{%r12,%r13}', '{%c12,%c13}', '{%q12,%q13}', '{%f12,%f13}',
  '{%f12,%u13}', '{%f12,%r13}', '{%h12,%u13}', '{%q12,%r13}', '{%d12,%d13}', '{%r12,%r13,%r14,%r15}', '[%q12]', '[tile]', '-']
ADDRESSES = ['[%q12]', '[%v12]', '[%w12]', '[%d12]', '[%r12]', '[%u12]', '[%s12]', '[%f12]', '[%c12]', '[%p12]', '[%k12]', '[1]', '[1.0]', '[%q12+4]',
  '[%q12+-4]', '[%tid.x]', '[tile]', '[tile+4]', '%q12', '1', 'tile', '_', '{%q12}', '-']
OFFSETS = ['{' + ','.join(letter + str(12 + i) for i in range(n)) + '}' for letter in ('%c', '%r') for n in range(1, 5)] + ['{1}', '{1,%t12}']
TENSORS = ['[%q12]', '[%q12,%r12]', '[tile,{%r12}]'] + [f'[%q12,{{{",".join("%r" + str(12 + i) for i in range(n))}}}]' for n in range(1, 7)] + [
  f'[{base},{{%r12,%r13,%r14}}]' for base in ('%v12', '%d12', '%r12', '%f12', '%c12', '%p12', 'tile', '1', '%q12+64')] + ['{%q12,%r12}', '%q12', '1', 'tile', '_', '-']
VIDEO = ('vadd', 'vsub', 'vavrg', 'vabsdiff', 'vmin', 'vmax', 'vshl', 'vshr', 'vmad', 'vset')
PARTS = '%r12.b0 %r12.b3 %r12.b4 %r12.h1 %r12.h2 %u12.b1 %f12.b0 %c12.b0 %p12.b0 %q12.h1 %r12.b10 %r12.b210 %r12.b3210 %r12.b7654 %r12.b8888 %r12.b43210 %r12.h10 %r12.h01 %r12.h32 %r12.h40 %r12.x %r12.b -%r12 -%r12.b0 -%f12 !%r12.b0'.split()
COORDINATES = REGISTERS + ['1', '1.0', '_', 'tile', '%tid.x']
EXTRA = ['%r12', '%q12', '%p12', '1']

def split(text):
    """The operands, at the commas that are in no braces or brackets."""
    return re.findall(r'\[[^\]]*\]|\{[^}]*\}|[^,{}]+', text.replace(' ', ''))

def representatives():
    """(statement, target)."""
    seen = {}
    for row in table('scalar'):
        if not row[0].startswith(ONLY): continue
        for point in itertools.product(*slots(row[0])):
            name = ''.join(point)
            words = name.split('.')
            types = tuple(w for w in words if w in REG or re.fullmatch('v[248]', w))
            if words[0].startswith(VIDEO):
                if '{.u32,.s32}' not in row[0]: continue  # of one type: for the parts that operands may be
                types = ()
            seen.setdefault((row[0] if row[0].startswith(BY_ROW) else words[0], row[1], types), statement(point, row[1]))
            if row[0].startswith(BY_ROW): break
    lines = [s for s in dict.fromkeys(seen.values()) if s]
    out = {}
    for target in TARGETS:
        out.update({line: target for line, ok in zip(lines, ask(lines, target))
                    if ok and line not in out and (target == TARGETS[0] or line.startswith(BY_ROW))})
    return [(line, out[line]) for line in lines if line in out]

def questions(line):
    """(place, choice, statement) of one statement."""
    name, _, rest = line.rstrip(';').partition(' ')
    operands = split(rest)
    def spell(operands): return name + ' ' + ', '.join(operands) + ';'
    for i, operand in enumerate(operands):
        tensor = operand.startswith('[') and ',' in operand
        for choice in TENSORS if tensor else ADDRESSES if operand.startswith('[') else VALUES + OFFSETS if '%c' in operand and line.startswith('cp') else VALUES + PARTS if line.startswith(VIDEO) else VALUES:
            yield str(i), choice, spell(operands[:i] + ([] if choice == '-' else [choice]) + operands[i + 1:])
        if tensor:
            for choice in COORDINATES:
                yield f'{i}[1]', choice, spell(operands[:i] + [re.sub(r'\{%s\d+', '{' + choice, operand)] + operands[i + 1:])
        if operand.startswith('{'):
            for choice in REGISTERS + ['1', '1.0', '_']:
                yield f'{i}[0]', choice, spell(operands[:i] + [re.sub(r'\{[^,}]*', '{' + choice, operand)] + operands[i + 1:])
    for choice in EXTRA: yield '+', choice, spell(operands + [choice])

ONLY = tuple(sys.argv[1].split(',')) if len(sys.argv) > 1 else ''
def main():
    lines = representatives()
    asked = [(line, target, *q) for line, target in lines for q in questions(line)]
    print(len(lines), 'forms', len(asked), 'questions', file=sys.stderr)
    # Forms of one opcode at once: what ends a run is then asked again in small company.
    places = {}
    for _, group in itertools.groupby(asked, lambda q: (q[1], q[0].split('.')[0].split()[0])):
        group = list(group)
        for (line, target, place, choice, text), ok in zip(group, ask([q[4] for q in group], group[0][1])):
            places.setdefault((line, target, place), ([], []))[0 if ok else 1].append(choice)
        print(group[0][0], len(group), ask_scalar.runs, file=sys.stderr)
    rows = {}
    for (line, target, place), (yes, no) in places.items():
        rows.setdefault((target, place, ' '.join(yes), ' '.join(no)), []).append(line)
    with open('part.tsv' if ONLY else os.path.join(TABLES, 'scalar_operands.tsv'), 'w') as f:
        f.write('target\toperand\taccepted\trefused\tstatements\n')
        for row, statements in rows.items(): f.write('\t'.join((*row, ' '.join(statements))) + '\n')

main()
