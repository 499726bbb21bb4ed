"""The sections of a recipe that say what is trained on what: model, data, batch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crosscast.recipe.section import (
    Count,
    FactoryName,
    FilePath,
    Fraction,
    Positive,
    Section,
)

BERT_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"layers": 2, "hidden_size": 128, "attention_heads": 2, "intermediate_size": 512},
    "mini": {"layers": 4, "hidden_size": 256, "attention_heads": 4, "intermediate_size": 1024},
    "small": {"layers": 4, "hidden_size": 512, "attention_heads": 8, "intermediate_size": 2048},
    "base": {"layers": 12, "hidden_size": 768, "attention_heads": 12, "intermediate_size": 3072},
}


class BertModel(Section):
    """The shipped BERT encoder with a classifier on the first token (post-LN, erf GELU)."""

    kind: Literal["bert"]
    preset: Literal["tiny", "mini", "small", "base"] | None = None
    """Fills the four sizes that are not given; without it all four must be given."""
    layers: Count
    """Encoder layers; derived from `preset` when left out."""
    hidden_size: Count
    """Width of the encoder; a multiple of `attention_heads`."""
    attention_heads: Count
    intermediate_size: Count
    """Width of the feed-forward layer."""
    vocab_size: Count = 30522
    max_positions: Count = 512
    """Longest sequence the position table holds, in tokens."""
    type_vocab_size: Count = 2
    """Number of segments."""
    labels: Annotated[int, Field(ge=2, le=2**31 - 1)] = 2
    """Number of classes."""
    dropout: Fraction = 0.1
    """Drop probability of hidden states and attention weights."""
    layer_norm_eps: Positive = 1e-12
    init_std: Positive = 0.02
    """Standard deviation of the normal distribution that initialises kernels and embeddings."""


class CustomModel(Section):
    """The user's own model, built by a function the emitted script imports."""

    kind: Literal["custom"]
    factory: Annotated[dict[str, FactoryName], Field(min_length=1)]
    """Backend name to `package.module:function`, of at most 200 characters; the function takes
    nothing, returns a model."""


class SyntheticData(Section):
    """The small natural-language-inference-like set that crosscast generates."""

    source: Literal["synthetic"]
    sequence_length: Annotated[int, Field(ge=9, le=4096)] = 32
    """Tokens per row, padding included."""
    train_rows: Count = 4096
    eval_rows: Count = 1024
    shuffle: bool = True
    """A new order of the training rows every epoch, derived from the recipe's seed."""


class NpzData(Section):
    """Tokenised rows in npz files, as `crosscast data` writes them."""

    source: Literal["npz"]
    train: FilePath
    eval: FilePath
    sequence_length: Annotated[int, Field(ge=1, le=2**16)] = 128
    """Tokens per row, padding included, that the model has positions for; the files decide."""
    shuffle: bool = True
    """A new order of the training rows every epoch, derived from the recipe's seed."""


class Batch(Section):
    """Rows per step: global = micro x accumulation.steps x processes, and of these there are
    distributed.nodes x distributed.processes_per_node."""

    micro_batch_size: Count
    """Rows of one forward/backward on one process; derived when left out."""
    global_batch_size: Count
    """Rows of one optimizer step over all processes; derived when left out."""
