"""`examples/train_small`: an export, a tiny model made here, its training, and `bench roles` before and after."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import runpy
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import environment
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from model_server import ModelServer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from thinkgraph.cli.main import main

pytestmark = [pytest.mark.xdist_group("g2t"), pytest.mark.usefixtures("by_words")]
"""The export and the trained model are made once, by the worker that has PyTorch loaded."""
SCRIPT = Path(__file__).parents[2] / "examples" / "train_small" / "train.py"
ROLE = "tog2.topic_prune"
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module")
def data(by_words: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "data"
    words = ["--data", "world", "--limit", "24", "--methods", "tog2", "--set", "shots=0"]
    assert main(["export", "training", str(out), "--kb", "world", *words]) == 0
    return out


@pytest.fixture(scope="module")
def base(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama of two layers that has learnt nothing, with a tokenizer of the export's own words."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=special, initial_alphabet=alphabet)
    texts = [
        json.loads(line)["messages"] for line in (data / "train" / f"{ROLE}.jsonl").read_text("utf-8").splitlines()
    ]
    made.train_from_iterator([message["content"] for messages in texts for message in messages], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|end|>")  # noqa: S106
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=2048, eos_token_id=tokenizer.eos_token_id, initializer_range=0.3,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("base") / "tiny"
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def command_for(data: Path | tuple[Path, ...], base: Path, out: Path, *words: str) -> list[str]:
    folders = data if isinstance(data, tuple) else (data,)
    return [sys.executable, str(SCRIPT), *map(str, folders), "--base", str(base), "--out", str(out), *words]


def train(data: Path | tuple[Path, ...], base: Path, out: Path, *words: str) -> str:
    """What the script prints. It runs in this process, which has PyTorch loaded."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, which a process of its own would print
        patch.setattr(sys, "argv", command_for(data, base, out, *words)[1:])
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return said.getvalue()


@pytest.fixture(scope="module")
def trained(data: Path, base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A model that was trained in two runs: the first is killed once it has saved something."""
    out = tmp_path_factory.mktemp("trained")
    roles = f"{ROLE},tog2.relation_prune"
    steps = ("--max-steps", "120", "--save", "20", "--tested", "24", "--batch", "2", "--collect", "1")
    words = ("--roles", roles, "--lr", "1e-2", *steps)
    with subprocess.Popen(command_for(data, base, out, *words), env=environment()) as begun:
        while not list(out.glob("steps/checkpoint-*/trainer_state.json")):
            assert begun.poll() is None, "it ended before it saved anything"
            time.sleep(0.05)
        begun.kill()
    return out, train(data, base, out, *words)


@functools.cache
def loaded(folder: str) -> tuple[Any, Any]:
    """A model and its tokenizer."""
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    return LlamaForCausalLM.from_pretrained(folder), PreTrainedTokenizerFast.from_pretrained(folder)


class Generating(BaseChatModel):
    """A model of transformers behind a chat server."""

    folder: str

    @property
    def _llm_type(self) -> str:
        return "generating"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        who = {"human": "user", "ai": "assistant"}
        rows = [{"role": who.get(one.type, one.type), "content": str(one.text)} for one in messages]
        model, tokenizer = loaded(self.folder)
        asked = tokenizer.apply_chat_template(rows, add_generation_prompt=True, tokenize=False)
        tokens = tokenizer(asked, add_special_tokens=False, return_tensors="pt").input_ids
        said = model.generate(tokens, max_new_tokens=24, do_sample=False, pad_token_id=tokenizer.pad_token_id)
        text = tokenizer.decode(said[0, tokens.shape[1] :], skip_special_tokens=True)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])


def measured(
    folder: Path, cases: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """The row of `bench roles` for a model."""
    with ModelServer(chat_model=Generating(folder=str(folder))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        words = ["--roles", ROLE, "--cases", "6", "--set", "shots=0", "--model", "openai:tiny-1b", "--json", *cases]
        capsys.readouterr()
        assert main(["bench", "roles", "--kb", "world", *words]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
    return row


# peft asks transformers for a property by its former name.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_the_loss_falls_and_the_adapter_merges(base: Path, trained: tuple[Path, str]) -> None:
    import torch
    from peft import PeftModel
    from transformers import LlamaForCausalLM

    out, said = trained
    assert f"goes on from {out / 'steps' / 'checkpoint-'}" in said
    before, after = (float(part.split()[0]) for part in said.splitlines()[-1].partition(":")[2].split(", ")[:2])
    assert after < before / 2, said
    merged = LlamaForCausalLM.from_pretrained(out / "merged").eval()
    adapted = PeftModel.from_pretrained(LlamaForCausalLM.from_pretrained(base), str(out / "adapter")).eval()
    plain = LlamaForCausalLM.from_pretrained(base).eval()
    tokens = torch.arange(10, 40)[None]
    with torch.no_grad():
        assert torch.allclose(merged(tokens).logits, adapted(tokens).logits, atol=1e-3)
        assert not torch.allclose(merged(tokens).logits, plain(tokens).logits, atol=1e-1)


def test_bench_roles_reads_the_replies_after_it(
    base: Path,
    trained: tuple[Path, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cases = str(tmp_path / "cases.jsonl")
    before = measured(base, ("--save-cases", cases), monkeypatch, capsys)
    after = measured(trained[0] / "merged", ("--cases-from", cases), monkeypatch, capsys)
    assert before["readable"] == 0.0
    assert after["readable"] > 0.5


def test_faults_are_one_line(data: Path, base: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        train((data, data), base, tmp_path / "out", "--roles", "fiske.conclude")
    # Python prints a text that it is ended with on stderr, and exits with 1.
    assert stop.value.code == f"train: error: no record to learn from in {data}, {data} (roles: fiske.conclude)"
    assert not (tmp_path / "out").exists()
