"""A bill of calls, tokens and money: of answers, or of what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from thinkgraph.models.prices import Prices, builtin_prices, price_of
from thinkgraph.state.answer import Answer


@dataclass(frozen=True)
class Bill:
    """Sums over answers."""

    calls: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    cost: float = 0.0
    """US dollars of the models that have a price."""
    models: frozenset[str] = frozenset()
    answers: int = 0

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.models | other.models,
            self.answers + other.answers,
        )

    def times(self, calls: float, tokens: float) -> Bill:
        """The same with its calls and its tokens (and so its cost) scaled."""
        return replace(
            self,
            calls=self.calls * calls,
            input_tokens=self.input_tokens * tokens,
            output_tokens=self.output_tokens * tokens,
            cost=self.cost * tokens,
        )

    def unpriced(self, prices: Prices | None = None) -> list[str]:
        """The models without a price; `prices` are additions to the built-in price table."""
        table = {**builtin_prices(), **(prices or {})}
        return sorted(model for model in self.models if price_of(model, table) is None)

    def words(self, prices: Prices | None = None) -> str:
        """The bill on one line; for `prices` see `unpriced`."""
        unknown = self.unpriced(prices)
        price = f"price of {', '.join(unknown)} unknown (--prices FILE)" if unknown else f"${self.cost:.4f}"
        calls = f"{self.calls:,.0f} calls" if self.calls >= 10 else f"{self.calls:.1f} calls"  # noqa: PLR2004 - two digits
        return f"{calls}, {self.input_tokens:,.0f} tokens in, {self.output_tokens:,.0f} out, {price}"


def bill_of(answer: Answer, prices: Prices | None = None) -> Bill:
    """The bill of one answer.

    Args:
        answer: of any method.
        prices: a table that an earlier run may not have had: the tokens of one model are priced by it again. Tokens of several are
            not told apart; they cost what they did.
    """
    usage = answer["usage"]
    total = usage["total"]
    cost = total["cost"]
    if len(usage["models"]) == 1 and (price := price_of(usage["models"][0], prices or {})):
        cost = total["input_tokens"] * price[0] + total["output_tokens"] * price[1]
    return Bill(total["calls"], total["input_tokens"], total["output_tokens"], cost, frozenset(usage["models"]), 1)


class Spent:
    """What answers have cost so far, and what all of them will at that rate."""

    def __init__(
        self, total: int, prices: Prices | None, before: Iterable[Mapping[str, Any]] = (), *, methods: int = 1
    ) -> None:
        """Start with what an earlier run has kept.

        Args:
            total: how many answers there will be.
            prices: additions to the built-in price table.
            before: records that may hold an `answer`.
            methods: how many share the answers; one call of this one may be twenty of that one.
        """
        self._each = total / methods
        self._methods = methods
        self._prices = prices
        self._bills: dict[str, Bill] = {}
        for record in before:
            self.add(record)

    def add(self, record: Mapping[str, Any]) -> str:
        """Count a record's answer, if it has one; what a progress line says then."""
        if answer := record.get("answer"):
            self._bills[answer["method"]] = self._bills.get(answer["method"], Bill()) + bill_of(answer, self._prices)
        if not self._bills:
            return ""
        words = f"spent {sum(self._bills.values(), Bill()).words(self._prices)}"
        shares = [(bill, self._each / bill.answers) for bill in self._bills.values()]
        if all(share <= 1 for _, share in shares):
            return words
        expected = sum((bill.times(share, share) for bill, share in shares), Bill()).words(self._prices)
        of = "in all" if len(self._bills) == self._methods else f"with {', '.join(self._bills)}"
        return f"{words}; expected {of} {expected}"
