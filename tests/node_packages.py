"""npm packages that tests need: those of tests/npm/package-lock.json, fetched once into the user's cache.

Where there is no Node.js the tests are skipped with the reason; with THINKGRAPH_NODE_TESTS=required they fail instead.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

from required import without

HERE = Path(__file__).parent / "npm"
FILES = ("package.json", "package-lock.json")
FETCH_SECONDS = 200


def node() -> str:
    """The program `node`."""
    return shutil.which("node") or _without("there is no Node.js (Debian: nodejs)")


def node_modules() -> Path:
    """The folder `node_modules` with the packages, as the lock names them and npm has checked them."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "thinkgraph" / "npm"
    folder = base / hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES)).hexdigest()[:16]
    if folder.is_dir():
        return folder / "node_modules"
    npm = shutil.which("npm") or _without("there is no npm (Debian: npm)")
    base.mkdir(parents=True, exist_ok=True)
    with (base / "lock").open("w") as lock:
        # Several test processes may start at once: one fetches, the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            part = base / f"{folder.name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            for name in FILES:
                shutil.copy(HERE / name, part)
            command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            done = subprocess.run(command, cwd=part, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
            if done.returncode:
                _without(f"npm's packages cannot be fetched: {done.stderr[-300:]}")
            part.rename(folder)
    return folder / "node_modules"


def _without(reason: str) -> NoReturn:
    without("THINKGRAPH_NODE_TESTS", reason)
