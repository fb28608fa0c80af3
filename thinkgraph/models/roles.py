"""Which model answers which role. Nodes never know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.rate_limiters import BaseRateLimiter

from thinkgraph.errors import UsageError
from thinkgraph.models.client import ChatClient, ChatModel, client_for
from thinkgraph.models.prices import Prices, builtin_prices, check_prices, price_of
from thinkgraph.models.profiles import check_profiles, named_profile
from thinkgraph.models.recorded import REPLAY, Recording
from thinkgraph.prompts.library import Prompt, builtin_roles

ModelSpec = str | ChatModel | Mapping[str, str | ChatModel]
"""One model for all roles, or models by role ("tog2.reason"), method ("tog2"), stage ("explore", "reason") and "default"."""

OFFLINE = "offline"
_STEPS = {
    "tog2.steer": "tog2.reason",
    "fasttog.steer": "fasttog.reason",
    "coggrag.extract_keys_joint": "coggrag.extract_keys_local",
}
"""Of roles whose one call does the work of two: the role whose model answers where they have none of their own."""


def check_roles(table: Mapping[str, Any], source: str) -> None:
    """Check the keys of models by role.

    Raises:
        UsageError: naming the source: "default" is missing, or a key is no role, method or stage.
    """
    if "default" not in table:
        raise UsageError(f"{source}: models by role need a 'default' too")
    roles = builtin_roles()
    known = {"default", "explore", "reason", *roles, *(role.partition(".")[0] for role in roles)}
    if unknown := sorted(table.keys() - known):
        raise UsageError(f"{source}: there is no role '{unknown[0]}'; known: {', '.join(sorted(known))}")


class Models:
    """Resolves roles to clients; one client per distinct model."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        offline: Callable[[], BaseChatModel],
        prices: Prices | None = None,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
        rate_limiter: BaseRateLimiter | None = None,
        recording: Recording | None = None,
    ) -> None:
        """Check the specification without loading anything.

        Args:
            spec: see ModelSpec; "offline" names the model without weights that ships with the package.
            offline: makes that model (it needs the knowledge's encoder, which this layer does not know).
            prices: additions to the built-in price table.
            profiles: what you know of models, by name; see `thinkgraph.models.profiles.ChatProfile`.
            rate_limiter: asked before every request to any of the models.
            recording: keeps the replies of the one model.

        Raises:
            UsageError: a mapping without "default" or with an unknown role, a name of a wrong form, or a malformed price
                or profile.
        """
        table: dict[str, str | ChatModel] = (
            {str(key): value for key, value in spec.items()} if isinstance(spec, Mapping) else {"default": spec}
        )
        check_roles(table, "models")
        self._offline = offline
        self._prices = {**builtin_prices(), **check_prices({} if prices is None else prices, "prices")}
        self._priced: dict[str, tuple[float, float] | None] = {}
        self._profiles = check_profiles(profiles or {}, "profiles")
        self._recording = recording
        made: dict[int | str, ChatClient] = {}
        for model in table.values():
            key = model if isinstance(model, str) else id(model)
            if key not in made:
                made[key] = self._made(model)
                for one in made[key].chain():
                    one.limiter = rate_limiter
        self._clients = {key: made[one if isinstance(one, str) else id(one)] for key, one in table.items()}

    def _made(self, model: str | ChatModel) -> ChatClient:
        if model == OFFLINE:
            return ChatClient(OFFLINE, self._offline, recording=self._recording)
        if isinstance(model, str) and model.startswith(f"{REPLAY}:"):
            kept = Recording(Path(model.partition(":")[2]))
            profile, given = named_profile(kept.model), self._profiles.get(kept.model, {})
            return ChatClient(kept.model, kept.no_model, profile, given, recording=kept)
        client = client_for(model, self._profiles)
        client.recording = self._recording
        return client

    def of(self, prompt: Prompt) -> ChatClient:
        """The client that answers a prompt: by role (of a joint call also by that of its step), by method, by stage, or the default."""
        for key in (prompt.role, _STEPS.get(prompt.role, ""), prompt.role.partition(".")[0], prompt.stage):
            if key in self._clients:
                return self._clients[key]
        return self._clients["default"]

    def check(self) -> None:
        """Make every model now, without asking any.

        Raises:
            ModelError: the provider's package or key is missing, or the name cannot be understood.
        """
        for client in self.clients():
            if client.recording is None or not client.recording.replays:
                client.made()

    async def aclose(self) -> None:
        """Close the connections that requests of this event loop opened. Without it they end with the process."""
        for client in self.clients():
            await client.aclose()

    def clients(self) -> list[ChatClient]:
        """Every client, those that others fall back to included."""
        distinct = {id(one): one for client in self._clients.values() for one in client.chain()}
        return list(distinct.values())

    @property
    def default(self) -> str:
        """Name of the default model."""
        return self._clients["default"].name

    def price(self, name: str) -> tuple[float, float] | None:
        """US dollars per input and output token of the model of a name, None where unknown."""
        if name not in self._priced:
            self._priced[name] = price_of(name, self._prices)
        return self._priced[name]

    def unpriced(self) -> list[str]:
        """Names of the models without a price: a ceiling on money cannot be kept with them."""
        return sorted({client.name for client in self.clients() if self.price(client.name) is None})
