"""The run manifest: written by the entry node, checked by every later one (LangGraph does not checkpoint context)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any, TypeVar, cast

from cachetools import LRUCache, cached

from thinkgraph.errors import ManifestMismatchError, SettingsError
from thinkgraph.models.calls import prompt_profile
from thinkgraph.runtime.deps import Deps
from thinkgraph.state.base import Manifest
from thinkgraph.state.settings import RunSettings, explicit, resolve_settings
from thinkgraph.version import VERSION

S = TypeVar("S", bound=RunSettings)

_ADVICE = "resume it with what it was started with, or ask the question again on a new thread"


def make_manifest(method: str, run: int, settings: RunSettings, roles: Iterable[str], deps: Deps) -> Manifest:
    """Describe a run that starts now. If one of its models is small, its settings are those for small ones."""
    prompts = {role: deps.prompts.get(role) for role in sorted(roles)}
    if any(prompt_profile(prompt, deps.models, settings) == "small" for prompt in prompts.values()):
        settings = settings.for_small()
    manifest = Manifest(
        version=VERSION,
        method=method,
        run=run,
        settings=settings.model_dump(mode="json"),
        models={role: deps.models.of(prompt).name for role, prompt in prompts.items()},
        prompts={role: prompt.digest for role, prompt in prompts.items()},
        ranker=deps.own_ranker.name if deps.own_ranker is not None else "",
        knowledge=deps.knowledge.name,
        fingerprint=deps.knowledge.fingerprint,
    )
    if deps.knowledge.empty:
        manifest["empty"] = True
    return manifest


@cached(LRUCache(256), key=lambda schema, settings: (schema, id(settings)), lock=Lock())
def _resolved(schema: type[S], settings: Mapping[str, Any]) -> tuple[Mapping[str, Any], S]:
    # The mapping is kept too: its identity is the key.
    return settings, resolve_settings(schema, settings)


def run_settings(manifest: Manifest, schema: type[S]) -> S:
    """The settings of a run, validated once for all its nodes and edges: a manifest is never changed in place.

    Raises:
        SettingsError: an unknown or out-of-range setting, in a state that was edited.
    """
    return cast("S", _resolved(schema, manifest["settings"])[1])


def settings_of(
    manifest: Manifest | None, schema: type[S], defaults: Mapping[str, Any], context: object, deps: Deps, method: str
) -> S:
    """The settings a node runs with.

    Before the manifest is written (None): the build's defaults under the run's context. After: the manifest's, whatever
    context a resume passes, provided that it does not contradict them.

    Raises:
        SettingsError: an unknown or out-of-range setting.
        ManifestMismatchError: the run was started with another method, settings, models, prompts or knowledge.
    """
    given: RunSettings | Mapping[str, Any] | None = context if isinstance(context, RunSettings) else None
    if isinstance(context, Mapping):
        # Names in a context of ours are checked already; this may be the one of a graph around us, which has names of its own.
        given = {name: value for name, value in context.items() if name in schema.model_fields}
    if manifest is None:
        settings = resolve_settings(schema, defaults, given)
        unpriced = deps.models.unpriced()
        if settings.max_cost is not None and unpriced:
            raise SettingsError(
                f"max_cost cannot be kept: no price is known for {', '.join(unpriced)}; give a price table"
            )
        return settings
    if manifest is not deps.checked:
        check_manifest(manifest, deps, method)
        deps.checked = manifest
    settings = run_settings(manifest, schema)
    wanted = explicit(given)
    if not wanted:
        return settings
    # Through the schema, so that "3" and 3 are the same setting.
    asked = resolve_settings(schema, {**manifest["settings"], **wanted})
    for name in wanted:
        started, now = getattr(settings, name), getattr(asked, name)
        # A ceiling that was raised on the way may still be given as it was at the start.
        if started != now and now != manifest.get("raised", {}).get(name, started):
            raise ManifestMismatchError(
                f"this run was started with {name}={started!r}, not {now!r}: "
                "resume it without that setting, or ask the question again on a new thread"
            )
    return settings


def check_manifest(manifest: Manifest, deps: Deps, method: str) -> None:
    """Refuse to go on with another method, model, prompt or knowledge base than the run was started with. Methods may have nodes of the
    same names.

    Raises:
        ManifestMismatchError: naming what differs.
    """
    if method not in {"", manifest["method"]}:
        raise ManifestMismatchError(f"this run was started with method {manifest['method']}, not {method}: {_ADVICE}")
    if manifest["fingerprint"] != deps.knowledge.fingerprint:
        raise ManifestMismatchError(
            f"this run was started over knowledge base '{manifest['knowledge']}' (fingerprint {manifest['fingerprint']}), "
            f"not '{deps.knowledge.name}' ({deps.knowledge.fingerprint}): {_ADVICE}"
        )
    ranker = deps.own_ranker.name if deps.own_ranker is not None else ""
    if manifest["ranker"] != ranker:
        raise ManifestMismatchError(
            f"this run was started with {manifest['ranker'] or 'no'} ranker of its own, not {ranker or 'none'}: {_ADVICE}"
        )
    for role, name in manifest["models"].items():
        prompt = deps.prompts.get(role)
        now = deps.models.of(prompt).name
        if now != name:
            raise ManifestMismatchError(f"this run was started with model {name} for {role}, not {now}: {_ADVICE}")
        if prompt.digest != manifest["prompts"][role]:
            raise ManifestMismatchError(f"the prompt of {role} has changed since this run was started: {_ADVICE}")
