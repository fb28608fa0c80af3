"""What a developer's machine may lack, and `.ci/run` may not."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def without(variable: str, reason: str) -> NoReturn:
    """Skip a test for what is missing; fail it where the variable says `required`.

    Args:
        variable: of the environment, which `.ci/run` sets.
        reason: what is missing, and what brings it.
    """
    if os.environ.get(variable) == "required":
        pytest.fail(reason)
    pytest.skip(reason)
