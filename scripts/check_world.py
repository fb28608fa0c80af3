"""Verifies the example knowledge base `world`; prints one line per fault and exits non-zero if there is one."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

DEFAULT = Path(__file__).parent.parent / "thinkgraph" / "data" / "world"
FILES = (
    "triples.tsv",
    "literals.tsv",
    "entities.tsv",
    "aliases.json",
    "passages.jsonl",
    "questions.jsonl",
    "README.md",
)
MINIMUM = {
    "1hop": 14, "2hop": 18, "3hop": 8, "intersection": 8, "comparison": 8, "kg+text": 22, "ambiguous": 8, "unanswerable": 10,
}  # fmt: skip
MOST_BYTES = 3_000_000
RUN = 8  # words in a row that may not be shared with the source
BRANCHING = {"intersection", "comparison"}

Row = dict[str, Any]


class Base:
    """The files of the knowledge base, and the faults found in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[str] = []
        self.triples = self._table("triples.tsv", ("subject", "relation", "object", "qualifiers"))
        self.literals = self._table("literals.tsv", ("subject", "relation", "value", "qualifiers"))
        entities = self._table("entities.tsv", ("id", "label", "type", "description"))
        self.label = {row[0]: row[1] for row in entities}
        self.entities = entities
        self.aliases: dict[str, list[str]] = json.loads((folder / "aliases.json").read_text(encoding="utf-8"))
        self.passages = self._lines("passages.jsonl")
        self.questions = self._lines("questions.jsonl")
        self.passage = {p["id"]: p for p in self.passages}
        self.forward: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.backward: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.value: dict[tuple[str, str], list[str]] = defaultdict(list)
        for subject, relation, obj, _ in self.triples:
            self.forward[subject, relation].append(obj)
            self.backward[obj, relation].append(subject)
        for subject, relation, value, _ in self.literals:
            self.value[subject, relation].append(value)

    def fault(self, text: str) -> None:
        """Notes a fault."""
        self.faults.append(text)

    def _table(self, name: str, header: tuple[str, ...]) -> list[list[str]]:
        rows = [line.split("\t") for line in (self.folder / name).read_text(encoding="utf-8").rstrip("\n").split("\n")]
        if tuple(rows[0]) != header:
            self.fault(f"{name}: header is {rows[0]}")
        for number, row in enumerate(rows[1:], 2):
            if len(row) != len(header) or any(cell != cell.strip() for cell in row) or not all(row[:3]):
                self.fault(f"{name}:{number}: malformed row {row}")
        return [row for row in rows[1:] if len(row) == len(header)]

    def _lines(self, name: str) -> list[Row]:
        text = (self.folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def check_files(base: Base) -> None:
    """Presence, size and line ends."""
    total = 0
    for name in FILES:
        path = base.folder / name
        if not path.is_file():
            base.fault(f"{name}: missing")
            continue
        data = path.read_bytes()
        total += len(data)
        if b"\r" in data:
            base.fault(f"{name}: carriage return")
        if not data.endswith(b"\n"):
            base.fault(f"{name}: no newline at the end")
    if total > MOST_BYTES:
        base.fault(f"all files: {total} bytes")


def check_tables(base: Base) -> None:  # noqa: C901, PLR0912
    """Counts, ids, labels, relations, values and aliases."""
    if len(base.triples) + len(base.literals) < 8000:
        base.fault(f"only {len(base.triples) + len(base.literals)} facts")
    if len(base.entities) < 1500:
        base.fault(f"only {len(base.entities)} entities")
    for name, count in Counter(row[0] for row in base.entities).items():
        if count > 1:
            base.fault(f"entities.tsv: id {name!r} occurs {count} times")
    used = {row[0] for row in base.triples} | {row[2] for row in base.triples} | {row[0] for row in base.literals}
    for name in sorted(used - set(base.label)):
        base.fault(f"unknown entity {name!r} in a fact")
    for name in sorted(set(base.label) - used):
        base.fault(f"entity {name!r} has no fact")
    for rows, kind in ((base.triples, "triples"), (base.literals, "literals")):
        for key, count in Counter((r[0], r[1], r[2]) for r in rows).items():
            if count > 1:
                base.fault(f"{kind}.tsv: {key} occurs {count} times")
        for row in rows:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", row[1]):
                base.fault(f"{kind}.tsv: relation {row[1]!r}")
            for part in filter(None, row[3].split("; ")):
                if not re.fullmatch(r"[a-z_]+=[^=;]+", part):
                    base.fault(f"{kind}.tsv: qualifier {part!r} of {row[:3]}")
    relations = {r[1] for r in base.triples} | {r[1] for r in base.literals}
    if not 20 <= len(relations) <= 38:
        base.fault(f"{len(relations)} relations")
    for row in base.literals:
        if not re.fullmatch(r"-?\d+(\.\d+)?|\d{4}-\d\d-\d\d|[A-Z]{3}", row[2]):
            base.fault(f"literals.tsv: value {row[2]!r} of {row[0]} {row[1]}")
    for row in base.triples:
        if row[1] == "shares_border_with" and row[0] not in base.forward[row[2], row[1]]:
            base.fault(f"border of {row[0]} and {row[2]} in one direction only")


def check_names(base: Base) -> None:  # noqa: C901
    """Entity ids, descriptions, shared labels, aliases."""
    labels = Counter(base.label.values())
    if sum(n > 1 for n in labels.values()) < 12:
        base.fault("too few shared labels")
    for name, label, kind, description in base.entities:
        if name != label and (labels[label] == 1 or not re.fullmatch(re.escape(label) + r" \([^()]+\)", name)):
            base.fault(f"entities.tsv: id {name!r} of label {label!r}")
        if not kind or not 4 <= len(description.split()) <= 14:
            base.fault(f"entities.tsv: description of {name}: {description!r}")
    owners: dict[str, list[str]] = defaultdict(list)
    for name, names in base.aliases.items():
        if name not in base.label:
            base.fault(f"aliases.json: unknown entity {name!r}")
        if not names or len(names) != len(set(names)) or any(not a.strip() for a in names):
            base.fault(f"aliases.json: names of {name!r}: {names}")
        for alias in names:
            owners[alias].append(name)
    if sum(len(o) > 1 for o in owners.values()) < 4:
        base.fault("aliases.json: too few shared aliases")
    scripts = {name for name, names in base.aliases.items() if any(re.search(r"[Ͱ-῿぀-鿿가-힯]", a) for a in names)}
    if len(scripts) < 40:
        base.fault(f"aliases.json: only {len(scripts)} entities have a name in another script")


def check_passages(base: Base) -> None:  # noqa: C901
    """Counts, ids, entities and texts of the passages."""
    if len(base.passages) < 430 or len({p["entities"][0] for p in base.passages}) < 320:
        base.fault("too few passages or main entities")
    for name, count in Counter(p["id"] for p in base.passages).items():
        if count > 1:
            base.fault(f"passages.jsonl: id {name!r} occurs {count} times")
    for text, count in Counter(p["text"] for p in base.passages).items():
        if count > 1:
            base.fault(f"passages.jsonl: repeated text {text[:60]!r}")
    for p in base.passages:
        if set(p) != {"id", "title", "section", "entities", "text"}:
            base.fault(f"passage {p['id']}: keys {sorted(p)}")
        for name in p["entities"]:
            if name not in base.label:
                base.fault(f"passage {p['id']}: unknown entity {name!r}")
        if p["title"] != base.label.get(p["entities"][0]):
            base.fault(f"passage {p['id']}: title {p['title']!r}")
        words = len(p["text"].split())
        if not 40 <= words <= 130:
            base.fault(f"passage {p['id']}: {words} words")
        odd = re.search(
            r"\bNone\b|\bnull\b|\{|\}|  |\(\)|\.\.| ,| \.|;\.|\b(a|A) [aeio][a-z]+\b(?<!a one)|\bthe the\b|\b(\w+) \2\b",
            p["text"],
        )
        if odd and odd[0] != "Baden Baden" and not _name_in(base, p, odd[0]):
            base.fault(f"passage {p['id']}: odd text {odd[0]!r}")


def _name_in(base: Base, passage: Row, text: str) -> bool:
    return any(text in base.label[e] for e in passage["entities"])


def _step(base: Base, current: list[str], relation: str) -> list[str]:
    found: list[str] = []
    for name in current:
        if relation.startswith("-"):
            found += base.backward[name, relation[1:]]
        else:
            found += base.forward[name, relation] or base.value[name, relation]
    return list(dict.fromkeys(found))


def walk(base: Base, question: Row) -> tuple[list[str], list[tuple[str, str]]]:  # noqa: C901
    """What a gold path reaches, and the texts it ends in as (entity, section)."""
    branches: list[list[str]] = []
    current: list[str] = []
    texts: list[tuple[str, str]] = []
    for hop in question["gold_path"]:
        if hop == ["count"]:
            return [str(len(current))], texts
        entity, relation = hop[0], hop[1]
        if len(hop) == 3:
            pool = list(dict.fromkeys(e for b in [*branches, current] for e in b))
            ranked = {e: float(base.value[e, relation][0]) for e in pool if base.value[e, relation]}
            best = (max if hop[2] == "max" else min)(ranked.values())
            missing = [e for e in pool if e not in ranked]
            if missing:
                raise ValueError(f"no {relation} for {missing}")
            return [e for e, v in ranked.items() if v == best], texts
        if entity != "*":
            if entity not in base.label:
                raise ValueError(f"unknown entity {entity!r}")
            if current and question["type"] in BRANCHING:
                branches.append(current)
            elif current and entity not in current:
                raise ValueError(f"{entity!r} is not reached")
            current = [entity]
        if relation.startswith("text:"):
            texts += [(e, relation[5:]) for e in current]
            return current, texts
        current = _step(base, current, relation)
        if not current:
            raise ValueError(f"nothing at {hop}")
    if question["type"] == "intersection":
        return [e for e in current if all(e in b for b in branches)], texts
    return current, texts


def _check_text(base: Base, question: Row, texts: list[tuple[str, str]]) -> None:
    where = question["id"]
    gold = question.get("gold_passages", [])
    if not gold or any(g not in base.passage for g in gold):
        base.fault(f"{where}: gold_passages {gold}")
        return
    for entity, section in texts:
        if not any(base.passage[g]["section"] == section and entity in base.passage[g]["entities"] for g in gold):
            base.fault(f"{where}: no gold passage with section {section!r} about {entity!r}")
        objects = {base.label.get(o, o) for s, _, o, _ in base.triples if s == entity} | {
            v for s, _, v, _ in base.literals if s == entity
        }
        for answer in question["answers"]:
            if answer in objects:
                base.fault(f"{where}: answer {answer!r} is an object of {entity!r}")
            pattern = re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)")
            if not any(pattern.search(base.passage[g]["text"]) for g in gold):
                base.fault(f"{where}: answer {answer!r} is not in the gold passages")
            for p in base.passages:
                if p["id"] not in gold and p["entities"][0] == entity and pattern.search(p["text"]):
                    base.fault(f"{where}: answer {answer!r} is also in passage {p['id']}")


def check_question(base: Base, question: Row) -> None:  # noqa: C901
    """One question: keys, topic, and answers against the walk."""
    where = question["id"]
    allowed = {"id", "type", "question", "answers", "answer_aliases", "topic", "gold_path", "gold_passages", "note"}
    if set(question) - allowed or not {"id", "type", "question", "answers", "topic", "gold_path"} <= set(question):
        base.fault(f"{where}: keys {sorted(question)}")
    for name in question["topic"]:
        if name not in base.label:
            base.fault(f"{where}: unknown topic {name!r}")
    if question["type"] == "unanswerable":
        if question["answers"] or question["gold_path"] or question.get("gold_passages"):
            base.fault(f"{where}: unanswerable with an answer")
        return
    if not question["answers"] or not question["gold_path"] or not question["topic"]:
        base.fault(f"{where}: nothing to check")
        return
    try:
        reached, texts = walk(base, question)
    except (ValueError, IndexError) as error:
        base.fault(f"{where}: {error}")
        return
    if texts:
        _check_text(base, question, texts)
    elif question.get("gold_passages"):
        base.fault(f"{where}: gold_passages without a text hop")
    else:
        labels = [base.label.get(e, e) for e in reached]
        if Counter(labels) != Counter(question["answers"]):
            base.fault(f"{where}: the path gives {labels}, the answers are {question['answers']}")
    starts = {hop[0] for hop in question["gold_path"]} - {"*", "count"}
    if not starts & set(question["topic"]):
        base.fault(f"{where}: the path does not start from the topic")


def check_questions(base: Base) -> None:
    """All questions and the mix of types."""
    kinds = Counter(q["type"] for q in base.questions)
    if len(base.questions) < 96 or set(kinds) - set(MINIMUM):
        base.fault(f"questions: {dict(kinds)}")
    for kind, least in MINIMUM.items():
        if kinds[kind] < least:
            base.fault(f"questions: only {kinds[kind]} of type {kind}")
    for key in ("id", "question"):
        for value, count in Counter(q[key] for q in base.questions).items():
            if count > 1:
                base.fault(f"questions.jsonl: {key} {value!r} occurs {count} times")
    for question in base.questions:
        check_question(base, question)
    answered = [q for q in base.questions if q["answers"]]
    backwards = sum(any(len(h) > 1 and h[1].startswith("-") for h in q["gold_path"]) for q in answered)
    numbers = sum(
        all(a not in base.label.values() and re.match(r"-?[\d.]", a) for a in q["answers"])
        and not q.get("gold_passages")
        for q in answered
    )
    several = sum(len(q["answers"]) > 1 for q in answered)
    hops = Counter(len(q["gold_path"]) for q in base.questions if q["type"] == "kg+text")
    if backwards < 10 or numbers < 6 or several < 4 or hops[1] < 4 or hops[2] < 12 or hops[3] < 6:
        base.fault(f"questions: {backwards} backwards, {numbers} literals, {several} sets, kg+text hops {dict(hops)}")
    print(
        f"questions {len(base.questions)}: {dict(kinds)}; {backwards} backwards, {numbers} literals, {several} sets, kg+text by hops {dict(hops)}"
    )


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"\w+", text.lower())


def check_source(base: Base, source: Path) -> None:
    """No run of words shared with the source, apart from names."""
    runs: set[tuple[str, ...]] = set()
    with (source / "passages.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            tokens = words(json.loads(line)["text"])
            runs.update(tuple(tokens[i : i + RUN]) for i in range(len(tokens) - RUN + 1))
    for p in base.passages:
        text = p["text"]
        for entity in p["entities"]:
            for name in [base.label[entity], *base.aliases.get(entity, [])]:
                if len(name.split()) > 2:
                    text = text.replace(name, f"name{len(name)}of{abs(hash(entity))}")
        tokens = words(text)
        for i in range(len(tokens) - RUN + 1):
            if tuple(tokens[i : i + RUN]) in runs:
                base.fault(f"passage {p['id']}: shares {' '.join(tokens[i : i + RUN])!r} with the source")
                break


def main() -> int:
    """Runs all checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=DEFAULT, help="folder of the knowledge base")
    parser.add_argument("--source", type=Path, help="folder with the factbook extracts, to compare the wording")
    args = parser.parse_args()
    base = Base(args.folder)
    for check in (check_files, check_tables, check_names, check_passages, check_questions):
        check(base)
    if args.source:
        check_source(base, args.source)
    print(
        f"{len(base.triples)} triples, {len(base.literals)} literals, {len(base.entities)} entities, {len(base.passages)} passages"
    )
    for fault in base.faults:
        print(f"FAULT {fault}")
    print(f"{len(base.faults)} faults")
    return 1 if base.faults else 0


if __name__ == "__main__":
    sys.exit(main())
