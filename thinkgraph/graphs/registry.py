"""The methods by name. A method is found by its file: graphs/<name>.py with a METHOD in it."""

from __future__ import annotations

import importlib
from functools import cache

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.names import checked


@cache
def method(name: str) -> Method:
    """The method of this name; its module is imported only now.

    Raises:
        UsageError: there is no such method.
    """
    found = importlib.import_module(f"thinkgraph.graphs.{checked(name)}").METHOD
    if not isinstance(found, Method):
        raise TypeError(f"thinkgraph.graphs.{name}.METHOD is not a Method")
    return found
