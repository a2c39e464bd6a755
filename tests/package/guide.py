#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""guide.py PAGE.md FOLDER

Runs what a page of the guide shows, in FOLDER, as it stands there. A block tagged

  cpp, c, python   is a program: it is compiled by pkg-config, run, and must print the block tagged text that
                   follows;
  sh               has commands after "$ ", each of which must print the lines that follow it;
  cmake, file      is a file;
  yaml             must be YAML (where PyYAML is installed);
  cuda             is a part of a file in examples/, as it stands there;
  bash             is for another machine, or for the repository: it is not run.

A program or file whose first line is a comment that is a name is saved under that name. In what is expected, a line
of three dots stands for any lines; it does not stand alone.
"""
import itertools
import os
import pathlib
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    yaml = None

FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.M | re.S)
NAME = re.compile(r"(?://|/\*|#) ([\w.-]+\.\w+)(?: \*/)?\n")
KNOWN = {"cpp", "c", "python", "sh", "cmake", "cuda", "file", "bash", "text", "yaml"}


def compiled(compiler, standard):
    return lambda source, program: (
        f"{compiler} -std={standard} -Wall -Wextra -Werror {source} -o {program} "
        f"$(pkg-config --cflags --libs warpbit-tools warpbit-kernels) && ./{program}")


RUN = {
    "cpp": compiled(os.environ.get("CXX", "g++"), "c++20"),
    "c": compiled(os.environ.get("CC", "gcc"), "c99"),
    "python": lambda source, program: f"/usr/bin/python3 {source}",
}


def matches(got, expected):
    parts = re.split(r"^\.\.\.\n", expected, flags=re.M)
    return re.fullmatch("(?:.*\n)*".join(map(re.escape, parts)), got) is not None


def console(block):
    """The commands of a block, each with what it prints. A line that ends with a backslash goes on."""
    commands = []
    for line in block.splitlines(keepends=True):
        if commands and commands[-1][0].endswith("\\\n"):
            commands[-1][0] += line
        elif line.startswith("$ "):
            commands.append([line[2:], ""])
        elif commands:
            commands[-1][1] += line
        else:
            sys.exit(f"a block tagged sh begins with {line!r} instead of a command")
    return commands


def judge(command, expected, folder):
    if expected == "...\n":
        sys.exit(f"{command}\nwould pass with anything: say a line that it prints")
    run = subprocess.run(["bash", "-c", command], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if not matches(run.stdout, expected):
        sys.exit(f"{command}\nprints\n{run.stdout}\nexit status {run.returncode}, expected\n{expected}")


def main(page, folder):
    blocks = FENCE.findall(pathlib.Path(page).read_text(encoding="utf-8"))
    run = 0
    for number, (block, following) in enumerate(itertools.zip_longest(blocks, blocks[1:], fillvalue=("", ""))):
        tag, text = block
        if tag not in KNOWN:
            sys.exit(f"a block is tagged {tag!r}; there are {', '.join(sorted(KNOWN))}")
        name = NAME.match(text)
        name = name[1] if name else f"example{number}.{tag}"
        if tag == "yaml" and yaml is not None:
            yaml.safe_load(text)
        if tag == "cuda" and not any(text in file.read_text(encoding="utf-8")
                                     for file in pathlib.Path(folder, "examples").glob("*.cu")):
            sys.exit(f"no file of examples/ has\n{text}")
        if tag in RUN or tag in ("cmake", "file"):
            (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
        if tag in RUN:
            if following[0] != "text":
                sys.exit(f"{name} is not followed by what it prints, in a block tagged text")
            judge(RUN[tag](name, f"example{number}"), following[1], folder)
            run += 1
        for command, expected in console(text) if tag == "sh" else ():
            judge(command, expected, folder)
            run += 1
    print(f"{page}: {run} examples")


if __name__ == "__main__":
    main(*sys.argv[1:])
