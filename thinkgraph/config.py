"""What to work with where no flag says so: the environment, then a file `thinkgraph.toml`, then the defaults.

    kb = "my-kb"                       # paths hold from the file's own folder
    text = "chroma:passages?collection=docs&entity=id"
    model = "openai:gpt-4o-mini"       # or [model] default = …, "tog2.reason" = …
    method = "tog2"
    prompts = "prompts"
    prices = "prices.yaml"
    runs = "runs"                      # where the command line keeps its runs

    [settings]
    max_calls = 30                     # of every method that has it
    tog2.width = 5                     # of one

The file lies in the working directory, or THINKGRAPH_CONFIG names it. In the environment the same things are called THINKGRAPH_KB,
_TEXT, _MODEL, _METHOD, _PROMPTS, _PRICES, _HOME (runs) and _SETTINGS (`width=5 ranker=bm25`, or a JSON object, as _MODEL may
be). Nothing is read when this module is imported.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinkgraph.errors import KnowledgeError, SettingsError, UsageError
from thinkgraph.tools.addresses import redacted

FILE = "thinkgraph.toml"
CONFIG = "THINKGRAPH_CONFIG"
VARIABLES = {
    "kb": "THINKGRAPH_KB",
    "text": "THINKGRAPH_TEXT",
    "model": "THINKGRAPH_MODEL",
    "method": "THINKGRAPH_METHOD",
    "prompts": "THINKGRAPH_PROMPTS",
    "prices": "THINKGRAPH_PRICES",
    "runs": "THINKGRAPH_HOME",
    "settings": "THINKGRAPH_SETTINGS",
}
"""The names in the file, and those in the environment."""
DEFAULTS: dict[str, Any] = {"kb": "world", "model": "offline", "method": "tog2"}
NOWHERE = "default"
"""The source of a default."""

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
    """What the environment and the file say."""

    values: Mapping[str, Value]
    """By name; the defaults are among them, and what has none is missing. Without settings."""
    layers: tuple[Value, ...] = field(default=())
    """The settings given, by layer: later ones win."""

    def get(self, name: str) -> Any:
        """The value of a name, None where there is none."""
        found = self.values.get(name)
        return found.value if found else None

    def settings(self, method: str) -> dict[str, Any]:
        """The settings of a method: those for it alone win over those for all.

        Raises:
            UsageError: no such method.
            SettingsError: a name that no method has, or a value out of range; the line names the source.
        """
        return {name: value.value for name, value in self.sources(method).items()}

    def sources(self, method: str) -> dict[str, Value]:
        """As `settings`, each with its source."""
        from thinkgraph.graphs.registry import find_method
        from thinkgraph.state.settings import resolve_settings

        schema = find_method(method).settings
        found: dict[str, Value] = {}
        for layer in self.layers:
            own = f"{method}."
            shared = {name: value for name, value in layer.value.items() if "." not in name}
            alone = {name.removeprefix(own): value for name, value in layer.value.items() if name.startswith(own)}
            for name in layer.value:
                _check_known(name, layer.source)
            taken = {name: value for name, value in {**shared, **alone}.items() if name in schema.model_fields}
            found |= {name: Value(value, layer.source) for name, value in taken.items()}
            try:
                resolve_settings(schema, {name: value.value for name, value in found.items()})
            except SettingsError as error:
                raise SettingsError(f"{layer.source}: {error}") from None
        return found


def load_config() -> Config:
    """Read the environment and the file.

    Raises:
        UsageError: THINKGRAPH_CONFIG names no file; the file is no TOML; an unknown key or a value of a wrong type. One
            line with the source and the key.
    """
    values = {name: Value(value, NOWHERE) for name, value in DEFAULTS.items()}
    layers = []
    for source, given in (_file(), _environment()):
        for name, value in given.items():
            if name == "settings":
                layers.append(Value(value, source or VARIABLES[name]))
            else:
                values[name] = Value(value, source or VARIABLES[name])
    return Config(values, tuple(layers))


def shown(value: Value) -> str:
    """A value for people, with its source; no secret of an address is shown."""
    said = value.value
    if isinstance(said, Mapping):
        said = ", ".join(f"{role}: {name}" for role, name in said.items())
    return f"{redacted(str(said))} ({value.source})"


def model_words(model: Model) -> str:
    """The models in a few words."""
    if isinstance(model, str):
        return model
    others = ", ".join(f"{role}: {name}" for role, name in model.items() if role != "default")
    return f"{model['default']} ({others})" if others else model["default"]


def _environment() -> tuple[str, dict[str, Any]]:
    found: dict[str, Any] = {}
    for name, variable in VARIABLES.items():
        given = os.environ.get(variable, "").strip()
        if not given:
            continue
        if name == "settings":
            found[name] = _flat(_json(given, variable) if given.startswith("{") else _pairs(given, variable))
        elif name == "model" and given.startswith("{"):
            found[name] = _model(_json(given, variable), variable)
        else:
            found[name] = _checked(name, given, variable, Path())
    return "", found


def _file() -> tuple[str, dict[str, Any]]:
    named = os.environ.get(CONFIG, "").strip()
    path = Path(named).expanduser().absolute() if named else Path(FILE).absolute()
    if not path.is_file():
        if named:
            raise UsageError(f"{CONFIG} names {path}, which is no file")
        return str(path), {}
    try:
        # Some editors on Windows begin a file with a byte order mark, which TOML does not know.
        given = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in VARIABLES:
            raise UsageError(f"{path}: there is no key '{name}'; known: {', '.join(VARIABLES)}")
        if name == "settings":
            if not isinstance(value, dict):
                raise UsageError(f"{path}: 'settings' is a table ([settings]), not {value!r:.80}")
            # TOML has no null.
            found[name] = {key: _unset(one) for key, one in _flat(value).items()}
        else:
            found[name] = _checked(name, value, str(path), path.parent)
    return str(path), found


def _checked(name: str, value: object, source: str, folder: Path) -> Any:
    """The value with its type and its paths made right."""
    if name == "model" and isinstance(value, dict):
        return _model(value, source)
    if not isinstance(value, str) or not value.strip():
        kinds = "a text or a table by role" if name == "model" else "a text"
        raise UsageError(f"{source}: '{name}' is {kinds}, not {value!r:.80}")
    try:
        return _READ.get(name, _plain)(value.strip(), folder)
    except (KnowledgeError, UsageError) as error:
        raise UsageError(f"{source}: '{name}': {error}") from None


def _plain(value: str, _folder: Path) -> str:
    return value


def _path(value: str, folder: Path) -> str:
    return str((folder / Path(value).expanduser()).absolute())


def _kb(value: str, folder: Path) -> str:
    return value if value == DEFAULTS["kb"] or "://" in value else _path(value, folder)


def _method(value: str, _folder: Path) -> str:
    from thinkgraph.graphs.registry import check_name

    return check_name(value)


def _text(value: str, folder: Path) -> str:
    from thinkgraph.tools.vectorstores.specs import parsed

    place, _ = parsed(value)
    _, _, rest = value.partition(":")
    return f"chroma:{_path(place, folder)}{rest[len(place) :]}"


_READ: dict[str, Callable[[str, Path], str]] = {
    "kb": _kb,
    "text": _text,
    "method": _method,
    "prompts": _path,
    "prices": _path,
    "runs": _path,
}


def _model(value: Mapping[str, Any], source: str) -> dict[str, str]:
    table = _flat(value)
    for role, name in table.items():
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"{source}: 'model.{role}' is a text, not {name!r:.80}")
    if "default" not in table:
        raise UsageError(f"{source}: 'model' by role needs a 'default' too")
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


def _json(text: str, source: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{source} is no JSON object: {error}") from None
    return dict(value)


def _pairs(text: str, source: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{source} takes name=value, not '{word}'")
        found[name] = _unset(value)
    return found


def _unset(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().casefold() in {"none", "null"} else value


def _check_known(name: str, source: str) -> None:
    """Refuse a setting that no method has: it would never be used, and nobody would notice."""
    from thinkgraph.graphs.registry import NAMES, find_method

    of, dot, setting = name.rpartition(".")
    if dot and of not in NAMES:
        raise SettingsError(f"{source}: settings: there is no method '{of}'; known: {', '.join(NAMES)}")
    if not any(setting in find_method(method).settings.model_fields for method in ([of] if dot else NAMES)):
        raise SettingsError(f"{source}: there is no setting '{name}'" + ("" if dot else " of any method"))
