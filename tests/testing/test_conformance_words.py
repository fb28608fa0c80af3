"""What whoever tests a store or ranker of their own gets to read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cli.conftest import environment

MINE = """
import pytest
from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.conformance.ranker import RankerConformance
from thinkgraph.testing.conformance.text import TextStoreConformance


class Negative:
    name = "negative"

    def score(self, query, texts):
        return [-7.0 for _ in texts]


class TestRanker(RankerConformance):
    @pytest.fixture
    def ranker(self):
        return Negative()


class Half:
    def info(self): ...
    def lookup(self, names, *, limit=10): ...


class TestGraph(GraphStoreConformance):
    @pytest.fixture
    def store(self):
        return Half()


class TestForgotten(TextStoreConformance): ...
"""


def test_failures_say_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(MINE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py", "-k", "relevant or is_a"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "assert -7.0 > -7.0" in done.stdout
    assert (
        "Half is no GraphStore: it lacks edges_among, entities, neighbourhood, neighbours, relations, search, triples"
        in done.stdout
    )
    assert "give your subclass a fixture `store`" in done.stdout
