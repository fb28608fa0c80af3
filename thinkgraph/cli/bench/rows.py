"""The rows of a bench's table, kept in files and printed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from thinkgraph.cli.show import write_json, write_line


def show_rows(rows: Sequence[object], text: str, args: argparse.Namespace, keep: Path | None = None) -> None:
    """Print a table, or with --json its rows.

    Args:
        rows: as plain JSON.
        text: the table.
        args: the command's.
        keep: both are written there too, as PATH.json and PATH.txt.

    Raises:
        UsageError: a file cannot be written.
    """
    from thinkgraph.eval.files import write_text

    if keep:
        write_text(keep.with_suffix(".json"), json.dumps({"rows": rows}, indent=1) + "\n")
        write_text(keep.with_suffix(".txt"), text + "\n")
    if args.json:
        write_json({"rows": rows})
    else:
        write_line(text)
