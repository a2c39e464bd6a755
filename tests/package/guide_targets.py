#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""guide_targets.py

What the guide says about numbers is said of one GPU or two. Here each command and each Python program of its pages runs for an
H100, a B200 and an RTX 5090 alike: with that GPU in place of those that the page names, and where the form is one of another generation,
with the form that matrix products of that GPU use; then a second time with that form wherever the GPU stands alone. Each must have the exit status that it
has on the page, but that targets may be equal or not: nothing that the pages show is refused on one of these GPUs.
"""
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

import guide

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("numbers", "exploring-rounding", "library-products", "reductions", "arrays")
GPUS = ("H100", "B200", "RTX 5090")
# By generation, oldest first. Those of Hopper and later give way; without one the newest that is named does.
NAMES = ("T4", "sm_75", "A100", "sm_80", "H100", "H200", "sm_90a", "sm_90", "B200", "sm_100a", "RTX 5090", "sm_120a")
HOPPER = NAMES.index("H100")
NAMED = re.compile(r"(?<![\w/])(" + "|".join(NAMES) + r")(?![\w/])")
# What matrix products of a GPU use: instead of forms that it does not have, and instead of those that it has beside them.
MISSING = {"H100": {"tcgen05.f32.e4m3": "mma.m16n8k32.f32.e4m3"},
           "B200": {"wgmma.m64n8k32.f32.e4m3": "tcgen05.f32.e4m3"},
           "RTX 5090": {"wgmma.m64n8k32.f32.e4m3": "mma.m16n8k32.f32.e4m3", "tcgen05.f32.e4m3": "mma.m16n8k32.f8f6f4.f32.e4m3"}}
USED = {"H100": {"mma.m16n8k16.f32.f16": "wgmma.m64n8k16.f32.f16", "mma.m16n8k32.f32.e4m3": "wgmma.m64n8k32.f32.e4m3"},
        "B200": {"mma.m16n8k16.f32.f16": "tcgen05.f32.f16", "mma.m16n8k32.f32.e4m3": "tcgen05.f32.e4m3"}}


def on(gpu, text, used):
    """The text with this GPU in place of those that it names; `used`: with the forms of its matrix products, where it stands alone."""
    named = NAMED.findall(text)
    if not named:
        return text
    least = min(HOPPER, max(map(NAMES.index, named)))
    text = NAMED.sub(lambda name: gpu if NAMES.index(name[1]) >= least else name[1], text)
    forms = dict(MISSING.get(gpu, {}))
    if used and min(map(NAMES.index, named)) >= least:
        forms |= USED.get(gpu, {})
    return re.sub("|".join(map(re.escape, forms)), lambda form: forms[form[0]], text) if forms else text


def in_shell(gpu, command, used):
    """A name with a blank is one word."""
    words = on(gpu, command, used)
    return re.sub(r"[\w.]*@RTX 5090|(?<=--targets )\S*RTX 5090|(?<=--target )RTX 5090|(?<=-difference )\S*RTX 5090",
                  lambda word: f"'{word[0]}'", words)


def run(command, folder):
    return subprocess.run(["bash", "-c", command], cwd=folder, text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Place:
    """A folder in which the commands of a page run one after the other. What ran among equal files, and left them so, runs once."""

    known = {}  # by command, program and files

    def __init__(self, folder):
        folder.mkdir(parents=True)
        for name in "golden", "examples":
            (folder / name).symlink_to(REPOSITORY / name)
        self.folder = folder

    def files(self):
        return tuple((file.name, file.read_bytes()) for file in sorted(self.folder.iterdir()) if not file.is_symlink())

    def run(self, command, name, program):
        before = self.files()
        key = command, name, program, before
        if key in self.known:
            return self.known[key]
        if program:
            (self.folder / name).write_text(program, encoding="utf-8")
        done = run(command, self.folder)
        if program:
            (self.folder / name).unlink()
        if self.files() == before:
            self.known[key] = done
        return done


def programs(page):
    """(command, file, its text) of the commands and Python programs of a page, in order."""
    text = (REPOSITORY / "doc/guide" / f"{page}.md").read_text(encoding="utf-8")
    for number, (tag, block) in enumerate(guide.FENCE.findall(text)):
        if tag == "sh":
            yield from ((command.strip(), None, "") for command, _ in guide.console(block))
        elif tag == "python":
            yield f"/usr/bin/python3 example{number}.py", f"example{number}.py", block


def main():
    failures, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for page in PAGES:
            there = list(programs(page))
            as_shown = Place(pathlib.Path(folder, page, "shown"))
            statuses = [as_shown.run(*program).returncode for program in there]
            for gpu, used in itertools.product(GPUS, (False, True)):
                place = Place(pathlib.Path(folder, page, f"{gpu.replace(' ', '')}-{used}"))
                for (command, name, text), shown in zip(there, statuses):
                    own = in_shell(gpu, command, used), name, on(gpu, text, used)
                    if used and own == (in_shell(gpu, command, False), name, on(gpu, text, False)) and "warpbit" in command:
                        continue  # once is enough; files are made each time
                    done = place.run(*own)
                    # Whether there is a difference depends on the GPU.
                    if done.returncode not in ((0, 1) if "warpbit compare" in command else (shown,)):
                        failures.append(f"{gpu}: {own[0]}\n{own[2]}\nexit status {done.returncode}\n{done.stdout}")
                    count += 1
    if failures:
        sys.exit("\n".join(failures))
    print(f"{count} commands and programs")


if __name__ == "__main__":
    main()
