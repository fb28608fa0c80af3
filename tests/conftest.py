"""Every test runs offline, in folders of its own."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
# Before LangGraph is imported: the switch is read at import time.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
# One thread a worker, set before torch is imported: more threads than cores wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Python looks through all objects after 700 new ones, which was 7 % of a worker's time.
gc.set_threshold(10_000, 20, 20)
# The same examples every time: a failure on one machine fails on all. THOROUGH=… looks further.
settings.register_profile(
    "repeatable",
    derandomize="THOROUGH" not in os.environ,
    deadline=None,
    max_examples=int(os.environ.get("THOROUGH", "100")),
)
settings.load_profile("repeatable")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than cores: many tests wait for a server, a browser or a process of their own."""
    return (os.cpu_count() or 1) + 2


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every client reads all certificates that it trusts, which takes longer than a test's question: here it trusts one.

    No test speaks TLS with a server outside this machine.
    """
    first, end, _ = certifi.contents().partition(ssl.PEM_FOOTER)
    file = tmp_path_factory.mktemp("authority") / "one.pem"
    file.write_text(first + end + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session", autouse=True)
def types_read_once() -> Iterator[None]:
    """LangGraph reads the types of a state anew for each graph, which was a third of what it takes to build one."""
    from langgraph._internal import _serde

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_serde, "_safe_get_type_hints", functools.cache(_serde._safe_get_type_hints), raising=False)
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each test, which is not there before something is kept in it."""
    root = tmp_path_factory.mktemp("homes")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_folders(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go to a folder of the test; no key or model of the developer's environment is seen."""
    monkeypatch.setenv("THINKGRAPH_HOME", str(next(homes)))
    names = ("KB", "TEXT", "MODEL", "MODELS", "METHOD", "PROMPTS", "PRICES", "SETTINGS", "CONFIG")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", *(f"THINKGRAPH_{name}" for name in names)):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def by_words() -> Iterator[None]:
    """Passages are ranked by their words where it is of no matter which ones a prompt shows: the encoder takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thinkgraph.tools.encoders.words.encoder_found", lambda: False)
        yield


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Garbage stays while a parser recurses to the limit: finalizers that run there fail, and what they close stays open."""
    gc.disable()
    yield
    gc.enable()
