"""A checkpoint is other people's data: reading one calls nothing that it names, whatever the environment says."""

from __future__ import annotations

from contextlib import AsyncExitStack

import ormsgpack
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

import thinkgraph as tg
from tests.graphs.cases import small_knowledge
from thinkgraph.cli.runs import RunStore
from thinkgraph.errors import RunError
from thinkgraph.integrations.langgraph.checkpoints import VARIABLE, sqlite

LENIENT = JsonPlusSerializer(allowed_msgpack_modules=True)


class _Plain:
    """A cipher that changes nothing."""

    def encrypt(self, plaintext):
        return "plain", plaintext

    def decrypt(self, ciphername, ciphertext):
        return ciphertext


class _Own(JsonPlusSerializer):
    """A serializer of the user's, with more than LangGraph's."""

    label = "own"


@pytest.fixture(autouse=True)
def _lenient(monkeypatch):
    # What a saver reads with where LANGGRAPH_STRICT_MSGPACK is not set; the suite sets it, users need not.
    monkeypatch.setattr(BaseCheckpointSaver, "serde", LENIENT)


def _calls(serde, folder, kind="msgpack"):
    """Whether reading a value that names os.mkdir makes the folder."""
    for code, arguments in (
        (0, str(folder)),
        (1, [str(folder)]),
        (2, {"path": str(folder)}),
        (5, {"path": str(folder)}),
    ):
        named = ormsgpack.Ext(code, ormsgpack.packb(("os", "mkdir", arguments, "model_validate_json")))
        serde.loads_typed((kind, ormsgpack.packb({"question": named})))
    return folder.exists()


def test_langgraph_itself_would_call_what_a_checkpoint_names(tmp_path):
    assert _calls(LENIENT, tmp_path / "made")


def test_the_command_lines_checkpoints_call_nothing(tmp_path):
    with RunStore(tmp_path) as runs:
        assert not _calls(runs.checkpointer().serde, tmp_path / "made")


async def test_the_servers_checkpoints_call_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "kept.sqlite"))
    async with AsyncExitStack() as closing:
        saver = await closing.enter_async_context(sqlite())
        assert not _calls(saver.serde, tmp_path / "made")


@pytest.mark.parametrize(
    ("serde", "kind"),
    [
        (JsonPlusSerializer(allowed_msgpack_modules=True, pickle_fallback=True), "msgpack"),
        (_Own(allowed_msgpack_modules=True), "msgpack"),
        (EncryptedSerializer(_Plain(), LENIENT), "msgpack+plain"),
    ],
    ids=["lenient", "own", "encrypted"],
)
def test_a_built_graphs_checkpoints_call_nothing(tmp_path, serde, kind):
    own = InMemorySaver(serde=serde)
    graph = tg.build("tog2", knowledge=small_knowledge(), checkpointer=own)
    assert not _calls(graph.checkpointer.serde, tmp_path / "made", kind)
    assert own.serde is serde, "the caller's own checkpointer stays as it was"
    assert getattr(graph.checkpointer.serde, "label", "own") == "own"
    with pytest.raises((RunError, NotImplementedError), match="pickle"):
        graph.checkpointer.serde.loads_typed(("pickle", b""))


def test_bytes_that_are_no_checkpoint_are_one_line(tmp_path):
    with RunStore(tmp_path) as runs:
        serde = runs.checkpointer().serde
    whole = serde.dumps_typed({"question": "Q", "round": 1})[1]
    assert serde.loads_typed(("msgpack", whole)) == {"question": "Q", "round": 1}
    for kind, data in (
        ("msgpack", whole[:-3]),
        ("msgpack", b"\xc1"),
        ("msgpack", b"\xa2\xff\xff"),
        ("json", b"{"),
        ("pickle", b""),
    ):
        with pytest.raises(RunError, match=r"^a checkpoint of this thread is damaged \(.+\): ask the question again"):
            serde.loads_typed((kind, data))
