"""Processes forked from one that has imported what they need: quick to start, and a kill falls into the run and not into imports."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing import forkserver
from typing import Any

import pytest

_IMPORTED = (
    "graphs.resumed.worker",
    "httpcore2",
    "langchain_openai",
    "langgraph.store.postgres",
    "openai.lib.streaming.chat",
    "openai.resources.chat.completions",
    "rapidfuzz.fuzz",
    "rapidfuzz.process",
    "thinkgraph.graphs.build",
    "thinkgraph.ingest.documents.build",
    "thinkgraph.models.wire.lean_openai",
    *(f"thinkgraph.graphs.{name}" for name in ("coggrag", "fasttog", "fiske", "tog2")),
)
"""One list for all tests: the process that they are forked from starts once."""


def context() -> Any:
    """The context whose `Process` is forked."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(list(_IMPORTED))
    with pytest.MonkeyPatch.context() as patch:
        # Python 3.11 tells that process no path, and what it does not find there it leaves out without a word.
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    return found
