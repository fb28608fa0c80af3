"""Prints how the package is laid out, and where that breaks the rules of CONTRIBUTING.md.

Exits 1 on an import circle, an upward import or a misnamed graph node; the other rows are work to do. Imports inside
functions, and modules named by a string, count as lazy imports; `if TYPE_CHECKING` imports do not count.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

LAYERS = ["errors version", "state", "prompts", "models", "tools", "runtime", "nodes ingest plot", "graphs",
          "eval integrations config testing training", "cli ui", "__init__ __main__"]  # fmt: skip
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms.split()}
BESIDE = {"ingest", "plot"}  # nodes do not import them, nor do they import each other; graphs import ingest
CORE = {"state", "prompts", "models", "runtime", "nodes", "graphs"}
MOST_LINES, MOST_FILES = 60, 12
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Module(NamedTuple):
    """A parsed file; its path is relative to the package."""

    path: Path
    tree: ast.Module
    lines: int

    @property
    def room(self) -> str:
        """The folder, or the file, right below the package."""
        return self.path.with_suffix("").parts[0]


def load(package: Path) -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text("utf-8")
        modules[name] = Module(path.relative_to(package), ast.parse(text), text.count("\n"))
    return modules


def imports(node: ast.AST, *, lazy: bool = False) -> Iterator[tuple[str, bool]]:
    """What a module may import, by dotted name, each with whether it does so lazily. Imports of ours are absolute."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, lazy) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((f"{node.module}.{alias.name}", lazy) for alias in node.names)
        yield str(node.module), lazy
    elif isinstance(node, ast.Constant) and "." in str(node.value):
        yield str(node.value), True
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        node = ast.Module(node.orelse, [])
    for child in ast.iter_child_nodes(node):
        yield from imports(child, lazy=lazy or isinstance(node, FUNCTIONS))


def circles(edges: dict[str, set[str]]) -> list[str]:
    """The groups of modules that import each other, directly or by way of others."""
    reached: dict[str, set[str]] = defaultdict(set)
    for name in edges:
        new = [name]
        while new:
            fresh = edges.get(new.pop(), set()) - reached[name]
            reached[name] |= fresh
            new += fresh
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in edges}
    return sorted(" ".join(sorted(group)) for group in groups if group)


def upward(source: Module, target: Module) -> bool:
    """Whether an import goes against the order of the layers, or from one method's room of nodes into another's."""
    if source.room == target.room == "nodes":
        return target.path.parent not in {source.path.parent, Path("nodes/common"), Path("nodes/doubt"), Path("nodes")}
    if source.room == target.room:
        return False
    aside = target.room in BESIDE - {"ingest"} if source.room == "graphs" else source.room in BESIDE | {"nodes"}
    return (aside and target.room in BESIDE | {"nodes"}) or RANK.get(target.room, 99) > RANK.get(source.room, -1)


def called(node: ast.AST | None, *methods: str) -> bool:
    """Whether a node calls one of these methods with at least two arguments."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in methods and len(node.args) > 1


def owner(node: Any, known: dict[str, Any]) -> tuple[str, str]:
    """The function that an expression stands for, and its module. A call counts by what is called, a branch by its graph."""
    if isinstance(node, ast.Call):
        wrapped = {"compile": getattr(node.func, "value", None), "branch": (*node.args, None)[0]}
        return owner(wrapped.get(getattr(node.func, "attr", "")) or node.func, known)
    if isinstance(node, ast.Attribute):
        return node.attr, ".".join(reversed(owner(node.value, known)))
    found = known.get(text := ast.unparse(node), (text, "no module"))
    return found if isinstance(found, tuple) else owner(found, {**known, text: (text, "no module")})


def misnamed(name: str, module: Module) -> Iterator[str]:
    """The graph nodes whose name is not that of their function and of its file (a subgraph's: of its builder)."""
    known: dict[str, Any] = {node.name: (node.name, name) for node in module.tree.body if isinstance(node, FUNCTIONS)}
    for node in ast.walk(module.tree):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            known[alias.asname or alias.name] = (alias.name, node.module)
    for scope in module.tree.body:
        inside = [node for node in ast.walk(scope) if hasattr(node, "lineno")]
        local = {ast.unparse(node.targets[0]): node.value for node in inside if isinstance(node, ast.Assign)}
        for node in inside:
            steps = [step for step in node.elts if isinstance(step, ast.Name)] if isinstance(node, ast.List) else []
            owners = [owner(step, known | local) for step in steps]
            listed = all(step.id.islower() for step in steps) and ".nodes." in str(owners)
            for step, (function, place) in zip(steps, owners, strict=True) if listed else ():
                if not step.id == function == place.rpartition(".")[2]:
                    yield f"{module.path}:{step.lineno} '{step.id}' is {function} of {place}"
            pairs = list(zip(node.keys, node.values, strict=True)) if isinstance(node, ast.Dict) else []
            pairs += [node.args[:2]] if called(node, "add_node", "node") else []
            for key, given in pairs:
                value = local.get(ast.unparse(given), given)
                made = called(value, "node")
                if not isinstance(key, ast.Constant) or not (made or called(node, "add_node", "node")):
                    continue
                function, place = owner(value.args[1] if made else given, known | local)
                subgraph = not made and called(node, "add_node")
                if key.value != function.lstrip("_") or (key.value != place.rpartition(".")[2] and not subgraph):
                    yield f"{module.path}:{key.lineno} '{key.value}' is {function} of {place}"


def report(title: str, rows: Iterable[str]) -> bool:
    """Print a section; whether it has any rows."""
    listed = list(dict.fromkeys(rows))
    print(f"\n{title}: {len(listed)}", *listed, sep="\n  ")
    return bool(listed)


def sizes(modules: Iterable[Module]) -> dict[Path, int]:
    """Print a row a folder; returns how many files each has beside its `__init__`."""
    folders = defaultdict(list)
    for module in modules:
        for folder in module.path.parents:
            folders[folder].append(module)
    counts = {}
    print("folder, its files; modules and lines with its subfolders")
    for folder, inside in sorted(folders.items()):
        counts[folder] = sum(each.path.parent == folder and each.path.stem != "__init__" for each in inside)
        print(f"  {folder!s:28}{counts[folder]:4}{len(inside):5}{sum(each.lines for each in inside):8,}")
    core = (each for each in folders[Path()] if each.room in CORE and "offline" not in each.path.parts)
    print(f"  {'the answering core':37}{sum(each.lines for each in core):8,}")
    return counts


def main(package: Path = Path(__file__).parent.parent / "thinkgraph") -> int:
    """Print everything; 1 where a rule is broken that must hold."""
    modules = load(package)
    counts = sizes(modules.values())
    eager, every = defaultdict(set), defaultdict(set)
    for name, module in modules.items():
        for target, lazy in imports(module.tree):
            if target in modules and target != name:
                every[name].add(target)
                eager[name] |= set() if lazy else {target}
    owners = defaultdict(list)
    functions = [
        (f"{module.path}:{node.lineno} {node.name}", module, node)
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, FUNCTIONS)
    ]
    for module in modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name].append(str(module.path))
    broken = [
        report("eager import circles", circles(eager)),
        report("lazy import circles", set(circles(every)) - set(circles(eager))),
        report(
            "upward imports",
            (f"{one} → {two}" for one in every for two in sorted(every[one]) if upward(modules[one], modules[two])),
        ),
        report(
            "misnamed graph nodes",
            (row for name, module in modules.items() if module.room == "graphs" for row in misnamed(name, module)),
        ),
    ]
    report(
        "parameters of nodes and graphs that are Mapping[str, Any]",
        (
            f"{text} ({arg.arg})"
            for text, module, node in functions
            if module.room in {"nodes", "graphs"}
            for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            if arg.annotation and "Mapping[str, Any]" in ast.unparse(arg.annotation)
        ),
    )
    report("class names with two owners", (f"{key}: {' '.join(own)}" for key, own in owners.items() if len(own) > 1))
    lengths = ((text, (node.end_lineno or 0) - node.lineno + 1) for text, _, node in functions)
    report(f"functions over {MOST_LINES} lines", (f"{text} {lines}" for text, lines in lengths if lines > MOST_LINES))
    report(
        f"folders with more than {MOST_FILES} files, or with one",
        (f"{folder} {count}" for folder, count in counts.items() if count > MOST_FILES or count == 1),
    )
    return int(any(broken))


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
