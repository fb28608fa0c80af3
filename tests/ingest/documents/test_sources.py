"""Which documents are found, and what is said of the files that are none."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from ingest.documents.whole import cut_whole

from thinkgraph.ingest.documents.pieces import UnreadableError
from thinkgraph.ingest.documents.sources import find_sources, names_of
from thinkgraph.ingest.readers.rejects import Rejects


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.txt").write_text("B words.")
    (folder / "a.md").write_text("# A\nwords.")
    (folder / "sub" / "c.html").write_text("<p>C words.")
    return folder


def found(*paths: Path) -> tuple[list[str], dict[str, str]]:
    """Ids of what can be opened, and what is said of the rest."""
    rejects = Rejects()
    ids, reasons = [], {}
    for source in find_sources(names_of(paths), rejects):
        if source.content:
            ids.append(source.id)
        else:
            with pytest.raises(UnreadableError) as problem:
                source.read(None)
            reasons[source.id] = str(problem.value)
    return ids, {**reasons, **{reject["file"]: reject["reason"] for reject in rejects.kept}}


def test_files_are_named_from_the_folder_that_was_named(docs, monkeypatch) -> None:
    wanted = ["docs/a.md", "docs/b.txt", "docs/sub/c.html"]
    assert found(docs) == (wanted, {})
    monkeypatch.chdir(docs)
    assert found(Path()) == (wanted, {}), "however the folder is written"
    assert found(docs / "b.txt") == (["b.txt"], {})


def test_what_is_no_document_is_reported_and_the_others_go_on(docs) -> None:
    (docs / "x.docx").write_text("x")
    (docs / "empty.txt").touch()
    (docs / ".hidden.txt").write_text("x")
    (docs / "to_nothing.txt").symlink_to("nowhere")
    (docs / "loop").symlink_to(docs)
    (docs / "sub" / "up").symlink_to(docs.parent)
    (docs / "self.txt").symlink_to("self.txt")
    (docs / "again.txt").symlink_to("b.txt")
    os.mkfifo(docs / "pipe.txt")
    ids, reasons = found(docs)
    assert ids == ["docs/a.md", "docs/b.txt", "docs/sub/c.html"]
    assert {name: reason.split(":")[0][:25] for name, reason in reasons.items()} == {
        "docs/x.docx": "is of no known type (.htm",
        "docs/empty.txt": "is empty",
        "docs/to_nothing.txt": "is a link to nothing",
        "docs/loop": "is a link to what is read"[:25],
        "docs/sub/up": "is a link to what is read"[:25],
        "docs/self.txt": "cannot be read",
        "docs/again.txt": "is a link to what is read"[:25],
        "docs/pipe.txt": "is neither a file nor a f"[:25],
    }


def test_a_link_that_leads_out_of_the_folder_is_followed_only_where_its_target_is_named(docs, tmp_path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.txt").write_text("D words.")
    (other / "back").symlink_to(docs)
    (other / "round").symlink_to(other)
    (docs / "far").symlink_to(other)
    (docs / "far2").symlink_to(other / "d.txt")
    ids, reasons = found(docs)
    assert ids == ["docs/a.md", "docs/b.txt", "docs/sub/c.html"]
    assert set(reasons) == {"docs/far", "docs/far2"}
    assert all("leads out of the folder" in reason for reason in reasons.values())
    ids, reasons = found(docs, other)
    assert ids == ["docs/a.md", "docs/b.txt", "docs/sub/c.html", "other/d.txt"]
    assert set(reasons) == {"docs/far", "docs/far2", "other/back", "other/round"}


def test_unreadable_files_and_folders(docs) -> None:
    (docs / "b.txt").chmod(0)
    (docs / "sub").chmod(0)
    try:
        if os.access(docs / "b.txt", os.R_OK):
            pytest.skip("this user reads everything")
        ids, reasons = found(docs)
    finally:
        (docs / "sub").chmod(0o700)
    assert ids == ["docs/a.md"]
    assert set(reasons) == {"docs/b.txt", "docs/sub"}
    assert all("cannot be read: Permission denied" in reason for reason in reasons.values())


def test_rows_are_documents_with_ids_of_their_own(docs) -> None:
    (docs / "r.jsonl").write_text(
        '{"id": 6, "title": "T", "section": "S", "text": "Words.", "entities": ["E"]}\n'
        '{"id": 7}\nnot json\n{"id": "6", "text": "Again."}\n{"id": "docs/b.txt", "text": "x"}\n'
    )
    rejects = Rejects()
    sources = {source.id: source for source in find_sources(names_of([docs]), rejects)}
    assert sorted(sources) == ["6", "docs/a.md", "docs/b.txt", "docs/sub/c.html"]
    assert sorted(rejects.counts.items()) == [("duplicate id", 2), ("malformed", 2)]
    assert {reject["file"] for reject in rejects.kept} == {"docs/r.jsonl"}
    reading = sources["6"].read(None)
    assert (reading.title, reading.entities) == ("T", ("E",))
    assert [(one.section, one.start, one.end, one.text) for one in cut_whole(reading, 100)] == [("S", 0, 6, "Words.")]


def test_folders_of_one_name_are_told_apart(docs, tmp_path) -> None:
    other = tmp_path / "other" / "docs"
    other.mkdir(parents=True)
    (other / "b.txt").write_text("Other words.")
    ids, reasons = found(docs, other)
    assert ids == ["docs/a.md", "docs/b.txt", "docs/sub/c.html"]
    assert str(docs / "b.txt") in reasons["docs/b.txt"]
    assert f"{other / 'b.txt'} is not used: rename it or its folder" in reasons["docs/b.txt"]


def test_deep_folders(tmp_path) -> None:
    folder = tmp_path
    for _ in range(300):
        folder /= "d"
    folder.mkdir(parents=True)
    (folder / "x.txt").write_text("Deep.")
    assert found(tmp_path / "d") == (["d/" * 300 + "x.txt"], {})


def write_pdf(path: Path, *pages: str, title: str = "", password: str = "") -> Path:
    """A PDF file with one page for each text; "damaged" and "picture" make such pages."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1"),
         NameObject("/BaseFont"): NameObject("/Helvetica")}
    )  # fmt: skip
    for words in pages:
        made = writer.add_blank_page(600, 800)
        made[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
        )
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 72 700 Td ({words}) Tj ET".encode())
        made[NameObject("/Contents")] = writer._add_object(stream)
        if words == "damaged":
            stream[NameObject("/Filter")] = NameObject("/Unheard")
        if words == "picture":
            picture = DecodedStreamObject()
            picture.update({NameObject("/Type"): NameObject("/XObject"), NameObject("/Subtype"): NameObject("/Image")})
            made["/Resources"][NameObject("/XObject")] = DictionaryObject(
                {NameObject("/I"): writer._add_object(picture)}
            )
            made[NameObject("/Contents")] = writer._add_object(DecodedStreamObject())
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(path)
    assert PdfReader(path)
    return path


def test_pdf(tmp_path, monkeypatch) -> None:
    """Whatever is wrong with one is said of it: an unheard-of encryption or a far offset ended the whole build."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    def write(name: str, *pages: str, **options: str) -> Path:
        return write_pdf(tmp_path / name, *pages, **options)

    def read(path: Path):
        [source] = find_sources(names_of([path]), Rejects())
        reading = source.read(None)
        return reading.title, [(one.section, one.text) for one in cut_whole(reading, 100)]

    two = write("osk.pdf", "The Osk rises here.", "It ends in Varn.", title="The Osk")
    assert read(two) == ("The Osk", [("page 1", "The Osk rises here."), ("page 2", "It ends in Varn.")])
    assert read(write("a_b.pdf", "Words.", title="Microsoft Word - x.doc"))[0] == "a b"
    assert read(write("a_b.pdf", "Words.", title="(anonymous)"))[0] == "a b"
    lines = write("hyphens.pdf", "It borders Guinea-) Tj 0 -20 Td (Bissau by an inter-) Tj 0 -20 Td (national road.")
    assert read(lines)[1] == [("page 1", "It borders Guinea-Bissau by an international road.")]
    with pytest.raises(UnreadableError, match=r"holds no text.*OCR"):
        read(write("scan.pdf", "", ""))
    with pytest.raises(UnreadableError, match="encrypted"):
        read(write("secret.pdf", "Words.", password="x"))  # noqa: S106 (a test's)
    (tmp_path / "key.pdf").write_bytes((tmp_path / "secret.pdf").read_bytes().replace(b"/Standard", b"/Unheard."))
    with pytest.raises(UnreadableError, match="cannot be read: only Standard PDF encryption"):
        read(tmp_path / "key.pdf")
    with monkeypatch.context() as without:
        without.setattr(PdfReader, "decrypt", lambda *_: (_ for _ in ()).throw(DependencyError("cryptography")))
        with pytest.raises(UnreadableError, match=r"AES: pip install 'pypdf\[crypto\]'"):
            read(tmp_path / "secret.pdf")
    (tmp_path / "cut.pdf").write_bytes(two.read_bytes()[:200])
    (tmp_path / "none.pdf").write_bytes(b"words that are no PDF")
    (tmp_path / "far.pdf").write_bytes(re.sub(rb"(?<=startxref\n)\d+", b"9" * 40, two.read_bytes()))
    for name in ("cut.pdf", "none.pdf", "far.pdf"):
        with pytest.raises(UnreadableError, match="damaged PDF"):
            read(tmp_path / name)


def test_pages_that_a_pdf_is_read_without(tmp_path) -> None:
    def read(name: str, *pages: str) -> tuple[list[str], list[str]]:
        [source] = find_sources(names_of([write_pdf(tmp_path / name, *pages)]), Rejects())
        reading = source.read(None)
        return [piece.section for piece in cut_whole(reading, 100)], reading.left_out

    pictures = "has pages of pictures without text (3; a scan?); run OCR over them"
    damaged = "has damaged pages (2: Unsupported filter /Unheard); write it anew"
    assert read("part.pdf", "Words.", "", "picture") == (["page 1"], [pictures])
    assert read("half.pdf", "Words.", "damaged", "Further words.") == (["page 1", "page 3"], [damaged])
    with pytest.raises(UnreadableError, match=r"damaged PDF file \(page 2: Unsupported filter"):
        read("none.pdf", "", "damaged")


def test_pdf_without_pypdf(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    (tmp_path / "x.pdf").write_bytes(b"%PDF-1.4")
    [source] = find_sources(names_of([tmp_path / "x.pdf"]), Rejects())
    with pytest.raises(UnreadableError, match=r"pip install 'thinkgraph\[documents\]'"):
        source.read(None)


def test_a_file_inside_a_folder_that_was_read_is_the_same_document(docs) -> None:
    known = found(docs)[0]

    def again(*paths: Path) -> list[str]:
        return [source.id for source in find_sources(names_of(paths, known), Rejects())]

    assert again(docs / "b.txt") == ["docs/b.txt"]
    assert again(docs / "sub") == ["docs/sub/c.html"]
    assert again(docs / "sub" / "c.html", docs / "a.md") == ["docs/sub/c.html", "docs/a.md"]
    (docs / "sub" / "new.txt").write_text("New.")
    assert again(docs / "sub" / "new.txt") == ["docs/sub/new.txt"]
    (docs.parent / "alone.txt").write_text("Alone.")
    assert again(docs.parent / "alone.txt") == ["alone.txt"]


def test_a_knowledge_base_among_the_documents_is_none(docs) -> None:
    (docs / "kb").mkdir()
    (docs / "kb" / "kb.json").write_text("{}")
    (docs / "kb" / "resolution.jsonl").write_text("{}")
    ids, reasons = found(docs)
    assert "docs/kb" in reasons
    assert len(ids) == 3


def test_names_that_are_no_utf_8(docs) -> None:
    Path(os.fsdecode(os.fsencode(str(docs)) + b"/caf\xe9.txt")).write_text("Words.")
    Path(os.fsdecode(os.fsencode(str(docs)) + b"/caf\xe8.txt")).write_text("Other.")
    ids, reasons = found(docs)
    assert "docs/caf\ufffd.txt" in ids
    assert list(reasons) == ["docs/caf\ufffd.txt"], "the other one would have the same id"
