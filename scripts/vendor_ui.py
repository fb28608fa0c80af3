"""Makes `thinkgraph/ui/static/vendor/graph.js` out of npm packages: Cytoscape.js with its fcose and dagre layouts, as one script.

    python scripts/vendor_ui.py            fetch, bundle, write the licences and `manifest.json`; needs npm, and only here
    python scripts/vendor_ui.py --check    whether the files are those of the manifest; needs nothing

The versions are pinned below. The manifest says which packages are in the script, by version and by npm's own digest, and the SHA-256
digest of every file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

STATIC = Path(__file__).resolve().parents[1] / "thinkgraph" / "ui" / "static"
VENDOR = STATIC / "vendor"
PACKAGES = {
    "cytoscape": "3.30.4",
    "cytoscape-fcose": "2.2.0",
    "cytoscape-dagre": "2.5.0",
    "@dagrejs/dagre": "1.1.4",
    "heap": "0.2.7",
    "lodash": "4.18.1",
}
"""What the page draws with; what they need comes along. dagre's newer name stands for its older one. Cytoscape 3.31 and later bring a
WebGL renderer of 60 kB, which the page has no room for."""
TOOLS = {"esbuild": "0.28.2", "terser": "5.51.2"}
"""They make one small script of the packages' sources, at this time only."""
PERMISSIVE = {"MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"}
USUAL = 1_250
"""An MIT licence of no more characters has nothing but its usual text."""
ENTRY = """
import cytoscape from "./node_modules/cytoscape/src/index.js";
import fcose from "cytoscape-fcose";
import dagre from "cytoscape-dagre";
cytoscape.use(fcose);
cytoscape.use(dagre);
globalThis.cytoscape = cytoscape;
"""
LAYOUTS = """
import grid from "./grid";
import preset from "./preset";
export default [{ name: "grid", impl: grid }, { name: "preset", impl: preset }];
"""
"""In place of Cytoscape's list of eight layouts of its own, which the page does not use."""
ALIASES = {
    "dagre": "@dagrejs/dagre",
    "cose-base": "./node_modules/cose-base/index.js",
    "layout-base": "./node_modules/layout-base/index.js",
}


def fetch() -> None:
    """Fetch the packages, bundle them and write what is vendored."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "package.json").write_text('{"private": true}', "utf-8")
        (folder / "entry.js").write_text(ENTRY, "utf-8")
        wanted = [f"{package}@{version}" for package, version in {**PACKAGES, **TOOLS}.items()]
        npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"]
        subprocess.run([*npm, *wanted], cwd=folder, check=True)
        (folder / "node_modules/cytoscape/src/extensions/layout/index.js").write_text(LAYOUTS, "utf-8")
        tools = folder / "node_modules" / ".bin"
        bundle = ["--bundle", "--minify", "--format=iife", "--target=es2020", "--legal-comments=none"]
        defined = {"NODE_ENV": "production", "VERSION": PACKAGES["cytoscape"]}
        bundle += [f'--define:process.env.{name}="{value}"' for name, value in defined.items()]
        out = [*(f"--alias:{name}={path}" for name, path in ALIASES.items()), "--outfile=bundle.js"]
        subprocess.run([tools / "esbuild", "entry.js", "--metafile=meta.json", *bundle, *out], cwd=folder, check=True)
        smaller = ["-c", "passes=3,ecma=2020,unsafe_arrows", "-m", "--ecma", "2020", "-o", "graph.js"]
        subprocess.run([tools / "terser", "bundle.js", *smaller], cwd=folder, check=True)
        used = _used(folder)
        if unfit := [one for one in used if one["licence"] not in PERMISSIVE]:
            sys.exit(f"vendor_ui: error: not permissive: {unfit}")
        shutil.rmtree(VENDOR, ignore_errors=True)
        VENDOR.mkdir(parents=True)
        # A page that holds the script in itself must not end where a text of it says so.
        script = (folder / "graph.js").read_text("utf-8").replace("</script", "<\\/script")
        (VENDOR / "graph.js").write_text(script, "utf-8")
        mit = (folder / "node_modules/cytoscape/LICENSE").read_text("utf-8")
        usual = "The MIT licence:\n\n" + mit[mit.index("Permission is hereby granted") :]
        licences = [*(_licence(folder, one) for one in used), usual]
        (VENDOR / "LICENSES.txt").write_text("\n".join(licences), "utf-8")
        files = {path.name: digest(path) for path in sorted(VENDOR.iterdir())}
        manifest = {"packages": used, "tools": TOOLS, "sha256": files}
        (VENDOR / "manifest.json").write_text(json.dumps(manifest, separators=(",", ":")) + "\n", "utf-8")


def _used(folder: Path) -> list[dict[str, Any]]:
    """The packages whose files are in the bundle."""
    inputs = json.loads((folder / "meta.json").read_text("utf-8"))["inputs"]
    found = {match[1] for path in inputs if (match := re.match(r"node_modules/((?:@[^/]+/)?[^/]+)/", path))}
    locked = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
    return [
        {
            "name": name,
            "version": locked[f"node_modules/{name}"]["version"],
            "licence": locked[f"node_modules/{name}"]["license"],
            "integrity": locked[f"node_modules/{name}"]["integrity"],
        }
        for name in sorted(found)
    ]


def _licence(folder: Path, package: dict[str, Any]) -> str:
    """The licence of a package, under its name; some publish none beside their word for it."""
    files = sorted((folder / "node_modules" / package["name"]).glob("LICEN[SC]E*"))
    text = files[0].read_text("utf-8").strip() if files else f"{package['licence']} (as its package.json says)"
    # Of the usual text only who holds the copyright differs: it stands at the end, once.
    head, permission, _ = text.partition("Permission is hereby granted")
    words = head.strip() if permission and len(text) < USUAL else text
    return f"{package['name']} {package['version']} ({package['licence']})\n{words}\n\n{'-' * 40}\n"


def digest(path: Path) -> str:
    """The SHA-256 digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changed() -> list[str]:
    """The names of vendored files that are missing, changed, or not in the manifest."""
    listed = json.loads((VENDOR / "manifest.json").read_text("utf-8"))["sha256"]
    there = {path.name: digest(path) for path in VENDOR.iterdir() if path.name != "manifest.json"}
    return sorted(name for name in {*listed, *there} if listed.get(name) != there.get(name))


def main() -> int:
    """Fetch, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare the files with the manifest")
    if not parser.parse_args().check:
        fetch()
    wrong = changed()
    print(*wrong or ["the vendored files are those of the manifest"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
