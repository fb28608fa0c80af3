"""Fine-tune a chat model with LoRA on what `thinkgraph export training` wrote: README.md of this folder has the commands.

transformers' Trainer trains, peft adapts. Only the last message of a record, the right reply, is learnt; the messages before it are
read. The adapter is written to OUT/adapter, and the model with the adapter merged into it to OUT/merged. Stopped, the same command
goes on from the last checkpoint in OUT/steps.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

UNREAD = -100
"""Label of a token that is not learnt."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("data", type=Path, nargs="+", help="the folder of an export; several are mixed")
    add("--base", required=True, help="the chat model to fine-tune: a folder or a name")
    add("--out", type=Path, required=True, help="where adapter and merged model are written")
    add("--roles", default="", help="roles to learn, with commas (default: all of the export)")
    add("--epochs", type=float, default=2)
    add("--max-steps", type=int, default=-1, help="stop after so many steps")
    add("--save", type=int, default=100, help="steps between checkpoints, and between losses on the test")
    add("--tested", type=int, default=200, help="records of the test whose loss is measured, spread over it")
    add("--bf16", action="store_true", help="compute in bfloat16 on a processor that has it, as a GPU always does")
    add("--lr", type=float, default=2e-4)
    add("--rank", type=int, default=16, help="of the LoRA matrices")
    add("--batch", type=int, default=2, help="records at a time on the device")
    add("--collect", type=int, default=8, help="batches for one step")
    add("--longest", type=int, default=4096, help="tokens of a record; longer ones are left out")
    return parser.parse_args()


def encoded(exports: list[Path], part: str, roles: str, tokenizer: Any, longest: int) -> list[dict[str, list[int]]]:
    """The records of a part as tokens; those that are too long are left out whole and counted."""
    wanted = [name.strip() for name in roles.split(",") if name.strip()]
    folders = [export / part for export in exports]
    files = [file for folder in folders for file in sorted(folder.glob("*.jsonl")) if not wanted or file.stem in wanted]
    rows, left = [], 0
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            messages = json.loads(line)["messages"]
            asked = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True, tokenize=False)
            whole = tokenizer.apply_chat_template(messages, tokenize=False)
            if not whole.startswith(asked):
                sys.exit(
                    "train: error: this chat template changes the prompt when a reply follows; take another base model"
                )
            read, learnt = (
                tokenizer(text, add_special_tokens=False).input_ids for text in (asked, whole[len(asked) :])
            )
            if len(read) + len(learnt) > longest:
                left += 1
                continue
            rows.append({"input_ids": read + learnt, "labels": [UNREAD] * len(read) + learnt})
    print(f"{part}: {len(rows)} records, {left} left out with more than {longest} tokens")
    return rows


def main() -> None:
    """Train, measure, write."""
    args = arguments()
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    train, test = (encoded(args.data, part, args.roles, tokenizer, args.longest) for part in ("train", "test"))
    if not train:
        sys.exit(
            f"train: error: no record to learn from in {', '.join(map(str, args.data))} (roles: {args.roles or 'all'})"
        )
    measured = test or train
    measured = measured[:: -(-len(measured) // args.tested)]
    cuda = torch.cuda.is_available()
    model = AutoModelForCausalLM.from_pretrained(args.base, dtype=torch.bfloat16 if cuda else torch.float32)
    model.config.use_cache = False
    lora = LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules="all-linear", task_type="CAUSAL_LM")
    how = TrainingArguments(
        output_dir=str(args.out / "steps"), num_train_epochs=args.epochs, max_steps=args.max_steps, learning_rate=args.lr,
        per_device_train_batch_size=args.batch, per_device_eval_batch_size=args.batch, gradient_accumulation_steps=args.collect,
        lr_scheduler_type="cosine", warmup_steps=10, bf16=cuda or args.bf16, use_cpu=args.bf16 and not cuda, gradient_checkpointing=cuda, logging_steps=10,
        save_strategy="steps", save_steps=args.save, save_total_limit=1, eval_strategy="steps", eval_steps=args.save, report_to=[],
    )  # fmt: skip
    trainer = Trainer(
        model=get_peft_model(model, lora),
        args=how,
        train_dataset=train,
        eval_dataset=measured,
        data_collator=DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=UNREAD),
    )
    before = trainer.evaluate()["eval_loss"]
    # Its last file says that a checkpoint is whole.
    saved = sorted((args.out / "steps").glob("checkpoint-*/trainer_state.json"), key=lambda file: file.stat().st_mtime)
    if saved:
        print(f"goes on from {saved[-1].parent}", flush=True)
    trainer.train(resume_from_checkpoint=str(saved[-1].parent) if saved else None)
    after = trainer.evaluate()["eval_loss"]
    trainer.model.save_pretrained(args.out / "adapter")
    trainer.model.merge_and_unload().save_pretrained(args.out / "merged")
    tokenizer.save_pretrained(args.out / "merged")
    print(
        f"loss on the {'test' if test else 'training data'}: {before:.3f} before, {after:.3f} after; {args.out / 'merged'}"
    )


if __name__ == "__main__":
    main()
