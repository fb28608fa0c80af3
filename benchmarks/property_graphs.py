"""Questions over three property graphs in a real Neo4j server: values, relationships' properties, counts, intersections, joins.

    ./tg python benchmarks/property_graphs.py [--questions 40] [--only movies] [--methods tog2,fiske] [--models perfect,offline] [--show]

The questions are made of templates, the answers and paths come from Cypher. A row for each graph, model and kind: how many of its
questions each method answers rightly (all answers, none other). "property" asks for what stands in a relationship (a role, a rating);
"joined" goes through a node that only joins two others (customer, order, product).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# A file beside this one is called like the driver: its folder must not be where Python looks first.
sys.path[:] = [str(HERE.parent), *(place for place in sys.path if Path(place or ".").resolve() != HERE)]
sys.path.append(str(HERE.parent / "scripts"))

from neo4j_server import Neo4jServer  # noqa: E402 - the path comes first

import thinkgraph as tg  # noqa: E402 - as above
from thinkgraph.eval.gold import resolve_golds  # noqa: E402 - as above
from thinkgraph.eval.perfect.chooser import PerfectChooser  # noqa: E402 - as above
from thinkgraph.eval.questions import Question  # noqa: E402 - as above
from thinkgraph.tools.knowledge import Knowledge  # noqa: E402 - as above

EXAMPLES = HERE.parent / "examples" / "neo4j"


@dataclass(frozen=True)
class Template:
    """Questions of one form."""

    kind: str
    words: str
    """With {a} and {b} for the names that the query gives."""
    query: str
    """Cypher that gives a, b and a list of answers."""
    path: tuple[tuple[str, ...], ...]


def _t(kind: str, words: str, match: str, a: str, answers: str, *path: tuple[str, ...], b: str = "''") -> Template:
    gives = f"WITH {a} AS a, {b} AS b, collect(DISTINCT toString({answers})) AS found RETURN a, b, found ORDER BY a, b"
    return Template(kind, words, f"MATCH {match} {gives}", path)


def _counted(words: str, match: str, a: str, things: str, *path: tuple[str, ...]) -> Template:
    gives = f"WITH {a} AS a, '' AS b, [toString(count(DISTINCT {things}))] AS found RETURN a, b, found ORDER BY a"
    return Template("count", words, f"MATCH {match} {gives}", (*path, ("count",)))


ACTED, OUT = "(p:Person)-[r:ACTED_IN]->(m:Movie)", "(b:Band)"
GRAPHS: dict[str, list[Template]] = {
    "movies": [
        _t("value", "When was {a} released?", "(m:Movie)", "m.title", "m.released", ("{a}", "released")),
        _t("two hops", "When was the director of {a} born?", "(d:Person)-[:DIRECTED]->(m:Movie) WHERE d.born IS NOT NULL",
           "m.title", "d.born", ("{a}", "-DIRECTED"), ("*", "born")),
        _t("two hops", "Who acted in the films that {a} directed?", "(d:Person)-[:DIRECTED]->(m:Movie)<-[:ACTED_IN]-(p:Person)",
           "d.name", "p.name", ("{a}", "DIRECTED"), ("*", "-ACTED_IN")),
        _t("property", "Which role did {a} play in {b}?", f"{ACTED} UNWIND r.roles AS role", "p.name", "role",
           ("{a}", "ACTED_IN"), ("{b}", "qualifier:roles"), b="m.title"),
        _t("property", "What rating did {a} give {b}?", "(p:Person)-[r:REVIEWED]->(m:Movie)", "p.name", "r.rating",
           ("{a}", "REVIEWED"), ("{b}", "qualifier:rating"), b="m.title"),
        _counted("In how many films did {a} act?", ACTED, "p.name", "m", ("{a}", "ACTED_IN")),
        _counted("How many actors does the film {a} have?", ACTED, "m.title", "p", ("{a}", "-ACTED_IN")),
        _t("intersection", "In which films did both {a} and {b} act?",
           "(p:Person)-[:ACTED_IN]->(m:Movie)<-[:ACTED_IN]-(q:Person) WHERE p.name < q.name", "p.name", "m.title",
           ("{a}", "ACTED_IN"), ("{b}", "ACTED_IN"), b="q.name"),
        _t("joined", "Who wrote the film in which {a} acted?", "(p:Person)-[:ACTED_IN]->(m:Movie)<-[:WROTE]-(w:Person)",
           "p.name", "w.name", ("{a}", "ACTED_IN"), ("*", "-WROTE")),
    ],
    "northwind": [
        _t("value", "In which country is {a}?", "(s:Supplier)", "s.companyName", "s.country", ("{a}", "country")),
        _t("two hops", "In which city is the supplier of {a}?", "(s:Supplier)-[:SUPPLIES]->(p:Product)", "p.productName",
           "s.city", ("{a}", "-SUPPLIES"), ("*", "city")),
        _t("two hops", "Who is the contact of the supplier of {a}?", "(s:Supplier)-[:SUPPLIES]->(p:Product)", "p.productName",
           "s.contactName", ("{a}", "-SUPPLIES"), ("*", "contactName")),
        _t("property", "What quantity of {b} does order {a} have?", "(o:Order)-[r:ORDERS]->(p:Product)", "toString(o.orderID)",
           "r.quantity", ("Order {a}", "ORDERS"), ("{b}", "qualifier:quantity"), b="p.productName"),
        _counted("How many products does {a} supply?", "(s:Supplier)-[:SUPPLIES]->(p:Product)", "s.companyName", "p",
                 ("{a}", "SUPPLIES")),
        _counted("How many orders did {a} sell?", "(e:Employee)-[:SOLD]->(o:Order)", "e.firstName + ' ' + e.lastName", "o",
                 ("{a}", "SOLD")),
        _t("intersection", "Which products of the category {a} does {b} supply?",
           "(s:Supplier)-[:SUPPLIES]->(p:Product)-[:PART_OF]->(c:Category)", "c.categoryName", "p.productName",
           ("{a}", "-PART_OF"), ("{b}", "SUPPLIES"), b="s.companyName"),
        _t("joined", "Which products did {a} purchase?", "(c:Customer)-[:PURCHASED]->(o:Order)-[:ORDERS]->(p:Product)",
           "c.companyName", "p.productName", ("{a}", "PURCHASED"), ("*", "ORDERS")),
        _t("joined", "Which customers purchased {a}?", "(c:Customer)-[:PURCHASED]->(o:Order)-[:ORDERS]->(p:Product)",
           "p.productName", "c.companyName", ("{a}", "-ORDERS"), ("*", "-PURCHASED")),
    ],
    "gigs": [
        _t("value", "Where was {a} born?", "(m:Musician)", "m.name", "m.birthplace", ("{a}", "birthplace")),
        _t("two hops", "Which albums did the bands of {a} release?", f"(m:Musician)-[:MEMBER_OF]->{OUT}-[:RELEASED]->(x:Album)",
           "m.name", "x.title", ("{a}", "MEMBER_OF"), ("*", "RELEASED")),
        _t("two hops", "Which genre does the band that released {a} play?", f"{OUT}-[:RELEASED]->(x:Album)", "x.title",
           "b.genre", ("{a}", "-RELEASED"), ("*", "genre")),
        _t("property", "Which instrument does {a} play in {b}?", f"(m:Musician)-[r:MEMBER_OF]->{OUT}", "m.name",
           "r.instrument", ("{a}", "MEMBER_OF"), ("{b}", "qualifier:instrument"), b="b.name"),
        _t("property", "How many stars did {a} give {b}?", "(c:Critic)-[r:RATED]->(x:Album)", "c.name", "r.stars",
           ("{a}", "RATED"), ("{b}", "qualifier:stars"), b="x.title"),
        _counted("How many albums did {a} release?", f"{OUT}-[:RELEASED]->(x:Album)", "b.name", "x", ("{a}", "RELEASED")),
        _counted("How many members does {a} have?", f"(m:Musician)-[:MEMBER_OF]->{OUT}", "b.name", "m", ("{a}", "-MEMBER_OF")),
        _t("intersection", "Which musicians are members of both {a} and {b}?",
           f"{OUT}<-[:MEMBER_OF]-(m:Musician)-[:MEMBER_OF]->(c:Band) WHERE b.name < c.name", "b.name", "m.name",
           ("{a}", "-MEMBER_OF"), ("{b}", "-MEMBER_OF"), b="c.name"),
        _t("joined", "At which venues did {a} play?", f"{OUT}-[:PLAYED]->(g:Gig)-[:HELD_AT]->(v:Venue)", "b.name", "v.name",
           ("{a}", "PLAYED"), ("*", "HELD_AT")),
        _t("joined", "Which bands played at {a}?", f"{OUT}-[:PLAYED]->(g:Gig)-[:HELD_AT]->(v:Venue)", "v.name", "b.name",
           ("{a}", "-HELD_AT"), ("*", "-PLAYED")),
    ],
}  # fmt: skip


def questions(address: str, templates: Sequence[Template], count: int) -> list[Question]:
    """So many questions, every template in turn."""
    import neo4j

    def made(template: Template) -> Iterator[Question]:
        with neo4j.GraphDatabase.driver(address) as driver, driver.session() as session:
            rows = [record.values() for record in session.run(template.query)]
        # Spread over all rows, by a step that meets each of them once.
        for at in range(len(rows)):
            a, b, found = rows[at * 7919 % len(rows)]
            path = tuple(tuple(part.format(a=a, b=b) for part in hop) for hop in template.path)
            words = template.words.format(a=a, b=b)
            yield Question(words, words, tuple(sorted(found)), type=template.kind, gold_path=path)

    waiting, asked = [made(template) for template in templates], []
    while waiting and len(asked) < count:
        for one in list(waiting):
            if (question := next(one, None)) is None:
                waiting.remove(one)
            elif len(asked) < count:
                asked.append(question)
    return asked


def ask(
    knowledge: Knowledge, asked: Sequence[Question], method: str, model: str, *, show: bool
) -> dict[str, list[bool]]:
    """By kind, which questions a method answered rightly."""
    by: Any = model
    if model == "perfect":
        golds = resolve_golds(asked, knowledge.graph, knowledge.text)
        by = PerfectChooser({one.question: gold for one, gold in zip(asked, golds, strict=True)})
    graph = tg.build(method, knowledge=knowledge, model=by)
    right = defaultdict[str, list[bool]](list)
    for one in asked:
        answer = graph.invoke({"question": one.question})["answer"]
        same = {text.casefold() for text in answer["answers"]} == {text.casefold() for text in one.answers}
        right[one.type].append(same)
        if show and not same:
            print(
                f"  {method}, {model}: {one.question} {list(one.answers)} but {answer['answers']} ({answer['reason']:.90})"
            )
    return right


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=40, help="of each graph (default 40)")
    parser.add_argument("--only", default=",".join(GRAPHS), help="graphs (default all)")
    parser.add_argument("--methods", default="tog2,fasttog,fiske,coggrag", help="default: the four")
    parser.add_argument("--models", default="perfect,offline", help="default: both")
    parser.add_argument("--show", action="store_true", help="print what was answered wrongly")
    args = parser.parse_args()
    methods = args.methods.split(",")
    print(f"{'graph':<11}{'model':<9}{'kind':<14}{'n':>4}" + "".join(f"{method:>10}" for method in methods), flush=True)
    for name in args.only.split(","):
        with (
            tempfile.TemporaryDirectory(prefix="thinkgraph-graphs-") as folder,
            Neo4jServer(Path(folder), scripts=[EXAMPLES / f"{name}.cypher"]) as server,
            Knowledge.open(server.address) as knowledge,
        ):
            asked = questions(server.address, GRAPHS[name], args.questions)
            for model in args.models.split(","):
                found = [ask(knowledge, asked, method, model, show=args.show) for method in methods]
                for kind in dict.fromkeys(one.type for one in asked):
                    figures = "".join(f"{sum(one[kind]) / len(one[kind]):>10.2f}" for one in found)
                    print(f"{name:<11}{model:<9}{kind:<14}{len(found[0][kind]):>4}{figures}", flush=True)
                every = [[same for of in one.values() for same in of] for one in found]
                print(
                    f"{name:<11}{model:<9}{'all':<14}{len(asked):>4}"
                    + "".join(f"{sum(of) / len(of):>10.2f}" for of in every)
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
