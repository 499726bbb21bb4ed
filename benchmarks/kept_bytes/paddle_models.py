"""The contestants of Paddle: the emitted model, and one of `paddle.nn` written by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F

from crosscast_parity.inside.script import loaded
from kept_bytes import Counts, Shape
from kept_bytes.paddle_as_on_gpu import StandIns, cast_type
from kept_bytes.paddle_count import Masters, count

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
paddle.enable_static()


class Reached(Exception):
    """An emitted window called its loss function."""


def measure(
    name: str, precision: str, dropout: float, shapes: list[Shape], folder: Path
) -> list[Counts]:
    """Count one contestant with micro-batches of some shapes; as in `torch_models`."""
    return [_count(name, precision, dropout, shape, folder) for shape in shapes]


def _count(name: str, precision: str, dropout: float, shape: Shape, folder: Path) -> Counts:
    program, stand_ins = paddle.static.Program(), StandIns()
    stand_ins.install()
    with (
        loaded(folder / "train.py") as script,
        paddle.static.program_guard(program, paddle.static.Program()),
    ):
        half = precision if precision != "float32" else None
        masters = None
        if name == "hand":
            model: Any = Bert(shape, dropout)
        else:
            model, half = script.build_model(), autocast_of(script)
            if hasattr(script, "half_copy"):
                float32, model = model, script.half_copy(model)
                masters = masters_of(script, float32, model)
        model.train()
        size = [shape.rows, shape.tokens]
        batch = {key: paddle.static.data(key, size, "int64") for key in INPUTS}
        batch["labels"] = paddle.static.data("labels", size[:1], "int64")
        first = len(program.global_block().ops)
        with paddle.amp.auto_cast(half is not None, dtype=half or "bfloat16", level="O1"):
            loss = script.micro_batch_loss(model, batch)
        weights = [weight for weight in model.parameters() if weight.trainable]
        return count(program, loss, weights, first, stand_ins, masters)


def masters_of(script: Any, float32: Any, working: Any) -> Masters:
    """The half copies of weights, as an emitted script keeps them."""
    copies = [
        half
        for weight, half in zip(float32.parameters(), working.parameters(), strict=True)
        if half is not weight
    ]
    zeros = [paddle.static.data(f"sum_{n}", half.shape, "float32") for n, half in enumerate(copies)]

    def collect(gradients: list[Any]) -> None:
        pairs = list(zip(zeros, gradients, strict=True))
        sums = [SimpleNamespace(grad=total) for total, _ in pairs]
        halves = [SimpleNamespace(grad=new, clear_gradient=lambda keep: None) for _, new in pairs]
        script.collect_gradients(state_of(sums, halves))

    return Masters(copies, collect, lambda: script.copy_weights(state_of(zeros, copies)))


def state_of(weights: list[Any], halves: list[Any]) -> SimpleNamespace:
    """A state of an emitted script whose models have these parameters."""
    models = [SimpleNamespace(parameters=lambda each=each: each) for each in (weights, halves)]
    return SimpleNamespace(model=models[0], working=models[1])


def autocast_of(script: Any) -> str | None:
    """Return the type of `auto_cast` around the loss in an emitted window; None: it is off."""
    seen: list[str | None] = []

    def loss_fn(model: Any, batch: Any) -> Any:
        seen.append(cast_type())
        raise Reached

    optimizer = SimpleNamespace(set_lr=lambda rate: None)
    state = state_of([], [])
    state.optimizer, state.scaler, state.amp = optimizer, None, True
    state.updates = state.windows = 0
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        try:
            script.train_window(state, [{"labels": [0]}], loss_fn)
        except Reached:
            return seen[0]
    raise AssertionError("the window did not call its loss function")


class Layer(nn.Layer):
    """One layer of the encoder, as an expert writes it for `auto_cast`."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        width = shape.hidden
        self.heads = [0, 0, shape.heads, width // shape.heads]
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.LayerList([nn.LayerNorm(width, 1e-12) for _ in range(2)])
        self.rate, self.dropout = dropout, nn.Dropout(dropout)

    def forward(self, x: Any, mask: Any) -> Any:
        q, k, v = (dense(x).reshape(self.heads) for dense in (self.query, self.key, self.value))
        context = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.rate, training=self.training
        )
        x = self.norms[0](x + self.dropout(self.out(context.flatten(2))))
        return self.norms[1](x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Layer):
    """BERT with a head for three labels, of `paddle.nn`."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        width = shape.hidden
        self.words, self.places, self.segments = (
            nn.Embedding(rows, width) for rows in (shape.words, 512, 2)
        )
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.LayerList([Layer(shape, dropout) for _ in range(shape.layers)])
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, 3)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        positions = paddle.arange(input_ids.shape[1])
        x = self.words(input_ids) + self.segments(token_type_ids) + self.places(positions)
        x = self.dropout(self.norm(x))
        mask = (1.0 - attention_mask.unsqueeze([1, 2]).astype("float32")) * -1e9
        for layer in self.layers:
            x = layer(x, mask)
        return self.classifier(self.dropout(paddle.tanh(self.pooler(x[:, 0]))))
