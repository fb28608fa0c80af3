"""The small knowledge base of the command line's tests."""

from cli.conftest import kb

__all__ = ["kb"]
