"""The cells of a table: a method with settings each; equal ones run once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thinkgraph.errors import UsageError
from thinkgraph.eval.ablations.table import G2T, METHOD, PLUS, PRESETS, TASK, Ablation, Settings
from thinkgraph.graphs.registry import find_method
from thinkgraph.state.settings import resolve_settings

_PAPER: Settings = {"backtracks": 0}
"""The papers' searches do not go back, the baselines' neither."""


@dataclass(frozen=True)
class CellRun:
    """A method with settings, over all questions."""

    method: str
    settings: Settings
    key: str
    """The same for the same method with the same settings: also the name of its record file."""


@dataclass(frozen=True)
class AblationCell:
    """One place in a table."""

    row: str
    column: str
    run: CellRun
    plus: CellRun | None = None
    """What its answers are merged with."""

    @property
    def key(self) -> str:
        """The same for cells with the same answers."""
        return f"{self.run.key}+{self.plus.key}" if self.plus else self.run.key

    @property
    def place(self) -> str:
        """Row and column, for messages."""
        return " ".join(part for part in (self.row, self.column) if part)


def runs(cells: Iterable[AblationCell]) -> dict[str, tuple[CellRun, str]]:
    """What the cells need, each once, by key: and the place it is first needed for."""
    found: dict[str, tuple[CellRun, str]] = {}
    for cell in cells:
        for run in filter(None, (cell.run, cell.plus)):
            found.setdefault(run.key, (run, cell.place))
    return found


def cells(
    table: Ablation,
    *,
    extra: Settings | None = None,
    g2t: str | None = None,
    leave_out: Sequence[str] = (),
) -> list[AblationCell]:
    """The cells of a table, row by row.

    Args:
        table: the table.
        extra: the user's settings (preset and task among them), for every cell whose method has them; a cell's own settings win.
        g2t: graph-to-text model; None: cells with one are left out.
        leave_out: names of rows and columns to leave out.

    Raises:
        UsageError: a name to leave out that the table does not have, nothing is left, or a setting that no method has.
        SettingsError: a setting out of range.
    """
    if unknown := sorted({*leave_out} - {*table.rows, *table.columns}):
        known = ", ".join(name for name in (*table.rows, *table.columns) if name)
        raise UsageError(f"the table has no row or column '{unknown[0]}'; known: {known}")
    wanted = extra or {}
    made: list[AblationCell] = []
    taken: set[str] = set()
    for row, of_row in table.rows.items():
        for column, of_column in table.columns.items():
            given = {**table.settings, **of_row, **of_column}
            only, plus, method = given.pop(TASK, None), given.pop(PLUS, ""), str(given.pop(METHOD, table.method))
            if not method or row in leave_out or column in leave_out or only not in {None, wanted.get("task")}:
                continue
            if given.get("community_text") == G2T:
                if not g2t:
                    continue
                given["community_text"] = f"{G2T}{g2t}"
            run = _run(method, given, wanted)
            beside = _run(plus, table.settings, wanted) if plus else None
            taken |= find_method(method).settings.model_fields.keys()
            made.append(AblationCell(row, column, run, beside))
    if not made:
        raise UsageError("nothing is left of the table: the cells with graph-to-text need --g2t MODEL")
    if lost := sorted(wanted.keys() - taken):
        raise UsageError(f"none of the methods of this table has a setting '{lost[0]}'")
    return made


def _run(method: str, given: Settings, wanted: Settings) -> CellRun:
    """A method takes of the table's and the user's settings those that it has."""
    schema = find_method(method).settings
    first = _PAPER if wanted.get("preset") == "paper" else {}
    settings = {
        key: value
        for key, value in {**first, **wanted, **given}.items()
        if key in schema.model_fields and value != PRESETS
    }
    whole = json.dumps(resolve_settings(schema, settings).model_dump(mode="json"), sort_keys=True)
    return CellRun(method, settings, f"{method}-{hashlib.sha256(whole.encode()).hexdigest()[:12]}")
