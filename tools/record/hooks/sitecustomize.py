# SPDX-License-Identifier: Apache-2.0
"""Python runs this when it starts, since `record` puts this folder in front of its path. Watches imports; the program's own
sitecustomize, if there is one, runs too."""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run_the_next():
    path = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


try:
    if os.environ.get("WARPBIT_RECORD_OUT"):
        import warpbit_record

        warpbit_record.install()
except Exception as error:  # the program comes first
    print(f"warpbit record: the Python hooks do not work here: {error!r}", file=sys.stderr)
run_the_next()
