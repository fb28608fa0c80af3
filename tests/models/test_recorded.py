"""Replies in a file: found again by what was asked, in order for samples, kept through a kill."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import FakeModel
from graphs.cases import america

import thinkgraph as tg
from thinkgraph.errors import ModelError, UsageError
from thinkgraph.models.recorded import Recording
from thinkgraph.models.roles import Models
from thinkgraph.models.wire.forms import CallOptions, ModelReply
from thinkgraph.prompts.library import Message

OPTIONS = CallOptions(temperature=0.0, schema={"type": "object"}, max_output_tokens=None, timeout=60.0)
ASKED: list[Message] = [("user", "Which river? Ōsk")]


def test_a_reply_is_found_by_what_was_asked(tmp_path: Path) -> None:
    made = Recording(tmp_path / "replies.jsonl", "openai:small")
    made.add(ASKED, OPTIONS, ModelReply("the Ōsk", 12, 3), role="tog2.reason", seconds=1.5)
    again = Recording(tmp_path / "replies.jsonl")
    assert again.model == "openai:small"
    assert again.take([("user", "Which hill?")], OPTIONS) is None
    assert again.take(ASKED, OPTIONS) == ModelReply("the Ōsk", 12, 3)
    assert again.seconds == 1.5


def test_samples_of_one_prompt_come_in_their_order(tmp_path: Path) -> None:
    made = Recording(tmp_path / "replies.jsonl", "m")
    for text in ("first", "second"):
        assert made.take(ASKED, OPTIONS) is None
        made.add(ASKED, OPTIONS, ModelReply(text, 1, 1), role="r", seconds=0.0)
    again = Recording(tmp_path / "replies.jsonl", "m")
    taken = [again.take(ASKED, OPTIONS) for _ in range(3)]
    assert [reply and reply.text for reply in taken] == ["first", "second", None]


def test_tools_and_what_a_model_wants_called_are_kept(tmp_path: Path) -> None:
    call = {"name": "search", "args": {"entity": "Osk"}, "id": "1"}
    made = Recording(tmp_path / "replies.jsonl", "m")
    made.add(ASKED, OPTIONS, ModelReply("", 1, 1, (call,)), role="r", seconds=0.0)
    reply = Recording(tmp_path / "replies.jsonl").take(ASKED, OPTIONS)
    assert reply is not None
    assert reply.tool_calls == (call,)


def test_half_a_line_of_a_killed_run_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    Recording(file, "m").add(ASKED, OPTIONS, ModelReply("whole", 1, 1), role="r", seconds=0.0)
    whole = file.read_text("utf-8")
    file.write_text(whole + whole.splitlines()[1][:40], "utf-8")
    made = Recording(file, "m")
    assert made.take(ASKED, OPTIONS) is not None
    made.add([("user", "next")], OPTIONS, ModelReply("next", 1, 1), role="r", seconds=0.0)
    assert Recording(file).take([("user", "next")], OPTIONS) is not None


@pytest.mark.parametrize("left", ['{"mod', '{"model": "m"}\n{"reply": {"text": "\u014d'])
def test_a_kill_within_the_first_lines_or_a_letter_loses_no_later_reply(tmp_path: Path, left: str) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_bytes(left.encode()[:-1])
    Recording(file, "m").add(ASKED, OPTIONS, ModelReply("whole", 1, 1), role="r", seconds=0.0)
    again = Recording(file)
    assert again.model == "m"
    assert again.take(ASKED, OPTIONS) is not None


@pytest.mark.parametrize("text", ["{}\n", "[]\n", '{"model": "m"}\n{"key": "k"}\n', "no JSON\n"])
def test_another_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "other").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"other, line \d: not a recording of replies"):
        Recording(tmp_path / "other")


def test_another_models_replies_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    Recording(tmp_path / "a.jsonl", "m").add(ASKED, OPTIONS, ModelReply("x", 1, 1), role="r", seconds=0.0)
    with pytest.raises(UsageError, match="holds replies of m, not of other"):
        Recording(tmp_path / "a.jsonl", "other")
    with pytest.raises(UsageError, match="there is no such recording"):
        Recording(tmp_path / "b.jsonl")


QUESTION = "What is the capital of the country whose highest point is Baru?"
REPLIES = {
    "tog2.topic_prune": {"numbers": [1]},
    "tog2.relation_prune": {"scores": [[1, 9]]},
    "tog2.reason": {"sufficient": False, "answers": [], "evidence": [], "clues": "", "query": ""},
}


def run(models: Models, **settings: object) -> object:
    graph = tg.build("tog2", knowledge=america(), model=models, settings=settings)
    answer = graph.invoke({"question": QUESTION})["answer"]
    return answer["answers"], answer["status"], answer["usage"]["total"]


def test_a_run_is_repeated_without_its_model(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    model = FakeModel(REPLIES)
    recorded = run(Models(model, offline=lambda: FakeModel({}), recording=Recording(file, "fake")))
    assert len(model.asked) > 1
    models = Models(f"replay:{file}", offline=lambda: FakeModel({}))
    models.check()
    assert run(models) == recorded
    # Another run of it goes on from its replies, and asks the model for nothing.
    again = FakeModel(REPLIES)
    assert run(Models(again, offline=lambda: FakeModel({}), recording=Recording(file, "fake"))) == recorded
    assert again.asked == []


def test_a_changed_prompt_is_named_where_it_departs(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    run(Models(FakeModel(REPLIES), offline=lambda: FakeModel({}), recording=Recording(file, "fake")))
    with pytest.raises(ModelError, match=r"replies.jsonl holds no reply to this prompt of tog2.relation_prune"):
        run(Models(f"replay:{file}", offline=lambda: FakeModel({})), shots=0)
