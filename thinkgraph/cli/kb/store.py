"""What a knowledge base that is no folder says about itself."""

from __future__ import annotations

from thinkgraph.cli.show import write_json, write_line
from thinkgraph.prompts.lines import one_line


def show_store(spec: str, text: str | None, *, as_json: bool) -> int:
    """Print what the graph (and the passages beside it) say; gives the exit status."""
    from thinkgraph.tools.knowledge import Knowledge

    with Knowledge.open(spec, text=text) as knowledge:
        graph = knowledge.graph.info()
        passages = knowledge.text.info() if knowledge.text else None
        notes = list(getattr(knowledge.graph, "notes", ()))
        name, fingerprint = knowledge.name, knowledge.fingerprint
    if as_json:
        write_json({"name": name, "fingerprint": fingerprint, "graph": graph, "text": passages, "notes": notes})
        return 0
    lines = [("name", name), ("fingerprint", fingerprint)]
    lines += [(kind, _count(graph[kind])) for kind in ("triples", "entities", "literals", "relations")]
    if passages:
        lines.append(("passages", f"{_count(passages['passages'])} ({passages['name']})"))
        lines.append(("with text", _count(passages["entities"])))
    else:
        lines.append(("passages", "none"))
    lines += [("note", note) for note in notes]
    write_line("\n".join(f"{title:<12} {one_line(value)}" for title, value in lines))
    return 0


def _count(number: int) -> str:
    return f"{number:,}" if number >= 0 else "unknown"
