"""The registered names, importable at no cost: a method is a file of this folder that defines METHOD."""

from __future__ import annotations

from pathlib import Path

from thinkgraph.errors import UsageError


def _methods() -> tuple[str, ...]:
    # Read, not imported: `--help` names the methods and must stay instant.
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple(file.stem for file in files if "\nMETHOD = Method(" in file.read_text("utf-8"))


NAMES: tuple[str, ...] = _methods()
"""Every method."""


def checked(name: str) -> str:
    """A method's name, without importing the method.

    Raises:
        UsageError: there is no such method.
    """
    if name not in NAMES:
        raise UsageError(f"there is no method '{name}'; known: {', '.join(NAMES)}")
    return name
