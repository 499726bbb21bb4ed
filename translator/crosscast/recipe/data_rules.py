"""Rules between the data and other fields of a recipe."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Diagnostic
from crosscast.recipe.document import (
    BertModel,
    ImageData,
    PaddedData,
    Recipe,
    SyntheticData,
)


def reading_rows(recipe: Recipe) -> Iterator[Diagnostic]:
    """Find data that the model does not take."""
    yield from _padding(recipe)
    if isinstance(recipe.model, BertModel):
        yield from _of_bert(recipe, recipe.model)
    elif isinstance(recipe.data, SyntheticData):
        yield Diagnostic(
            code="CC206",
            path="data.source",
            message="synthetic data is for the shipped BERT, not for a custom model",
            hint="set data.source: npz, or another source",
        )


def _of_bert(recipe: Recipe, model: BertModel) -> Iterator[Diagnostic]:
    data = recipe.data
    if isinstance(data, ImageData):
        yield Diagnostic(
            code="CC206",
            path="data.source",
            message="the shipped BERT takes tokens, not images",
            hint="set model.kind: custom, or another source",
        )
    if data.sequence_length > model.max_positions:
        yield Diagnostic(
            code="CC206",
            path="data.sequence_length",
            message=(
                f"sequence_length {data.sequence_length} is longer than "
                f"model.max_positions {model.max_positions}"
            ),
        )
    elif isinstance(data, PaddedData):
        yield from _padded_tokens(data, model)
    if isinstance(data, SyntheticData):
        yield from _synthetic(model)


def _synthetic(model: BertModel) -> Iterator[Diagnostic]:
    if model.type_vocab_size < 2:
        yield Diagnostic(
            code="CC206",
            path="model.type_vocab_size",
            message="the synthetic data has 2 segments, but the model has 1",
            hint="set model.type_vocab_size: 2",
        )
    if not 32 <= model.vocab_size <= 10**6:
        yield Diagnostic(
            code="CC206",
            path="model.vocab_size",
            message=f"the synthetic data supports 32 to 1000000 words, not {model.vocab_size}",
        )
    if model.labels != 3:
        yield Diagnostic(
            code="CC206",
            path="model.labels",
            message=f"the synthetic data has 3 labels, but the model has {model.labels}",
            hint="set model.labels: 3",
        )


def _padded_tokens(data: PaddedData, model: BertModel) -> Iterator[Diagnostic]:
    multiple = data.pad_to_multiple_of
    length = -(-data.sequence_length // multiple) * multiple
    if length > model.max_positions:
        yield Diagnostic(
            code="CC206",
            path="data.pad_to_multiple_of",
            message=(
                f"rows of {data.sequence_length} tokens are padded to {length}, which is longer "
                f"than model.max_positions {model.max_positions}"
            ),
        )
    limits = {
        "input_ids": model.vocab_size,
        "attention_mask": 1,  # padding is not attended to
        "token_type_ids": model.type_vocab_size,
    }
    for name, value in data.pad_values.items():
        if name not in limits:
            message = f"the shipped BERT does not pad `{name}`"
        elif not (value.is_integer() and 0 <= value < limits[name]):
            most = limits[name] - 1
            message = f"`{name}` must be {f'an integer from 0 to {most}' if most else '0'}"
            message += " where it is padded"
        else:
            continue
        yield Diagnostic(code="CC206", path=f"data.pad_values.{name}", message=message)


def _padding(recipe: Recipe) -> Iterator[Diagnostic]:
    data, target = recipe.data, recipe.loss.target
    counted = recipe.accumulation.normalize_by == "token"
    if isinstance(recipe.model, BertModel) or not isinstance(data, PaddedData):
        return
    if target in data.pad_values and not counted:
        yield Diagnostic(
            code="CC206",
            path=f"data.pad_values.{target}",
            message=f"`{target}` is not padded: padding would count in the loss of its row",
            hint="remove it, or set accumulation.normalize_by: token",
        )
