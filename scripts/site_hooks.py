"""What MkDocs runs when the site is built: nothing on it may be fetched from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?(?:https?:)?//|@import\s+["'](?:https?:)?//|"""
    r"""url\(["']?(?:https?:)?//"""
)


def outside(folder: Path) -> list[str]:
    """The pages and style sheets that would have a browser fetch something from elsewhere."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in {".html", ".css", ".svg"})
    return [path.relative_to(folder).as_posix() for path in files if _FETCHED.search(path.read_text("utf-8"))]


def on_post_build(config: Any) -> None:
    """Refuse a site that is not whole by itself.

    Raises:
        PluginError: a page would have a browser fetch something.
    """
    from mkdocs.exceptions import PluginError  # not there where only the tests are run

    if found := outside(Path(config.site_dir)):
        raise PluginError(f"the site fetches from elsewhere: {', '.join(found[:5])}")
