"""The writer of graph-to-text: any checkpoint, batches, memory, counts, and one clear line for whatever is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from runtime.test_driver import MODES, Toy

from thinkgraph.errors import ModelError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.prompts.communities import community_line
from thinkgraph.runtime import requests
from thinkgraph.state.knowledge import Triple
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import summarise
from thinkgraph.tools.communities import g2t
from thinkgraph.tools.communities.g2t import GraphToText, writer
from thinkgraph.tools.encoders import embeddings
from thinkgraph.tools.encoders.weights import bundled_folder
from thinkgraph.tools.meter import Meter, current_meter
from thinkgraph.training.pairs import Split, TextPair, make_triple
from thinkgraph.training.train import TrainSettings, from_scratch, train

pytestmark = pytest.mark.xdist_group("g2t")
"""One worker imports PyTorch for all of them."""
COUNTRIES = ("Panama", "Colombia", "Peru", "Chile", "Bolivia", "Uruguay", "Japan", "Suriname")


def community(name: str, more: int = 0) -> list[Triple]:
    """A country and its capital; and `more` things in it."""
    return [
        make_triple(name, "hasCapital", f"{name} City"),
        *(make_triple(name, "holds", f"Town {n}") for n in range(more)),
    ]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights."""
    import torch

    folder = tmp_path_factory.mktemp("raw") / "model"
    torch.manual_seed(1)
    lines = [community_line(community(name)) for name in COUNTRIES]
    model, tokenizer = from_scratch("tiny", lines, None)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that knows a few communities by heart."""
    known = []
    for name in COUNTRIES:
        triples = tuple(community(name))
        known.append(TextPair(community_line(triples), triples, (f"{name} City is the capital of {name}.",)))
    out = tmp_path_factory.mktemp("taught") / "model"
    settings = TrainSettings(scratch="tiny", epochs=40, lr=3e-3, batch=8, dropout=0.0)
    train(Split(known, []), out, settings)
    return out


def test_communities_become_prose_in_their_order(taught: Path) -> None:
    found = writer(str(taught)).write([community("Peru"), [], community("Panama"), community("Peru")])
    assert found[0] == {"text": "Peru City is the capital of Peru.", "ok": True, "problems": []}
    assert found[1] == {"text": "", "ok": True, "problems": []}
    assert found[2]["text"] == "Panama City is the capital of Panama."
    assert found[3] == found[0]


def test_a_text_that_is_not_true_to_its_triples_says_why(taught: Path) -> None:
    other = [{**community("Peru")[0], "object_label": "Lima"}]
    loaded = GraphToText(str(taught)).load()
    fake = GraphToText("fake")
    fake._loaded = loaded
    # What the model learnt for Peru, held against other triples.
    fake._cache[community_line(other)] = writer(str(taught)).texts([community_line(community("Peru"))])[0]
    (prose,) = fake.write([other])
    assert prose["text"] == "Peru City is the capital of Peru."
    assert not prose["ok"]
    assert prose["problems"] == ["invented: Peru City", "left out: Peru, has capital, Lima"]


def test_batches_do_not_change_what_is_written(taught: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    communities = [community(name, more) for more, name in enumerate(COUNTRIES)]
    lines = [community_line(triples) for triples in communities]
    together = GraphToText(str(taught)).texts(lines)
    seen: list[list[int]] = []
    once = g2t._batch

    def watched(loaded: Any, pieces: Sequence[list[int]], source: str) -> Iterator[g2t.Written]:
        seen.append([len(row) for row in pieces])
        return once(loaded, pieces, source)

    monkeypatch.setattr(g2t, "_batch", watched)
    monkeypatch.setattr(g2t, "_BATCH_TEXTS", 3)
    assert GraphToText(str(taught)).texts(lines[::-1]) == together[::-1]
    assert [len(batch) for batch in seen] == [3, 3, 2]
    sizes = [size for batch in seen for size in batch]
    assert sizes == sorted(sizes, reverse=True)
    monkeypatch.setattr(g2t, "_BATCH_TEXTS", 1)
    assert GraphToText(str(taught)).texts(lines) == together


def test_what_was_written_is_remembered_and_counted_once(raw: Path) -> None:
    model = GraphToText(str(raw))
    meter = Meter()
    token = current_meter.set(meter)
    try:
        first = model.write([community("Peru"), community("Chile"), community("Peru")])
        assert meter.generated_texts == 2
        assert model.write([community("Chile"), community("Peru")]) == [first[1], first[0]]
        model.write([community("Peru"), community("Japan")])
    finally:
        current_meter.reset(token)
    assert meter.generated_texts == 3
    assert (meter.encoder_texts, meter.store_round_trips) == (0, 0)


def test_the_memory_is_bounded(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(g2t, "_CACHED_TEXTS", 2)
    model = GraphToText(str(raw))
    model.write([community(name) for name in COUNTRIES[:4]])
    assert len(model._cache) == 2


def test_threads_write_a_text_once(raw: Path) -> None:
    model = GraphToText(str(raw))
    meter = Meter()

    def work(_: int) -> list[str]:
        current_meter.set(meter)
        return [prose["text"] for prose in model.write([community("Peru"), community("Chile")])]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(16)))
    assert meter.generated_texts == 2
    assert all(texts == found[0] for texts in found)


def test_too_long_is_not_cut_but_said(raw: Path) -> None:
    found = GraphToText(str(raw)).write([community("Peru", 200), community("Chile")])
    assert found[0]["text"] == ""
    assert not found[0]["ok"]
    (problem,) = found[0]["problems"]
    assert problem.startswith("too long: ")
    assert problem.endswith(" tokens, 512 are read")


def test_a_text_without_end_is_no_text(raw: Path) -> None:
    # Random weights repeat themselves to the last token allowed.
    (prose,) = GraphToText(str(raw)).write([community("Peru")])
    assert not prose["ok"]
    assert prose["problems"][0].startswith("unfinished: ")


def test_one_writer_for_a_process_until_the_weights_change(raw: Path, taught: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(raw, folder)
    first = writer(str(folder))
    assert writer(f" {folder}/ ") is first
    first.load()
    shutil.copy(taught / "model.safetensors", folder / "model.safetensors")
    assert writer(str(folder)) is not first


def _without(*names: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return change


def _config(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        (folder / "config.json").write_text(json.dumps({**config, **changes}), "utf-8")

    return change


def _half(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without("config.json"), "holds no checkpoint (there is no config.json in it)"),
        (lambda folder: (folder / "config.json").write_text('{"model'), "cannot load the graph-to-text checkpoint in"),
        (_without("tokenizer.json", "tokenizer_config.json"), "has no tokeniser"),
        (_without("tokenizer.json"), "tokeniser"),
        (_without("model.safetensors"), "no file named model.safetensors"),
        (_half, "are damaged"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b""), "are damaged"),
        (
            _config(model_type="bert", is_encoder_decoder=False),
            "is a model of type bert, which is not sequence-to-sequence",
        ),
        (_config(model_type="whisper"), "cannot load the graph-to-text checkpoint in"),
        (_config(model_type="nonsense"), "cannot load the graph-to-text checkpoint in"),
        (_config(num_layers=3), "weights that its config.json asks for are missing or of another size"),
        (_config(d_ff=64), "weights that its config.json asks for are missing or of another size"),
    ],
)
def test_a_checkpoint_that_cannot_serve_is_one_line(
    raw: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], change: Callable[[Path], Any], words: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(raw, folder)
    change(folder)
    with pytest.raises(ModelError) as caught:
        writer(str(folder)).write([])
    assert words in str(caught.value)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_tokeniser_of_another_model_is_refused(raw: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(raw, folder)
    _, larger = from_scratch("small", [f"word{n} thing{n * 7} other{n * 13}" for n in range(900)], None)
    larger.save_pretrained(folder)
    with pytest.raises(ModelError, match="they do not belong together"):
        writer(str(folder)).load()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "no graph-to-text checkpoint is named"),
        ("  ", "no graph-to-text checkpoint is named"),
        ("/nowhere/at/all", "nothing is there"),
        ("./nothing", "nothing is there"),
        (__file__, "is a file, not a checkpoint's folder"),
        ("no-such/model", "is not on this machine and the model hub cannot be reached"),
        ("a b\x1b", "not on this machine"),
    ],
)
def test_wrong_names(monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    monkeypatch.setattr(embeddings, "_hub_reachable", lambda: False)
    with pytest.raises(ModelError) as caught:
        writer(name).write([community("Peru")])
    assert words in str(caught.value)
    assert "thinkgraph g2t train" in str(caught.value)


def test_an_encoder_is_no_graph_to_text_model() -> None:
    with pytest.raises(ModelError, match="not sequence-to-sequence"):
        writer(str(bundled_folder())).load()


@MODES
async def test_nodes_ask_for_prose_and_it_is_counted(raw: Path, mode: str) -> None:
    def node(_state: Mapping[str, Any], _settings: RunSettings) -> Flow[Update]:
        yield from requests.prose(str(raw), [])
        made = yield from requests.prose(str(raw), [community(f"{name} {mode}") for name in COUNTRIES[:3]])
        again = yield from requests.prose(str(raw), [community(f"Peru {mode}")])
        return {"out": [made[2] == again[0], [sorted(prose) for prose in made]]}

    state = await Toy(node).run(mode)
    assert state["out"] == [True, [["ok", "problems", "text"]] * 3]
    assert state["work"]["toy/0"]["generated_texts"] == 3
    assert summarise(state["calls"], state["work"])["generated_texts"] == 3


@MODES
async def test_a_missing_checkpoint_is_thrown_into_the_node(mode: str) -> None:
    def node(_state: Mapping[str, Any], _settings: RunSettings) -> Flow[Update]:
        try:
            yield from requests.prose("/nowhere", [])
        except ModelError as error:
            return {"out": str(error)}
        return {"out": ""}

    state = await Toy(node).run(mode)
    assert "nothing is there" in state["out"]


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, thinkgraph.tools.communities.g2t as g, thinkgraph.runtime.requests; g.GraphToText('x'); g.writer('x/y');"
        "import thinkgraph.training.train, thinkgraph.training.scores, thinkgraph.cli.training.g2t;"
        "print([m for m in ('torch','transformers','sacrebleu','rouge_score','tokenizers','nltk') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
