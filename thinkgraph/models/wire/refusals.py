"""The words of a refusal in a stream, which LangChain's OpenAI models leave out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

ChunkReader = Callable[..., ChatGenerationChunk | None]

CHUNK_READER: Final = "_convert_chunk_to_generation_chunk"
"""The method by which LangChain's OpenAI models read one chunk of a stream."""


def keeping_refusals(reader: ChunkReader) -> ChunkReader:
    """A reader of chunks that keeps `delta.refusal`.

    OpenAI ends a refusal with "stop", so a reply without these words is an empty one. Messages have them as `refusal` in
    `additional_kwargs`, where LangChain has that of a whole reply, and LangChain adds the parts up.
    """

    @functools.wraps(reader)
    def read(chunk: Mapping[str, Any], *args: Any, **kwargs: Any) -> ChatGenerationChunk | None:
        made = reader(chunk, *args, **kwargs)
        delta = next((choice.get("delta") for choice in chunk.get("choices") or ()), None)
        refusal = (delta or {}).get("refusal")
        if made is not None and refusal and isinstance(made.message, AIMessageChunk):
            made.message.additional_kwargs["refusal"] = refusal
        return made

    return read
