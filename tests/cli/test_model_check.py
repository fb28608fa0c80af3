"""What `doctor` finds out about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.conftest import MODEL, Run, use_server
from model_server import ModelServer, ServedCall, answers_of
from pydantic import ValidationError
from replies import Answer, Reply

from thinkgraph.cli import model_check
from thinkgraph.models import client
from thinkgraph.models.client import ChatClient
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.models.wire.forms import CallOptions, ModelReply
from thinkgraph.prompts.library import builtin_roles
from thinkgraph.state.settings import RunSettings

SMALL = "openai:qwen2.5-1.5b-instruct"


def test_every_role_of_a_small_model_is_asked_for_what_its_prompt_says(
    cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(chat_model=OfflineChatModel()) as server:
        use_server(server, monkeypatch)
        done = cli("doctor", "--kb", kb, "--model", SMALL)
        calls = {call.role: call for call in server.calls if call.role}
    assert done.code == 0, done.out
    assert "FAIL" not in done.out
    assert all(f"ok   {role} (" in done.out for role in builtin_roles())
    for role in ("tog2.relation_prune", "fiske.r_mapping"):
        asked = calls[role].parameters["response_format"]["json_schema"]["schema"]
        assert list(asked["properties"]) == ["numbers"]
        assert '{"numbers": ' in calls[role].messages[0]["content"]
    assert "(Osk) length km: (1 thing)" in calls["tog2.relation_prune"].text, "an example for others, in its lines"
    assert "Port Arden; Merrow" in calls["coggrag.verify"].text, "small models have no example of their own"


def test_a_model_that_reasons_first_is_given_room(cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    say = answers_of(OfflineChatModel())

    def reply(call: ServedCall) -> Answer:
        limit = call.parameters.get("max_completion_tokens") or call.parameters["max_tokens"]
        if limit < 200:
            return Reply("", output_tokens=limit, cut=True)
        return say(call) if call.role else "<think>A form is wanted.</think>" + '{"numbers": [1]}'

    with ModelServer(reply) as server:
        use_server(server, monkeypatch)
        done = cli("doctor", "--kb", kb, "--model", MODEL)
        asked = [call.role for call in server.calls if call.role]
    assert done.code == 0, done.out
    assert "FAIL" not in done.out
    assert "ok   schema                   enforced\n" in done.out
    assert done.out.count("when asked again") == 1
    assert len(asked) == len(set(asked)) + 1, "known from its first role on"


def test_a_model_that_never_ends_its_thoughts_is_not_said_to_break_the_form(
    cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([Reply("", output_tokens=60, cut=True)]) as server:
        use_server(server, monkeypatch)
        done = cli("doctor", "--kb", kb, "--model", MODEL)
    assert "schema                   not known: the model reasoned until its limit" in done.out
    assert done.out.count("the reply cannot be read: the reply was cut off at its limit") > 3


def test_a_reply_may_be_repaired_as_in_a_run(cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    say = answers_of(OfflineChatModel())
    seen: set[str] = set()

    def reply(call: ServedCall) -> Answer:
        if call.role != "tog2.topic_prune" or call.role in seen:
            return say(call) if call.role != "tog2.topic_prune" else '{"numbers": [1, 2]}'
        seen.add(call.role)
        return "what?"

    with ModelServer(reply) as server:
        use_server(server, monkeypatch)
        done = cli("doctor", "--kb", kb, "--model", MODEL)
    (line,) = [line for line in done.out.splitlines() if " tog2.topic_prune " in line]
    assert line.startswith("ok ")
    assert " when asked again: [1, 2]" in line


def test_which_roles_reply_as_their_example_is_said_in_one_line(
    cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say = answers_of(OfflineChatModel())
    # The first is what its example says; the third cannot be read.
    own = {
        "tog2.topic_prune": '{"numbers": [3, 1]}',
        "fasttog.community_prune": '{"numbers": [1]}',
        "fiske.r_mapping": "?",
    }
    with ModelServer(lambda call: own.get(call.role) or say(call)) as server:
        use_server(server, monkeypatch)
        done = cli("doctor", "--kb", kb, "--model", MODEL)
    lines = done.out.splitlines()
    (line,) = [line for line in lines if "one example each" in line]
    assert "bench roles" in lines[lines.index(line) + 1]
    alike, _, other = line.partition("; not: ")
    assert line.startswith(f"     {MODEL} replies as the worked example does (one example each): ")
    assert "tog2.topic_prune" in alike
    assert {"fasttog.community_prune", "fiske.r_mapping"} <= set(other.split(", "))
    assert "coggrag.decompose" not in line, "only choices and judgements can be compared"


def test_a_prompt_without_an_example_is_no_fault(cli: Run, kb: str, served: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "tog2").mkdir()
    own = "---\nkind: text\nstage: explore\n---\n=== system\nWrite a query.\n=== user\n## Question\n{{question}}\n"
    (tmp_path / "tog2" / "query_reform.prompt").write_text(own, "utf-8")
    done = cli("doctor", "--kb", kb, "--model", MODEL, "--prompts", str(tmp_path))
    assert done.code == 0, done.out
    assert "     tog2.query_reform (text)             not asked: its prompt has no worked example\n" in done.out


def test_a_model_has_as_long_as_settings_can_give_it(
    cli: Run, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: set[float | None] = set()
    send = ChatClient.invoke

    def invoke(client: ChatClient, messages: Any, options: CallOptions, config: Any) -> ModelReply:
        timeouts.add(options.timeout)
        return send(client, messages, options, config)

    monkeypatch.setattr(ChatClient, "invoke", invoke)
    done = cli("doctor", "--kb", kb, "--model", MODEL)
    (longest,) = timeouts
    assert longest is not None
    assert RunSettings.model_validate({"call_timeout": longest})
    with pytest.raises(ValidationError):
        RunSettings.model_validate({"call_timeout": longest + 1})
    assert f"{MODEL} is given {longest:.0f} s to begin each reply" in done.out


@pytest.mark.parametrize(
    ("window", "read", "said"),
    [
        (8192, 1000.0, ""),
        (8192, 10.0, "takes 819 s to read: set call_timeout = 1260 under [settings]"),
        # 3600 s at this speed are 36,000 tokens, and a third of the time is to spare.
        (24_000, 10.0, "takes 2400 s to read: set call_timeout = 3600 under [settings]"),
        (
            32_768,
            10.0,
            (
                "takes 3277 s to read, and call_timeout is at most 3600: set call_timeout = 3600 under [settings] and a "
                f'smaller window: [models."{MODEL}"] window = 24000'
            ),
        ),
        (None, 0.1, ""),
    ],
)
def test_what_is_proposed_is_what_settings_accept(
    cli: Run,
    kb: str,
    served: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    window: int | None,
    read: float,
    said: str,
) -> None:
    monkeypatch.setattr(model_check, "_speed", lambda _client: (read, 10.0))
    monkeypatch.setattr(client, "served_window", lambda *_: window)
    lines = cli("doctor", "--kb", kb, "--model", MODEL).out.splitlines()
    assert [line.partition("the window ")[2] for line in lines if "as the window takes" in line] == [said] * bool(said)
    (told,) = [line for line in lines if line[5:].startswith("window ")]
    assert ("not known" in told) == (window is None)
    assert sum("] window = " in line for line in lines) == ("smaller window" in said)
