"""One page over `world` for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ui.conftest import TOKEN, app_of, served, serving

from thinkgraph.tools.knowledge import Knowledge

SHARED = "Which countries border both Bolivia and Uruguay?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(autouse=True)
def one_store(home: Path, own_folders: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of this module outlives its tests, and so do its runs."""
    monkeypatch.setenv("THINKGRAPH_HOME", str(home))


@pytest.fixture(scope="module")
def address(world: Knowledge, browser: Any) -> Iterator[str]:
    with serving(app_of(served(world))) as root:
        yield f"{root}/?token={TOKEN}"
