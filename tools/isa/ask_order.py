#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas which orders of the qualifiers it takes of forms of tests/isa/scalar.tsv, for sm_90a, and writes
tests/isa/scalar_order.tsv: of some forms of each row one other order, by a seeded generator."""
import itertools, os, random
from ask_scalar import TABLES, TARGETS, ask, slots, statement, table

TARGET = 'sm_90a'
FORMS_OF_A_ROW = 5

def main():
    random.seed(1)
    questions = {}
    for row in table('scalar'):
        if row[2 + TARGETS.index(TARGET)] != '1': continue
        points = list(itertools.product(*slots(row[0])))
        for point in random.sample(points, min(FORMS_OF_A_ROW, len(points))):
            name, _, operands = statement(point, row[1]).partition(' ')
            opcode, *words = name.split('.')
            other = random.sample(words, len(words))
            if other != words: questions['.'.join([opcode, *other]) + ' ' + operands] = None
    with open(os.path.join(TABLES, 'scalar_order.tsv'), 'w') as f:
        f.write('statement\taccepted\n')
        for line, ok in zip(questions, ask(list(questions), TARGET)): f.write(f'{line}\t{int(ok)}\n')

main()
