"""The figures of models by role: a table, what each model is good enough for, and a configuration made of that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

from typing_extensions import TypedDict

from thinkgraph.eval.reports.results import aligned, shown
from thinkgraph.eval.roles.asking import Asked
from thinkgraph.eval.roles.cases import SORTS, Case, Sort
from thinkgraph.eval.roles.main_path import JUDGING, READABLE, RECALL
from thinkgraph.eval.roles.scoring import choices, figures
from thinkgraph.prompts.library import PromptLibrary


class RoleRow(TypedDict):
    """One model in one role. A share that no case tells is None."""

    role: str
    model: str
    measured: Sort
    cases: int
    calls: int
    readable: float
    """Share of calls whose first reply could be read."""
    repaired: float
    fell_back: float
    """Share of calls without a readable reply, refused ones included."""
    recall: float | None
    precision: float | None
    none: float | None
    """Choosing: share that chooses nothing where nothing fits."""
    same: float | None
    """Choosing: share of cases with the same choice under both orders."""
    can: float | None
    must: float | None
    wrong: float | None
    input_tokens: float
    """Mean of a call, repair included."""
    output_tokens: float
    seconds: float
    """Median of a call."""
    holds: bool
    encoder: bool
    """Whether the encoder chose in the model's place: the figures are not the model's."""


_SHARES = ("recall", "precision", "none", "can", "must", "wrong")
_COLUMNS = {
    "role": "role",
    "model": "model",
    "cases": "cases",
    "readable": "readable",
    "repaired": "repaired",
    "fell_back": "fell back",
    **{name: name for name in ("recall", "precision", "none", "same", "can", "must", "wrong")},
    "input_tokens": "in",
    "output_tokens": "out",
    "seconds": "s p50",
    "holds": "holds",
}
_WHOLE = ("input_tokens", "output_tokens")


def rows_of(cases: Sequence[Case], asked: Mapping[str, Sequence[Asked]], prompts: PromptLibrary) -> list[RoleRow]:
    """A row for each role and model, roles in the cases' order, models in the given one.

    Args:
        cases: what was asked.
        asked: the replies by model.
        prompts: tells each role's kind of reply.
    """
    known = {case.id: case for case in cases}
    rows = []
    for role in dict.fromkeys(case.role for case in cases):
        kind = prompts.get(role).kind.name
        for model, replies in asked.items():
            rows.append(
                _row(role, kind, model, [(known[one["id"]], one) for one in replies if known[one["id"]].role == role])
            )
    return rows


def _row(role: str, kind: str, model: str, pairs: Sequence[tuple[Case, Asked]]) -> RoleRow:
    found = [figures(case, kind, one["value"], one["shown"]) for case, one in pairs]
    mean = {name: _mean(each[name] for each in found if name in each) for name in _SHARES}
    read = [one["value"] is not None for _, one in pairs]
    at_once = [known and len(one["replies"]) <= 1 for known, (_, one) in zip(read, pairs, strict=True)]
    readable, sort = fmean(at_once), SORTS[kind]
    quality, enough = mean["recall"], RECALL
    if sort == "judging":
        # One share alone tells no judge from a model that always answers, or never.
        can, must = mean["can"], mean["must"]
        quality, enough = None if can is None or must is None else (can + must) / 2, JUDGING
    return RoleRow(
        role=role,
        model=model,
        measured=sort,
        cases=len({case.id for case, _ in pairs}),
        calls=len(pairs),
        readable=readable,
        repaired=fmean(known and not once for known, once in zip(read, at_once, strict=True)),
        fell_back=1 - fmean(read),
        recall=mean["recall"],
        precision=mean["precision"],
        none=mean["none"],
        same=_same(kind, pairs),
        can=mean["can"],
        must=mean["must"],
        wrong=mean["wrong"],
        input_tokens=fmean(one["input_tokens"] for _, one in pairs),
        output_tokens=fmean(one["output_tokens"] for _, one in pairs),
        seconds=median(one["seconds"] for _, one in pairs),
        holds=readable >= READABLE and quality is not None and quality >= enough,
        encoder=not any(one["replies"] or one["error"] for _, one in pairs),
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


def _same(kind: str, pairs: Sequence[tuple[Case, Asked]]) -> float | None:
    """The share of cases with the same choice under both orders; of more right options than the cut leaves, any will do."""
    chosen: dict[str, list[tuple[set[object] | None, bool]]] = {}
    for case, one in pairs:
        if case.order:
            made = None if one["value"] is None else set(choices(case, kind, one["value"], one["shown"]))
            scores = figures(case, kind, one["value"], one["shown"])
            chosen.setdefault(case.id, []).append((made, scores.get("recall") == scores.get("precision") == 1.0))
    return _mean(
        float((first[0] is not None and first[0] == second[0]) or (first[1] and second[1]))
        for first, second in chosen.values()
    )


def render(rows: Sequence[RoleRow]) -> str:
    """The table as text; of one model without its name."""
    models = {row["model"] for row in rows}
    columns = [name for name in _COLUMNS if name != "model" or len(models) > 1]
    cells = [[_cell(name, row[name]) for name in columns] for row in rows]  # type: ignore[literal-required]
    return "\n".join(aligned([[_COLUMNS[name] for name in columns], *cells], left=1 + (len(models) > 1)))


def _cell(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if name in _WHOLE else f"{value:.2f}"
    return shown(value)


def verdicts(rows: Sequence[RoleRow]) -> list[str]:
    """For each model, one line: what it is good enough for, and what not; which judging roles have one share alone; where the encoder
    chose in its place.
    """
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        found: dict[str, list[str]] = {"good enough for": [], "not for": []}
        for row in rows:
            if row["model"] == model:
                found.setdefault(_verdict(row), []).append(row["role"])
        lines.append(f"{model}: " + "; ".join(f"{said}: {', '.join(of) or 'nothing'}" for said, of in found.items()))
    return lines


def _verdict(row: RoleRow) -> str:
    if row["measured"] == "judging" and None in {row["can"], row["must"]}:
        return "not measured on both can and must"
    if row["encoder"]:
        return "by the encoder"
    return "good enough for" if row["holds"] else "not for"


TOML_HEAD = "# The first model that holds in each role, by `thinkgraph bench roles`."
"""The first line of what `toml` gives; a file that begins otherwise is somebody's own."""


def toml(rows: Sequence[RoleRow]) -> str:
    """Text for `thinkgraph.toml`: each role with the first model that holds, the last model for all others.

    The models were named from small to large.
    """
    models = list(dict.fromkeys(row["model"] for row in rows))
    out = [TOML_HEAD, "[model]"]
    out.append(f"default = {json.dumps(models[-1])}")
    for role in dict.fromkeys(row["role"] for row in rows):
        own = [row for row in rows if row["role"] == role]
        first = next((row["model"] for row in own if row["holds"] and not row["encoder"]), None)
        if first is None:
            by = ", ".join(row["model"] for row in own if row["encoder"])
            out.append(f"# {role}: " + (f"the encoder chooses for {by}" if by else "no model here holds"))
        elif first != models[-1]:
            out.append(f"{json.dumps(role)} = {json.dumps(first)}")
    return "\n".join(out) + "\n"
