"""What a training starts from: a checkpoint, or a small T5 made from scratch with a tokeniser of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thinkgraph.tools.communities.g2t import load_checkpoint
from thinkgraph.tools.encoders.embeddings import quiet_libraries

SIZES: Mapping[str, Mapping[str, int]] = {
    "tiny": {"d_model": 128, "num_layers": 2, "num_heads": 4, "vocabulary": 1500},
    "small": {"d_model": 256, "num_layers": 4, "num_heads": 8, "vocabulary": 8000},
}
"""Models made from scratch: 1.1 and about 9 million parameters."""

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
_GRAMMAR = "<{}"
"""Characters of T2T lines that some tokenisers lack (T5's): without them the arrows of both directions read alike."""


def from_checkpoint(source: str, dropout: float | None) -> tuple[Any, Any]:
    """Model and tokeniser of a checkpoint, on the CPU, with tokens for the characters of T2T lines that it lacked.

    Raises:
        ModelError: it cannot be loaded.
    """
    loaded = load_checkpoint(source)
    model, tokenizer = loaded.model.to("cpu"), loaded.tokenizer
    unknown = tokenizer.unk_token_id
    lacking = [mark for mark in _GRAMMAR if unknown in tokenizer(f"a {mark} b", add_special_tokens=False)["input_ids"]]
    if lacking:
        tokenizer.add_tokens(lacking)
        if len(tokenizer) > model.get_input_embeddings().num_embeddings:
            with quiet_libraries():
                model.resize_token_embeddings(len(tokenizer))
    if dropout is not None:
        _set_dropout(model, dropout)
    return model, tokenizer


def from_scratch(size: str, texts: Iterable[str], dropout: float | None) -> tuple[Any, Any]:
    """A T5 with random weights (torch's generator decides them) and a byte-level BPE tokeniser learnt from `texts`.

    Bytes, so that a name in any alphabet can be read and written again.
    """
    with quiet_libraries():
        import transformers

        # Half of its classes have no types that a checker could follow.
        library: Any = transformers
        shape = SIZES[size]
        tokenizer = library.PreTrainedTokenizerFast(
            tokenizer_object=_learn(texts, shape["vocabulary"]), pad_token=PAD, eos_token=END, unk_token=UNKNOWN
        )
        width, heads = shape["d_model"], shape["num_heads"]
        config = library.T5Config(
            vocab_size=len(tokenizer),
            d_model=width,
            d_kv=width // heads,
            d_ff=4 * width,
            num_layers=shape["num_layers"],
            num_heads=heads,
            dropout_rate=0.1 if dropout is None else dropout,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
        model = library.T5ForConditionalGeneration(config)
        model.generation_config = library.GenerationConfig(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    return model, tokenizer


def _learn(texts: Iterable[str], vocabulary: int) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, 1)])
    return tokenizer


def _set_dropout(model: Any, share: float) -> None:
    for name in ("dropout", "dropout_rate"):
        if hasattr(model.config, name):
            setattr(model.config, name, share)
    for module in model.modules():
        if type(module).__name__ == "Dropout":
            module.p = share
        elif isinstance(getattr(module, "dropout", None), float):
            # BART keeps the share as a plain number beside its layers.
            module.dropout = share
