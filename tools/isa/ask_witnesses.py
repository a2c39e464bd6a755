#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `warpbit check` with what the files of other projects say of forms, their version of PTX and their targets, and prints the
differences as rows with tabs.

    ask_witnesses.py WARPBIT [--ptx 9.4] [--target sm_107a] FILE...

FILE is one of a copy of these projects, of which nothing stays here:

* a header of libcu++ (libcudacxx/include/cuda/__ptx/instructions/generated/*.h): comments such as
  `// fabric.submit; // PTX ISA 93, SM_100`, with lists such as `// .sem = { .acquire, .release }` behind them;
* a test of LLVM (llvm/test/CodeGen/NVPTX/*.ll): the lines of RUN name targets and versions, those of CHECK statements. A file without
  RUN lines, as wmma.py prints it, takes --target and --ptx;
* TVM's table of PTX (python/tvm/backend/cuda/ptx/table.py), with --ptx, the version that it was written for: a Python module, which is
  run, so that only a copy that you have read and trust should be named. Of each of its rows as many forms are asked as it takes for
  each two of its words to come together once, on the target that it was assembled for (sm_90 where it names none).

A fact is a form, a version, a target. It differs if warpbit refuses the form there, or takes it from another version on only:
later than the witness, or (headers alone, which name the first version) earlier.
"""
import argparse, collections, importlib.util, itertools, json, re, subprocess, sys

Fact = collections.namedtuple('Fact', 'form version target first source')  # first: the witness names the first version


def version_of(number):
    """93 or 100: 9.3, 10.0."""
    return number[:-1] + '.' + number[-1]


def key(version):
    return tuple(int(part) for part in version.split('.'))


# ---- Headers of libcu++

def expanded(form, lists):
    """A form for each choice: `.sem` in it is one of the words that a line behind it lists."""
    words = form.split('.')
    choices = [lists.get(word, [word]) for word in words]
    return ['.'.join(one) for one in itertools.product(*choices)]


def header_facts(path, text):
    for block in re.findall(r'/\*\n(.*?)\*/', text, re.S):
        comment = ''
        lists = {}
        for line in block.splitlines():
            if not line.startswith('//'):
                if comment and re.match(r'\S', line) and not line.startswith('template'):
                    comment += ' ' + line  # a statement that goes on
                elif line.startswith('template'):
                    break
                continue
            line = line[2:].strip()
            if m := re.match(r'\.(\w+)\s*=\s*\{(.*)\}', line):
                lists[m[1]] = [word.strip()[1:] for word in m[2].split(',')]
            else:
                comment += ' ' + line
        m = re.match(r'\s*([\w.:]+)[^;]*;\s*//.*?PTX ISA (\d+),\s*(.*)', comment)
        if not m:
            continue
        targets = re.findall(r'SM_(\w+)', m[3])
        for form in expanded(m[1], lists):
            for target in targets:
                yield Fact(form, version_of(m[2]), 'sm_' + target, True, path)


# ---- Tests of LLVM

def runs_of(text, given):
    """Of each prefix of checks the targets and versions."""
    out = collections.defaultdict(set)
    for line in re.findall(r'^[;#/]+ RUN:(.*)$', text.replace('\\\n', ' '), re.M):
        if '%ptxas' in line and 'llc' not in line or 'not llc' in line:
            continue
        cpu, ptx = re.search(r'-mcpu=(sm_\w+)', line), re.search(r'\+ptx(\d+)', line)
        if not cpu or not ptx:
            continue
        prefixes = re.findall(r'-check-prefix(?:es)?[= ]([\w,-]+)', line)
        for prefix in ','.join(prefixes or ['CHECK']).split(','):
            out[prefix].add((cpu[1], version_of(ptx[1])))
    if not out and given:
        out['CHECK'].add(given)
    return out


def test_facts(path, text, given):
    runs = runs_of(text, given)
    statement = re.compile(r'^;\s*([\w-]+?)(?:-(?:NEXT|DAG|SAME|LABEL))?:\s*(?:@!?%?\S+\s+)?(?:\{\{[^}]*\}\})?\s*([a-z]\w*(?:\.[\w:]+)+)',
                           re.M)
    for prefix, form in statement.findall(text):
        if form.split('.')[0] in ('ld', 'st', 'mov', 'cvta', 'call', 'bra', 'ret') and 'proxy' not in form:
            continue  # what any function has, with .param and the like
        for target, version in runs.get(prefix, ()):
            yield Fact(form.rstrip('.'), version, target, False, path)


# ---- TVM's table

def table_facts(path, version):
    spec = importlib.util.spec_from_file_location('witness_table', path)
    table = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses ask for the module by its name
    spec.loader.exec_module(table)
    for row in table.TABLE.values():
        seen = set()
        for words in table.variants(row):
            pairs = set(itertools.combinations(enumerate(words), 2)) or {words}
            if pairs <= seen:
                continue
            seen |= pairs
            yield Fact('.'.join([row.ptx_name, *filter(None, words)]), version, row.cert_arch or 'sm_90', False, path)


# ---- What warpbit says

def answers(warpbit, forms_and_targets):
    out = {}
    for form, target in forms_and_targets:
        p = subprocess.run([warpbit, 'check', form, '--target', target, '--json'], capture_output=True, text=True)
        try:
            answer = json.loads(p.stdout)['answers'][0]
        except (ValueError, KeyError, IndexError):
            answer = {'accepted': False, 'error': {'message': p.stderr.strip()}}
        out[form, target] = answer
    return out


def difference(fact, answer, oldest):
    """What differs; '' if nothing does."""
    if not answer['accepted']:
        return 'refused: ' + answer.get('error', {}).get('message', '')
    since = answer.get('since')
    if not since:
        return ''
    told = max(key(fact.version), key(oldest))  # no form is older than its target
    if key(since) > told or (fact.first and key(since) < told):
        return f'since {since}'
    return ''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('warpbit')
    parser.add_argument('--ptx')
    parser.add_argument('--target')
    parser.add_argument('files', nargs='+')
    a = parser.parse_args()
    given = (a.target, a.ptx) if a.target and a.ptx else None
    facts = set()
    for path in a.files:
        if path.endswith('.py'):
            if not a.ptx:
                parser.error('a table of TVM needs --ptx')
            facts.update(table_facts(path, a.ptx))
            continue
        with open(path, encoding='utf-8') as f:
            text = f.read()
        facts.update(header_facts(path, text) if path.endswith('.h') else test_facts(path, text, given))
    told = answers(a.warpbit, sorted({(f.form, f.target) for f in facts}))
    oldest = {}
    for target in {f.target for f in facts}:
        p = subprocess.run([a.warpbit, 'check', 'ret', '--target', target, '--json'], capture_output=True, text=True)
        oldest[target] = json.loads(p.stdout)['answers'][0].get('since', '')
    print('form', 'witness: version', 'target', 'warpbit', 'file', sep='\t')
    count = 0
    for fact in sorted(facts):
        if differs := difference(fact, told[fact.form, fact.target], oldest[fact.target]):
            count += 1
            print(fact.form, fact.version, fact.target, differs, fact.source, sep='\t')
    print(f'{len(facts)} facts, {count} differ', file=sys.stderr)


if __name__ == '__main__':
    main()
