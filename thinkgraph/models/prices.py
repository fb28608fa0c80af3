"""The price table: what a token costs, where we know it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from thinkgraph.errors import UsageError, first_line

Prices = Mapping[str, tuple[float, float]]
"""Model name to US dollars per million input and output tokens."""


@cache
def builtin_prices() -> Prices:
    """The table that ships with the package."""
    file = resources.files("thinkgraph.models").joinpath("prices.yaml")
    return check_prices(yaml.safe_load(file.read_text("utf-8")), "prices")


def load_prices(path: str | Path) -> Prices:
    """Read a table of one's own (YAML or JSON: `model: [input, output]` per million tokens).

    Raises:
        UsageError: the file cannot be read or has another form.
    """
    try:
        value = yaml.safe_load(Path(path).read_text("utf-8"))
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"cannot read the price table {path}{line}: {error.problem}") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read the price table {path}: {first_line(error)}") from None
    return check_prices(value, str(path))


def check_prices(value: Any, where: str) -> Prices:
    """The table in its one form.

    Raises:
        UsageError: it has another.
    """
    table: dict[str, tuple[float, float]] = {}
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: a price table has one line 'model: [input, output]' for each model")
    for model, pair in value.items():
        fits = isinstance(pair, list | tuple) and len(pair) == 2  # noqa: PLR2004 - input and output
        if not fits or not all(_is_price(price) for price in pair):
            raise UsageError(
                f"{where}: the price of {model!r} must be [input, output] in US dollars per million tokens"
            )
        table[str(model)] = (float(pair[0]), float(pair[1]))
    return table


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max


def price_of(model: str, prices: Prices) -> tuple[float, float] | None:
    """US dollars per input and output TOKEN; None where the table does not know the model.

    A provider prefix ("openai:") and a dated suffix ("-2024-07-18") are ignored; the longest matching name wins.
    """
    name = model.partition(":")[2]
    known = [entry for entry in prices for given in (model, name) if given == entry or given.startswith(entry + "-20")]
    if not known:
        return None
    price_in, price_out = prices[max(known, key=len)]
    return price_in / 1e6, price_out / 1e6
