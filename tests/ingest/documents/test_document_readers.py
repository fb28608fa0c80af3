"""Readers: what they take from files, and that a passage can be found again in its file."""

from __future__ import annotations

import codecs
import re
import sys
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest.documents.whole import cut_whole

from thinkgraph.errors import UsageError
from thinkgraph.ingest.documents import pieces as pieces_module
from thinkgraph.ingest.documents import readers
from thinkgraph.ingest.documents.build import DocumentOptions
from thinkgraph.ingest.documents.pieces import Piece, Reading, UnreadableError
from thinkgraph.ingest.documents.readers import read_html, read_markdown, read_pdf, read_text


def passages(reading: Reading, size: int = 1000) -> list[tuple[str, str]]:
    return [(one.section, one.text) for one in cut_whole(reading, size)]


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_text_takes_a_lone_first_line_for_its_title(write) -> None:
    reading = read_text(write("q3_report.txt", "Osk River\n\nThe Osk rises here.\nIt is long.\n"), None)
    assert (reading.title, passages(reading)) == ("Osk River", [("", "The Osk rises here.\nIt is long.")])


@pytest.mark.parametrize(
    "text", ["The Osk rises here. It is long.", "One\nTwo\nThree", "Done.\n\nMore", "x" * 120 + "\n\ny"]
)
def test_text_without_such_a_line_is_named_after_its_file(write, text: str) -> None:
    reading = read_text(write("q3_report-final.txt", text), None)
    assert reading.title == "q3 report final"
    assert "".join(part for _, part in passages(reading)).split() == text.split()


def test_markdown_sections_without_markup_or_code(write) -> None:
    text = (
        "# Osk *River*\n\nIntro with [a link](http://x.y/z) and `code` and **bold**.\n\n"
        "Course\n------\nIt runs.\n\n```py\n# no heading\n```\n~~~\nx\n~~~\n"
        "### Mouth ###\nIt ends <b>here</b>.\n## Other\nMore.\n"
    )
    reading = read_markdown(write("osk.md", text), None)
    assert passages(reading) == [
        ("", "Intro with a link and code and bold."),
        ("Course", "It runs."),
        ("Course / Mouth", "It ends here."),
        ("Other", "More."),
    ]
    assert reading.title == "Osk River"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            "Write to <info@varn.org>, see <https://varn.org/map>.",
            "Write to <info@varn.org>, see <https://varn.org/map>.",
        ),
        ("In 1990[1][2] it had [three wells][4].<br/>", "In 1990[1][2] it had three wells."),
        ("```osk``` opens the gate.\n\nVarn.", "osk opens the gate.\n\nVarn."),
    ],
)
def test_markdown_keeps_what_only_looks_like_markup(write, text: str, read: str) -> None:
    assert passages(read_markdown(write("x.md", text), None)) == [("", read)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mark", ["[", "<!--", "_a_ *", "a ` ", '[a](b "', "a *", "<a ", "![", "**"])
def test_markdown_of_nothing_but_opening_marks_takes_no_square_of_its_size(write, mark: str) -> None:
    text = mark * (200_000 // len(mark))
    assert sum(len(part) for _, part in passages(read_markdown(write("bomb.md", text), None))) <= len(text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("line", ["# a{}b", "---\ntitle: a{}b\n---"])
def test_a_wide_gap_in_a_heading_or_title_takes_no_square_of_its_size(write, line: str) -> None:
    """20,000 spaces took nine seconds in a heading, and nothing ends a step of a library."""
    reading = read_markdown(write("bomb.md", line.format(" " * 200_000) + "\nIt runs."), None)
    assert passages(reading) == [("", "It runs.")]
    assert reading.title.split() == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "heading"), [("# Osk ##", "Osk"), ("# Osk#", "Osk#"), ("# Osk # ", "Osk"), ("#", ""), ("# C #  #", "C #")]
)
def test_the_signs_that_close_a_heading_are_no_part_of_it(write, line: str, heading: str) -> None:
    reading = read_markdown(write("x.md", f"{line}\nIt runs."), None)
    assert (passages(reading), reading.title) == ([("", "It runs.")], heading or "x")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mark", ["<!--", "<", "<p>", "<![CDATA[", "<a b='", "&"])
def test_html_of_nothing_but_opening_marks_takes_no_square_of_its_size(write, mark: str) -> None:
    text = mark * (80_000 // len(mark))
    assert sum(len(part) for _, part in passages(read_html(write("bomb.html", text), None))) <= len(text)


def test_markdown_front_matter_names_the_document(write) -> None:
    reading = read_markdown(write("osk.md", '---\ntitle: "The Osk"\ntags: [a]\n---\n# Course\nIt runs.\n'), None)
    assert (passages(reading), reading.title) == ([("Course", "It runs.")], "The Osk")


def test_markdown_rules_are_no_headings_and_an_open_fence_hides_the_rest(write) -> None:
    reading = read_markdown(write("osk.md", "First line\nsecond line\n---\n- item\n---\nLast.\n```\nhidden\n"), None)
    assert passages(reading) == [("", "First line\nsecond line\n---\n- item\n---\nLast.")]


PAGE = """<!doctype html><html><head><title>Wall | Site</title><style>p{}</style><script>var x = "words";</script></head>
<body><header><a href="/">Home</a></header><nav><ul><li><a>One</a><li><a>Two</a></ul></nav>
<div class="side-bar sidebar">Beside</div><div role="search">Seek</div><div hidden>Gone</div>
%s
<footer>Copyright</footer></body></html>"""
WORDS = (
    "<h1>The <b>Great</b> Wall</h1><p>Built by the Ming &amp; others. Again.<p>Another\npara<h2>History</h2>text<br>more"
    '<table><tr><td>a<td>b</tr></table><ul><li><a href="x">See this</a></ul>'
)


@pytest.mark.parametrize("frame", ["<main>%s</main>", "<article>%s</article>", "<div>%s</div>"])
def test_html_without_its_surroundings(write, frame: str) -> None:
    reading = read_html(write("wall.html", PAGE % frame % WORDS), None)
    assert reading.title == "The Great Wall"
    assert passages(reading) == [
        ("", "Built by the Ming & others. Again.\nAnother para"),
        ("History", "text\nmore\na\nb"),
    ]


def test_html_reads_what_surrounds_main_only_where_there_is_no_main(write) -> None:
    two = "<article><p>First one.</p></article><article><p>Second one.</p></article>"
    assert passages(read_html(write("a.html", PAGE % two), None)) == [("", "First one.\nSecond one.")]
    assert passages(read_html(write("b.html", PAGE % f"<p>Before.</p><main>{two}</main>"), None)) == [
        ("", "First one.\nSecond one.")
    ]


@pytest.mark.parametrize("gone", ["<nav>x</nav>", '<div class="ads">x</div>', "<form>x</form>"])
def test_html_before_and_behind_what_is_left_out(write, gone: str) -> None:
    page = f"<div>One word.{gone}Two <button>x</button>words.</div>"
    assert passages(read_html(write("x.html", page), None)) == [("", "One word.\nTwo words.")]


@pytest.mark.parametrize(
    "frame",
    [
        '<form id="aspnetForm">%s</form>',
        '<div class="site has-sidebar"><div class="sidebar">Beside</div>%s</div>',
        '<div id="root" aria-hidden="true">%s</div><div class="cookie-banner">Cookies</div>',
    ],
)
def test_html_is_not_left_out_for_the_name_of_what_holds_it(write, frame: str) -> None:
    page = PAGE % frame % "<h1>The Wall</h1><p>Built by the Ming and others, for centuries, and then again."
    wanted = [("", "Built by the Ming and others, for centuries, and then again.")]
    assert passages(read_html(write("x.html", page), None)) == wanted


def test_html_marks_of_footnotes_are_no_part_of_names(write) -> None:
    page = (
        '<p>Turing met Joan Clarke<sup><a href="#cite_note-1">[1]</a></sup> and Max Newman<a href="#fn2"><sup>2</sup></a>'
        ', 10<sup>3</sup> km from <a href="/b">the 4<sup>th</sup> Bletchley Park</a>.'
    )
    wanted = "Turing met Joan Clarke and Max Newman, 103 km from the 4th Bletchley Park."
    assert passages(read_html(write("x.html", page), None)) == [("", wanted)]


def test_html_sections_whose_ids_are_made_of_their_headings(write) -> None:
    page = (
        '<h1>Varn</h1><section id="metadata"><h2 id="sharing-data">Sharing data<span class="mw-editsection">[edit]'
        '</span></h2><p>A.</section><div class="section" id="menu"><h2>Menu</h2><p>B.</div>'
    )
    assert passages(read_html(write("x.html", page), None)) == [("Sharing data", "A."), ("Menu", "B.")]


def test_html_with_several_first_headings_is_named_by_its_title(write) -> None:
    reading = read_html(write("x.html", "<title>Report</title><h1>One</h1><p>A.<h1>Two</h1><p>B."), None)
    assert (reading.title, passages(reading)) == ("Report", [("One", "A."), ("Two", "B.")])


def test_html_links_that_are_a_tables_facts(write) -> None:
    page = (
        "<p>Varn.<table><tr><th>Country<td><a>Osk</a></tr><tr><td><a>Lur</a><td>22,501</tr></table>"
        "<dl><dt>Rivers<dd><ul><li><a>Geba</a></ul></dl><table><tr><td><a>Home</a><td><a>About</a></tr></table>"
    )
    wanted = "Varn.\nCountry\nOsk\nLur\n22,501\nRivers\nGeba"
    assert passages(read_html(write("x.html", page), None)) == [("", wanted)]


@pytest.mark.parametrize(
    "broken",
    [
        "<p>Words <b>bold",
        "<div><div><nav>menu</div></div><p>Words bold",
        "</div></p><p>Words <i></b>bold</i>",
        "<p>Words &nbsp;bold<!-- no > end -->",
        "Words <br/>bold<br><unknown>",
    ],
)
def test_html_that_is_broken(write, broken: str) -> None:
    assert " ".join(passages(read_html(write("x.html", broken), None))[0][1].split()) == "Words bold"


@pytest.mark.parametrize("page", ["<div>" * 300_000, "<b>" * 20_000, "<table>" * 20_000, "<main>" * 3_000])
def test_html_that_is_nested_without_end_is_refused(write, page: str) -> None:
    with pytest.raises(UnreadableError, match="nested too deeply"):
        read_html(write("x.html", f"{page}<p>Words."), None)


@pytest.mark.parametrize(
    "page", ["<!-- nothing -->", "<!-- nothing", " ", "<script>var words;</script>", "<nav>Words.</nav>"]
)
def test_html_without_words(write, page: str) -> None:
    reading = read_html(write("a_page.html", page), None)
    assert (reading.title, passages(reading)) == ("a page", [])


def test_html_between_many_tags_and_entities(write) -> None:
    text = "<p>" + "<b>x</b>&amp;" * 50_000
    [(_, first), *_] = passages(read_html(write("x.html", text), None))
    assert first == "x&" * 500


def test_html_without_lxml(write, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    with pytest.raises(UnreadableError, match=r"pip install 'thinkgraph\[documents\]'"):
        read_html(write("x.html", "<p>Words."), None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "shift_jis"])
def test_html_in_any_encoding_that_it_declares(write, encoding: str) -> None:
    word = "首都" if encoding == "shift_jis" else "Göteborg"
    page = f'<meta http-equiv="Content-Type" content="text/html; charset={encoding}"><p>{word} x</p>'
    assert passages(read_html(write("x.html", page.encode(encoding)), None)) == [("", f"{word} x")]


@pytest.mark.parametrize(
    ("declared", "written", "words"),
    [
        ("iso-8859-1", "cp1252", "“Bissau” costs €5"),
        ("Shift_JIS", "cp932", "①番の髙橋さん"),
        ("x-sjis", "cp932", "首都"),
        ("gb2312", "gbk", "朱镕基"),
        ("ks_c_5601-1987", "cp949", "똠방각하"),
    ],
)
def test_html_is_decoded_as_browsers_do(write, declared: str, written: str, words: str) -> None:
    page = f'<meta charset="{declared}"><p>{words}'
    assert passages(read_html(write("x.html", page.encode(written)), None)) == [("", words)]


def test_html_whose_encoding_stands_in_the_xml_declaration(write) -> None:
    page = '<?xml version="1.0" encoding="windows-1251"?><html><body><p>Москва</p></body></html>'
    assert passages(read_html(write("x.xhtml", page.encode("cp1251")), None)) == [("", "Москва")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("read", [read_text, read_markdown])
def test_text_in_the_encodings_that_say_what_they_are(write, read, encoding: str) -> None:
    raw = "Über Göteborg.\r\nWörter".encode(encoding)
    raw = codecs.BOM_UTF16_LE + raw if encoding == "utf-16-le" else raw
    assert passages(read(write("x.txt", raw), None)) == [("", "Über Göteborg.\r\nWörter")]


def test_other_encodings_are_refused_unless_named(write) -> None:
    path = write("x.txt", "Caf\xe9".encode("latin-1"))
    with pytest.raises(UnreadableError, match=r"is not UTF-8 text.*--encoding"):
        passages(read_text(path, None))
    assert passages(read_text(path, "latin-1")) == [("", "Café")]
    assert passages(read_text(write("y.txt", "Caf\xe9"), "latin-1")) == [("", "Café")], "what is UTF-8 stays UTF-8"
    with pytest.raises(UnreadableError, match="--encoding"):
        read_html(write("x.html", "<p>Caf\xe9".encode("latin-1")), None)


def test_utf16_without_a_byte_order_mark_is_read_where_it_is_named(write) -> None:
    for text in ("Cafe", "Caf\xe9"):
        path = write("x.txt", text.encode("utf-16-le"))
        assert passages(read_text(path, "utf-16-le")) == [("", text)]
        with pytest.raises(UnreadableError, match="utf-16-le or utf-16-be"):
            passages(read_text(path, "utf-16"))
    with pytest.raises(UnreadableError, match="--encoding utf-16-le or utf-16-be"):
        passages(read_text(write("x.txt", "Cafe".encode("utf-16-be")), None))


def test_an_encoding_that_encodes_nothing_is_none() -> None:
    with pytest.raises(UsageError, match="there is no encoding 'undefined'"):
        DocumentOptions(encoding="undefined").check()


def test_a_page_in_an_encoding_whose_codec_fails_in_its_own_way(write) -> None:
    with pytest.raises(UnreadableError, match="declares no other encoding that fits"):
        read_html(write("x.html", b"<p>a-b\0"), "punycode")


def test_binary_files_are_no_text(write) -> None:
    with pytest.raises(UnreadableError, match="NUL"):
        passages(read_text(write("x.txt", b"abc\0\1\2"), None))


@pytest.mark.parametrize("read", [read_text, read_markdown])
def test_long_files_come_in_bounded_pieces(write, monkeypatch, read) -> None:
    monkeypatch.setattr(pieces_module, "LONGEST_PIECE", 500)
    text = "".join(f"Sentence number {n} stands here.\n" for n in range(400)) + "x" * 3000 + " end."
    reading = read(write("x.txt", text), None)
    found = list(reading.pieces)
    assert max(len(piece.text) for piece in found) < 500 + 3100
    assert "".join(piece.text for piece in found) == text
    assert all(text[piece.start :].startswith(piece.text) for piece in found)


TEXTS = st.text(st.sampled_from("aB. \n#*`[]()<>&;-=äß首"), max_size=200)


@given(TEXTS, st.integers(20, 60))
@pytest.mark.parametrize("read", [read_text, read_markdown])
def test_plain_passages_are_found_again_by_their_offsets(tmp_path_factory, read, text: str, size: int) -> None:
    path = tmp_path_factory.mktemp("x") / "x.txt"
    path.write_bytes(text.encode())
    reading = read(path, None)
    last = 0
    for one in cut_whole(reading, size):
        there = text[one.start : one.end]
        assert one.start >= last
        last = one.end
        assert len(there) <= size
        assert one.text == reading.clean(there)
        assert any(c.isalnum() for c in there)


@given(
    st.lists(
        st.sampled_from(["<p>", "</p>", "<b>", "</b>", "<h2>", "</h2>", "&amp;", "word", " ", "\n", "é"]), max_size=40
    )
)
def test_html_passages_are_found_again_by_their_offsets(tmp_path_factory, parts: list[str]) -> None:
    path = tmp_path_factory.mktemp("x") / "x.html"
    text = "".join(parts)
    path.write_bytes(text.encode())
    for one in cut_whole(read_html(path, None), 1000):
        there = text[one.start : one.end]
        assert there.startswith(one.text[0])
        assert unescape(re.sub("<.*?>|\\s", "", there + ";" * there.endswith("&"))).startswith(
            re.sub(r"\s", "", one.text)[:-1]
        )


def test_soft_hyphens_are_no_part_of_a_word(write) -> None:
    page = write("x.html", "<p>Die Donau&shy;dampf&shy;schiffahrt")
    assert passages(read_html(page, None)) == [("", "Die Donaudampfschiffahrt")]
    assert passages(read_text(write("x.txt", "The inter\u00ad\nnational port."), None)) == [
        ("", "The international port.")
    ]


def test_passages_never_cross_sections() -> None:
    reading = Reading(
        "t", pieces=iter([Piece("a", "One. " * 50, 0), Piece("b", " -- \n", 250), Piece("c", "Two.", 255)])
    )
    found = cut_whole(reading, 100)
    assert {one.section for one in found} == {"a", "c"}
    assert all(len(one.text) <= 100 for one in found)


@pytest.mark.parametrize("read", [read_text, read_markdown, read_pdf, read_html])
def test_a_file_that_no_document_is_as_large_as_is_refused(write, read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(readers, "MOST_HTML", 1 << 20)
    large = write("large", b"word " * (1 << 18))
    with pytest.raises(UnreadableError, match="is larger than 1 MiB: no document is; part it"):
        passages(read(large, None))


@pytest.mark.parametrize("unit", ["<p>", "&amp;", "<a href=x>x</a> "])
def test_a_page_of_nothing_but_tags_is_refused_before_it_is_parsed(write, unit: str) -> None:
    page = write("page.html", unit * (readers.MOST_MARKS + 1))
    with pytest.raises(UnreadableError, match="has more than 1,000,000 tags and entities"):
        read_html(page, None)
