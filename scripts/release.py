"""Makes the tree ready for the index: says where the project lives. A release workflow runs it; nothing of it is committed.

    ./tg python scripts/release.py --tag v0.1.0 --url https://host/owner/thinkgraph

The repository does not know its own address. The tag must be the version of the package, and CHANGELOG.md must have a date for it.
pyproject.toml gets [project.urls]; the README's links, which lead to files of the repository, lead there.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from thinkgraph.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")
_IMAGE = re.compile(r"(!\[[^\]]*)\]\((?!https?:)([^)\s]+)\)")


class ReleaseError(Exception):
    """What is not ready, in a line."""


def check(tag: str, changelog: str) -> None:
    """See that tag, version and changelog agree.

    Raises:
        ReleaseError: they do not.
    """
    if tag != f"v{VERSION}":
        raise ReleaseError(f"the tag is {tag}, the package {VERSION}: tag v{VERSION}, or change thinkgraph/version.py")
    if not re.search(rf"(?m)^## {re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)$", changelog):
        raise ReleaseError(f"CHANGELOG.md has no '## {VERSION} (YYYY-MM-DD)': put the day of the release there")


def urls(url: str, tag: str) -> str:
    """The table of pyproject.toml that says where the project lives."""
    files = f"{url}/blob/{tag}"
    return (
        "\n[project.urls]\n"
        f'Repository = "{url}"\n'
        f'Documentation = "{files}/docs/index.md"\n'
        f'Changelog = "{files}/CHANGELOG.md"\n'
        f'Issues = "{url}/issues"\n'
    )


def linked(readme: str, url: str, tag: str) -> str:
    """The README with its links to files leading into the repository: elsewhere it stands alone."""
    pictures = _IMAGE.sub(rf"\1]({url}/raw/{tag}/\2)", readme)
    return _LINK.sub(rf"]({url}/blob/{tag}/\1)", pictures)


def main() -> int:
    """Check, then write both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tag", required=True, help="the tag that is released: v and the version")
    parser.add_argument("--url", required=True, help="the repository's address")
    args = parser.parse_args()
    url = args.url.rstrip("/")
    project, readme = ROOT / "pyproject.toml", ROOT / "README.md"
    try:
        check(args.tag, (ROOT / "CHANGELOG.md").read_text("utf-8"))
    except ReleaseError as error:
        print(f"release: error: {error}", file=sys.stderr)
        return 1
    project.write_text(project.read_text("utf-8") + urls(url, args.tag), "utf-8")
    readme.write_text(linked(readme.read_text("utf-8"), url, args.tag), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
