"""Suites that check an implementation of a knowledge protocol, one per protocol."""

from __future__ import annotations

import sys

from thinkgraph.tools.protocols import lacking

if "pytest" in sys.modules:
    import pytest

    # pytest explains the assertions of test files alone, unless told otherwise before the modules are imported.
    pytest.register_assert_rewrite(
        *(f"{__name__}.{suite}" for suite in ("embedder", "graph", "linker", "ranker", "text"))
    )


def check_members(thing: object, protocol: type) -> None:
    """Check that an implementation has all members of a protocol.

    Raises:
        AssertionError: it lacks some; they are named.
    """
    missing = lacking(thing, protocol)
    assert not missing, f"{type(thing).__name__} is no {protocol.__name__}: it lacks {', '.join(missing)}"
