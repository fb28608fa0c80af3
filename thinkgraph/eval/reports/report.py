"""A bench as a page: tables with intervals, comparisons question by question, plots, and the papers' figures beside ours.

`report.md` and `report.html` depend on the answers alone: a bench that was killed and continued gives the same bytes as
one that was not. What depends on clocks and caches stands in `timing.md`.
"""

from __future__ import annotations

import html
import io
import itertools
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgraph.eval.files import make_folder, write_text
from thinkgraph.eval.reports.published import published_for
from thinkgraph.eval.reports.results import BenchResult, ReportRow, shown, table
from thinkgraph.eval.reports.stats import paired
from thinkgraph.models.prices import Prices
from thinkgraph.prompts.lines import one_line

_ANSWER_COLUMNS = ["method", "n", "hits1", "em", "em_contains", "f1", "rouge_l", "partial", "complete"]
_OUTCOME_COLUMNS = ["method", "n", "hits1", "missing", "hallucinated", "evidence_precision", "evidence_recall"]
_COST_COLUMNS = [
    "method",
    "calls_mean",
    "calls_max",
    "bound",
    "above",
    "apart_calls_mean",
    "input_tokens_mean",
    "output_tokens_mean",
    "cost_mean",
    "rounds_mean",
    "round_trips_mean",
]
_TIME_COLUMNS = ["method", "n", "seconds_mean", "seconds_p50", "seconds_p95", "encoder_texts_mean"]
_MEANT = """`hits1`: the first answer is a gold one (for statements: label accuracy); `em`: exactly the gold answers;
`em_contains`: what the scripts of ToG and ToG-2 call exact match, the reply holds a gold answer or stands in one; `partial`: at least one of them; `complete`: all of them; `f1`, `rouge_l`: words in common. Answers count with their published
aliases. `missing`: no answer though there is one; `hallucinated`: an answer that is not gold. Ranges are 95 % bootstrap intervals.
`bound`: the most calls by the method's paper (the largest where it depends on the question); `above`: questions that took more.
Calls of an LLM ranker, or of one that writes communities as prose, are counted apart."""


def write_report(
    folder: Path, results: Sequence[BenchResult], plan: Mapping[str, Any], *, prices: Prices | None = None
) -> None:
    """Write report.md, report.html, their plots and timing.md.

    Args:
        folder: where to; made if it is not there.
        results: of all methods and questions.
        plan: what was run (`plan_record`).
        prices: additions to the built-in price table.

    Raises:
        UsageError: the folder cannot be written.
    """
    rows = table(results, seed=plan["seed"], prices=prices)
    text = _markdown(results, rows, plan)
    plots = _plots(results, rows)
    pictures = "".join(f"\n### {title}\n\n![{title}]({name})\n" for name, title, _ in plots)
    times = _grid([row for row in rows if row["type"] == "all"], _TIME_COLUMNS)
    files = {
        "report.md": f"{text}\n## Plots\n{pictures}" if plots else text,
        "report.html": _html(text, plots, f"Bench of {plan['data']}"),
        "timing.md": f"# Seconds and texts encoded a question\n\n{times}\n",
        **{name: svg for name, _, svg in plots},
    }
    make_folder(folder)
    for name, content in files.items():
        write_text(folder / name, content)


def _markdown(results: Sequence[BenchResult], rows: Sequence[ReportRow], plan: Mapping[str, Any]) -> str:
    whole = [row for row in rows if row["type"] == "all"]
    parts = [
        f"# Bench of {plan['data']}",
        (
            f"{plan['questions']} question{'s' * (plan['questions'] != 1)} over `{plan['knowledge']}` ({plan['fingerprint'][:12]}), model "
            f"`{plan['model']}`, seed {plan['seed']}, entities {'given' if plan['gold_entities'] else 'linked by us'}, "
            f"thinkgraph {plan['version']}."
        ),
        "## Answers",
        _MEANT,
        _grid([{**row, "hits1": _with_range(row)} for row in whole], _ANSWER_COLUMNS),
        "## Outcomes and evidence",
        _grid(whole, _OUTCOME_COLUMNS),
        "## Cost a question",
        _grid(whole, _COST_COLUMNS),
        "## By kind of question (hits@1)",
        _by(rows),
        "## By depth reached (hits@1)",
        _by_depth(results),
    ]
    methods = list(plan["methods"])
    if len(methods) > 1:
        parts += ["## Question by question (hits@1)", _pairs(results, methods, plan["seed"])]
    if known := published_for(str(plan["data"]).partition(":")[0]):
        ours = {row["method"]: row for row in whole}
        lines = []
        for one in known:
            here = _ours(ours.get(one.method), one.column)
            lines.append([one.method, one.setting, one.metric, f"{one.printed} %", one.column, here, one.source])
        parts += [
            "## What the papers report",
            (
                "**Others' settings**: other models, other graphs, other samples of questions. Not comparable with the "
                "figures above; they only show the order of magnitude. Beside each stands the figure of this bench that is made the same way."
            ),
            _lines(["method", "setting", "metric", "value", "our column", "here", "source"], lines),
        ]
    settings = [
        [name, ", ".join(f"{key}={value}" for key, value in sorted(chosen.items()))]
        for name, chosen in plan["methods"].items()
    ]
    parts += ["## Settings", _lines(["method", "settings"], settings)]
    return "\n\n".join(parts) + "\n"


def _ours(row: ReportRow | None, column: str) -> str:
    value = row[column] if row else None  # type: ignore[literal-required]
    return "–" if value is None else f"{100 * value:.1f} %"


def _with_range(row: ReportRow) -> str:
    return f"{row['hits1']:.3f} ({row['hits1_low']:.3f}–{row['hits1_high']:.3f})"


def _grid(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    # Of a cheap model a question costs a few hundredths of a cent.
    cells = [[shown(row[name], "–", digits=6 if name == "cost_mean" else 3) for name in columns] for row in rows]
    return _lines(columns, cells)


def _lines(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    safe = [[one_line(cell).replace("|", "\\|") for cell in line] for line in cells]
    rule = "|".join("---" for _ in columns)
    return "\n".join([f"| {' | '.join(columns)} |", f"|{rule}|", *(f"| {' | '.join(line)} |" for line in safe)])


def _by(rows: Sequence[ReportRow]) -> str:
    methods = list(dict.fromkeys(row["method"] for row in rows))
    kinds = list(dict.fromkeys(row["type"] for row in rows))
    hits = {(row["method"], row["type"]): f"{row['hits1']:.3f}" for row in rows}
    most = {kind: max(row["n"] for row in rows if row["type"] == kind) for kind in kinds}
    lines = [[kind, str(most[kind]), *(hits.get((method, kind), "–") for method in methods)] for kind in kinds]
    return _lines(["kind", "n", *methods], lines)


def _depths(results: Sequence[BenchResult]) -> dict[str, dict[int, list[float]]]:
    found: dict[str, dict[int, list[float]]] = {}
    for result in results:
        hits = found.setdefault(result["method"], {}).setdefault(result["answer"]["rounds"], [])
        hits.append(result["scores"]["hits1"])
    return found


def _by_depth(results: Sequence[BenchResult]) -> str:
    found = _depths(results)
    deepest = max((depth for depths in found.values() for depth in depths), default=0)
    lines = [
        [str(depth)]
        + [
            f"{sum(hits) / len(hits):.3f} (n={len(hits)})" if (hits := depths.get(depth)) else "–"
            for depths in found.values()
        ]
        for depth in range(deepest + 1)
    ]
    return _lines(["rounds", *found], lines)


def _pairs(results: Sequence[BenchResult], methods: Sequence[str], seed: int) -> str:
    hits = {(result["method"], result["id"]): result["scores"]["hits1"] for result in results}
    ids = sorted({result["id"] for result in results})
    lines = []
    for first, second in itertools.combinations(methods, 2):
        both = [key for key in ids if (first, key) in hits and (second, key) in hits]
        found = paired([hits[first, key] for key in both], [hits[second, key] for key in both], seed=seed)
        gap = f"{found['difference']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f})"
        lines.append(
            [first, second, str(found["n"]), gap, str(found["wins"]), str(found["losses"]), f"{found['p']:.3g}"]
        )
    columns = ["first", "second", "n", "difference", "only first right", "only second right", "p (McNemar, exact)"]
    return _lines(columns, lines)


# --- plots ----------------------------------------------------------------------------------------------------------

Plot = tuple[str, str, str]
"""File name, title, SVG."""


def _plots(results: Sequence[BenchResult], rows: Sequence[ReportRow]) -> list[Plot]:
    plots = [
        _scatter(rows, ("calls_mean",), "model calls a question", "accuracy-calls.svg"),
        _scatter(rows, ("input_tokens_mean", "output_tokens_mean"), "tokens a question", "accuracy-tokens.svg"),
        _bars(rows),
        _curves(results),
    ]
    return [plot for plot in plots if plot[-1]]


def figure(draw: Callable[[Any], None], width: float = 6.4) -> str:
    """A plot of hits@1 as SVG; empty where matplotlib is not installed.

    Args:
        draw: draws on the axes it is given.
        width: in inches.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    out = io.StringIO()
    # A fixed salt and no date: the same answers give the same bytes. A type with dollars is no formula.
    with (
        mpl.rc_context(
            {"svg.hashsalt": "thinkgraph", "svg.fonttype": "path", "font.size": 9, "text.parse_math": False}
        ),
        warnings.catch_warnings(),
    ):
        # A box stands for what the font lacks, a type in Japanese for example.
        warnings.filterwarnings("ignore", "Glyph ")
        picture = Figure(figsize=(width, 3.6), layout="constrained")
        axes = picture.subplots()
        draw(axes)
        axes.set_ylabel("hits@1")
        axes.grid(visible=True, alpha=0.3)
        picture.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _scatter(rows: Sequence[ReportRow], columns: Sequence[str], words: str, name: str) -> Plot:
    def draw(axes: Any) -> None:
        for row in (row for row in rows if row["type"] == "all"):
            at = sum(row[column] for column in columns)  # type: ignore[literal-required]
            low, high = row["hits1"] - row["hits1_low"], row["hits1_high"] - row["hits1"]
            axes.errorbar([at], [row["hits1"]], yerr=[[max(low, 0)], [max(high, 0)]], fmt="o", capsize=3)
            axes.annotate(row["method"], (at, row["hits1"]), textcoords="offset points", xytext=(5, 5))
        axes.set_xlabel(words)
        axes.set_ylim(-0.02, 1.05)
        axes.set_xlim(left=0)

    return name, f"Accuracy against {words}", figure(draw)


def _bars(rows: Sequence[ReportRow]) -> Plot:
    methods = list(dict.fromkeys(row["method"] for row in rows))
    kinds = list(dict.fromkeys(row["type"] for row in rows))
    known = {(row["method"], row["type"]): row["hits1"] for row in rows}

    def draw(axes: Any) -> None:
        width = 0.8 / len(methods)
        for at, method in enumerate(methods):
            places = [kind + (at + 0.5) * width - 0.4 for kind in range(len(kinds))]
            axes.bar(places, [known.get((method, kind), 0.0) for kind in kinds], width, label=method)
        axes.set_xticks(range(len(kinds)), map(one_line, kinds), rotation=20, ha="right")
        axes.set_ylim(0, 1.05)
        axes.legend(fontsize=7, ncols=min(len(methods), 4))

    return "accuracy-kind.svg", "Accuracy by kind of question", figure(draw, max(6.4, 0.8 * len(kinds)))


def _curves(results: Sequence[BenchResult]) -> Plot:
    def draw(axes: Any) -> None:
        for method, depths in _depths(results).items():
            places = sorted(depths)
            means = [round(sum(depths[depth]) / len(depths[depth]), 4) for depth in places]
            axes.plot(places, means, marker="o", label=method)
        axes.set_xlabel("rounds")
        axes.set_ylim(-0.02, 1.05)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(fontsize=7)

    return "accuracy-depth.svg", "Accuracy by depth reached", figure(draw)


# --- HTML -----------------------------------------------------------------------------------------------------------

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}th,td{padding:.25rem .7rem;
border-bottom:1px solid #ddd;text-align:left;vertical-align:top}th{border-bottom:2px solid #999}
figure{margin:1rem 0}svg{max-width:100%;height:auto}code{background:#f3f3f3;padding:0 .2rem}"""


def _html(text: str, plots: Sequence[Plot], title: str) -> str:
    figures = "".join(
        f"<figure>{svg[svg.index('<svg') :]}<figcaption>{html.escape(name)}</figcaption></figure>\n"
        for _, name, svg in plots
    )
    blocks = "\n".join(_block(block) for block in text.strip().split("\n\n"))
    plots_ = f"<h2>Plots</h2>\n{figures}" if plots else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>\n{blocks}\n{plots_}</body></html>\n"
    )


def _block(block: str) -> str:
    if found := re.match(r"(#{1,3}) (.*)", block):
        level = len(found[1])
        return f"<h{level}>{_inline(found[2])}</h{level}>"
    if block.startswith("| "):
        head, _, *body = [_cells(line) for line in block.split("\n")]
        rows = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in line)}</tr>\n" for line in body)
        return f"<table><tr>{''.join(f'<th>{_inline(cell)}</th>' for cell in head)}</tr>\n{rows}</table>"
    return f"<p>{_inline(block)}</p>"


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _inline(text: str) -> str:
    plain = html.escape(text)
    plain = re.sub(r"`([^`]*)`", r"<code>\1</code>", plain)
    return re.sub(r"\*\*([^*]*)\*\*", r"<strong>\1</strong>", plain)
