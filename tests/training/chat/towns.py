"""A small country of towns, rivers and people: triples, as a file and as Turtle."""

from __future__ import annotations

from pathlib import Path

from thinkgraph.testing.memory import MemoryGraphStore

NAMES = [f"{head}{tail}" for head in ("Osk", "Varn", "Lind", "Brae", "Tarr") for tail in ("ow", "mere", "dale", "wick")]


def rows() -> list[tuple[str, str, str]]:
    """Each town has a mayor, who lives in it, and a river; each river ends in one of three seas."""
    found = []
    for at, name in enumerate(NAMES):
        town, mayor, river = f"{name} Town", f"Ida {name}", f"River {name}"
        found += [(town, "mayor", mayor), (mayor, "born in", f"{NAMES[at - 3]} Town"), (town, "lies on", river)]
        found += [
            (river, "ends in", f"Sea {at % 3}"),
            (town, "population", str(1001 + at)),
            (town, "twin", f"{NAMES[at - 5]} Town"),
        ]
        found += [(town, "has school", f"{name} School"), (town, "has school", f"{name} College")]
    return found


def write_rows(path: Path) -> Path:
    """The triples as TSV."""
    path.write_text("".join("\t".join(row) + "\n" for row in rows()), "utf-8")
    return path


def turtle() -> str:
    """The triples as Turtle, every node with its label."""
    base = "http://example.org/"

    def iri(name: str) -> str:
        return f"<{base}{name.replace(' ', '_')}>"

    lines = []
    for subject, relation, value in rows():
        end = value if relation == "population" else iri(value)
        lines.append(f"{iri(subject)} {iri(relation)} {end} .")
    things = {name for s, r, o in rows() for name in (s, *(() if r == "population" else (o,)))}
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    return "\n".join([*lines, *(f'{iri(name)} {label} "{name}" .' for name in sorted(things))])


def store() -> MemoryGraphStore:
    """The triples in memory."""
    return MemoryGraphStore(rows(), literals=["population"])
