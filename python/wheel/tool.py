# SPDX-License-Identifier: Apache-2.0
"""The command-line tool of a wheel: the console script `warpbit` becomes the program that lies here."""

import os
import pathlib
import sys


def main() -> None:
    """Runs the tool with the arguments of this process, which it takes the place of."""
    os.execv(pathlib.Path(__file__).parent / "bin" / "warpbit", ["warpbit", *sys.argv[1:]])
