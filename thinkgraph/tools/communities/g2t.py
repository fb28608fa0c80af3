"""Graph-to-text (FastToG, section "Community-to-Text"; Graph2Text, G2T): a community's triples in the words of a
sequence-to-sequence model.

Any checkpoint that transformers opens with `AutoModelForSeq2SeqLM` serves, by folder or name. What it reads is the line that T2T
writes (prompts/communities.py). Every text is checked against its triples (tools/communities/g2t_check.py): such models invent things.
Importing this module loads no library; a checkpoint is loaded by the first community it has to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from cachetools import LRUCache

from thinkgraph.errors import KnowledgeError, ModelError, first_line
from thinkgraph.prompts.communities import community_line
from thinkgraph.state.knowledge import Prose, Triple
from thinkgraph.tools.communities.g2t_check import check
from thinkgraph.tools.encoders.embeddings import load_from_hub, quiet_libraries
from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.meter import count

_MOST_TOKENS = 512
"""Of a community and of its text: T5 was trained on so many; a checkpoint with fewer positions takes fewer."""
_BATCH_TEXTS = 32
_CACHED_TEXTS = 4096
_TRAIN = "train one with `thinkgraph g2t train`"


class Written(NamedTuple):
    """What the model made of one line."""

    text: str
    problem: str
    """Empty, or why there is no text, or no whole one."""


class GraphToText:
    """One checkpoint, shared by all runs of a process; safe to use from several threads, which take turns."""

    def __init__(self, source: str) -> None:
        """Name the checkpoint (folder or hub name); nothing is loaded yet."""
        self.source = source
        self._lock = RLock()
        self._cache: LRUCache[str, Written] = LRUCache(_CACHED_TEXTS)
        self._loaded: tuple[Any, Any] | None = None

    def load(self) -> tuple[Any, Any]:
        """Model and tokeniser, loaded on first use.

        Raises:
            ModelError: there is no checkpoint, it cannot be read, is no sequence-to-sequence model or lacks its tokeniser.
        """
        with self._lock:
            self._loaded = self._loaded or load_checkpoint(self.source)
            return self._loaded

    def write(self, communities: Sequence[Sequence[Triple]]) -> list[Prose]:
        """One checked text per community, in order; all of them in one pass of length-sorted batches.

        Args:
            communities: the triples of each: its own and those that join it to its predecessor.

        Raises:
            ModelError: the checkpoint cannot be loaded or fails.
        """
        made = []
        written = self.texts([community_line(triples) for triples in communities])
        for (text, problem), triples in zip(written, communities, strict=True):
            nothing = "" if text or not triples else "unfinished: the model wrote nothing"
            problems = [*filter(None, [problem or nothing]), *(check(text, triples) if text else [])]
            made.append(Prose(text=text, ok=not problems, problems=problems))
        return made

    def texts(self, lines: Sequence[str]) -> list[Written]:
        """What the model writes for T2T lines, unchecked; nothing for an empty line. Deterministic: no sampling.

        Raises:
            ModelError: as `write`.
        """
        lines = [well_formed(line) for line in lines]
        with self._lock:
            loaded = self.load()
            found = {line: self._cache[line] for line in lines if line in self._cache}
            fresh = dict.fromkeys(line for line in lines if line and line not in found)
            found.update(_generate(loaded, fresh, self.source))
            self._cache.update(found)
        return [found.get(line, Written("", "")) for line in lines]


def writer(source: str) -> GraphToText:
    """The process's writer for a checkpoint; a folder whose weights have changed since is loaded anew.

    Raises:
        ModelError: the name is empty, or a path where no checkpoint is.
    """
    name = source.strip()
    folder = Path(name).expanduser()
    if not name:
        raise ModelError(f"no graph-to-text checkpoint is named: give a folder or a model's name, or {_TRAIN}")
    if folder.is_dir():
        weights = sorted(file for file in folder.iterdir() if file.suffix in {".safetensors", ".bin"})
        return _writer(str(folder.resolve()), *(file.stat().st_mtime_ns for file in weights))
    if folder.exists() or name.startswith((".", "/", "~")):
        what = "is a file, not a checkpoint's folder" if folder.exists() else "is no checkpoint: nothing is there"
        raise ModelError(f"{name} {what}; give a folder or a model's name, or {_TRAIN}")
    return _writer(name)


@lru_cache(maxsize=2)
def _writer(source: str, *_stamp: int) -> GraphToText:
    return GraphToText(source)


def load_checkpoint(source: str, dropout: float | None = None) -> tuple[Any, Any]:
    """Load a model and its tokeniser, on a GPU where torch finds one.

    Args:
        source: folder or hub name.
        dropout: share that is dropped in training; None: the checkpoint's own.

    Raises:
        ModelError: one line that says what is missing or wrong.
    """
    from safetensors import SafetensorError

    what = "graph-to-text checkpoint"
    if Path(source).is_dir() and not (Path(source) / "config.json").is_file():
        raise ModelError(f"{source} holds no checkpoint (there is no config.json in it); {_TRAIN}")
    try:
        with quiet_libraries():
            import torch
            from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer

        hub = partial(load_from_hub, model=source, otherwise=_TRAIN)
        # The families' names for it; a configuration takes those that it has.
        changes: Any = {} if dropout is None else {"dropout": dropout, "dropout_rate": dropout}
        config = hub(partial(AutoConfig.from_pretrained, **changes), what=what)
        if not config.is_encoder_decoder:
            raise ModelError(
                f"{source} is a model of type {config.model_type}, which is not sequence-to-sequence: "
                "graph-to-text takes T5, BART and their like"
            )
        tokenizer = hub(AutoTokenizer.from_pretrained, what=f"tokeniser of the {what}")
        # What does not fit is counted and refused below, in words of our own.
        options = {"config": config, "output_loading_info": True, "ignore_mismatched_sizes": True}
        model, report = hub(partial(AutoModelForSeq2SeqLM.from_pretrained, **options), what=what)
    except KnowledgeError as error:
        raise ModelError(str(error)) from error
    except SafetensorError as error:
        raise ModelError(
            f"the weights in {source} are damaged ({first_line(error)}): copy or train them again"
        ) from error
    except ImportError as error:
        raise ModelError(
            f"the {what} {source} needs a library that is missing ({first_line(error)}): pip install 'thinkgraph[g2t]'"
        ) from error
    _check_parts(model, tokenizer, len(report["missing_keys"]) + len(report["mismatched_keys"]), source)
    return model.float().to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def _check_parts(model: Any, tokenizer: Any, wrong: int, source: str) -> None:
    """Refuse weights and a tokeniser that are not those of the configuration."""
    if wrong:
        raise ModelError(f"{source}: {wrong} weights that its config.json asks for are missing or of another size")
    tokens, rows = len(tokenizer), model.get_input_embeddings().num_embeddings
    if tokens > rows:
        raise ModelError(
            f"{source}: its tokeniser has {tokens} tokens, its weights only {rows}: they do not belong together"
        )
    # One is made even where its files are missing, with next to no vocabulary.
    ids = tokenizer("Panama borders Colombia", add_special_tokens=False)["input_ids"]
    if not any(map(str.isalpha, tokenizer.decode(ids, skip_special_tokens=True))):
        raise ModelError(f"{source} has no tokeniser: save the one it was trained with beside the weights")


def max_tokens(config: Any) -> int:
    """Most tokens that a model with this configuration is given to read, and to write."""
    return min(getattr(config, "max_position_embeddings", None) or _MOST_TOKENS, _MOST_TOKENS)


def room_for(tokens: int, config: Any) -> int:
    """Most tokens of a text about triples of so many: it is about as long as they are, and must come to an end."""
    return min(2 * tokens + 32, max_tokens(config))


def _generate(loaded: tuple[Any, Any], lines: Iterable[str], source: str) -> Iterator[tuple[str, Written]]:
    model, tokenizer = loaded
    most = max_tokens(model.config)
    pieces = {line: tokenizer(line)["input_ids"] for line in lines}
    for line in [line for line, row in pieces.items() if len(row) > most]:
        # A line that is cut has lost triples: the text could not be true to them.
        yield line, Written("", f"too long: {len(pieces.pop(line))} tokens, {most} are read")
    # From the longest on, so that too little memory shows at once.
    order = sorted(pieces, key=lambda line: len(pieces[line]), reverse=True)
    for start in range(0, len(order), _BATCH_TEXTS):
        batch = order[start : start + _BATCH_TEXTS]
        yield from zip(batch, _batch(loaded, [pieces[line] for line in batch], source), strict=True)


def _batch(loaded: tuple[Any, Any], pieces: Sequence[list[int]], source: str) -> Iterator[Written]:
    model, tokenizer = loaded
    # Each text has room of its own, so that it does not hang on what else is in the batch.
    rooms = [room_for(len(row), model.config) for row in pieces]
    try:
        with quiet_libraries():
            inputs = tokenizer.pad({"input_ids": pieces}, return_attention_mask=True, return_tensors="pt")
            out = model.generate(**inputs.to(model.device), max_length=None, max_new_tokens=max(rooms), do_sample=False)
    except (RuntimeError, ValueError, IndexError) as error:
        raise ModelError(f"the graph-to-text checkpoint {source} failed: {first_line(error)}") from error
    count(generated_texts=len(pieces))
    ends = model.generation_config.eos_token_id
    for row, room in zip(out.tolist(), rooms, strict=True):
        # The first token is where every text starts.
        said = row[1 : 1 + room]
        whole = not {*(ends if isinstance(ends, list) else [ends])}.isdisjoint(said)
        text = tokenizer.decode(said, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        yield Written(" ".join(text.split()), "" if whole else f"unfinished: no end after {room} tokens")
