#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks mutants of modules of PTX (those of ask_mutants.py), and launches those that are taken, in every mode: nothing may
crash, hang or trip a sanitizer.

    run_mutants.py WARPBIT COUNT SEED FOLDER-OR-FILE...    prints each mutant that does, and keeps its module; status 1 if any

WARPBIT is best the tool with sanitizers (the target sanitized_cli). A module with a head (tests/kernel_head.hpp) or a
case.json beside it is launched as these say; arguments are zeros, or what the head says of values.
"""
import concurrent.futures, json, os, pathlib, random, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'correct')]
from ask_mutants import Mutator, changed, modules
from record import Head

MODES = {'default': [], 'strict': ['--strict'], 'lenient': ['--lenient'], 'unchecked': ['--no-check-shared', '--no-check-global']}
PARAMETER = re.compile(r'\.param\s+(?:\.align\s+\d+\s+)?\.([bsuf])(8|16|32|64)\s+(?:\.ptr\s[^,)]*?)?([\w$%]+)(?:\[(\d+)\])?\s*[,)\n]')
STEPS, SECONDS = 20000, 120  # of a block, and of a process

def declared(text):
    """Arguments by the parameters of the first kernel: 64 bits are a pointer."""
    entry = re.search(r'\.entry\s+[\w$]+\s*\((.*?)\)\s*[.{]', text, re.S)
    for kind, bits, _, count in PARAMETER.findall(entry[1] + ')') if entry else ():
        if count: yield 'bytes:' + '00' * min(int(count), 4096)
        elif bits == '64' and kind != 'f': yield 'zeros:u8:65536'
        else: yield 'bytes:' + (16).to_bytes(int(bits) // 8, 'little').hex()

def launched(name, text):
    """The arguments of `warpbit launch` behind the module's path."""
    how, case = {'grid': '2', 'block': '64'}, pathlib.Path(name).parent / 'case.json'
    arguments = list(declared(text))
    entry = re.search(r'\.entry\s+([\w$]+)', text)
    if '\n// launch: ' in text:
        head = Head(text)
        how = {key: value for key, value in head.launch.items() if key != 'cooperative'}
        if not any(argument[0] == 'map' for argument in head.arguments):
            arguments = [f'zeros:u8:{len(argument[2])}' if argument[0] == 'array' else 'bytes:' + argument[1].hex() for argument in head.arguments]
    elif case.exists():
        known = json.loads(case.read_text())
        how = {key: ','.join(map(str, known[key])) for key in ('grid', 'block', 'cluster') if key in known} | {'shared': str(known.get('shared', 0))}
    words = ['--entry', entry[1] if entry else 'none', '--step-limit', str(STEPS), '--threads', '1']
    for key, value in how.items(): words += ['--' + key, value]
    for argument in arguments: words += ['--arg', argument]
    return words

def trips(command):
    """What is wrong with a run of the tool, or nothing; and whether it took the module."""
    try: p = subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=SECONDS)
    except subprocess.TimeoutExpired: return f'more than {SECONDS} s', False
    said = re.search(r'.*(?:runtime error|ERROR: \w*Sanitizer).*', p.stderr)
    if said or not 0 <= p.returncode <= 2: return f'status {p.returncode}: {said[0] if said else p.stderr[-200:]}', False
    return '', p.returncode == 0

def run(warpbit, name, text, new, path):
    with open(path, 'w') as file: file.write(new)
    wrong, taken = trips([warpbit, 'check', '--ptx', path])
    if wrong or not taken: return taken, [('check', wrong)] if wrong else []
    results = [(mode, trips([warpbit, 'launch', path, *launched(name, text), *flags])[0]) for mode, flags in MODES.items()]
    return taken, [result for result in results if result[1]]

def main():
    warpbit, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    all_ = modules(sys.argv[4:])
    mutator, r, folder = Mutator([text for _, text in all_]), random.Random(seed), tempfile.mkdtemp()
    def mutants():
        for i in range(count):
            name, text = r.choice(all_)
            yield i, name, text, mutator.mutant(text, r)
    def one(mutant):
        i, name, text, new = mutant
        path = os.path.join(folder, f'{i}.ptx')
        taken, wrong = run(warpbit, name, text, new, path)
        if not wrong: os.remove(path)
        for mode, what in wrong: print(f'{path}\t{os.path.basename(name)} {changed(text, new)}\t{mode}\t{what}', flush=True)
        return taken, bool(wrong)
    with concurrent.futures.ThreadPoolExecutor(2) as pool: done = list(pool.map(one, mutants()))
    bad = sum(wrong for _, wrong in done)
    print(f'{len(done)} mutants, {sum(taken for taken, _ in done)} launched in {len(MODES)} modes, {bad} with a crash or a hang')
    return 1 if bad else 0

if __name__ == '__main__': sys.exit(main())
