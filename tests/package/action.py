# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of action.yml as a runner of GitHub does, but for those that use other actions.

    action.py KEY=VALUE...    inputs; the working folder is the repository that is tested

Needs PyYAML. Prints what the steps print, then the outputs as lines "output KEY=VALUE". The exit status is that of the first step
that fails.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def evaluated(text, values):
    """${{ inputs.NAME }} and ${{ steps.ID.outputs.NAME }}, which alone action.yml has."""
    return re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda found: values.get(found.group(1), ""), text)


def holds(condition, values):
    """`inputs.NAME == 'text'` or `!=`, behind always() &&."""
    name, operator, text = re.fullmatch(r"(?:always\(\) && )?([\w.]+) (==|!=) '([^']*)'", condition).groups()
    return (values.get(name, "") == text) == (operator == "==")


def outputs_of(path):
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


def main():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    values = {f"inputs.{name}": str(given.get("default", "")) for name, given in action["inputs"].items()}
    for argument in sys.argv[1:]:
        name, value = argument.split("=", 1)
        if f"inputs.{name}" not in values:
            raise SystemExit(f"action.py: {name}; expected one of {', '.join(action['inputs'])}")
        values[f"inputs.{name}"] = value
    with tempfile.TemporaryDirectory() as temporary:
        for step in action["runs"]["steps"]:
            if "uses" in step or not holds(step.get("if", "inputs.test != ''"), values):
                continue
            told = pathlib.Path(temporary, "told")
            told.write_text("")
            environment = {**os.environ, "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": temporary, "GITHUB_OUTPUT": str(told),
                           **{name: evaluated(text, values) for name, text in step.get("env", {}).items()}}
            status = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", evaluated(step["run"], values)], env=environment).returncode
            values.update({f"steps.{step.get('id', '')}.outputs.{name}": value for name, value in outputs_of(told).items()})
            if status != 0:
                raise SystemExit(status)
        for name, given in action["outputs"].items():
            print(f"output {name}={evaluated(given['value'], values)}")


main()
