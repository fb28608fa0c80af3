"""examples/auth: a request without its token is refused, and what one user made no other one sees, uses or changes."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from cli.conftest import ANSWER, QUESTION
from docs.page_blocks import block_of
from integrations.langgraph.conftest import BM25, ROOT, Model, project, serving
from integrations.langgraph.routes import MARK, NOT_OURS, NOT_THERE, ROUTES, SHOWN, ask, template
from model_server import ModelServer

BOB = "bob@example.org"
TOKENS = {"THINKGRAPH_TOKENS": f"alice=s3cret {BOB}=other"}
FORGED = {"owner": "alice", "created_by": "system"}
Ids = dict[str, str]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = project(tmp_path_factory.mktemp("auth"))
    for path in (ROOT / "examples" / "auth").iterdir():
        if path.is_file():
            shutil.copy(path, folder / path.name)
    with ModelServer(Model()) as models, serving(folder, models, TOKENS) as running:
        yield running.url


def client(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": token}, timeout=httpx.Timeout(60, read=3))


@pytest.fixture(scope="module")
def alice(url: str) -> Iterator[httpx.Client]:
    with client(url, "Bearer s3cret") as one:
        yield one


@pytest.fixture(scope="module")
def bob(url: str) -> Iterator[httpx.Client]:
    with client(url, "bearer other") as one:
        yield one


def make(alice: httpx.Client) -> Ids:
    """One of everything, with the mark in it."""

    def post(path: str, **body: Any) -> Any:
        reply = alice.post(path, json=body, timeout=60)
        assert reply.is_success, reply.text
        return reply.json()

    noted: dict[str, Any] = {"metadata": {"note": MARK}}
    run = {"assistant_id": "tog2", "input": {"question": QUESTION}, "context": BM25, **noted}
    assistant = post("/assistants", graph_id="tog2", name=f"private-{uuid4().hex}", context=BM25, **noted)
    thread, waiting = (post("/threads", **noted)["thread_id"] for _ in range(2))
    answered = post(f"/threads/{thread}/runs/wait", **run)
    assert answered["answer"]["answers"] == [ANSWER]
    later = [post(f"/threads/{waiting}/runs", **run, after_seconds=3600)["run_id"] for _ in range(2)]
    cron = post("/runs/crons", **run, schedule="0 0 1 1 *")
    item = {"namespace": ["notes"], "key": thread, "value": {"note": MARK}}
    assert alice.put("/store/items", json=item).status_code == 204
    return {
        "assistant_id": assistant["assistant_id"],
        "assistant": assistant["name"],
        "thread_id": thread,
        "run_id": alice.get(f"/threads/{thread}/runs").json()[0]["run_id"],
        "checkpoint_id": alice.get(f"/threads/{thread}/state").json()["checkpoint"]["checkpoint_id"],
        "waiting": waiting,
        "waiting_run": later[0],
        "other_run": later[1],
        "cron_id": cron["cron_id"],
        "key": item["key"],
        "namespace": "none",
    }


@pytest.fixture(scope="module")
def made(alice: httpx.Client) -> Ids:
    return make(alice)


def seen(alice: httpx.Client, made: Ids) -> list[Any]:
    """All that she can read of what she made."""
    pages = [
        "/assistants/{assistant_id}",
        *("/threads/{thread_id}", "/threads/{thread_id}/history", "/threads/{thread_id}/runs"),
        *("/threads/{waiting}", "/threads/{waiting}/runs", "/runs/crons/{cron_id}"),
        "/store/items?namespace=notes&key={key}",
    ]
    replies = [alice.get(page.format(**made)) for page in pages]
    assert all(MARK in reply.text for reply in replies)
    counts = [alice.post(f"/{kind}/count", json={}).text for kind in ("assistants", "threads", "runs/crons")]
    return [*(reply.json() for reply in replies), *counts]


def names_any(route: str, made: Ids) -> bool:
    """Whether a request is about something that was made; items have no ids, and every user has a key of that name."""
    return any(f"{{{name}}}" in f"{route} {ROUTES[route]}" for name in made if name != "key")


def test_the_routes_are_those_of_the_description(alice: httpx.Client) -> None:
    paths = alice.get("/openapi.json").json()["paths"]
    methods = {"get", "post", "put", "patch", "delete"}
    described = {template(f"{method.upper()} {path}") for path, one in paths.items() for method in methods & one.keys()}
    assert described == {template(route) for route in ROUTES}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic s3cret"},
        {"x-auth-scheme": "langsmith"},
    ],
)
def test_without_the_token(url: str, made: Ids, headers: dict[str, str]) -> None:
    with httpx.Client(base_url=url, headers=headers, timeout=10) as nobody:
        for route in ROUTES.keys() - {"GET /ok"}:
            reply = ask(nobody, route, made)
            if route in NOT_OURS:
                assert (reply.status, reply.body) == (404, '{"detail":"Not Found"}'), route
            else:
                assert (reply.status, reply.body) == (401, '{"detail":"give a token: Authorization: Bearer …"}'), route
        assert ask(nobody, "GET /ok", made).status == 200


@pytest.mark.parametrize("route", ROUTES)
def test_another_user(alice: httpx.Client, bob: httpx.Client, made: Ids, route: str) -> None:
    before = seen(alice, made)
    reply = ask(bob, route, made)
    assert MARK not in reply.body
    assert seen(alice, made) == before
    if names_any(route, made):
        assert reply.refused, reply
    else:
        assert reply.status in {200, 204, 404, 405}, reply


def test_oneself(alice: httpx.Client) -> None:
    # The requests that were refused to another one are good ones; the last of them delete.
    made = make(alice)
    for route in ROUTES:
        reply = ask(alice, route, made)
        if route in NOT_OURS | NOT_THERE:
            assert reply.status in {404, 405}, (route, reply)
        else:
            assert reply.status in {200, 202, 204}, (route, reply)
            assert not (reply.body and reply.refused), (route, reply)
        if route in SHOWN:
            assert MARK in reply.body, (route, reply)


def test_nobody_signs_for_another(alice: httpx.Client, bob: httpx.Client, made: Ids) -> None:
    before = seen(alice, made)
    run = {"assistant_id": "tog2", "input": {"question": QUESTION}, "context": BM25, "metadata": FORGED}
    assistant = bob.post("/assistants", json={"graph_id": "tog2", "metadata": FORGED}).json()
    thread = bob.post("/threads", json={"metadata": FORGED}).json()
    cron = bob.post("/runs/crons", json={**run, "schedule": "0 0 1 1 *"}).json()
    started = bob.post("/runs", json={**run, "after_seconds": 3600}).json()
    changed = [
        bob.patch(f"/assistants/{assistant['assistant_id']}", json={"metadata": FORGED, "name": "changed"}).json(),
        bob.patch(f"/threads/{thread['thread_id']}", json={"metadata": FORGED}).json(),
        bob.patch(f"/runs/crons/{cron['cron_id']}", json={"metadata": FORGED}).json(),
    ]
    for one in (assistant, thread, cron, started, *changed):
        assert one["metadata"]["owner"] == BOB
    assert [one["metadata"].get("created_by") for one in (assistant, *changed)] == [None] * 4
    assert seen(alice, made) == before


def test_a_question_asked_by_the_clock_is_asked_as_its_maker(bob: httpx.Client) -> None:
    forged = {"configurable": {"langgraph_auth_user": {"identity": "alice"}, "langgraph_auth_permissions": ["all"]}}
    body = {"assistant_id": "tog2", "input": {"question": QUESTION}, "schedule": "0 0 1 1 *", "config": forged}
    made = bob.post("/runs/crons", json=body).json()
    changed = bob.patch(f"/runs/crons/{made['cron_id']}", json={"config": forged}).json()
    for cron in (made, changed):
        assert cron["payload"]["config"]["configurable"] == {"cron_id": made["cron_id"]}


def test_what_the_server_brings_is_for_all_and_nobody_changes_it(alice: httpx.Client, bob: httpx.Client) -> None:
    for user in (alice, bob):
        found = user.post("/assistants/search", json={"graph_id": "tog2", "limit": 100}).json()
        (system,) = (one for one in found if one["metadata"].get("created_by") == "system")
        place = f"/assistants/{system['assistant_id']}"
        assert user.get(place).json() == system
        assert user.patch(place, json={"name": "changed"}).status_code == 404
        assert user.delete(place).status_code == 404
        reply = user.post("/runs/wait", json={"assistant_id": "tog2", "input": {"question": QUESTION}, "context": BM25})
        assert reply.json()["answer"]["answers"] == [ANSWER]


def test_the_journal_is_nobodys(alice: httpx.Client, bob: httpx.Client, made: Ids) -> None:
    for user, name in ((alice, "alice"), (bob, "bob@example%2Eorg")):
        assert user.put("/store/items", json={"namespace": ["own"], "key": "k", "value": {}}).status_code == 204
        spaces = user.post("/store/namespaces", json={}).json()["namespaces"]
        assert spaces
        assert all(space[:2] == ["users", name] for space in spaces)
        found = user.post("/store/items/search", json={"namespace_prefix": ["thinkgraph", "journal"]}).json()
        assert found == {"items": []}


def test_what_examples_auth_readme_md_asks(url: str) -> None:
    shown = block_of("examples/auth/README.md", "curl").replace("localhost:2024", url).replace("one-secret", "s3cret")
    refused, asked = (
        subprocess.run(
            [*shlex.split(line, comments=True), "-w", "\n%{http_code}"], capture_output=True, text=True, check=True
        )
        for line in shown.replace("\\\n", " ").splitlines()
    )
    assert refused.stdout.endswith("\n401")
    body, _, code = asked.stdout.rpartition("\n")
    assert (code, "answer" in json.loads(body)) == ("200", True)
