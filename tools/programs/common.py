# SPDX-License-Identifier: Apache-2.0
"""What the modules of programs share."""


def program(function):
    """Marks a function without arguments that returns a list of results: arrays, tensors, numbers."""
    return function
