"""The registered names, importable at no cost."""

from __future__ import annotations

NAMES: tuple[str, ...] = ("tog2",)
"""Every method. Adding one: its file graphs/<name>.py with a METHOD in it, and its name here."""
