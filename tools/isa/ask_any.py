#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks any ptxas about every row of tests/isa (instructions.tsv, scalar.tsv, later.tsv and the refused neighbours of rejected.tsv) on
every target that it knows, and prints where it differs from the tables, as rows of a table with tabs. Whoever has a newer one than
13.0 settles so what rests on documents alone (later.tsv).

    PTXAS=/path/to/ptxas ask_any.py [TARGET,...]    exit status 1 if anything differs

A form is asked in the newest .version that this ptxas knows; one of later.tsv also in the version before it, on its first target,
where it must be refused. Forms of versions that this ptxas does not know are counted and not asked.
"""
import itertools, os, re, shutil, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ask_scalar
from ask_versions import VERSIONS, accepted, tensor_statement

NEWER = '9.1 9.2 9.3 9.4 9.5'.split()
TARGETS = ask_scalar.TARGETS + 'sm_107 sm_107f sm_107a'.split()

def number(version): return tuple(map(int, version.split('.')))

def before(version):
    return [v for v in VERSIONS + NEWER if number(v) < number(version)][-1]

def tensor_rows():
    """Statement, the targets that have it, since: of instructions.tsv, without those that no manual has."""
    rows = [line.rstrip('\n').split('\t') for line in open(os.path.join(ask_scalar.TABLES, 'instructions.tsv'))]
    for row in rows[1:]:
        one = dict(zip(rows[0], row))
        if not one['note'].startswith('undocumented'):
            yield tensor_statement(one['instruction'], one['operands']), {t: one[t] == '1' for t in TARGETS if one.get(t) in ('0', '1')}, None

def scalar_rows():
    for row in ask_scalar.table('scalar'):
        of = {t: c == '1' for t, c in zip(ask_scalar.TARGETS, row[2:])}
        for parts in itertools.product(*ask_scalar.slots(row[0])):
            if text := ask_scalar.statement(list(parts), row[1]): yield text, of, None

def later_rows():
    for family, form, operands, targets, since, *_ in ask_scalar.table('later'):
        parts = [one[1:-1].split(',') if one.startswith('{') else [one] for one in re.findall(r'\{[^}]*\}|[^{]+', form)]
        for words in itertools.product(*parts):
            yield tensor_statement(''.join(words), operands), {t: t in targets.split() for t in TARGETS}, since

def rejected_rows():
    for family, form, operands, what, target, *_ in ask_scalar.table('rejected'):
        yield tensor_statement(form, operands), {target: False}, None

def ask(rows, targets, newest):
    """Questions with their answers: target, version, statement, whether the tables have it, whether ptxas takes it."""
    wanted = {}
    for text, of, since in rows:
        if since and number(since) > number(newest): continue
        for target, has in of.items():
            if target in targets: wanted.setdefault((target, newest), {}).setdefault(text, has)  # later.tsv first
        first = next((t for t in targets if of.get(t)), None)
        if since and first: wanted.setdefault((first, before(since)), {})[text] = False
    for (target, version), texts in wanted.items():
        for has, taken, text in zip(texts.values(), accepted(list(texts), target, version), texts):
            # A refused neighbour may spoil what stands beside it in a module.
            yield target, version, text, has, taken if has == taken else accepted([text], target, version)[0]
        print(target, version, len(texts), file=sys.stderr, flush=True)

def main():
    if not shutil.which(ask_scalar.PTXAS): sys.exit(f"ask_any: '{ask_scalar.PTXAS}'; expected the path of a ptxas")
    newest = next((v for v in reversed(VERSIONS + NEWER) if accepted(['ret;'], 'sm_90', v)[0]), None)
    if newest is None: sys.exit(f'ask_any: {ask_scalar.PTXAS} takes no module of a version that the tables know')
    only = sys.argv[1].split(',') if len(sys.argv) > 1 else TARGETS
    if unknown := [t for t in only if t not in TARGETS]: sys.exit(f'ask_any: {unknown[0]}; there are {", ".join(TARGETS)}')
    targets = [t for t in only if accepted(['ret;'], t, newest)[0]]
    later = list(later_rows())
    rows = [*later, *tensor_rows(), *scalar_rows(), *rejected_rows()]
    print('target\tversion\tstatement\ttables\tptxas')
    asked = differ = 0
    for target, version, text, has, taken in ask(rows, targets, newest):
        asked += 1
        if has == taken: continue
        differ += 1
        print(target, version, text, *('refused accepted'.split()[one] for one in (has, taken)), sep='\t')
    unknown = sum(number(since) > number(newest) for _, _, since in later)
    print(f'{asked} questions on {len(targets)} targets in PTX {newest}: {differ} differ; {unknown} forms of later versions are not known to this ptxas')
    return 1 if differ else 0

if __name__ == '__main__': sys.exit(main())
