#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas which operands it takes in each place of the forms of tests/isa/scalar.tsv, for sm_90a, and writes
tests/isa/scalar_operands.tsv: one form for each opcode, list of operands and types; each operand replaced by each choice."""
import itertools, os, re, sys
import ask_scalar
from ask_scalar import REG, TABLES, ask, slots, statement, table

TARGET = 'sm_90a'
REGISTERS = ['%' + letter + '12' for letter in 'zoytigcusrfhvwqdkp']
VALUES = REGISTERS + ['1', '-1', '1.0', '0f3F800000', '0d3FF0000000000000', '_', '!%p12', '!%r12', '%r12|%p12', '%f12|%p12', '%r12|_',
  '_|%p12', '%p12|%p13', '128', '300', '%tid.x', '%clock64', 'tile', '{%r12}', '{%r12,%r13}', '{%c12,%c13}', '{%q12,%q13}', '{%f12,%f13}',
  '{%f12,%u13}', '{%f12,%r13}', '{%h12,%u13}', '{%q12,%r13}', '{%d12,%d13}', '{%r12,%r13,%r14,%r15}', '[%q12]', '[tile]', '-']
ADDRESSES = ['[%q12]', '[%v12]', '[%w12]', '[%d12]', '[%r12]', '[%u12]', '[%s12]', '[%f12]', '[%c12]', '[%p12]', '[%k12]', '[1]', '[1.0]', '[%q12+4]',
  '[%q12+-4]', '[%tid.x]', '[tile]', '[tile+4]', '%q12', '1', 'tile', '_', '{%q12}', '-']
EXTRA = ['%r12', '%q12', '%p12', '1']

def split(text):
    """The operands, at the commas that are in no braces."""
    return re.findall(r'\{[^}]*\}|[^,{}]+', text.replace(' ', ''))

def representatives():
    seen = {}
    for row in table('scalar'):
        for point in itertools.product(*slots(row[0])):
            name = ''.join(point)
            words = name.split('.')
            types = tuple(w for w in words if w in REG or re.fullmatch('v[248]', w))
            seen.setdefault((words[0], row[1], types), statement(point, row[1]))
    lines = [s for s in dict.fromkeys(seen.values()) if s]
    return [line for line, ok in zip(lines, ask(lines, TARGET)) if ok]

def questions(line):
    """(place, choice, statement) of one statement."""
    name, _, rest = line.rstrip(';').partition(' ')
    operands = split(rest)
    def spell(operands): return name + ' ' + ', '.join(operands) + ';'
    for i, operand in enumerate(operands):
        for choice in ADDRESSES if operand.startswith('[') else VALUES:
            yield str(i), choice, spell(operands[:i] + ([] if choice == '-' else [choice]) + operands[i + 1:])
        if operand.startswith('{'):
            for choice in REGISTERS + ['1', '1.0', '_']:
                yield f'{i}[0]', choice, spell(operands[:i] + ['{' + choice + ',' + operand.partition(',')[2]] + operands[i + 1:])
    for choice in EXTRA: yield '+', choice, spell(operands + [choice])

def main():
    lines = representatives()
    asked = [(line, *q) for line in lines for q in questions(line)]
    print(len(lines), 'forms', len(asked), 'questions', file=sys.stderr)
    # Forms of one opcode at once: what ends a run is then asked again in small company.
    places = {}
    for _, group in itertools.groupby(asked, lambda q: q[0].split('.')[0].split()[0]):
        group = list(group)
        for (line, place, choice, text), ok in zip(group, ask([q[3] for q in group], TARGET)):
            places.setdefault((line, place), ([], []))[0 if ok else 1].append(choice)
        print(group[0][0], len(group), ask_scalar.runs, file=sys.stderr)
    rows = {}
    for (line, place), (yes, no) in places.items():
        rows.setdefault((place, ' '.join(yes), ' '.join(no)), []).append(line)
    with open(os.path.join(TABLES, 'scalar_operands.tsv'), 'w') as f:
        f.write('operand\taccepted\trefused\tstatements\n')
        for row, statements in rows.items(): f.write('\t'.join((*row, ' '.join(statements))) + '\n')

main()
