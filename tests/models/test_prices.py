"""The price table."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkgraph.errors import UsageError
from thinkgraph.models.prices import builtin_prices, load_prices, price_of

TABLE = {"gpt-4o": (2.5, 10.0), "gpt-4o-mini": (0.15, 0.6), "llama3:8b": (0.1, 0.1), "azure:gpt-4o": (9.0, 9.0)}


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        ("openai:gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o"),
        ("openai:gpt-4o-2024-08-06", "gpt-4o"),
        ("openai:gpt-4o-mini", "gpt-4o-mini"),
        ("openai:gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("ollama:llama3:8b", "llama3:8b"),
        ("llama3:8b", "llama3:8b"),
        ("azure:gpt-4o", "azure:gpt-4o"),
        ("openai:gpt-4o-audio", None),
        ("openai:gpt-4", None),
        ("8b", None),
        ("", None),
    ],
)
def test_a_model_is_found_by_its_name(model: str, entry: str | None) -> None:
    expected = None if entry is None else tuple(price / 1e6 for price in TABLE[entry])
    assert price_of(model, TABLE) == expected


def test_the_table_that_ships_is_sound() -> None:
    table = builtin_prices()
    assert table["offline"] == (0.0, 0.0)
    assert all(0 <= price_in <= price_out for price_in, price_out in table.values())


def test_a_table_of_ones_own_may_be_yaml_or_json(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("m: [1, 2.5]\n4: [0, 0]\n")
    (tmp_path / "p.json").write_text('{"m": [1, 2.5]}')
    assert load_prices(tmp_path / "p.yaml") == {"m": (1.0, 2.5), "4": (0.0, 0.0)}
    assert load_prices(str(tmp_path / "p.json")) == {"m": (1.0, 2.5)}


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "text",
    [
        *("", "m: 3", "m: [1]", "m: [1, -1]", "m: [a, b]", "m: [.nan, 1]", "m: [.inf, 1]", "[1, 2]", "m: {", "- m"),
        *("m: [true, false]", "[" * 5000, "m: 2024-13-45", f"m: [1, {'9' * 400}]", f"m: [1, {'9' * 5000}]"),
    ],
    ids=lambda text: text[:12],
)
def test_a_malformed_table_is_named_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"p\.yaml") as raised:
        load_prices(path)
    assert "\n" not in str(raised.value)


def test_a_fault_of_a_table_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("m: [1, 2]\nn: [1, ]]\n")
    with pytest.raises(UsageError, match=r"p\.yaml, line 2: "):
        load_prices(path)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the price table .*nowhere\.yaml"):
        load_prices(tmp_path / "nowhere.yaml")
