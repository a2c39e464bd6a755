# SPDX-License-Identifier: Apache-2.0
"""What Hypothesis tries is the same in every run, and it keeps nothing."""

from hypothesis import settings

settings.register_profile("warpbit", database=None, deadline=None, derandomize=True)
settings.load_profile("warpbit")
