"""Defaults for what no flag gives: from the environment, else from a file `thinkgraph.toml`.

    kb = "my-kb"                       # relative paths start at the file's own folder
    text = "chroma:passages?collection=docs&entity=id"
    trust_embedder = false             # as --trust-embedder
    model = "openai:gpt-4o-mini"       # or [model] default = …, "tog2.reason" = …
    method = "tog2"
    prompts = "prompts"
    prices = "prices.yaml"
    runs = "runs"                      # where the command line keeps its runs

    [models."openai:qwen2.5-coder-1.5b"]  # what you know of a model: see thinkgraph.models.profiles.ChatProfile
    window = 8192

    [settings]
    max_calls = 30                     # of every method that has it
    tog2.width = 5                     # of one

The file lies in the working directory, or THINKGRAPH_CONFIG names it. The environment has the same values as THINKGRAPH_KB,
_TEXT, _TRUST_EMBEDDER, _MODEL, _METHOD, _PROMPTS, _PRICES, _HOME (runs), _MODELS and _SETTINGS (`width=5 ranker=bm25`).
_MODELS is a JSON object, _SETTINGS and _MODEL may be. Nothing is read when this module is imported.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinkgraph.errors import KnowledgeError, SettingsError, UsageError
from thinkgraph.tools.addresses import redacted

FILE = "thinkgraph.toml"
CONFIG = "THINKGRAPH_CONFIG"
VARIABLES = {
    **{
        name: f"THINKGRAPH_{name.upper()}"
        for name in ("kb", "text", "trust_embedder", "model", "models", "method", "prompts", "prices")
    },
    "runs": "THINKGRAPH_HOME",
    "settings": "THINKGRAPH_SETTINGS",
}
"""The names in the file, and those in the environment."""
DEFAULTS: dict[str, Any] = {"kb": "world", "model": "offline", "method": "tog2"}
_SWITCH = {"true": True, "1": True, "false": False, "0": False}
DEFAULT = "default"
"""The source of a value that nobody gave."""

Model = str | dict[str, str]
"""One model, or models by role, method, stage and "default"."""


@dataclass(frozen=True)
class Value:
    """A value and where it comes from."""

    value: Any
    source: str
    """The variable's name, the file's path, "default", or "flag"."""


@dataclass(frozen=True)
class Config:
    """The values of the environment, the file and the defaults."""

    values: Mapping[str, Value]
    """By name, without the settings. A name that has no value and no default is missing."""
    layers: tuple[Value, ...] = field(default=())
    """The settings of the file, then those of the environment, which win."""

    def get(self, name: str) -> Any:
        """The value of a name; None where there is none."""
        return self.values[name].value if name in self.values else None

    def settings(self, method: str) -> dict[str, Any]:
        """The settings of a method. Those of it alone win over those of every method.

        Raises:
            UsageError: there is no such method.
            SettingsError: no method has such a setting, or a value is out of range; the line names the source.
        """
        return {name: value.value for name, value in self.sources(method).items()}

    def sources(self, method: str) -> dict[str, Value]:
        """As `settings`, each with its source."""
        from thinkgraph.graphs.registry import find_method
        from thinkgraph.state.settings import resolve_settings

        schema = find_method(method).settings
        found: dict[str, Value] = {}
        for layer in self.layers:
            for name in layer.value:
                _check_known(name, layer.source)
            for own in (False, True):
                for name, value in layer.value.items():
                    of, _, setting = name.rpartition(".")
                    if of == (method if own else "") and setting in schema.model_fields:
                        found[setting] = Value(value, layer.source)
            try:
                resolve_settings(schema, {name: value.value for name, value in found.items()})
            except SettingsError as error:
                raise SettingsError(f"{layer.source}: {error}") from None
        return found


def load_config() -> Config:
    """Read the environment and the file.

    Raises:
        UsageError: THINKGRAPH_CONFIG names no file, the file is no TOML, a key is unknown, or a value has a wrong type. One
            line with the source and the key.
    """
    path, table = _file()
    given = [(name, value, str(path), path.parent) for name, value in table.items()]
    for name, variable in VARIABLES.items():
        if text := os.environ.get(variable, "").strip():
            given.append((name, _from_text(name, text, variable), variable, Path()))
    values = {name: Value(value, DEFAULT) for name, value in DEFAULTS.items()}
    layers = []
    for name, raw, source, folder in given:
        value = Value(_checked(name, raw, source, folder), source)
        if name == "settings":
            layers.append(value)
        else:
            values[name] = value
    return Config(values, tuple(layers))


def shown(value: Value) -> str:
    """A value with its source, for people. Secrets of addresses are left out."""
    said = str(value.value)
    if isinstance(value.value, dict) and "default" in value.value:
        said = model_words(value.value)
    return f"{redacted(said)} ({value.source})"


def model_words(model: Model) -> str:
    """The models in a few words."""
    if isinstance(model, str):
        return model
    others = ", ".join(f"{role}: {name}" for role, name in model.items() if role != "default")
    return f"{model['default']} ({others})" if others else model["default"]


def _file() -> tuple[Path, dict[str, Any]]:
    named = os.environ.get(CONFIG, "").strip()
    path = Path(named).expanduser().absolute() if named else Path(FILE).absolute()
    if not path.is_file():
        if named:
            raise UsageError(f"{CONFIG} names {path}, which is no file")
        if path.is_symlink() or path.exists():
            raise UsageError(f"{path} is no file, or a link to none")
        return path, {}
    try:
        # Some editors on Windows begin a file with a byte order mark, which TOML does not know.
        return path, tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no TOML: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def _from_text(name: str, text: str, variable: str) -> Any:
    """A variable's value in the form that the file would give it."""
    if name in {"model", "models", "settings"} and text.startswith("{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{variable} is no JSON object: {error}") from None
    if name != "settings":
        return text
    try:
        return parse_settings(shlex.split(text), variable)
    except ValueError as error:
        raise UsageError(f"{variable}: {error}") from None


def _checked(name: str, value: object, source: str, folder: Path) -> Any:
    """The value, checked; its paths absolute."""
    if name not in VARIABLES:
        raise UsageError(f"{source}: there is no key '{name}'; known: {', '.join(VARIABLES)}")
    if name == "settings":
        if not isinstance(value, dict):
            raise UsageError(f"{source}: 'settings' is a table ([settings]), not {value!r:.80}")
        return {key: _unset(one) for key, one in _flat(value).items()}
    if name == "trust_embedder":
        if (switch := str(value).strip().lower()) not in _SWITCH:
            raise UsageError(f"{source}: 'trust_embedder' is true or false, not {value!r:.80}")
        return _SWITCH[switch]
    if name == "models":
        from thinkgraph.models.profiles import check_profiles

        return check_profiles(value, source)
    if name == "model" and isinstance(value, dict):
        return _models(value, source)
    if not isinstance(value, str) or not value.strip():
        kinds = "a text or a table by role" if name == "model" else "a text"
        raise UsageError(f"{source}: '{name}' is {kinds}, not {value!r:.80}")
    try:
        return absolute(name, value.strip(), folder)
    except (KnowledgeError, UsageError) as error:
        raise UsageError(f"{source}: '{name}': {error}") from None


def absolute(name: str, value: str, folder: Path = Path()) -> str:
    """The value of a name for any working folder: a relative path in it starts at `folder`.

    Raises:
        UsageError: there is no such method.
        KnowledgeError: the value names no texts.
    """

    def path(text: str) -> str:
        return str((folder / Path(text).expanduser()).absolute())

    match name:
        case "method":
            from thinkgraph.graphs.registry import check_name

            return check_name(value)
        case "text":
            from thinkgraph.tools.vectorstores.specs import parsed

            place, _ = parsed(value)
            return f"chroma:{path(place)}{value.partition(':')[2][len(place) :]}"
        case "model":
            return value
        case "kb" if value == DEFAULTS["kb"] or "://" in value or not value.strip():
            return value
        case _:
            return path(value)


def _models(value: Mapping[str, Any], source: str) -> dict[str, str]:
    table = _flat(value)
    for role, name in table.items():
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"{source}: 'model.{role}' is a text, not {name!r:.80}")
    from thinkgraph.models.roles import check_roles

    check_roles(table, f"{source}: 'model'")
    return {role: name.strip() for role, name in table.items()}


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested tables as names with dots: TOML reads `tog2.width = 5` as one table inside another."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found


def parse_settings(pairs: Iterable[str], source: str = "--set") -> dict[str, Any]:
    """`name=value` pairs as a mapping; the method's schema turns the values into numbers and switches.

    Args:
        pairs: the pairs; the values `none` and `null` stand for None.
        source: what gave them, for errors.

    Raises:
        UsageError: a pair without name or '='.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{source} takes name=value, not '{pair}'")
        settings[name.strip()] = _unset(value.strip())
    return settings


def _unset(value: Any) -> Any:
    """None for the texts that stand for it: TOML has no null."""
    return None if isinstance(value, str) and value.strip().casefold() in {"none", "null"} else value


def _check_known(name: str, source: str) -> None:
    """Refuse a setting that no method has: a misspelt one would never be used."""
    from thinkgraph.graphs.registry import NAMES, find_method
    from thinkgraph.state.settings import meant

    of, dot, setting = name.rpartition(".")
    if dot and of not in NAMES:
        raise SettingsError(f"{source}: settings: there is no method '{of}'; known: {', '.join(NAMES)}")
    known = {one for method in ([of] if dot else NAMES) for one in find_method(method).settings.model_fields}
    if setting not in known:
        anywhere = "" if dot else " of any method"
        raise SettingsError(f"{source}: there is no setting '{name}'{anywhere}{meant(setting, known)}")
