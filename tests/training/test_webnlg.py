"""WebNLG's own files: a few entries of the corpus in each of its forms, and the same damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from thinkgraph.errors import UsageError
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.training.pairs import read_pairs

# release_v2/xml; the Russian text is from ru_dev.xml of 2023, where English ones stand beside it.
XML = """<?xml version='1.0' encoding='utf-8'?>
<benchmark>
  <entries>
    <entry category="Astronaut" eid="Id1" size="1">
      <originaltripleset>
        <otriple>Alan_Bean | almaMater | "UT Austin, B.S. 1955"@en</otriple>
      </originaltripleset>
      <modifiedtripleset>
        <mtriple>Alan_Bean | almaMater | "UT Austin, B.S. 1955"</mtriple>
      </modifiedtripleset>
      <lex comment="toFix" lid="Id1">The Alma Mater of Alan Bean is UT Austin, B.S. 1955.</lex>
      <lex comment="good" lid="Id2">Alan Bean graduated in 1955 from UT Austin with a B.S.</lex>
    </entry>
    <entry category="Airport" eid="1" shape="(X (X))" shape_type="NA" size="1">
      <modifiedtripleset>
        <mtriple>Punjab,_Pakistan | leaderTitle | Provincial_Assembly_of_the_Punjab</mtriple>
      </modifiedtripleset>
      <lex comment="" lang="en" lid="Id1">The Punjab, Pakistan, is led by the Provincial Assembly of the Punjab.</lex>
      <lex comment="" lang="ru" lid="Id1">Пенджаб, Пакистан, возглавляется Провинциальной ассамблеей Пенджаба.</lex>
    </entry>
    <entry category="Airport" eid="Id2" size="1">
      <modifiedtripleset>
        <mtriple>Aarhus | leader | Jacob_Bundsgaard</mtriple>
      </modifiedtripleset>
      <lex comment="good" lid="Id1">
        <text>The leader of Aarhus is Jacob Bundsgaard.</text>
        <template>PATIENT-1 leads AGENT-1.</template>
      </lex>
    </entry>
  </entries>
</benchmark>
"""
LINES = [
    "(Alan Bean) -[alma mater]-> (UT Austin, B.S. 1955)",
    "(Punjab, Pakistan) -[leader title]-> (Provincial Assembly of the Punjab)",
    "(Aarhus) -[leader]-> (Jacob Bundsgaard)",
]
TEXTS = [
    ("Alan Bean graduated in 1955 from UT Austin with a B.S.",),
    ("The Punjab, Pakistan, is led by the Provincial Assembly of the Punjab.",),
    ("The leader of Aarhus is Jacob Bundsgaard.",),
]
ENTRY = {
    "category": "Airport",
    "lexicalisations": [
        {"comment": "good", "lang": "", "lex": "The leader of Aarhus is Jacob Bundsgaard.", "xml_id": "Id1"},
        {"comment": "good", "lang": "ru", "lex": "…", "xml_id": "Id2"},
    ],
    "modifiedtripleset": [{"object": "Jacob_Bundsgaard", "property": "leaderName", "subject": "Aarhus"}],
    "originaltriplesets": {"originaltripleset": [[]]},
    "size": "1",
}


def test_xml_as_published_alone_packed_and_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "dev" / "1triples"
    folder.mkdir(parents=True)
    file = folder / "1triple_allSolutions_Astronaut_dev_release.xml"
    file.write_text(XML, "utf-8")
    packed = tmp_path / "ru_dev.xml.gz"
    packed.write_bytes(gzip.compress(XML.encode()))
    for path in (file, packed, tmp_path / "dev"):
        rejects = Rejects()
        pairs = read_pairs([path], rejects)
        assert ([pair.line for pair in pairs], [pair.texts for pair in pairs]) == (LINES, TEXTS)
        assert not rejects.counts
    assert pairs[0].triples[0]["literal"]


@pytest.mark.parametrize("indent", [None, 3])
def test_json_as_published(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "webnlg_release_v2_dev.json"
    entries = [{"1": ENTRY}, {"2": {"category": "Airport"}}]
    file.write_text(json.dumps({"entries": entries}, indent=indent), "utf-8")
    rejects = Rejects()
    (pair,) = read_pairs([file], rejects)
    assert pair.line == "(Aarhus) -[leader name]-> (Jacob Bundsgaard)"
    assert pair.texts == TEXTS[2]
    assert [(reject["line"], reject["reason"]) for reject in rejects.kept] == [
        (2, "no entry of WebNLG (the number is the entry's)")
    ]


def test_xml_that_is_cut_off_gives_what_came_before(tmp_path: Path) -> None:
    file = tmp_path / "dev.xml"
    file.write_text(XML[: XML.index("Jacob_Bundsgaard")], "utf-8")
    rejects = Rejects()
    assert [pair.line for pair in read_pairs([file], rejects)] == LINES[:2]
    (reject,) = rejects.kept
    assert reject["reason"].startswith("bad XML (")
    file.write_text("<benchmark><entries>", "utf-8")
    with pytest.raises(UsageError, match=r"no line can be used \(dev\.xml, line 1: bad XML"):
        read_pairs([file], Rejects())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", '{"entries": [{"1": {"modified', "line 1: bad JSON"),
        ("a.json", '{"entries": []}', "there is no entry in them"),
        ("a.xml", "<benchmark/>", "holds no entry of WebNLG"),
        ("a.xml", XML.replace(" | ", "/"), 'line 13: field "triples": .* is no .subject, relation, object'),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, name: str, content: str, words: str) -> None:
    file = tmp_path / name
    file.write_text(content, "utf-8")
    with pytest.raises(UsageError, match=words) as raised:
        read_pairs([file], Rejects())
    assert "\n" not in str(raised.value)
