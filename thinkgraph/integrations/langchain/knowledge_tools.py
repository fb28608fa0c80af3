"""The knowledge as LangChain tools, for agents of one's own: five look-ups, bounded and in plain text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import ConfigDict, PrivateAttr

from thinkgraph.errors import KnowledgeError, StoreError, UsageError
from thinkgraph.integrations.langchain.lookups import LookUp, look_ups, shown
from thinkgraph.integrations.langchain.shared import opened
from thinkgraph.tools.knowledge import Knowledge


class KnowledgeTool(BaseTool):
    """One look-up in a knowledge base as a tool. `knowledge_tools` makes them."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True

    _knowledge: Knowledge = PrivateAttr()
    _kind: type[LookUp] = PrivateAttr()

    def __init__(self, *, knowledge: Knowledge, kind: type[LookUp], **options: Any) -> None:
        super().__init__(**{"description": kind.about, "args_schema": kind, **options})
        self._knowledge = knowledge
        self._kind = kind

    def _run(self, *first: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        # LangChain gives a plain text, which stands for the first argument, without its name.
        given = {**dict(zip(self._kind.model_fields, first, strict=False)), **arguments}
        try:
            found = self._kind.model_validate(given).look_up(self._knowledge)
        except StoreError:
            # Nothing that a model could mend.
            raise
        except (KnowledgeError, UsageError) as error:
            raise ToolException(str(error)) from None
        return shown(found), dict(found)


def knowledge_tools(knowledge: Knowledge | str | Path = "world", **options: Any) -> list[BaseTool]:
    """Tools that read a knowledge base, for an agent of your own:

        agent = create_agent(model, tg.knowledge_tools("world"))

    find_entities, relations_of and neighbours walk the graph; passages_of and search_passages read its documents, and are
    there only where the knowledge has documents. They take ids or names that only one entity has, give ids, cost one to three
    round trips each, call no model, and never write. Results are text with a bound on its length; the artifact is the same
    as a dict that JSON can hold (`thinkgraph.tools.lookups`).

    What a model can mend (an entity or a relation that there is not) is a ToolException of one line, which by default it gets
    to read; with handle_tool_error=False it is raised.

    Args:
        knowledge: opened knowledge, or what `Knowledge.open` takes.
        options: further fields of the tools, such as `handle_tool_error` or `tags`.

    Raises:
        KnowledgeError: the knowledge cannot be opened.
    """
    found = opened(knowledge)
    return [
        KnowledgeTool(knowledge=found, kind=kind, **{"name": name, **options}) for name, kind in look_ups(found).items()
    ]
