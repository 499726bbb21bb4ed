"""Names and shapes of the shipped BERT's parameters: those of Hugging Face checkpoints."""

from __future__ import annotations

from typing import Protocol

Shapes = dict[str, tuple[int, ...]]


class ModelSizes(Protocol):
    """The sizes of a BERT classifier; a recipe's `model` section has them."""

    @property
    def vocab_size(self) -> int:
        """Rows of the word table."""

    @property
    def hidden_size(self) -> int:
        """Width of the residual stream."""

    @property
    def layers(self) -> int:
        """Encoder layers."""

    @property
    def intermediate_size(self) -> int:
        """Width between the two feed-forward layers."""

    @property
    def max_positions(self) -> int:
        """Rows of the position table."""

    @property
    def type_vocab_size(self) -> int:
        """Rows of the token-type table."""

    @property
    def labels(self) -> int:
        """Outputs of the classifier."""


def bert_shapes(spec: ModelSizes) -> Shapes:
    """Return the shape of every parameter of the model, by canonical name, in model order."""
    hidden, inner = spec.hidden_size, spec.intermediate_size
    shapes: Shapes = {}
    for table, rows in (
        ("word", spec.vocab_size),
        ("position", spec.max_positions),
        ("token_type", spec.type_vocab_size),
    ):
        shapes[f"bert.embeddings.{table}_embeddings.weight"] = (rows, hidden)
    shapes |= _norm("bert.embeddings.LayerNorm", hidden)
    for number in range(spec.layers):
        layer = f"bert.encoder.layer.{number}"
        for part in ("query", "key", "value"):
            shapes |= _dense(f"{layer}.attention.self.{part}", hidden, hidden)
        shapes |= _dense(f"{layer}.attention.output.dense", hidden, hidden)
        shapes |= _norm(f"{layer}.attention.output.LayerNorm", hidden)
        shapes |= _dense(f"{layer}.intermediate.dense", inner, hidden)
        shapes |= _dense(f"{layer}.output.dense", hidden, inner)
        shapes |= _norm(f"{layer}.output.LayerNorm", hidden)
    return (
        shapes
        | _dense("bert.pooler.dense", hidden, hidden)
        | _dense("classifier", spec.labels, hidden)
    )


def _dense(prefix: str, outputs: int, inputs: int) -> Shapes:
    return {f"{prefix}.weight": (outputs, inputs), f"{prefix}.bias": (outputs,)}


def _norm(prefix: str, size: int) -> Shapes:
    return {f"{prefix}.weight": (size,), f"{prefix}.bias": (size,)}
