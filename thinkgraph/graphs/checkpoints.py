"""Checkpointers that make nothing but what a state holds, whatever a checkpoint names."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from thinkgraph.errors import RunError

C = TypeVar("C")


class _Serializer(JsonPlusSerializer):
    """LangGraph's, which says in a line what is damaged."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """See SerializerProtocol.

        Raises:
            RunError: the bytes are none that it has written.
        """
        try:
            return super().loads_typed(data)
        except (ValueError, NotImplementedError, RecursionError) as error:
            raise RunError(
                f"a checkpoint of this thread is damaged ({error}): ask the question again on another thread"
            ) from error


def strict(checkpointer: C) -> C:
    """A checkpointer over the same store that makes only the types of LangGraph's own list.

    By default LangGraph imports and calls whatever a checkpoint names, unless LANGGRAPH_STRICT_MSGPACK is set before it is
    imported. The states here are plain JSON and messages, which its list has.

    Args:
        checkpointer: what `compile(checkpointer=…)` takes. None, True, False, and savers with a serializer that is not
            LangGraph's, come back as they are.
    """
    if not isinstance(checkpointer, BaseCheckpointSaver):
        return checkpointer
    # A copy, as LangGraph's `with_allowlist` makes one: the caller's own stays as it was.
    clone = copy.copy(checkpointer)
    clone.serde = _strict(checkpointer.serde)
    return clone


def _strict(serde: SerializerProtocol) -> SerializerProtocol:
    if isinstance(serde, EncryptedSerializer):
        return EncryptedSerializer(serde.cipher, _strict(serde.serde))
    if type(serde) is JsonPlusSerializer:
        return _Serializer(allowed_msgpack_modules=None)
    if isinstance(serde, JsonPlusSerializer):
        clone = copy.copy(serde)  # a class of the user's keeps what it added
        JsonPlusSerializer.__init__(clone, allowed_msgpack_modules=None)
        return clone
    return serde
