"""What tools need from above them: openers of knowledge bases by address or name, and writers.

The package's root registers its own. Each loads its store, or what builds one, when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinkgraph.tools.knowledge import Knowledge
    from thinkgraph.tools.progress import Progress

OPENERS: dict[str, Callable[..., Knowledge]] = {}
"""By scheme, what opens `scheme://…`: called with the whole address and the keyword `embedder`."""

BUNDLED: dict[str, Callable[[Progress], Path]] = {}
"""By name, what gives the folder of a knowledge base that comes with the package."""

WRITERS: dict[str, Callable[..., None]] = {}
"""By name, what writes at a path: "names" an index of names, from the labels and the aliases by entity id; "documents" and
"graph documents" a knowledge base, from LangChain's objects and options.
"""
