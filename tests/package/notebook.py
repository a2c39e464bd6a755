#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""notebook.py [--write] NOTEBOOK...

Runs the cells of notebooks in turn, as Jupyter does, and compares what they print and show with the outputs that the files have: text to the
letter, pictures, too. With --write the outputs are written into the files instead. Needs no Jupyter.
"""
import ast
import contextlib
import io
import json
import pathlib
import sys


def lines(text):
    return text.splitlines(keepends=True)


def shown(value):
    """What a notebook keeps of the value of a cell's last expression."""
    data = {}
    for kind, method in ("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_"):
        if (picture := getattr(value, method, lambda: None)()) is not None:
            data[kind] = lines(picture)
    return data | {"text/plain": lines(repr(value))}


def run(source, names, count):
    """The outputs of a cell."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out, value = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs = []
    if out.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(out.getvalue())})
    if value is not None:
        outputs.append({"data": shown(value), "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def main(arguments):
    write = arguments[:1] == ["--write"]
    for path in map(pathlib.Path, arguments[write:]):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        names, count = {"__name__": "__main__"}, 0
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            count += 1
            outputs = run("".join(cell["source"]), names, count)
            if write:
                cell |= {"outputs": outputs, "execution_count": count}
            elif outputs != cell["outputs"]:
                sys.exit(f"{path}, cell {count} gives\n{json.dumps(outputs, indent=1)}\nexpected\n{json.dumps(cell['outputs'], indent=1)}")
        if count == 0:
            sys.exit(f"{path} has no cell with code")
        if write:
            path.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")
        print(f"{path}: {count} cells")


if __name__ == "__main__":
    main(sys.argv[1:])
