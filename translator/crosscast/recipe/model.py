"""The recipe sections for the model and batch sizes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crosscast.recipe.section import (
    Count,
    FactoryName,
    Fraction,
    Positive,
    Section,
)

BERT_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"layers": 2, "hidden_size": 128, "attention_heads": 2, "intermediate_size": 512},
    "mini": {"layers": 4, "hidden_size": 256, "attention_heads": 4, "intermediate_size": 1024},
    "small": {"layers": 4, "hidden_size": 512, "attention_heads": 8, "intermediate_size": 2048},
    "base": {"layers": 12, "hidden_size": 768, "attention_heads": 12, "intermediate_size": 3072},
    "large": {"layers": 24, "hidden_size": 1024, "attention_heads": 16, "intermediate_size": 4096},
}


class BertModel(Section):
    """The shipped BERT encoder with a classifier on the first token (post-LN, erf GELU)."""

    kind: Literal["bert"]
    preset: Literal["tiny", "mini", "small", "base", "large"] | None = None
    """Provides those of the four sizes that are not set; without a preset, set all four."""
    layers: Count
    """Number of encoder layers; derived from `preset` if missing."""
    hidden_size: Count
    """Width of the encoder; a multiple of `attention_heads`."""
    attention_heads: Count
    intermediate_size: Count
    """Width of the feed-forward layer."""
    vocab_size: Count = 30522
    max_positions: Count = 512
    """Maximum sequence length of the position embeddings, in tokens."""
    type_vocab_size: Count = 2
    """Number of segments."""
    labels: Annotated[int, Field(ge=2, le=2**31 - 1)] = 2
    """Number of classes."""
    dropout: Fraction = 0.1
    """Dropout probability of hidden states and attention weights."""
    attention: Literal["fused", "explicit"] = "fused"
    """`fused`: one operation that keeps no scores, where the framework has one. `explicit`: two
    matrix products and a softmax, as in version 1."""
    layer_norm_eps: Positive = 1e-12
    init_std: Positive = 0.02
    """Standard deviation of the normal distribution that initializes kernels and embeddings."""


class CustomModel(Section):
    """A custom model, built by a function that the emitted script imports."""

    kind: Literal["custom"]
    factory: Annotated[dict[str, FactoryName], Field(min_length=1)]
    """Maps backend names to `package.module:function`, at most 200 characters; the function takes
    what its framework needs to draw weights, mostly nothing, and returns a model."""


class Batch(Section):
    """Batch sizes: global_batch_size = micro_batch_size x accumulation.steps x processes, with
    distributed.nodes x distributed.processes_per_node processes."""

    micro_batch_size: Count
    """Rows per forward and backward pass on one process; derived if missing."""
    global_batch_size: Count
    """Rows per optimizer step over all processes; derived if missing."""
