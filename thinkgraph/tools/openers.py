"""What tools need from above them: openers of knowledge bases by address or name, and writers.

The package's root registers its own. Each loads its store, or what builds one, when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgraph.errors import KnowledgeError

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


def folder_of(name: str, progress: Progress) -> Path:
    """The folder of a knowledge base that is opened by a name; a bundled one is made on first use.

    Raises:
        KnowledgeError: the name is empty.
    """
    if bundled := BUNDLED.get(name):
        return bundled(progress)
    # As a path it would be the folder that one is in.
    if not name.strip():
        raise KnowledgeError('the knowledge base\'s name is empty; give "world" or a folder')
    return Path(name).expanduser()
