"""The contestants of PyTorch: the emitted model, BERT of transformers, and one edited by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from crosscast_parity.inside.script import loaded
from kept_bytes import FROM_RECIPES, Counts, Shape
from kept_bytes.torch_as_on_cuda import DEVICE, autocast, install
from kept_bytes.torch_count import Masters, count

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_LIBRARY = install()


class Reached(Exception):
    """An emitted window called its loss function."""


def measure(
    name: str, precision: str, dropout: float, shapes: list[Shape], folder: Path
) -> list[Counts]:
    """Count one contestant with micro-batches of some shapes.

    Args:
        name: Of the contestant.
        precision: `float32`, `bfloat16` or `float16`.
        dropout: Of hidden states and attention.
        shapes: Those of one model.
        folder: The emitted script of this precision, or of the model that is edited.
    """
    with FakeTensorMode(allow_non_fake_inputs=True), loaded(folder / "train.py") as script:
        dtype = None if precision == "float32" else getattr(torch, precision)
        masters = None
        if name in (*FROM_RECIPES, "hand"):
            if name == "hand":
                edit(model_module(script), dtype, dropout)
            model, loss = script.build_model(), script.micro_batch_loss
            dtype = autocast_of(script) if name != "hand" else dtype
            if hasattr(script, "make_masters"):
                script.make_masters(model)
                masters = masters_of(script, model)
        else:
            model, loss = transformers_model(name, dropout, shapes[0]), classifier_loss
        model.train()
        return [_count(model, masters, loss, dtype, shape) for shape in shapes]


def masters_of(script: Any, model: torch.nn.Module) -> Masters:
    """The float32 weights behind half ones, as an emitted script keeps them."""
    return Masters(
        weights=script.weights(model),
        collect=lambda: script.collect_gradients(model),
        copy=lambda: script.copy_masters(model),
    )


def _count(
    model: torch.nn.Module,
    masters: Masters | None,
    loss: Callable[..., Any],
    dtype: torch.dtype | None,
    shape: Shape,
) -> Counts:
    size = (shape.rows, shape.tokens)
    batch = {name: torch.ones(size, dtype=torch.long) for name in INPUTS}
    batch["labels"] = torch.zeros(shape.rows, dtype=torch.long)

    def forward() -> torch.Tensor:
        with autocast(dtype):
            return loss(model, batch)

    return count(list(model.parameters()), batch.values(), forward, masters)


def model_module(script: Any) -> ModuleType:
    """Return the emitted model.py."""
    return sys.modules[script.build_model.__module__]


def autocast_of(script: Any) -> torch.dtype | None:
    """Return the type to which an emitted window casts around its loss; None: no autocast."""
    seen: list[torch.dtype | None] = []

    def loss_fn(model: Any, batch: Any) -> Any:
        on = torch.is_autocast_enabled(DEVICE)
        seen.append(torch.get_autocast_dtype(DEVICE) if on else None)
        raise Reached

    device = torch.device(DEVICE)
    scaler = SimpleNamespace(get_scale=lambda: 1.0)
    optimizer = SimpleNamespace(param_groups=[])
    state = SimpleNamespace(
        model=None, optimizer=optimizer, scaler=scaler, device=device, updates=0, windows=0
    )
    try:
        script.train_window(state, [{"labels": torch.zeros(1, dtype=torch.long)}], loss_fn)
    except Reached:
        return seen[0]
    raise AssertionError("the window did not call its loss function")


def transformers_model(kind: str, dropout: float, shape: Shape) -> torch.nn.Module:
    """Return BERT with a head for three labels; `kind` is its attention."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=shape.words,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        num_labels=3,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        attn_implementation=kind,
    )
    return BertForSequenceClassification(config)


def classifier_loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Summed cross-entropy in float32, as the emitted script has it."""
    logits = model(**{name: batch[name] for name in INPUTS}).logits
    return F.cross_entropy(logits.float(), batch["labels"], reduction="sum")


def edit(model: Any, dtype: torch.dtype | None, rate: float) -> None:
    """Give the emitted float32 model what an expert would write for autocast on a GPU.

    Fused attention, and residual sums, GELU and what LayerNorm returns in the type of autocast.
    LayerNorm itself computes in float32 inside its kernel.
    """
    sizes = (model.ATTENTION_HEADS, model.HEAD_SIZE)

    def normalized(layer: torch.nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
        with autocast(None):
            weight, bias = layer.weight.to(x.dtype), layer.bias.to(x.dtype)
            return F.layer_norm(x, layer.normalized_shape, weight, bias, layer.eps)

    def attention(self: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            dense(x).unflatten(-1, sizes).transpose(1, 2)
            for dense in (self.query, self.key, self.value)
        )
        context = F.scaled_dot_product_attention(q, k, v, mask, rate if self.training else 0.0)
        return context.transpose(1, 2).flatten(2)

    def add_norm(self: Any, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        x = F.dropout(self.dense(x), rate, self.training)
        return normalized(self.LayerNorm, residual + x)

    def layer(self: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(F.gelu(self.intermediate["dense"](x)), x)

    def embeddings(self: Any, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(ids.shape[1])
        x = self.word_embeddings(ids) + self.token_type_embeddings(types)
        x = normalized(self.LayerNorm, x + self.position_embeddings(positions))
        return F.dropout(x.to(dtype or x.dtype), rate, self.training)

    def bert(self: Any, ids: torch.Tensor, given: torch.Tensor, types: torch.Tensor) -> Any:
        x = self.embeddings(ids, types)
        mask = (1.0 - given[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for encoder_layer in self.encoder["layer"]:
            x = encoder_layer(x, mask)
        return torch.tanh(self.pooler["dense"](x[:, 0]))

    model.SelfAttention.forward = attention
    model.AddNorm.forward = add_norm
    model.EncoderLayer.forward = layer
    model.Embeddings.forward = embeddings
    model.Bert.forward = bert
