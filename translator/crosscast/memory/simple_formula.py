"""The simple memory formula, shown for comparison with the estimate."""

from __future__ import annotations

from math import prod

from crosscast.memory.dtypes import BYTES
from crosscast.memory.records import TracedModel
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe

_MOMENTS = {"sgd": 0, "adam": 2, "adamw": 2, "lamb": 2, "lion": 1, "adafactor": 0}


def simple_formula(recipe: Recipe, traced: TracedModel | None = None) -> int:
    """Return `parameters x n + batch x outputs x 2`, in bytes.

    `n` is the bytes per parameter of weight, gradient and moments, each in the recipe's
    `compute_dtype`; `outputs` are the bytes of the outputs of all layers for one row, of the
    embeddings, every dense layer and every LayerNorm; `2` stands for forward and backward.
    """
    size = BYTES[recipe.precision.compute_dtype]
    optimizer = recipe.optimizer
    moments = _MOMENTS[optimizer.name] + bool(getattr(optimizer, "momentum", 0.0))
    n = size * (2 + moments)
    batch = recipe.batch.micro_batch_size
    if traced is not None:
        return sum(w.count for w in traced.weights) * n + batch * traced.outputs_per_row * 2
    assert isinstance(recipe.model, BertModel)
    return parameter_count(recipe.model) * n + batch * _outputs(recipe) * size * 2


def parameter_count(model: BertModel) -> int:
    """Return the number of weights of the shipped BERT."""
    return sum(prod(shape) for shape in bert_shapes(model).values())


def _outputs(recipe: Recipe) -> int:
    """Return the number of output elements of all layers for one row."""
    model = recipe.model
    assert isinstance(model, BertModel)
    hidden, inner = model.hidden_size, model.intermediate_size
    # Query, key, value, two dense layers back to the hidden size, two LayerNorms; the wide one.
    layer = 7 * hidden + inner
    tokens = recipe.data.sequence_length
    return tokens * (4 * hidden + model.layers * layer) + hidden + model.labels
