#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas which orders of the qualifiers it takes of forms of tests/isa/scalar.tsv, for sm_90a, and writes
tests/isa/scalar_order.tsv: of some forms of each row one other order, by a seeded generator. Where an opcode has several words,
they stay in front in most. The last column is the target: sm_90a, or sm_100a where that lacks the form."""
import itertools, os, random
from ask_scalar import TABLES, TARGETS, ask, slots, statement, table

TARGETS_ASKED = ['sm_90a', 'sm_100a']
OPCODES = ('mbarrier', 'cp.async.bulk', 'cp.reduce', 'st.async', 'st.bulk', 'red.async', 'tensormap', 'multimem', 'clusterlaunchcontrol')
OPCODE_WORDS = set('init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count async bulk tensor reduce prefetch '
  'commit_group wait_group replace cp_fenceproxy ld_reduce st red query_cancel try_cancel'.split())
FORMS_OF_A_ROW = 5

def shuffled(opcode, words, keeps):
    first = 0
    while keeps and first < len(words) and words[first] in OPCODE_WORDS: first += 1
    return [opcode, *words[:first], *random.sample(words[first:], len(words) - first)]

def main():
    random.seed(1)
    questions = {}
    for row in table('scalar'):
        target = next((t for t in TARGETS_ASKED if row[2 + TARGETS.index(t)] == '1'), None)
        asynchronous = row[0].startswith(OPCODES)
        if target is None or (target != TARGETS_ASKED[0] and not asynchronous): continue
        points = list(itertools.product(*slots(row[0])))
        for i, point in enumerate(random.sample(points, min(FORMS_OF_A_ROW, len(points)))):
            name, _, operands = statement(point, row[1]).partition(' ')
            opcode, *words = name.split('.')
            other = shuffled(opcode, words, asynchronous and i > 0)
            if other != [opcode, *words]: questions['.'.join(other) + ' ' + operands] = target
    answers = {}
    for target in TARGETS_ASKED:
        lines = [line for line in questions if questions[line] == target]
        answers.update(zip(lines, ask(lines, target)))
    with open(os.path.join(TABLES, 'scalar_order.tsv'), 'w') as f:
        f.write('statement\taccepted\ttarget\n')
        for line, target in questions.items(): f.write(f'{line}\t{int(answers[line])}\t{target}\n')

main()
