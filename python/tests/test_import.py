# SPDX-License-Identifier: Apache-2.0
"""What is said where the extension cannot be imported: by another Python, or one without NumPy."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import warpbit
from warpbit._error import explained_import

HERE = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture
def built(tmp_path):
    """A folder with an extension for Python 3.5 that /opt/python has."""
    (tmp_path / "_core.cpython-35-x86_64-linux-gnu.so").touch()
    (tmp_path / "_built_for.py").write_text('# Made by CMake.\nEXECUTABLE = "/opt/python"\n')
    return tmp_path


@pytest.mark.parametrize("missing", ["numpy", "warpbit._core"])
def test_another_version(built, missing):
    error = explained_import(ImportError(f"No module named '{missing}'", name=missing), built)
    assert str(error) == (
        f"warpbit was built for /opt/python 3.5; this is {sys.executable} {HERE}: run /opt/python, or build it for this one: "
        f"python3 -m pip install . in a clone (No module named '{missing}')")
    assert error.name == missing


def test_no_numpy(built):
    error = explained_import(ImportError("No module named 'numpy'", name="numpy"), built, (3, 5))
    assert f"this is {sys.executable} 3.5, which has no NumPy: run /opt/python, or {sys.executable} -m pip install numpy" in str(error)


def test_no_extension(tmp_path):
    error = explained_import(ImportError("No module named 'warpbit._core'", name="warpbit._core"), tmp_path)
    assert str(error).startswith(f"the extension of warpbit is not in {tmp_path}; this is ")


def test_python_without_numpy():
    """The module as it is, by this Python without its packages."""
    folder = pathlib.Path(warpbit.__file__).parent.parent
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); import warpbit"],
                          capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("NumPy lies beside the standard library here")
    assert f"this is {sys.executable} {HERE}, which has no NumPy: run " in done.stderr.splitlines()[-1]


def test_other_pythons():
    """The other Pythons of this machine."""
    folder = pathlib.Path(warpbit.__file__).parent.parent
    command = f"import sys; sys.path.insert(0, {str(folder)!r}); import warpbit"
    others = [found for version in range(8, 20) if f"3.{version}" != HERE and (found := shutil.which(f"python3.{version}"))]
    done = [subprocess.run([other, "-c", command], capture_output=True, text=True) for other in others]
    refused = [one.stderr.splitlines()[-1] for one in done if one.returncode != 0 and "ImportError" in one.stderr]
    if not refused:
        pytest.skip("no other Python here")
    for line in refused:
        assert "warpbit was built for " in line and ": run " in line
