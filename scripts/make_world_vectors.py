"""Makes `vectors.npz` of the example knowledge base: every text of it that is ever encoded, encoded once and for all.

    python scripts/make_world_vectors.py

Run it after a change of the passages, the entities or the bundled encoder; a test fails while a text has no vector.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thinkgraph.ingest.encode import encode_stores
from thinkgraph.ingest.readers.known import save
from thinkgraph.ingest.world import build_world
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WORLD = Path(__file__).parent.parent / "thinkgraph" / "data" / "world"


class Recorder(BundledEmbedder):
    """The bundled encoder, which remembers what it encoded."""

    def __init__(self) -> None:
        """Nothing encoded yet."""
        super().__init__()
        self.made: dict[str, NDArray[np.float32]] = {}

    def embed_array(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the bundled encoder."""
        vectors = super().embed_array(texts)
        self.made.update(zip(texts, vectors, strict=True))
        return vectors


def main() -> int:
    """Build the knowledge base in a temporary folder without known vectors, and keep what was encoded."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        build_world(Path(folder) / "world", WORLD, embedder=recorder, known=False)
        encode_stores(Path(folder) / "world", recorder, no_progress)
    out = WORLD / "vectors.npz"
    save(out, recorder.name, list(recorder.made), np.stack(list(recorder.made.values())))
    print(f"{out}: {len(recorder.made):,} vectors, {out.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
