# SPDX-License-Identifier: Apache-2.0
"""The fixture ``assert_bits_equal`` of pytest: warpbit.testing.assert_bits_equal, which draws a map of what is wrong.

A wheel registers the plugin. Elsewhere a conftest.py has ``pytest_plugins = ["warpbit.pytest_plugin"]``. Maps go to the test's
tmp_path, or to the folder of the option --bits-maps or of the ini value bits_maps.
"""

import pathlib
import re
from typing import Any, Callable

import pytest

from . import testing


def pytest_addoption(parser: "pytest.Parser") -> None:
    says = "folder for maps of arrays that differ (warpbit); without it each goes to the tmp_path of its test"
    parser.getgroup("warpbit").addoption("--bits-maps", metavar="FOLDER", help=says)
    parser.addini("bits_maps", says, default="")


@pytest.fixture
def assert_bits_equal(request: "pytest.FixtureRequest") -> Callable[..., None]:
    """warpbit.testing.assert_bits_equal with a picture, whose path the message ends with."""
    failures = 0

    def check(got: Any, expected: Any, **how: Any) -> None:
        __tracebackhide__ = True
        nonlocal failures
        try:
            testing.assert_bits_equal(got, expected, **how)
        except testing.BitsDiffer as differ:
            if how.get("svg") is None:
                failures += 1
                differ.write_svg(_file(request, failures))
            raise

    return check


def _file(request: "pytest.FixtureRequest", number: int) -> pathlib.Path:
    config = request.config
    given = config.getoption("--bits-maps") or config.getini("bits_maps")
    own = re.sub(r"[^\w.-]+", "_", request.node.nodeid if given else request.node.name)
    folder = pathlib.Path(config.invocation_params.dir, given) if given else request.getfixturevalue("tmp_path")
    return pathlib.Path(folder, own + ("" if number == 1 else f"-{number}") + ".svg")
