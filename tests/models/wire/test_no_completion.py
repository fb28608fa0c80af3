"""What servers send in place of a completion: told in its words, and asked for again where it may pass."""

from __future__ import annotations

import re

import pytest
from model_server import ModelServer
from models.test_client import ASKED, BARE
from replies import Garbage

from thinkgraph.models.client import client_for
from thinkgraph.models.failures import Failure, classify

NO_COMPLETIONS: dict[str, tuple[bytes, bool, str]] = {
    "a page": (b'"<html>login</html>"', True, "login"),
    "null": (b"null", True, "NoneType"),
    "nothing in it": (b"{}", True, "choices"),
    "no choices": (b'{"choices": []}', True, "no choices"),
    "no message": (b'{"choices": [{"index": 0, "message": null}]}', True, "NoneType"),
    "content of another type": (
        b'{"choices": [{"message": {"role": "assistant", "content": 7}}]}',
        True,
        "valid string",
    ),
    "usage of another type": (
        b'{"choices": [{"message": {"role": "assistant", "content": ""}}], "usage": [1]}',
        True,
        "list",
    ),
    "an error in words": (b'{"error": "model loading"}', True, "model loading"),
    "an error that passes": (
        b'{"error": {"message": "Upstream\\noverloaded", "code": 502}}',
        True,
        "Upstream overloaded .code 502",
    ),
    "an error that stays": (b'{"error": {"message": "No credits", "code": "402"}}', False, "No credits .code 402"),
    "FastAPI's": (b'{"detail": "model not loaded"}', True, "completion: model not loaded$"),
    "an error of another form": (
        b'{"object": "error", "message": "No model", "code": 404}',
        False,
        "No model .code 404",
    ),
    "its code in a stream": (
        b'data: {"object": "error", "message": "No", "code": 400}\n\ndata: [DONE]\n\n',
        False,
        "No .code",
    ),
    "an event of its own": (
        b'event: error\ndata: {"type": "error", "message": "engine dead"}\n\n',
        True,
        "engine dead$",
    ),
    "an event after text": (
        b'data: {"id": "x", "choices": [{"delta": {"content": "a"}}]}\n\nevent: error\ndata: {"detail": "engine dead"}\n\n',
        True,
        "engine dead$",
    ),
    "an error of a choice": (
        b'data: {"id": "x", "choices": [{"finish_reason": "error", "error": {"message": "Bad", "code": 400}}]}\n\n',
        False,
        "Bad .code 400",
    ),
    "words alone": (b"event: error\ndata: engine dead\n\n", True, "engine dead"),
    "a page of a proxy": (b"<html><title>Log in</title></html>", True, "Log in"),
    "an error of a whole choice": (
        b'{"choices": [{"finish_reason": "error", "message": {"role": "assistant"}, "error": {"message": "Bad", "code": 400}}]}',
        False,
        "Bad .code 400",
    ),
}


@pytest.mark.parametrize("name", NO_COMPLETIONS)
async def test_a_response_that_is_no_completion_is_a_failure_of_the_request(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, passing, words = NO_COMPLETIONS[name]
    failures: list[Failure | None] = []
    with ModelServer([Garbage(body)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        client = client_for("openai:test")
        try:
            client.invoke(ASKED, BARE, {})
        except Exception as error:  # noqa: BLE001 - of every kind
            failures.append(classify(error))
        try:
            await client.ainvoke(ASKED, BARE, {})
        except Exception as error:  # noqa: BLE001
            failures.append(classify(error))
        await client.aclose()
    assert len(failures) == 2
    for failure in failures:
        assert failure is not None
        assert failure.passing is passing
        assert re.search(words, failure.message)
        assert "\n" not in failure.message
