"""The Python of the README and of docs/integrations.md runs as it stands, and no link leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thinkgraph.version import VERSION

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
BLOCKS = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in (ROOT / "README.md", ROOT / "docs" / "integrations.md")
    for number, code in enumerate(_CODE.findall(page.read_text("utf-8")), start=1)
]


def test_the_citation_is_of_this_release() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_there_is_python_to_run() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("code", BLOCKS)
def test_python_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(code, "docs", "exec"), names)  # noqa: S102 - our own pages
    if "answer" in names:
        assert names["answer"]["status"] == "grounded"  # type: ignore[index]
        assert "Paramaribo" in names["answer"]["text"]  # type: ignore[index]
    if "print(" in code:
        assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = [link for link in _LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert dead == []
