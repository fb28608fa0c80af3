"""Figures that the papers report, to be shown beside ours and never compared as equals: others' models, graphs, samples.

They stand in `published.toml`, as printed. Each stands beside the metric it was made with. ToG-2's script counts a reply that holds
a gold answer, or stands in one, as an exact match; so does ToG's, with which FastToG says that its hit@1 can be compared (it published
no script of its own).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_NOTHING = "-"
_ROUNDING = 0.15
"""How far the shares of a whole may be from it, each being rounded to one decimal."""


class PaperFigure(NamedTuple):
    """One number of a paper."""

    row: str
    column: str
    """Empty where the paper's table has no second axis of settings."""
    measure: str
    """Our figure that is made the same way, of `ReportRow` or of an ablation's own."""
    metric: str
    """In the paper's words."""
    data: str
    """Name of the data set, as in `--data`."""
    label: str
    """The data set, or the part of it, for people."""
    model: str
    sample: str
    """What else is the paper's own: how many questions, which split; empty where it says nothing."""
    printed: str


class PaperTable(NamedTuple):
    """What a paper prints in one table or figure."""

    source: str
    figures: list[PaperFigure]
    unread: str
    """Why there are none ("a picture"); empty where there are."""
    model: str
    data: str
    """The paper's own, where no figures tell; empty where it does not say."""
    faults: list[str]
    """What does not add up as printed."""
    bench: Mapping[str, str]
    """Rows that are a method of a bench as it is: row to method, after a colon what sets the row apart."""


@cache
def paper_tables() -> Mapping[str, PaperTable]:
    """All of them, by the ablation's name."""
    read = tomllib.loads(files("thinkgraph.eval.reports").joinpath("published.toml").read_text("utf-8"))
    names = read.pop("names")
    return {name: _table(given, names) for name, given in read.items()}


def _table(given: Mapping[str, Any], names: Mapping[str, str]) -> PaperTable:
    figures, faults = [], []
    for block in given.get("blocks", []):
        series = block.get("series") or given["series"]
        for row, printed in block["rows"].items():
            values = printed.split()
            for one, value in zip(series, values, strict=True):
                said = {"column": "", "sample": "", **given, **block, **one, "row": row, "printed": value}
                said["label"] = said.get("label") or names[said["data"]]
                if value != _NOTHING:
                    figures.append(PaperFigure(**{name: said[name] for name in PaperFigure._fields}))
            if (whole := block.get("whole")) and abs(total := sum(map(float, values)) - whole) > _ROUNDING:
                faults.append(f"as printed, the row {row} adds up to {whole + total:.1f}, not to {whole}")
    return PaperTable(
        source=given["source"],
        figures=figures,
        unread=given.get("unread", ""),
        model=given.get("model", ""),
        data=given.get("on", ""),
        faults=faults,
        bench=given.get("bench", {}),
    )


class Published(NamedTuple):
    """A figure of a paper on a data set, for the page of a bench."""

    method: str
    setting: str
    metric: str
    """In the paper's words."""
    column: str
    """Our figure that is made the same way, of `ReportRow`."""
    source: str
    printed: str


def published_for(dataset: str) -> list[Published]:
    """What the papers report on a data set for methods that a bench runs as they are."""
    return [
        Published(
            method=method,
            setting=", ".join(filter(None, [figure.model, apart.strip(), figure.sample])),
            metric=figure.metric,
            column=figure.measure,
            source=table.source,
            printed=figure.printed,
        )
        for table in paper_tables().values()
        for figure in table.figures
        if figure.data == dataset
        for method, _, apart in [table.bench.get(figure.row, "").partition(":")]
        if method
    ]
