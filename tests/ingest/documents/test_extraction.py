"""Relations extracted by a model: through the real client and a local server, with faults, ceilings and kills."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

import forked
import pytest
from ingest.documents.document_worker import OPTIONS, extract_and_write
from model_server import ModelServer, ServedCall
from pydantic import ValidationError
from replies import Drop, Fault, Garbage, server_error, too_many

from thinkgraph.errors import ModelError, SettingsError, UsageError
from thinkgraph.ingest.documents.build import DocumentOptions, ExtractionModel, build_documents, update_documents
from thinkgraph.ingest.documents.extraction import ExtractSettings, grounded
from thinkgraph.ingest.documents.lexicon import Chunk
from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.prompts.kinds import Statements
from thinkgraph.state.settings import resolve_settings
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.kb_files import DOCUMENTS
from thinkgraph.tools.knowledge import Knowledge

EMBEDDER = HashEmbedder(64)
TEXTS = {
    "Osk": "The Osk rises in Varn. It ends in Lake Merish.",
    "Varn": "Varn borders Tollow. Its capital is Port Arden.",
    "Tollow": "Tollow is led by Ines Calder.",
}


def reply(*triples: tuple[str, str, str], types: tuple[tuple[str, str], ...] = ()) -> str:
    return json.dumps({"triples": triples, "types": types})


REPLIES = {
    "Osk": reply(("Osk", "rises in", "Varn"), ("Osk", "ends_in", "Lake Merish"), ("Osk", "crosses", "Tollow")),
    "Varn": reply(("Varn", "borders", "Tollow"), ("Varn", "capital", "Port Arden")),
    "Tollow": reply(("Tollow", "led by", "Ines Calder"), ("Ines Calder", "is", "old")),
}


def title(call: ServedCall) -> str:
    found = re.search(r"\[1\] text \| (.*?) \|", call.text)
    assert found is not None
    return found[1]


def answers(call: ServedCall) -> str:
    return REPLIES[title(call)]


@pytest.fixture
def docs(tmp_path, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


class Builder:
    """Builds, asking a server."""

    def __init__(self, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.docs = docs
        self.kb = docs.parent / "kb"
        self._environment = monkeypatch

    def build(
        self, server: ModelServer, *, kb: Path | None = None, replace: bool = False, model: str = "m", **more: Any
    ):
        self._environment.setenv("OPENAI_BASE_URL", server.base_url)
        settings = resolve_settings(ExtractSettings, {"call_retries": 1, "concurrency": 2, **more.pop("settings", {})})
        return build_documents(
            kb or self.kb,
            [self.docs],
            options=DocumentOptions(**{"extract": "llm", **more}),
            extractor=ExtractionModel(model=f"openai:{model}", settings=settings),
            embedder=EMBEDDER,
            index=False,
            replace=replace,
        )

    def triples(self, kb: Path | None = None) -> set[tuple[str, ...]]:
        with Knowledge.open(kb or self.kb, embedder=EMBEDDER) as knowledge:
            entities = ["Osk", "Varn", "Tollow", "Ines Calder", "Lake Merish"]
            edges = [
                edge for found in knowledge.graph.relations(entities) for edge in found if edge["direction"] == "out"
            ]
            steps = [{"entity": e["entity"], "relation": e["name"], "direction": "out"} for e in edges]
            found = knowledge.graph.neighbours(steps, limit=99)
            return {
                (t["subject_label"], t["relation_label"], t["object_label"], *(value for _, value in t["qualifiers"]))
                for neighbours in found
                for t in neighbours["triples"]
            }


@pytest.fixture
def builder(docs, monkeypatch):
    return Builder(docs, monkeypatch)


WHOLE = {
    ("Osk", "rises in", "Varn", "docs/Osk.txt#0-46"),
    ("Osk", "ends in", "Lake Merish", "docs/Osk.txt#0-46"),
    ("Varn", "borders", "Tollow", "docs/Varn.txt#0-47"),
    ("Varn", "capital", "Port Arden", "docs/Varn.txt#0-47"),
    ("Tollow", "led by", "Ines Calder", "docs/Tollow.txt#0-29"),
}


def test_statements_become_triples_that_name_their_passage(builder) -> None:
    with ModelServer(answers) as server:
        report = builder.build(server)
        calls = server.calls
    assert builder.triples() == WHOLE
    assert report.counts["statements dropped: not in the passage"] == 2, "Tollow does not stand in the text on the Osk"
    assert (report.usage.calls, report.usage.replayed, report.usage.failed) == (3, 0, 0)
    assert report.documents == {**report.documents, "documents": 3, "failed": 0, "extract": "llm", "model": "openai:m"}
    assert {(call.role, call.kind) for call in calls} == {("extract.triples", "triples")}
    assert all(call.parameters["response_format"]["json_schema"]["strict"] for call in calls)
    assert all(call.parameters["temperature"] == 0 for call in calls)
    assert report.usage.input_tokens > 100 < report.usage.input_tokens + report.usage.output_tokens
    with Knowledge.open(builder.kb, embedder=EMBEDDER) as knowledge:
        [passage] = knowledge.text.passages(["docs/Tollow.txt#0-29"])
        assert passage["entities"] == ["Tollow", "Ines Calder"]


def test_unchanged_documents_are_never_asked_about_again(builder, docs) -> None:
    with ModelServer(answers) as server:
        first = builder.build(server)
        assert len(server.calls) == 3
        again = builder.build(server, replace=True)
        other = builder.build(server, kb=docs.parent / "other")
        assert len(server.calls) == 3, "neither in the same folder nor in another one"
        assert (again.usage.calls, other.usage.calls, other.usage.replayed) == (0, 0, 3)
        assert first.build.manifest["fingerprint"] == again.build.manifest["fingerprint"]
        (docs / "Varn.txt").write_text("Varn borders Tollow. It has mines.")
        builder.build(server, replace=True)
        assert [title(call) for call in server.calls[3:]] == ["Varn"]
        builder.build(server, replace=True, model="another")
        assert len(server.calls) == 7, "another model is asked anew"
        builder.build(server, replace=True, model="another", types=("river",))
        assert len(server.calls) == 10, "another prompt too"


def test_passages_that_only_moved_are_not_asked_about_again(builder, docs) -> None:
    (docs / "long.md").write_text("# Osk\n\nOne.\n\n## Varn\n\nTwo.\n")
    with ModelServer(lambda _call: reply(("Osk", "near", "Varn"))) as server:
        builder.build(server)
        asked = len(server.calls)
        (docs / "long.md").write_text("# Osk\n\nNew.\n\n## Varn\n\nTwo.\n")
        builder.build(server, replace=True)
        assert len(server.calls) == asked + 1


def test_a_failed_document_is_listed_and_tried_again_and_loses_no_other(builder) -> None:
    def once_down(call: ServedCall) -> Any:
        return Fault(400, "the text is not to its liking") if title(call) == "Varn" else answers(call)

    with ModelServer(once_down) as server:
        report = builder.build(server)
    assert builder.triples() == {triple for triple in WHOLE if triple[0] != "Varn"}
    assert (report.documents["failed"], report.usage.failed) == (1, 1)
    assert [r["file"] for r in report.build.examples if r["kind"] == "not extracted"] == ["docs/Varn.txt"]
    assert "not to its liking" in report.usage.first_problem
    with ModelServer(answers) as server:
        report = builder.build(server)
        assert [title(call) for call in server.calls] == ["Varn"], "the same command asks for what failed only"
    assert builder.triples() == WHOLE
    assert report.documents["failed"] == 0


def test_replies_that_cannot_be_read_are_repaired_once_and_asked_anew_the_next_time(builder) -> None:
    sloppy = {"n": 0}

    def answer(call: ServedCall) -> str:
        if title_or_none(call) != "Varn" and title_or_none(call) is not None:
            return answers(call)
        sloppy["n"] += 1
        return "I would rather not."

    def title_or_none(call: ServedCall) -> str | None:
        text = "\n".join(str(message["content"]) for message in call.messages if message["role"] == "user")
        found = re.findall(r"\[1\] text \| (Osk|Varn|Tollow) \|", text)
        return found[-1] if found else None

    with ModelServer(answer) as server:
        report = builder.build(server)
        assert (sloppy["n"], report.usage.unreadable, report.usage.failed) == (2, 1, 1), "asked, and one repair"
    with ModelServer(answers) as server:
        report = builder.build(server)
        assert [title(call) for call in server.calls] == ["Varn"], "the unreadable reply is not replayed for ever"
    assert builder.triples() == WHOLE


def test_unreadable_replies_to_another_build_are_not_held_against_the_model(builder, docs) -> None:
    with ModelServer([""]) as server:
        for _ in range(2):
            with pytest.raises(ModelError, match=r"reply of openai:m could not be read .*doctor --model openai:m\)"):
                builder.build(server, kb=docs.parent / "other")
        assert len(server.calls) == 12, "three passages, each asked and repaired, twice"
    with ModelServer(answers) as server:
        report = builder.build(server)
        assert (len(server.calls), report.usage.calls, report.usage.failed) == (3, 3, 0)
    assert builder.triples() == WHOLE


def test_only_requests_of_this_command_are_counted(builder) -> None:
    for _ in range(2):
        with ModelServer([server_error()]) as server, pytest.raises(ModelError):
            builder.build(server, settings={"call_retries": 0})
    with ModelServer(answers) as server:
        report = builder.build(server)
        assert len(server.calls) == report.usage.calls == 3


@pytest.mark.parametrize("fault", [too_many(), server_error(), server_error(503), Drop("head"), Drop("body")])
def test_what_passes_is_tried_again(builder, fault) -> None:
    failed: set[str] = set()

    def flaky(call: ServedCall) -> Any:
        if title(call) in failed:
            return answers(call)
        failed.add(title(call))
        return fault

    with ModelServer(flaky) as server:
        report = builder.build(server, settings={"call_retries": 3})
    assert builder.triples() == WHOLE
    assert report.usage.failed == 0


def test_a_model_that_never_answers_ends_the_build_with_one_line(builder, docs) -> None:
    for n in range(30):
        (docs / f"x{n}.txt").write_text(f"Words of Tollow number {n}.")
    with ModelServer([Fault(401, "Incorrect API key provided", "invalid_api_key")]) as server:
        with pytest.raises(ModelError, match=r"Incorrect API key.*run the same command again"):
            builder.build(server)
        assert len(server.calls) < 20, "not once for every passage"
    assert not builder.kb.exists()


def test_garbage_in_every_reply_is_the_models_fault_not_the_documents(builder) -> None:
    with ModelServer([Garbage()]) as server, pytest.raises(ModelError, match="run the same command again"):
        builder.build(server)


def test_a_model_that_dies_in_the_middle_leaves_a_base_that_goes_on(builder, docs) -> None:
    for n in range(30):
        (docs / f"x{n:02}.txt").write_text(f"Words of Tollow number {n}.")
    with ModelServer(lambda call: REPLIES.get(title(call)) or Fault(403, "no credit left")) as server:
        report = builder.build(server)
        assert len(server.calls) < 33
    assert builder.triples() == WHOLE
    assert report.documents["failed"] == 30
    with ModelServer(lambda call: REPLIES.get(title(call)) or reply()) as server:
        assert builder.build(server).documents["failed"] == 0
        assert len(server.calls) == 30


@pytest.mark.parametrize("concurrency", [1, 4])
def test_ceilings_hold_under_concurrency_and_the_rest_is_asked_the_next_time(builder, docs, concurrency: int) -> None:
    for n in range(12):
        (docs / f"x{n:02}.txt").write_text(f"Words of Tollow number {n}.")
    (docs / "x11.txt").rename(docs / "x11.md")
    (docs / "x11.md").write_text("# One\n\nWords of Tollow.\n\n## Two\n\nWords of Varn.\n")
    limits = {"max_calls": 5, "concurrency": concurrency}

    def answer(call: ServedCall) -> str:
        return REPLIES.get(title(call)) or reply()

    with ModelServer(answer, latency=0.02) as server:
        made = 0
        for expected, left in ((5, 11), (5, 6), (5, 1), (1, 0)):
            report = builder.build(server, settings=limits)
            assert len(server.calls) - made == report.usage.calls == expected
            assert report.usage.failed == left, "those not asked about any more, too"
            made = len(server.calls)
        assert report.documents["failed"] == 0
    assert builder.triples() == WHOLE


def test_calls_are_made_side_by_side_up_to_the_limit(builder, docs) -> None:
    for n in range(20):
        (docs / f"x{n:02}.txt").write_text(f"Words of Tollow number {n}.")
    with ModelServer(lambda call: REPLIES.get(title(call)) or reply(), latency=0.4) as server:
        builder.build(server, settings={"concurrency": 6})
        assert max(call.in_flight for call in server.calls) == 6


def test_only_the_relations_that_are_wanted(builder) -> None:
    with ModelServer(answers) as server:
        report = builder.build(server, relations=("Capital -- seat of government", "rises in"))
        assert "[1] Capital -- seat of government\n[2] rises in" in server.calls[0].text
    assert {triple[1] for triple in builder.triples()} == {"rises in", "Capital"}
    assert report.counts["statements dropped: relation not wanted"] == 5


def test_types_of_entities(builder) -> None:
    def typed(call: ServedCall) -> str:
        triples = json.loads(answers(call))["triples"]
        return reply(*triples, types=(("Varn", "country"), ("Osk", "river"), ("Nowhere", "country")))

    with ModelServer(typed) as server:
        builder.build(server, types=("country", "river"))
        assert "## Types\n[1] country\n[2] river" in server.calls[0].text
    with Knowledge.open(builder.kb, embedder=EMBEDDER) as knowledge:
        found = knowledge.graph.entities(["Varn", "Osk", "Tollow"])
    assert [entity["type"] for entity in found] == ["country", "river", "title of a document"]


def test_both_kinds_of_edges(builder) -> None:
    with ModelServer(answers) as server:
        builder.build(server, extract="both")
    relations = {triple[1] for triple in builder.triples()}
    assert {"rises in", "mentions"} <= relations


def test_an_update_asks_about_what_is_new_only_and_only_a_model_that_is_named(builder, docs, monkeypatch) -> None:
    with ModelServer(answers) as server:
        builder.build(server)
    (docs / "Lake.txt").write_text("Lake Merish lies in Tollow.")
    with pytest.raises(UsageError, match="extracted by openai:m: name the model with --model"):
        update_documents(builder.kb, [docs], embedder=EMBEDDER)
    with ModelServer(lambda _call: reply(("Lake Merish", "lies in", "Tollow"))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        report = update_documents(
            builder.kb, [docs], extractor=ExtractionModel(model="openai:another"), embedder=EMBEDDER
        )
        assert len(server.calls) == 1
    assert report.documents["model"] == "openai:another"
    assert builder.triples() == WHOLE | {("Lake Merish", "lies in", "Tollow", "docs/Lake.txt#0-27")}
    assert report.build.manifest["graph"]["triples"] == len(WHOLE) + 1


def test_the_offline_model_extracts_something_sensible(builder, docs) -> None:
    report = build_documents(builder.kb, [docs], options=DocumentOptions(extract="llm"), embedder=EMBEDDER, index=False)
    assert report.usage.model == "offline"
    assert {triple[:3] for triple in builder.triples()} >= {
        ("Osk", "rises in", "Varn"),
        ("Varn", "borders", "Tollow"),
        ("Varn", "capital is", "Port Arden"),
        ("Tollow", "is led by", "Ines Calder"),
    }


def test_the_offline_model_behind_a_server(builder) -> None:
    with ModelServer(chat_model=OfflineChatModel()) as server:
        report = builder.build(server)
    assert report.counts["statements"] >= 4


CHUNK = Chunk("d#0", "d", "Lindow Hall", "History / Roof", "Brede's hall of 4 May 1931 was built in Port-Arden.")


@pytest.mark.parametrize(
    ("triple", "kept", "fault"),
    [
        (("Lindow Hall", "built by", "Brede"), ("Lindow Hall", "built by", "Brede"), ""),
        (("brede", "built_in", "port arden"), ("brede", "built in", "port arden"), ""),
        (("Roof", "of", "Lindow Hall"), ("Roof", "of", "Lindow Hall"), ""),
        (("Lindow Hall", "opened on", "4 May 1931"), ("Lindow Hall", "opened on", "4 May 1931"), ""),
        (("Lindow Hall", "in", "Arden Port"), None, "not in the passage"),
        (("Lindow", "in", "Ard"), None, "not in the passage"),
        (("1931", "year of", "Brede"), None, "no name"),
        (("Brede", "is", "BREDE"), None, "no statement"),
        (("Brede", "x" * 200, "Port Arden"), None, "no statement"),
        (("!!!", "is", "Brede"), None, "not in the passage"),
    ],
)
def test_grounding(triple, kept, fault) -> None:
    found = grounded(Statements(triples=[list(triple)], types={"Brede": "person", "Varn": "land"}), CHUNK)
    assert found == {
        "triples": [list(kept)] if kept else [],
        "types": {"Brede": "person"},
        "dropped": {fault: 1} if fault else {},
    }


def test_grounding_in_scripts_without_spaces() -> None:
    chunk = Chunk("d#0", "d", "東京", "", "東京は日本の首都です。")
    found = grounded(Statements(triples=[["東京", "首都", "日本"], ["大阪", "都市", "日本"]], types={}), chunk)
    assert (found["triples"], found["dropped"]) == ([["東京", "首都", "日本"]], {"not in the passage": 1})


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="no setting 'concurency'"):
        resolve_settings(ExtractSettings, {"concurency": 3})
    with pytest.raises(ValidationError):
        ExtractSettings.model_validate({"concurrency": 0})


@pytest.mark.parametrize("number", range(3))
def test_kill_9_repeats_only_calls_in_flight(docs, monkeypatch, number: int, tmp_path) -> None:
    for n in range(24):
        (docs / f"x{n:02}.txt").write_text(f"Tollow number {n} borders Varn.")
    context = forked.context()
    monkeypatch.setenv("OPENAI_BASE_URL", "")

    def answer(call: ServedCall) -> str:
        return REPLIES.get(title(call)) or reply(("Tollow", "borders", "Varn"))

    def run(server: ModelServer):
        process = context.Process(target=extract_and_write, args=(str(docs), str(tmp_path), server.base_url))
        process.start()
        return process

    with ModelServer(answer, latency=0.05) as server:
        process = run(server)
        deadline = time.monotonic() + 60
        while len(server.calls) < 4 + 7 * number and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
        process.join()
        time.sleep(1)  # what it had sent is received
        with sqlite3.connect(tmp_path / "cache" / "extract" / "replies.sqlite") as db:
            (kept,) = db.execute("SELECT count(*) FROM reply").fetchone()
        db.close()
        received = len(server.calls)
        assert 0 < kept <= received < 27
        assert not (tmp_path / "kb" / "kb.json").exists()
        process = run(server)
        process.join(60)
        assert process.exitcode == 0
        in_flight = received - kept
        assert in_flight <= OPTIONS["concurrency"]
        assert len(server.calls) == 27 + in_flight
    assert json.loads((tmp_path / "report.json").read_text()) == {"failed": 0, "statements": 6, "documents": 27}
    assert (tmp_path / "kb" / DOCUMENTS).exists()
