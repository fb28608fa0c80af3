"""Files that somebody else made: bombs, damage, wrong encodings, endless nesting, links that lead outside."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from trials.world import write_sources

OUTSIDE = "xyzzy-plugh"
"""What stands in a file outside that links and references lead to; no command may bring it in."""
_MEGABYTE = 1_000_000
_BROKEN_HTML = (
    "<!--",
    "<div>",
    "<b",
    "<![CDATA[",
    "&amp",
    "<a href='",
    "<table><tr><td>",
    "<script>",
    "</p>",
    "<!DOCTYPE ",
)


@dataclass(frozen=True)
class Hostile:
    """A command over a hostile file."""

    arguments: tuple[object, ...]
    refused: bool = True
    """Whether it must fail; else it may also make what it can of the file."""


Make = Callable[[Path, Random], Hostile]
Data = bytes | Callable[[], bytes]
"""A file's bytes, or what makes them where they are many."""


def _bytes(data: Data) -> bytes:
    return data if isinstance(data, bytes) else data()


def _triples(name: str, data: Data, *, refused: bool = True) -> Make:
    return lambda folder, _: _build(folder, "--triples", name, data, refused=refused)


def _build(folder: Path, flag: str, name: str, data: Data, *, refused: bool = True) -> Hostile:
    (folder / name).write_bytes(_bytes(data))
    return Hostile(("kb", "build", folder / "made", flag, folder / name, "--no-index"), refused)


def _flipped(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 5, 50))):
        changed[rng.randrange(len(changed))] ^= rng.randrange(1, 256)
    return bytes(changed)


def _of_triples() -> Iterator[tuple[str, Make]]:
    rows = b"".join(b"node %d\tnext\tnode %d\n" % (n, n + 1) for n in range(500))
    yield (
        "random bytes",
        lambda folder, rng: _build(folder, "--triples", "t.tsv", rng.randbytes(rng.randint(1000, 300_000))),
    )
    for coding in ("utf-16", "utf-32", "utf-16-be", "utf-7"):
        yield f"triples in {coding}", _triples("t.tsv", "ä\tb\tc\n".encode(coding), refused=coding != "utf-7")
    yield "a byte order mark in the midst", _triples("t.tsv", rows + b"\xef\xbb\xbfa\tb\tc\n", refused=False)
    yield "latin-1 among UTF-8", _triples("t.tsv", rows + "Müller\tb\tc\n".encode("latin-1"), refused=False)
    yield "NULs", _triples("t.tsv", b"a\0\tb\tc\n" * 50)
    yield "gzip that is none", _triples("t.tsv.gz", rows)
    yield (
        "gzip cut off",
        lambda folder, rng: _build(folder, "--triples", "t.tsv.gz", gzip.compress(rows)[: -rng.randint(1, 400)]),
    )
    yield (
        "gzip, flipped",
        lambda folder, rng: _build(folder, "--triples", "t.tsv.gz", _flipped(gzip.compress(rows), rng), refused=False),
    )
    yield (
        "bzip2, flipped",
        lambda folder, rng: _build(folder, "--triples", "t.tsv.bz2", _flipped(bz2.compress(rows), rng), refused=False),
    )
    yield "gzip in gzip", _triples("t.tsv.gz", gzip.compress(gzip.compress(rows)))
    yield "a line of 400 MB in gzip", _triples("t.tsv.gz", lambda: gzip.compress(b"x" * 400 * _MEGABYTE, 1))
    yield "a cell of 400 MB in gzip", _triples("t.tsv.gz", lambda: gzip.compress(b"a\tb\t" + b"x" * 400 * _MEGABYTE, 1))
    yield "a line of 400 MB in bzip2", _triples("t.tsv.bz2", lambda: bz2.compress(b"x" * 400 * _MEGABYTE))
    yield "an open quote in 30 MB", _triples("t.csv", lambda: b'a,b,"' + b"c,d,e\n" * 5 * _MEGABYTE, refused=False)
    yield "a million columns", _triples("t.tsv", lambda: b"\t".join([b"x"] * _MEGABYTE) + b"\n", refused=False)
    yield "separators only", _triples("t.tsv", b"\t\t\n" * 100_000)
    yield "line ends only", _triples("t.tsv", lambda: b"\r\n" * _MEGABYTE)
    yield "deep JSON", _triples("t.jsonl", lambda: b"[" * 200_000 + b"]" * 200_000)
    yield "deep JSON in a row", _triples("t.jsonl", lambda: b'{"s": "a", "p": "b", "o": ' + b"[" * 200_000 + b"\n")
    yield (
        "a number of 10^5 digits",
        _triples("t.jsonl", b'{"s": "a", "p": "b", "o": ' + b"9" * 100_000 + b"}\n", refused=False),
    )
    yield "JSON of wrong types", _triples("t.jsonl", b'{"s": {}, "p": [], "o": null}\n[1, [2], {"3": 4}]\n"x"\n')
    yield "half characters", _triples("t.jsonl", b'{"s": "\\ud83d", "p": "b", "o": "\\udc00"}\n', refused=False)
    yield "a thousand laughs", _triples("t.rdf", _laughs(), refused=True)
    yield "an entity of a file", lambda folder, _: _build(folder, "--triples", "t.rdf", _entity(_secret(folder)))
    yield "deep Turtle", _triples("t.ttl", b"<a:a> <a:b> " + b"[ <a:b> " * 100_000)
    yield "deep lists in Turtle", _triples("t.ttl", b"<a:a> <a:b> " + b"( " * 100_000)
    yield "deep RDF/XML", _triples("t.rdf", lambda: b"<a>" * 200_000)
    yield "wrong N-Triples", _triples("t.nt", b"<a:a> <a:b> <a:c>\n" * 100, refused=False)
    yield "a folder for a file", lambda folder, _: Hostile(("kb", "build", folder / "made", "--triples", folder))
    yield "a link to nowhere", _link_to("/nowhere/at/all")
    yield "a link to itself", _link_to("t.tsv")
    yield "no end", _link_to("/dev/zero")


def _of_rows() -> Iterator[tuple[str, Make]]:
    for flag, name in (
        ("--passages", "p.jsonl"),
        ("--aliases", "a.json"),
        ("--wikidata", "w.json"),
        ("--entities", "e.jsonl"),
    ):
        for what, data in (
            ("deep", lambda: b"[" * 200_000),
            ("a number", b"7"),
            ("nulls", b"null\n" * 100),
            ("wrong types", b'{"id": {}, "text": 5, "title": [], "entities": "x", "label": 7}\n' * 20),
            ("a long line", lambda: b'{"id": "1", "text": "' + b"x" * 70 * _MEGABYTE + b'"}\n'),
            ("bytes", bytes(range(256)) * 100),
        ):
            yield f"{flag} {what}", lambda folder, _, flag=flag, name=name, data=data: _beside(folder, flag, name, data)
    yield (
        "a passage of 30 MB",
        lambda folder, _: _beside(
            folder, "--passages", "p.jsonl", b'{"id": "1", "text": "' + b"word " * 6 * _MEGABYTE + b'"}\n'
        ),
    )


def _beside(folder: Path, flag: str, name: str, data: Data) -> Hostile:
    """A hostile file beside good triples."""
    rows, _ = write_sources(folder)
    made = _build(folder, flag, name, data, refused=False)
    return made if flag == "--wikidata" else Hostile((*made.arguments, "--triples", rows), refused=False)


def _of_documents() -> Iterator[tuple[str, Make]]:
    for piece in _BROKEN_HTML:
        yield f"HTML of {piece}", _document("d.html", (piece * (5 * _MEGABYTE // len(piece))).encode())
    yield "HTML of 20 MB", _document("d.html", lambda: b"<p>word</p>" * 2 * _MEGABYTE)
    yield (
        "an HTML attribute of 10 MB",
        _document("d.html", lambda: b"<p title='" + b"x" * 10 * _MEGABYTE + b"'>word</p>"),
    )
    yield "HTML of another encoding than it says", _document("d.html", b'<meta charset="utf-16"><p>word \xff\xfe</p>')
    yield (
        "HTML that refers to a file",
        lambda folder, _: _documents(
            folder,
            "d.html",
            f'<!DOCTYPE x [<!ENTITY y SYSTEM "file://{_secret(folder)}">]><p>A word &y; <iframe src="{_secret(folder)}">'.encode(),
        ),
    )
    yield "PDF that is none", _document("d.pdf", b"%PDF-1.7\n" + bytes(1000))
    yield "PDF, flipped", lambda folder, rng: _documents(folder, "d.pdf", _flipped(_pdf(b"(words of a page) Tj"), rng))
    yield "PDF cut off", lambda folder, rng: _documents(folder, "d.pdf", _pdf(b"(words) Tj")[: rng.randint(20, 300)])
    yield "PDF bomb", _document("d.pdf", lambda: _pdf(b" " * 400 * _MEGABYTE))
    yield "PDF of many words", _document("d.pdf", lambda: _pdf(b"(word) Tj " * 3 * _MEGABYTE))
    yield (
        "PDF whose pages are their own parents",
        _document("d.pdf", _pdf(b"").replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]")),
    )
    yield "PDF of 10^9 pages", _document("d.pdf", _pdf(b"").replace(b"/Count 1", b"/Count 999999999"))
    yield "text of random bytes", lambda folder, rng: _documents(folder, "d.txt", rng.randbytes(200_000))
    yield "a line of 500 KB", _document("d.txt", b"word " * 100_000)
    yield "text without blanks", _document("d.txt", b"x" * 500_000)
    yield "text of capitals", _document("d.txt", lambda: b"Alpha Beta Gamma Delta " * 200_000)
    yield "Markdown of quotes", _document("d.md", lambda: b">" * 5 * _MEGABYTE)
    yield "Markdown of lists", _document("d.md", b"".join(b" " * n + b"- x\n" for n in range(3000)))
    yield "Markdown of headings", _document("d.md", lambda: b"# A\n" * 500_000)
    yield "Markdown of brackets", _document("d.md", lambda: b"[" * 2 * _MEGABYTE)
    yield "Markdown of stars", _document("d.md", lambda: b"*_`" * _MEGABYTE)
    yield "a link out of the folder", _link_out
    yield "a pipe among documents", _pipe
    yield "folders in folders", _deep
    yield (
        "names that are no UTF-8",
        lambda folder, _: _documents(folder, os.fsdecode(b"\xff\xfe.txt"), b"words of a page"),
    )
    yield "300 files of zeros", _zeros


def _of_questions() -> Iterator[tuple[str, Make]]:
    for command in ("bench", "batch"):
        for what, data in (
            ("bytes", bytes(range(256)) * 100),
            ("UTF-16", '{"question": "a"}\n'.encode("utf-16")),
            ("deep", lambda: b"[" * 200_000),
            ("deep in a row", b'{"question": ' + b"[" * 100_000 + b"\n"),
            ("numbers", b"1\n2\n3\n"),
            ("wrong types", b'{"question": {}, "answers": 5, "id": []}\n' * 3),
            ("no question", b'{"q": "x"}\n' * 3),
            ("an empty question", b'{"question": " ", "answers": ["x"]}\n'),
            ("a question of 70 MB", lambda: b'{"question": "' + b"x" * 70 * _MEGABYTE + b'", "answers": ["x"]}\n'),
            ("a line of 200 MB", lambda: b"x" * 200 * _MEGABYTE),
            ("nothing", b""),
            ("NULs", b"\0" * 1000),
        ):
            yield f"{command}: {what}", lambda folder, _, command=command, data=data: _questions(folder, command, data)


def _questions(folder: Path, command: str, data: Data) -> Hostile:
    (folder / "q.jsonl").write_bytes(_bytes(data))
    asked = ("bench", "--data") if command == "bench" else ("batch",)
    common = ("--kb", folder / "kb", "--model", "offline", "--set", "ranker=bm25", "--out", folder / "out.jsonl")
    return Hostile((*asked, folder / "q.jsonl", *common), refused=data != b"" or command == "bench")


def _of_folders() -> Iterator[tuple[str, Make]]:
    for what, change in (
        ("cut", lambda text, rng: text[: rng.randrange(1, len(text) - 2)]),
        ("flipped", _flipped),
        ("deep", lambda _, __: b"[" * 200_000),
        ("large", lambda text, _: text + b" " * 80 * _MEGABYTE + b"x"),
        ("a list", lambda text, _: b"[" + text + b"]"),
        ("of paths", lambda text, _: text.replace(b'"graph.sqlite"', b'"../../../../etc/passwd"')),
        ("of nulls", _nulls),
    ):
        yield f"kb.json {what}", lambda folder, rng, change=change: _spoil(folder, "kb.json", change, rng)
    for name in ("graph.sqlite", "text.sqlite", "entities.sqlite"):
        yield (
            f"{name} cut",
            lambda folder, rng, name=name: _spoil(folder, name, lambda data, r: data[: r.randrange(len(data))], rng),
        )
        yield f"{name} flipped", lambda folder, rng, name=name: _spoil(folder, name, _flipped, rng)
        yield f"{name} is a folder", lambda folder, rng, name=name: _replaced(folder, name, rng)
        yield (
            f"{name} is another database",
            lambda folder, rng, name=name: _spoil(folder, name, lambda _, __: _other(folder), rng),
        )


def _spoil(folder: Path, name: str, change: Callable[[bytes, Random], bytes], rng: Random) -> Hostile:
    path = folder / "kb" / name
    path.write_bytes(change(path.read_bytes(), rng))
    return _look(folder, rng)


def _replaced(folder: Path, name: str, rng: Random) -> Hostile:
    (folder / "kb" / name).unlink()
    (folder / "kb" / name).mkdir()
    return _look(folder, rng)


def _look(folder: Path, rng: Random) -> Hostile:
    if rng.random() < 0.5:
        return Hostile(("kb", "info", folder / "kb"), refused=False)
    return Hostile(
        ("ask", "What is the capital of Panama?", "--kb", folder / "kb", "--model", "offline"), refused=False
    )


def _nulls(text: bytes, rng: Random) -> bytes:
    said: Any = json.loads(text)
    for key in rng.sample(sorted(said), 3):
        said[key] = rng.choice((None, [], {}, 7, "x", -1, 10**30))
    return json.dumps(said).encode()


def _other(folder: Path) -> bytes:
    import sqlite3

    with sqlite3.connect(folder / "other.sqlite") as db:
        db.execute("CREATE TABLE meta (x)")
    db.close()
    return (folder / "other.sqlite").read_bytes()


def _secret(folder: Path) -> Path:
    path = folder / "outside.txt"
    path.write_text(f"The word is {OUTSIDE}.\n", "utf-8")
    return path


def _laughs() -> bytes:
    names = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY l0 "ha">{names}]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><x>&l9;</x></rdf:RDF>'.encode()


def _entity(path: Path) -> bytes:
    return (
        f'<!DOCTYPE x [<!ENTITY y SYSTEM "file://{path}">]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:e="http://e/"><rdf:Description rdf:about="http://e/a"><e:says>&y;</e:says></rdf:Description></rdf:RDF>'
    ).encode()


def _link_to(target: str) -> Make:
    def make(folder: Path, _: Random) -> Hostile:
        (folder / "t.tsv").symlink_to(target)
        return Hostile(("kb", "build", folder / "made", "--triples", folder / "t.tsv", "--no-index"))

    return make


def _document(name: str, data: Data) -> Make:
    return lambda folder, _: _documents(folder, name, data)


def _documents(folder: Path, name: str, data: Data) -> Hostile:
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / name).write_bytes(_bytes(data))
    # Without names to make a graph of, nothing would be built, and nothing that was let in could be seen.
    (folder / "docs" / "good.txt").write_text("Ada Lovelace met Charles Babbage in London.\n", "utf-8")
    return Hostile(("kb", "build", folder / "made", "--documents", folder / "docs", "--no-index"), refused=False)


def _link_out(folder: Path, _: Random) -> Hostile:
    made = _documents(folder, "d.txt", b"Words of a page.")
    (folder / "docs" / "out.txt").symlink_to(_secret(folder))
    (folder / "docs" / "up").symlink_to(folder)
    (folder / "docs" / "round").symlink_to(folder / "docs")
    return made


def _pipe(folder: Path, _: Random) -> Hostile:
    made = _documents(folder, "d.txt", b"Words of a page.")
    os.mkfifo(folder / "docs" / "p.txt")
    return made


def _deep(folder: Path, _: Random) -> Hostile:
    made = _documents(folder, "d.txt", b"Words of a page.")
    (folder / "docs" / "/".join(["d" * 50] * 60)).mkdir(parents=True)
    return made


def _zeros(folder: Path, _: Random) -> Hostile:
    for number in range(300):
        made = _documents(folder, f"{number}.txt", bytes(1000))
    return made


def _pdf(content: bytes) -> bytes:
    """A PDF file of one page."""
    packed = zlib.compress(content, 1)
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    return (
        b"%PDF-1.7\n"
        + b"".join(b"%d 0 obj\n%s\nendobj\n" % row for row in enumerate(objects, 1))
        + b"trailer << /Root 1 0 R >>\n%%EOF"
    )


def hostile() -> dict[str, Make]:
    """Every kind of hostile file by its name."""
    kinds = (_of_triples(), _of_rows(), _of_documents(), _of_questions(), _of_folders())
    return {name: make for kind in kinds for name, make in kind}


def with_kb(kb: Path, folder: Path) -> None:
    """Put a knowledge base of its own into a trial's folder."""
    shutil.copytree(kb, folder / "kb")
