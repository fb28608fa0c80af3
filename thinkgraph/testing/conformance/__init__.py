"""Suites that check an implementation of a knowledge protocol, one per protocol."""

from __future__ import annotations

import sys
from typing import Any

from pydantic import ValidationError

from thinkgraph.tools.protocols import form_of, lacking, misfit

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


def check_form(thing: object, protocol: type, method: str, *arguments: Any, **options: Any) -> Any:
    """What a method gives, of which every field must have its type: a state keeps it as JSON.

    Raises:
        AssertionError: one has not; the first is named.
    """
    found = getattr(thing, method)(*arguments, **options)
    fault = ""
    try:
        form_of(protocol, method).validate_python(found, strict=True)
    except ValidationError as error:
        fault = misfit(error)
    assert not fault, f"{type(thing).__name__}.{method} does not give what {protocol.__name__} promises: {fault}"
    return found
