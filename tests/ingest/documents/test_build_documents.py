"""Knowledge bases out of documents: what they hold, how they change, and that nobody ever sees half of one."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import forked
import pytest
from ingest.documents.document_worker import update

from thinkgraph.errors import KnowledgeError, StoreError, UsageError
from thinkgraph.ingest.documents import graph
from thinkgraph.ingest.documents.build import (
    DocumentOptions,
    build_documents,
    remove_documents,
    update_documents,
)
from thinkgraph.ingest.documents.graph import MENTIONS, WITH
from thinkgraph.ingest.documents.pieces import Piece, Reading, ReadingTime
from thinkgraph.ingest.documents.sources import Source
from thinkgraph.ingest.documents.store import DocumentStore
from thinkgraph.ingest.encode import encode_kb
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.kb_files import DOCUMENTS, read_manifest
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.meter import Meter, current_meter

EMBEDDER = HashEmbedder(64)
TEXTS = {
    "osk.md": "# Osk\n\nThe Osk is a river in Varn.\n\n## Course\n\nThe Osk leaves the Grey Hills and ends in Lake Merish.\n",
    "varn.txt": "Varn\n\nVarn is a country of the north. Its capital is Port Arden. It borders Tollow.\n",
    "tollow.html": "<title>Tollow</title><p>Tollow is led by Ines Calder. Calder lives in Port Arden.</p>",
}


class Recording(HashEmbedder):
    """Keeps what it was asked to encode."""

    def __init__(self) -> None:
        super().__init__(64)
        self.texts: list[str] = []

    def embed_array(self, texts):
        self.texts += texts
        return super().embed_array(texts)


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    return folder


def build(docs: Path, kb: Path | None = None, **more):
    return build_documents(kb or docs.parent / "kb", [docs], **{"embedder": EMBEDDER, **more})


def content(kb: Path) -> dict[str, object]:
    """All that a knowledge base says: passages, entities, triples, aliases, and its fingerprint."""
    facts: dict[str, object] = {"fingerprint": read_manifest(kb)["fingerprint"]}
    with Knowledge.open(kb, embedder=EMBEDDER) as knowledge:
        with sqlite3.connect(kb / "text.sqlite") as db:
            facts["passages"] = db.execute(
                "SELECT id, title, section, text, entities FROM passages ORDER BY id"
            ).fetchall()
            facts["words"] = db.execute('SELECT rowid FROM words WHERE words MATCH \'"river" OR "city"\'').fetchall()
        db.close()
        ids = sorted({entity for row in facts["passages"] for entity in json.loads(row[4])})
        facts["entities"] = knowledge.graph.entities(ids)
        edges = [edge for found in knowledge.graph.relations(ids) for edge in found if edge["direction"] == "out"]
        steps = [{"entity": e["entity"], "relation": e["name"], "direction": "out"} for e in edges]
        facts["triples"] = sorted(
            (t["subject"], t["relation"], t["object"], str(t["qualifiers"]))
            for found in knowledge.graph.neighbours(steps, limit=999)
            for t in found["triples"]
        )
    return facts


def names(kb: Path) -> set[str]:
    return {row[0] for row in content(kb)["passages"]}


def test_what_a_base_holds(docs) -> None:
    report = build(docs)
    kb = docs.parent / "kb"
    found = content(kb)
    assert [row[:3] for row in found["passages"]] == [
        ("docs/osk.md#47-101", "Osk", "Course"),
        ("docs/osk.md#7-34", "Osk", ""),
        ("docs/tollow.html#24-81", "Tollow", ""),
        ("docs/varn.txt#6-83", "Varn", ""),
    ]
    for key, _, _, text, _ in found["passages"]:
        file, _, place = key.rpartition("#")
        start, _, end = place.partition("-")
        assert (docs.parent / file).read_text()[int(start) : int(end)] == text, "a passage is found again in its file"
    assert json.loads(found["passages"][2][4]) == ["Tollow", "Ines Calder", "Port Arden"]
    relations = {row[:3] for row in found["triples"]}
    assert ("Osk", MENTIONS, "Lake Merish") in relations
    assert ("Grey Hills", WITH, "Lake Merish") in relations
    assert ("Ines Calder", WITH, "Port Arden") in relations
    assert ("Osk", MENTIONS, "Osk") not in relations
    about = {entity["id"]: entity["description"] for entity in found["entities"]}
    assert (about["Osk"], about["Varn"], about["Port Arden"]) == (
        "river in Varn",
        "country of the north",
        "mentioned in Tollow",
    )
    assert report.documents == {
        "documents": 3, "copies": 0, "failed": 0, "extract": "cooccurrence", "model": "",
    }  # fmt: skip
    assert report.changes == {"added": 3, "removed": 0}
    [line] = (kb / "resolution.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "name": "Calder",
        "entity": "Ines Calder",
        "rule": "last name",
        "document": "docs/tollow.html",
    }
    assert str(docs.parent) not in (kb / "kb.json").read_text()
    assert not [path for path in docs.parent.iterdir() if path.name.startswith(".")]
    with Knowledge.open(kb, embedder=EMBEDDER) as knowledge:
        [links] = knowledge.linker.link(["Where does Calder live?"])
        assert links[0]["entity"]["id"] == "Ines Calder"


def test_the_same_documents_make_the_same_base_in_whatever_order_and_steps(docs, tmp_path) -> None:
    texts = {f"x{n}.txt": f"Ines Calder met T{n} in Port Arden. The Amber League (AL) and AL grew." for n in range(6)}
    for name, text in texts.items():
        (docs / name).write_text(text)
    build(docs)
    expected = content(tmp_path / "kb")
    every = sorted({*TEXTS, *texts})
    for seed in range(3):
        order = random.Random(seed).sample(every, len(every))
        kb, half = tmp_path / f"kb{seed}", tmp_path / str(seed) / "docs"
        half.mkdir(parents=True)
        for name in order[:4]:
            (half / name).write_text((docs / name).read_text())
        (half / order[0]).write_text("Something Else was here with Ines Calder.")
        (half / "gone.txt").write_text("Ines Calder left Port Arden.")
        build(half, kb, name="kb")
        for name in order:
            (half / name).write_text((docs / name).read_text())
        update_documents(kb, [half], embedder=EMBEDDER)
        assert content(kb) != expected
        remove_documents(kb, ["docs/gone.txt"], embedder=EMBEDDER)
        assert content(kb) == expected


def test_an_update_of_one_document_encodes_only_its_texts(docs) -> None:
    for n in range(200):
        (docs / f"x{n}.txt").write_text(f"Person {n} met Ines Calder in Port Arden {n}.")
    first = Recording()
    build(docs, embedder=first)
    assert first.texts == []
    encode_kb(docs.parent / "kb", embedder=first)
    assert len(first.texts) > 400
    (docs / "x7.txt").write_text("Nora Quill met Ines Calder in Port Arden.")
    second = Recording()
    meter = Meter()
    token = current_meter.set(meter)
    try:
        report = update_documents(docs.parent / "kb", [docs], embedder=second)
    finally:
        current_meter.reset(token)
    assert report.changes == {"changed": 1, "unchanged": 202}
    # The document's title is an entity, described by the same words: they are encoded once.
    assert second.texts == ["x7: Nora Quill met Ines Calder in Port Arden.", "Nora Quill: mentioned in x7"]
    assert meter.encoder_texts <= 3
    third = Recording()
    assert update_documents(docs.parent / "kb", [docs], embedder=third).changes == {"unchanged": 203}
    assert third.texts == []
    remove_documents(docs.parent / "kb", ["docs/x9.txt"], embedder=third)
    assert third.texts == []


def test_a_new_title_is_found_in_old_documents(docs) -> None:
    build(docs)
    (docs / "hills.txt").write_text("Lake Merish\n\nA lake with a harbour.\n")
    update_documents(docs.parent / "kb", [docs / "hills.txt"], embedder=EMBEDDER)
    assert ("Osk", MENTIONS, "Lake Merish") in {row[:3] for row in content(docs.parent / "kb")["triples"]}
    assert "docs/hills.txt#13-35" in names(docs.parent / "kb")


def test_a_title_in_quotes_is_one_thing(docs) -> None:
    (docs / "heroes.md").write_text('# "Heroes"\n\nDavid Bowie recorded it in Berlin.\n', "utf-8")
    (docs / "bowie.md").write_text('# David Bowie\n\nDavid Bowie recorded "Heroes" in Berlin.\n', "utf-8")
    assert build(docs).build.manifest["graph"]["literals"] == 0


def test_documents_that_are_gone_stay_until_they_are_removed(docs) -> None:
    build(docs)
    (docs / "osk.md").unlink()
    report = update_documents(docs.parent / "kb", [docs], embedder=EMBEDDER)
    assert [(r["file"], r["kind"]) for r in report.build.examples] == [("docs/osk.md", "gone")]
    assert "docs/osk.md#7-34" in names(docs.parent / "kb")
    report = build(docs, replace=True)
    assert report.changes == {"unchanged": 2, "removed": 1}
    assert "docs/osk.md#7-34" not in names(docs.parent / "kb")


def test_rows_that_are_gone_from_their_file_are_told(docs) -> None:
    rows = ['{"id": "one", "text": "Tollow borders Osk."}\n', '{"id": "two", "text": "Varn borders Osk."}\n']
    (docs / "rows.jsonl").write_text("".join([*rows, '{"id": "marks", "text": "..."}']))
    assert build(docs).documents["failed"] == 1
    (docs / "rows.jsonl").write_text(rows[0])
    report = update_documents(docs.parent / "kb", [docs], embedder=EMBEDDER)
    assert [(r["file"], r["kind"]) for r in report.build.examples] == [("two", "gone")]
    assert report.documents["failed"] == 0
    report = update_documents(docs.parent / "kb", [docs / "osk.md"], embedder=EMBEDDER)
    assert not report.build.examples, "the file of the row was not looked into"


def test_rows_are_looked_for_in_the_file_that_they_were_last_found_in(tmp_path) -> None:
    docs, kb = tmp_path / "docs", tmp_path / "kb"
    docs.mkdir()
    rows = [
        '{"id": "one", "text": "Ines Calder met Boris Novak in Port Arden. Ines Calder met Boris Novak again."}\n',
        '{"id": "two", "text": "Clara Sato met Boris Novak in Port Arden."}\n',
    ]
    (docs / "a.jsonl").write_text("".join(rows))
    build(docs)
    (docs / "a.jsonl").write_text(rows[0])
    told = [(r["file"], r["kind"]) for r in update_documents(kb, [docs / "a.jsonl"], embedder=EMBEDDER).build.examples]
    assert told == [("two", "gone")]
    (docs / "b.jsonl").write_text(rows[1])
    assert not update_documents(kb, [docs], embedder=EMBEDDER).build.examples
    report = update_documents(kb, [docs / "a.jsonl"], embedder=EMBEDDER)
    assert not report.build.examples, "the row is in a file that was not looked into"


def test_a_document_is_removed_by_its_name_as_it_is_shown(docs) -> None:
    (docs / "new\nline.txt").write_text("Osk and Tollow.")
    build(docs)
    assert remove_documents(docs.parent / "kb", ["docs/new line.txt"], embedder=EMBEDDER).changes == {"removed": 1}
    for name in ("a\nb.txt", "a\tb.txt"):
        (docs / name).write_text(f"Osk and Tollow: {name}.")
    update_documents(docs.parent / "kb", [docs], embedder=EMBEDDER)
    with pytest.raises(UsageError, match="several documents shown as"):
        remove_documents(docs.parent / "kb", ["docs/a b.txt"], embedder=EMBEDDER)


def test_removing_takes_all_that_only_the_document_said(docs) -> None:
    build(docs)
    kb = docs.parent / "kb"
    remove_documents(kb, ["docs/osk.md"], embedder=EMBEDDER)
    found = content(kb)
    assert not [row for row in found["triples"] if "Osk" in row or "Lake Merish" in row]
    with Knowledge.open(kb, embedder=EMBEDDER) as knowledge:
        assert knowledge.graph.entities(["Lake Merish", "Varn"])[0] is None
    with pytest.raises(UsageError, match=r"has no document 'docs/osk\.md'"):
        remove_documents(kb, ["docs/varn.txt", "docs/osk.md"], embedder=EMBEDDER)
    assert content(kb) == found
    with pytest.raises(KnowledgeError, match=r"would be left without documents"):
        remove_documents(kb, ["docs/varn.txt", "docs/tollow.html"], embedder=EMBEDDER)
    assert content(kb) == found
    assert not [path for path in docs.parent.iterdir() if path.name.startswith(".")]


def test_copies_count_once_until_the_first_is_removed(docs) -> None:
    (docs / "a_copy.md").write_text(TEXTS["osk.md"])
    report = build(docs)
    kb = docs.parent / "kb"
    assert (report.documents["documents"], report.documents["copies"]) == (3, 1)
    assert "docs/osk.md#7-34" not in names(kb)
    with DocumentStore(kb / DOCUMENTS, write=False) as store:
        facts = {fact["id"]: fact["copy_of"] for fact in store.facts()}
    assert facts["docs/osk.md"] == "docs/a_copy.md"
    report = remove_documents(kb, ["docs/a_copy.md"], embedder=EMBEDDER)
    assert (report.documents["documents"], report.documents["copies"]) == (3, 0)
    assert "docs/osk.md#7-34" in names(kb)


def test_failed_documents_are_listed_tried_again_and_lose_no_other(docs) -> None:
    (docs / "latin.txt").write_bytes("Göteborg lies in Varn.".encode("latin-1"))
    (docs / "marks.txt").write_text("... !!! ...")
    (docs / "later.txt").touch()
    (docs / "rows.jsonl").touch()
    report = build(docs)
    kb = docs.parent / "kb"
    assert (report.documents["documents"], report.documents["failed"]) == (3, 4)
    assert {r["file"]: r["kind"] for r in report.build.examples} == dict.fromkeys(
        ["docs/latin.txt", "docs/later.txt", "docs/marks.txt", "docs/rows.jsonl"], "not read"
    )
    (docs / "latin.txt").write_text("Göteborg lies in Varn.")
    (docs / "later.txt").write_text("Uppsala lies in Varn.")
    (docs / "rows.jsonl").write_text('{"id": "row", "text": "Tollow borders Osk."}')
    report = build(docs)
    assert (report.documents["failed"], report.changes["added"], report.changes["unchanged"]) == (1, 3, 3)
    (docs / "marks.txt").unlink()
    assert build(docs).documents["failed"] == 0
    with pytest.raises(KnowledgeError, match="is a knowledge base already"):
        build(docs)
    assert "docs/latin.txt#0-22" in names(kb)


def test_what_cannot_be_opened_is_not_gone(docs, monkeypatch) -> None:
    written = {
        "closed/o.txt": "Osk and Varn.",
        "now_empty.txt": "Osk and Tollow.",
        "rows.jsonl": '{"id": "row", "text": "Tollow borders Osk."}',
    }
    (docs / "closed").mkdir()
    for name, text in written.items():
        (docs / name).write_text(text)
    build(docs)
    kb = docs.parent / "kb"
    before, scandir = names(kb), os.scandir

    def refusing(path: Path | int):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refusing)
        for name in ("now_empty.txt", "rows.jsonl"):
            (docs / name).write_text("")
        for report in (update_documents(kb, [docs], embedder=EMBEDDER), build(docs, replace=True)):
            assert {reject["kind"] for reject in report.build.examples} == {"not read"}
            assert {reject["file"] for reject in report.build.examples} == {
                f"docs/{name}" for name in ("closed", "now_empty.txt", "rows.jsonl")
            }
            assert names(kb) == before
    for name, text in written.items():
        (docs / name).write_text(text)
    report = update_documents(kb, [docs], embedder=EMBEDDER)
    assert (report.build.examples, report.documents["failed"], names(kb)) == ([], 0, before)


def test_a_document_that_can_no_longer_be_read_stays_as_it_was(docs) -> None:
    build(docs)
    (docs / "varn.txt").write_bytes(b"\xff\xfe\xfa")
    report = update_documents(docs.parent / "kb", [docs], embedder=EMBEDDER)
    [reject] = report.build.examples
    assert "what was read of it before is kept" in reject["reason"]
    assert "docs/varn.txt#6-83" in names(docs.parent / "kb")


def test_what_a_document_leaves_out_is_reported(docs) -> None:
    def read(_encoding):
        return Reading("Lur", pieces=iter([Piece("", "The Lur is a river in Varn.", 0)]), left_out=["has more"])

    report = build(docs, sources=[Source("lur", "lur.pdf", 0, "hash", read)])
    assert report.build.examples == [{"kind": "not read", "file": "lur.pdf", "line": 0, "reason": "has more"}]
    assert (report.documents["documents"], report.documents["failed"]) == (4, 0)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "no document could be read: docs/only.txt is empty"),
        ("nothing is named here", "name no two things together"),
    ],
)
def test_nothing_to_build_from(tmp_path, text: str, error: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "only.txt").write_text(text and f"untitled\n\n{text}")
    with pytest.raises(KnowledgeError, match=error):
        build(tmp_path / "docs")
    assert [path.name for path in tmp_path.iterdir()] == ["docs"], "nothing is left lying about"


def test_a_path_that_is_not_there_is_an_error(docs) -> None:
    with pytest.raises(KnowledgeError, match=r"there is no file or folder .*nope \(given as documents\)"):
        build_documents(docs.parent / "kb", [docs, docs / "nope"])


def test_an_empty_folder_is_no_folder_of_documents(tmp_path) -> None:
    (tmp_path / "docs").mkdir()
    with pytest.raises(KnowledgeError, match="there is no document in what is given"):
        build(tmp_path / "docs")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"size": 10}, "200 to 20,000"),
        ({"encoding": "no-such"}, "no encoding 'no-such'"),
        ({"extract": "magic"}, "cooccurrence, llm or both"),
    ],
)
def test_options_are_checked(docs, options, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        build(docs, options=DocumentOptions(**options))
    with pytest.raises(UsageError, match="--documents"):
        build_documents(docs.parent / "kb", [])
    with pytest.raises(UsageError, match="paths are given in a list"):
        build_documents(docs.parent / "kb", docs)


def test_only_bases_from_documents_are_updated(docs, tmp_path) -> None:
    from thinkgraph.ingest.build import build_kb

    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    build_kb(tmp_path / "kb", triples=[tmp_path / "t.tsv"], index=False)
    with pytest.raises(KnowledgeError, match="was not built from documents"):
        update_documents(tmp_path / "kb", [docs])
    with pytest.raises(KnowledgeError, match="there is no knowledge base"):
        update_documents(tmp_path / "nowhere", [docs])


def test_an_embedder_of_ones_own_is_asked_for(docs) -> None:
    build(docs)
    with pytest.raises(KnowledgeError, match=r"built with an embedder of yours \(hash-64\)"):
        update_documents(docs.parent / "kb", [docs])


def test_passages_of_another_size_are_cut_anew(docs) -> None:
    (docs / "long.txt").write_text("Ines Calder met Nora Quill. " * 60)
    build(docs, options=DocumentOptions(size=1500))
    before = names(docs.parent / "kb")
    build(docs, options=DocumentOptions(size=300), replace=True)
    after = names(docs.parent / "kb")
    assert len(after) > len(before)
    (docs / "more.txt").write_text("Nora Quill met Ines Calder. " * 30)
    update_documents(docs.parent / "kb", [docs], embedder=EMBEDDER)
    assert max(int(k.split("-")[-1]) - int(k.split("#")[1].split("-")[0]) for k in names(docs.parent / "kb")) <= 300


@pytest.mark.parametrize("number", range(4))
def test_a_killed_update_leaves_the_old_base_and_goes_on(docs, tmp_path, number: int) -> None:
    for n in range(60):
        (docs / f"x{n}.txt").write_text(f"Person {n} met Ines Calder in Port Arden {n}.")
    build(docs)
    kb = tmp_path / "kb"
    old = content(kb)
    for n in range(40):
        (docs / f"y{n}.txt").write_text(f"Person {n} left Nora Quill in Tollow {n}.")
    (docs / "osk.md").unlink()
    context = forked.context()
    process = context.Process(target=update, args=(str(docs), str(tmp_path)))
    process.start()
    deadline = time.monotonic() + 60
    while not (tmp_path / ".kb.building").exists() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.001)
    process.join(0.04 * (number + 1))
    process.kill()
    process.join()
    assert content(kb) == old or content(kb)["fingerprint"] != old["fingerprint"]
    fresh = docs.parent / "fresh" / "kb"
    fresh.parent.mkdir()
    (docs / "osk.md").write_text(TEXTS["osk.md"])
    build(docs, fresh)
    update_documents(kb, [docs], embedder=EMBEDDER)
    assert content(kb) == content(fresh)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_change_that_was_stopped_is_not_made_with_another_one(docs, tmp_path, monkeypatch) -> None:
    """Whoever stops `kb remove` because it was the wrong document keeps it, and so with `kb update`."""
    build(docs)
    kb = tmp_path / "kb"
    (tmp_path / "wrong.txt").write_text("Nora Quill met Ines Calder in Port Arden.")
    (tmp_path / "right.txt").write_text("Nora Quill met Ines Calder in Tollow.")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(graph, "write_files", stopped)
        with pytest.raises(KeyboardInterrupt):
            remove_documents(kb, ["docs/osk.md"], embedder=EMBEDDER)
    remove_documents(kb, ["docs/varn.txt"], embedder=EMBEDDER)
    assert {name.partition("#")[0] for name in names(kb)} == {"docs/osk.md", "docs/tollow.html"}
    with monkeypatch.context() as patch:
        patch.setattr(graph, "write_files", stopped)
        with pytest.raises(KeyboardInterrupt):
            update_documents(kb, [tmp_path / "wrong.txt"], embedder=EMBEDDER)
    update_documents(kb, [tmp_path / "right.txt"], embedder=EMBEDDER)
    assert {name.partition("#")[0] for name in names(kb)} == {"docs/osk.md", "docs/tollow.html", "right.txt"}


def test_readers_never_see_half_of_an_update(docs) -> None:
    """A base that is open stays as it was; one that is opened is the old one or the new one."""
    build(docs)
    kb = docs.parent / "kb"
    with Knowledge.open(kb, embedder=EMBEDDER) as knowledge:
        before = knowledge.graph.entities(["Osk", "Nora Quill"])
        (docs / "new.txt").write_text("Nora Quill left Port Arden for Varn.")
        update_documents(kb, [docs], embedder=EMBEDDER)
        assert knowledge.graph.entities(["Osk", "Nora Quill"]) == before
        with pytest.raises(KnowledgeError, match="was replaced while it was open"):
            knowledge.text.passages(["docs/new.txt#0-36"])
        with ThreadPoolExecutor(8) as pool, pytest.raises(StoreError, match="was replaced while it was open"):
            list(pool.map(lambda _: slow(knowledge), range(8)))
    with Knowledge.open(kb, embedder=EMBEDDER) as knowledge:
        assert knowledge.text.passages(["docs/new.txt#0-36"])[0] is not None
        (docs / "newer.txt").write_text("Nora Quill left Varn for Tollow.")
        update_documents(kb, [docs], embedder=EMBEDDER)
        assert knowledge.text.passages(["docs/newer.txt#0-32"]) == [None], "what is open stays as it was"
    with Knowledge.open(kb, embedder=EMBEDDER) as knowledge:
        assert knowledge.graph.entities(["Nora Quill"])[0] is not None
        assert knowledge.text.passages(["docs/new.txt#0-36"])[0] is not None


def slow(knowledge: Knowledge) -> object:
    """A question that holds a connection for a while, so that others need their own."""
    with knowledge.graph._file.connection() as db:
        time.sleep(0.05)
        return db.execute("SELECT count(*) FROM node").fetchone()


def test_a_base_is_one_folder_that_can_be_moved_and_read_only(docs, tmp_path) -> None:
    build(docs)
    moved = tmp_path / "else where # ?"
    (tmp_path / "kb").rename(moved)
    for path in moved.iterdir():
        path.chmod(0o444)
    moved.chmod(0o555)
    try:
        with Knowledge.open(moved, embedder=EMBEDDER) as knowledge:
            assert knowledge.graph.entities(["Osk"])[0] is not None
        with DocumentStore(moved / DOCUMENTS, write=False) as store:
            assert len(list(store.facts())) == 3
    finally:
        moved.chmod(0o755)
    report = update_documents(moved, [docs], embedder=EMBEDDER)
    assert report.changes == {"unchanged": 3}


@pytest.mark.parametrize("kept", [0, 100, 5000])
def test_a_damaged_store_of_documents_is_one_line_and_made_anew(docs, kept: int) -> None:
    build(docs)
    expected = content(docs.parent / "kb")
    path = docs.parent / "kb" / DOCUMENTS
    path.write_bytes(path.read_bytes()[:kept].ljust(path.stat().st_size, b"\0"))
    with pytest.raises(KnowledgeError, match=r"build (it|the knowledge base) again|cannot write"):
        update_documents(docs.parent / "kb", [docs], embedder=EMBEDDER)
    build(docs, replace=True)
    assert content(docs.parent / "kb") == expected


@pytest.mark.skipif(os.environ.get("THOROUGH") is None, reason="set THOROUGH=1: a file of 300 MB")
def test_a_very_large_file_is_read_as_a_stream(tmp_path) -> None:
    import resource

    (tmp_path / "docs").mkdir()
    with (tmp_path / "docs" / "big.txt").open("w") as out:
        for n in range(3_000_000):
            out.write(
                f"Sentence {n} speaks of Ines Calder and of nothing else that has a name. The next one is short.\n"
            )
    from thinkgraph.ingest.documents.sources import find_sources, names_of
    from thinkgraph.ingest.readers.rejects import Rejects

    [source] = find_sources(names_of([tmp_path / "docs"]), Rejects())
    with DocumentStore(tmp_path / DOCUMENTS) as store, ReadingTime() as clock:
        store.put(source, "x", source.read(None), 1000, clock)
        assert sum(1 for _ in store.chunks()) > 250_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 400_000
