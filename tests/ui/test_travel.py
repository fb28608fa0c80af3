"""What a person may change in a run is taken as it was written, or refused."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient
from ui.conftest import QUESTION, ended


@pytest.mark.parametrize(("letters", "status"), [(3_000, 200), (5_000, 400)])
def test_a_changed_question_is_asked_whole_or_refused(client: TestClient, letters: int, status: int) -> None:
    """Cut without a word, it was another question."""
    thread = client.post("/api/runs", json={"question": QUESTION}).json()["thread"]
    ended(client, thread)
    moment = next(one for one in client.get(f"/api/runs/{thread}/moments").json() if "question" in one["texts"])
    question = QUESTION.rjust(letters, ".")
    forked = client.post(f"/api/runs/{thread}/fork", json={"checkpoint": moment["id"], "question": question})
    assert forked.status_code == status
    if status == 200:
        assert ended(client, forked.json()["thread"])["question"] == question
    else:
        assert "question has 5,000 characters, more than the 4,000" in forked.json()["error"]
