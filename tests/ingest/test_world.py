"""The bundled world: made once, by one process, and anew when its files change."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest import world as world_module
from thinkgraph.tools.knowledge import Knowledge

TRIPLES = """Paris\tcapital_of\tFrance
Paris\tpopulation\t2102650
Lyon\tpopulation\t522250
Lyon\tin\tFrance
Lyon\tin\tFrance
"""


def test_world(tmp_path, monkeypatch):
    data = tmp_path / "package" / "data" / "world"
    data.mkdir(parents=True)
    (data / "triples.tsv").write_text(TRIPLES)
    (data / "literals.tsv").write_text("subject\trelation\tvalue\nParis\tcode\tFR-75\n")
    monkeypatch.setattr("thinkgraph.ingest.world.files", lambda _: tmp_path / "package")
    locked = []

    class Lock:
        def __init__(self, path, timeout=0.0) -> None:
            locked.append(path)
            path.parent.mkdir(parents=True, exist_ok=True)

        def __enter__(self) -> None:
            guard.acquire()

        def __exit__(self, *_: object) -> None:
            guard.release()

    guard = threading.Lock()
    monkeypatch.setattr(world_module, "cache_folder", (tmp_path / "cache").joinpath)
    monkeypatch.setattr(world_module, "file_lock", Lock)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(world_module.world_folder) for _ in range(8)]
        folders = [one.result() for one in asked]
    assert len(set(folders)) == 1
    locked.clear()
    with Knowledge.open("world") as world:
        assert world.name == "world"
        assert world.graph.info()["triples"] == 5
        # What is no number is a literal all the same where the file says so.
        assert world.graph.info()["literals"] == 3
    assert locked == []
    (data / "triples.tsv").write_text(TRIPLES + "x\ty\tz\n")
    with Knowledge.open("world") as other:
        assert other.folder not in folders
    (data / "triples.tsv").unlink()
    with pytest.raises(KnowledgeError, match="install"):
        Knowledge.open("world")
