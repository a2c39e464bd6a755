# SPDX-License-Identifier: Apache-2.0
"""The example in README.md runs and prints what stands below it."""

import contextlib
import io
import re


def test_the_example():
    text = open("README.md", encoding="utf-8").read()
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert out.getvalue() == printed
