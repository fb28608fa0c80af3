"""A table as text, in the paper's shape: beside our figures the paper's own, each by the figure that is made as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.eval.ablations import ablation
from thinkgraph.eval.ablations.cells import AblationCell
from thinkgraph.eval.ablations.figures import Figures
from thinkgraph.eval.ablations.table import Measure
from thinkgraph.eval.reports.published import PaperFigure, paper_tables
from thinkgraph.eval.reports.results import aligned

_WIDEST = 120
"""A table with longer lines has the paper's columns numbered, and named below."""


@dataclass(frozen=True)
class RunNote:
    """What a table was made with, for the line that says what differs from the paper."""

    data: str
    """The data set's name ("webqsp"); the paper's figures on it are shown alone where it has some."""
    file: str
    """The data as the user gave it, without the path."""
    questions: int
    knowledge: str
    model: str
    seed: int
    preset: str
    gold_entities: bool = False


def beside(name: str, dataset: str) -> list[PaperFigure]:
    """The paper's figures that stand beside ours: those on the same data set, or all where it has none on it."""
    figures = paper_tables()[name].figures
    return [figure for figure in figures if figure.data == dataset] or figures


def differs(name: str, note: RunNote) -> str:
    """In one line what differs from the paper: model, data, seed, settings."""
    figures, paper = beside(name, note.data), paper_tables()[name]
    models = _listed(figure.model for figure in figures) or paper.model or "not named"
    sets = _listed(figure.label for figure in figures) or paper.data or "not named"
    sample = "".join(f", {one}" for one in dict.fromkeys(figure.sample for figure in figures) if one)
    preset = "preset=paper" if note.preset == "paper" else "our settings, not the paper's (--preset paper)"
    topics = "given" if note.gold_entities else "linked by us"
    asked = f"{note.questions} question{'s' * (note.questions != 1)} of {note.file}"
    return (
        f"Differs from the paper: model {note.model} (theirs: {models}); data {asked} over "
        f"{note.knowledge}, entities {topics} (theirs: {sets}{sample}); seed {note.seed} (theirs: not given); {preset}."
    )


def render(name: str, made: Sequence[AblationCell], rows: Mapping[str, Figures], note: RunNote) -> str:
    """The table.

    Args:
        name: the table's.
        made: its cells.
        rows: figures by the cells' keys; a cell without any is shown as "-".
        note: what it was made with.
    """
    table, paper = ablation(name), paper_tables()[name]
    figures = beside(name, note.data)
    columns = [column for column in table.columns if any(cell.column == column for cell in made)]
    there = {cell.row for cell in made} | {figure.row for figure in figures}
    names = [row for row in table.rows if row in there]
    at = {(cell.row, cell.column): cell.key for cell in made}

    def ours(row: str, column: str, measure: Measure) -> str:
        value = rows.get(at.get((row, column), ""), {}).get(measure.column)
        if value is None:
            return "-"
        return f"{100 * value:.1f}" if measure.percent else f"{value:.2f}"

    lines = [f"{paper.source}: {table.title}", *([f"({table.note})"] if table.note else [])]
    if len(columns) == 1:
        lines += ["", *_one_column(table.measures, names, columns[0], figures, ours)]
    else:
        for measure in table.measures:
            lines += ["", *aligned(_several_columns(measure, names, columns, figures, ours))]
    return "\n".join([*lines, "", *_legend(table.measures, figures, paper.unread), *paper.faults, differs(name, note)])


_Ours = Callable[[str, str, Measure], str]


def _series(measure: Measure, figures: Sequence[PaperFigure]) -> dict[str, list[PaperFigure]]:
    """The paper's figures beside one of ours, by what tells them apart: data set or its part, and model."""
    labels, models = ({getattr(figure, part) for figure in figures} for part in ("label", "model"))
    found: dict[str, list[PaperFigure]] = {}
    for figure in figures:
        if figure.measure == measure.column:
            parts = [figure.label] * (len(labels) > 1) + [figure.model] * (len(models) > 1)
            found.setdefault(", ".join(parts) or "paper", []).append(figure)
    return found


def _one_column(
    measures: Sequence[Measure], names: Sequence[str], column: str, figures: Sequence[PaperFigure], ours: _Ours
) -> list[str]:
    """One table of all figures: after each of ours the paper's. Where that is too wide, its columns are numbered."""
    heads, bodies, titles = [""], [[row] for row in names], []
    for measure in measures:
        heads.append(measure.title)
        for body in bodies:
            body.append(ours(body[0], column, measure))
        for title, found in _series(measure, figures).items():
            printed = {figure.row: figure.printed for figure in found}
            titles.append(title)
            heads.append(f"[{title}]")
            for body in bodies:
                body.append(printed.get(body[0], ""))
    lines = aligned([heads, *bodies])
    if len(lines[0]) <= _WIDEST:
        return lines
    numbers = iter(range(1, len(titles) + 1))
    short = [f"[{next(numbers)}]" if head.startswith("[") else head for head in heads]
    return [*aligned([short, *bodies]), "", *(f"[{number}] {title}" for number, title in enumerate(titles, start=1))]


def _several_columns(
    measure: Measure, names: Sequence[str], columns: Sequence[str], figures: Sequence[PaperFigure], ours: _Ours
) -> list[list[str]]:
    """The table of one figure, under each row of ours the paper's."""
    lines = [[measure.title, *columns]]
    for row in names:
        lines.append([row, *(ours(row, column, measure) for column in columns)])
        for title, found in _series(measure, figures).items():
            printed = {figure.column: figure.printed for figure in found if figure.row == row}
            if printed:
                lines.append([f"  [{title}]", *(printed.get(column, "") for column in columns)])
    return lines


def _legend(measures: Sequence[Measure], figures: Sequence[PaperFigure], unread: str) -> list[str]:
    """What stands in brackets, and beside which of our figures."""
    if unread:
        return [f"The paper's figure is {unread}: its values cannot be read, so none of them stands here."]
    metrics = [
        f"its {_listed((figure.metric for figure in figures if figure.measure == measure.column), ' or ')} beside {measure.title}"
        for measure in measures
        if any(figure.measure == measure.column for figure in figures)
    ]
    return [f"[…]: the paper's own figures as printed, not comparable as equals: {', '.join(metrics)}."]


def _listed(names: Iterable[str], between: str = ", ") -> str:
    return between.join(dict.fromkeys(names))
