"""Stop a run in the middle, look at its state, change it, and let it go on.

    python examples/pause_and_edit.py

Every step is a checkpoint, and every reply of the model is in the journal: going on, or going back to an earlier step, pays for
nothing twice.
"""

from __future__ import annotations

import json
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg


def main() -> None:
    """Ask about one country, and send the run to another."""
    graph = tg.build(
        "tog2",
        knowledge="world",
        model="offline",
        settings={"ranker": "bm25"},
        checkpointer=InMemorySaver(),  # SqliteSaver keeps it on disk
        journal=tg.MemoryJournal(),  # SqliteJournal likewise
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": "What is the capital of Suriname?"}, thread, interrupt_after=["topic_prune"])
    state = graph.get_state(thread)
    print("paused before:", ", ".join(state.next))
    print("starts from:", ", ".join(topic["label"] for topic in state.values["topics"]))

    # The state is plain JSON: read it, change it.
    topics = json.loads(json.dumps(state.values["topics"]).replace("Suriname", "Guyana"))
    edit = {"question": "What is the capital of Guyana?", "topics": topics}
    graph.update_state(thread, edit, as_node="topic_prune")
    print("edited:", graph.invoke(None, thread)["answer"]["text"])

    # The first way is still there: go on from the checkpoint before the edit.
    print("as it was:", graph.invoke(None, state.config)["answer"]["text"])


if __name__ == "__main__":
    main()
