"""Builds the bundled example knowledge base `world` from a folder of factbook extracts."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from world import prose_civic, prose_land, prose_more
from world.describe import Describer
from world.graph import Builder
from world.source import load

if TYPE_CHECKING:
    from world.model import World
    from world.prose import Passage

HERE = Path(__file__).parent / "world"
SHORT = {"UK", "US", "EU", "NZ", "AU"}
TYPOGRAPHY = str.maketrans({"’": "'", "“": '"', "”": '"'})  # noqa: RUF001


def clean_text(text: str) -> str:
    """A cell of a table: one line, no tabs."""
    return re.sub(r"\s+", " ", text).strip()


def quals(pairs: dict[str, str]) -> str:
    """Qualifiers as `name=value; name=value`."""
    return "; ".join(f"{name}={value}" for name, value in pairs.items())


def write_tables(world: World, out: Path) -> None:
    """Writes triples, literals and entities."""
    triples = ["subject\trelation\tobject\tqualifiers"]
    triples += [f"{s.id}\t{r}\t{o.id}\t{quals(q)}" for (s, r, o), q in world.triples.items()]
    literals = ["subject\trelation\tvalue\tqualifiers"]
    literals += [f"{s.id}\t{r}\t{v}\t{quals(q)}" for (s, r, v), q in world.literals.items()]
    entities = ["id\tlabel\ttype\tdescription"]
    entities += [f"{e.id}\t{e.label}\t{e.type}\t{clean_text(e.description)}" for e in world.entities.values()]
    for name, rows in (("triples.tsv", triples), ("literals.tsv", literals), ("entities.tsv", entities)):
        (out / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def aliases(builder: Builder) -> dict[str, list[str]]:
    """Other names by entity id, without names that are the label of something else."""
    world = builder.world
    labels = {e.label for e in world.entities.values()}
    extra: dict[str, list[str]] = json.loads((HERE / "extra_aliases.json").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for entity in world.entities.values():
        names = list(entity.aliases)
        if entity.type in {"country", "territory"}:
            country = builder.countries[entity.label]
            names += country.aliases
            names += [country.fields("Country name").get("conventional long form", "")]
            adjective = country.fields("Nationality").get("adjective", "")
            if re.fullmatch(r"[A-Z][A-Za-z -]+", adjective):
                names.append(adjective)
        kept = [clean_text(n.translate(TYPOGRAPHY)) for n in names]
        kept = [
            n
            for n in kept
            if (2 < len(n) < 60 or n in SHORT)
            and " or " not in n
            and n != entity.label
            and n not in labels
            and not re.search(r"[;:()]|none|^note", n)
        ]
        kept += [n for n in extra.get(entity.id, []) if n not in {entity.label, entity.id}]
        kept = list(dict.fromkeys(kept))
        if kept:
            found[entity.id] = kept
    return found


def passages(builder: Builder) -> list[dict[str, object]]:
    """All passages with their ids."""
    found: list[Passage] = []
    for name, country in builder.countries.items():
        here = builder.place[name]
        for write in (prose_civic.voting, prose_civic.symbols, prose_civic.citizenship, prose_land.land):
            passage = write(here, country)
            if passage:
                found.append(passage)
    found += prose_more.everything(builder)
    used: Counter[str] = Counter()
    rows: list[dict[str, object]] = []
    for passage in found:
        main = passage.entities[0]
        stem = re.sub(r"[^a-z0-9]+", "-", f"{main.id} {passage.section}".lower()).strip("-")
        used[stem] += 1
        key = stem if used[stem] == 1 else f"{stem}-{used[stem]}"
        rows.append(
            {
                "id": key,
                "title": main.label,
                "section": passage.section,
                "entities": list(dict.fromkeys(e.id for e in passage.entities)),
                "text": passage.text.translate(TYPOGRAPHY),
            },
        )
    return rows


def readme(world: World, texts: list[dict[str, object]], questions: list[dict[str, object]]) -> str:
    """The folder's README with the counts of this build."""
    template = (HERE / "README.template.md").read_text(encoding="utf-8")
    relations = Counter(r for _, r, _ in world.triples)
    values = Counter(r for _, r, _ in world.literals)
    labels = Counter(e.label for e in world.entities.values())
    kinds = Counter(str(q["type"]) for q in questions)
    return template.format(
        triples=f"{len(world.triples):,}",
        literals=f"{len(world.literals):,}",
        entities=f"{len(world.entities):,}",
        shared=sum(n > 1 for n in labels.values()),
        passages=len(texts),
        described=len({t["entities"][0] for t in texts if isinstance(t["entities"], list)}),
        questions=len(questions),
        kinds=", ".join(f"{k} {n}" for k, n in kinds.items()),
        relations="\n".join(f"| `{r}` | {n} |" for r, n in relations.most_common()),
        values="\n".join(f"| `{r}` | {n} |" for r, n in values.most_common()),
    )


def main() -> None:
    """Builds all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="folder with the factbook extracts")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    builder = Builder(load(args.source))
    world = builder.build()
    world.name()
    Describer(builder).run()
    args.out.mkdir(parents=True, exist_ok=True)
    write_tables(world, args.out)
    names = json.dumps(aliases(builder), ensure_ascii=False, indent=0, sort_keys=True)
    (args.out / "aliases.json").write_text(names + "\n", encoding="utf-8")
    texts = passages(builder)
    lines = [json.dumps(row, ensure_ascii=False) for row in texts]
    (args.out / "passages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source = (HERE / "questions.jsonl").read_text(encoding="utf-8")
    (args.out / "questions.jsonl").write_text(source, encoding="utf-8")
    questions = [json.loads(line) for line in source.splitlines() if line.strip()]
    (args.out / "README.md").write_text(readme(world, texts, questions), encoding="utf-8")
    print(
        f"{len(world.triples)} triples, {len(world.literals)} literals, {len(world.entities)} entities, {len(texts)} passages"
    )


if __name__ == "__main__":
    main()
