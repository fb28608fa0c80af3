"""examples/auth: a request without its token is refused, one with it is answered, and threads are their maker's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from cli.conftest import ANSWER, QUESTION
from integrations.langgraph.conftest import BM25, ROOT, Model, project, serving
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import APIStatusError
from model_server import ModelServer

TOKENS = {"THINKGRAPH_TOKENS": "alice=s3cret bob=other"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = project(tmp_path_factory.mktemp("auth"))
    for path in (ROOT / "examples" / "auth").iterdir():
        if path.is_file():
            shutil.copy(path, folder / path.name)
    with ModelServer(Model()) as models, serving(folder, models, TOKENS) as running:
        yield running.url


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer"}, {"Authorization": "Basic s3cret"}]
)
def test_without_the_token(url: str, headers: dict[str, str]) -> None:
    body = {"assistant_id": "tog2", "input": {"question": QUESTION}, "context": BM25}
    reply = httpx.post(f"{url}/runs/wait", json=body, headers=headers, timeout=60)
    assert reply.status_code == 401
    assert reply.json() == {"detail": "give a token: Authorization: Bearer …"}


def test_with_the_token(url: str) -> None:
    with get_sync_client(url=url, headers={"Authorization": "Bearer s3cret"}) as alice:
        thread = alice.threads.create()["thread_id"]
        found: Any = alice.runs.wait(thread, "tog2", input={"question": QUESTION}, context=BM25)
        assert found["answer"]["answers"] == [ANSWER]
        assert [one["thread_id"] for one in alice.threads.search()] == [thread]
    with get_sync_client(url=url, headers={"Authorization": "bearer other"}) as bob:
        assert bob.threads.search() == []
        with pytest.raises(APIStatusError) as caught:
            bob.threads.get_state(thread)
        assert caught.value.status_code in {403, 404}
