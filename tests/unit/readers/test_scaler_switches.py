"""A scaler that is on for float16 only is none where bfloat16 is the default."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift

PROBED = "kind = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16\n"
TABLE = "kind = {'float16': torch.float16, 'bfloat16': torch.bfloat16}[args.dtype]\n"
TORCH = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="bfloat16", choices=["float16", "bfloat16"])
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--mode", default="half")
args = parser.parse_args()
KIND
model = build()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
SCALER
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=kind):
        loss = model(x, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
KERAS = """
import tensorflow as tf
from absl import flags
FLAGS = flags.FLAGS
flags.DEFINE_string("dtype", "bfloat16", "the type")
if FLAGS.dtype == "float16":
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
elif FLAGS.dtype == "bfloat16":
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
model = build()
optimizer = tf.keras.optimizers.Adam(1e-3)
SCALER
for x, y in rows:
    with tf.GradientTape() as tape:
        loss = model(x, y)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
PADDLE = """
import argparse
import paddle
parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="bfloat16")
args = parser.parse_args()
model = build()
optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
scaler = paddle.amp.GradScaler(enable=SWITCH)
for x, y in loader:
    with paddle.amp.auto_cast(dtype="bfloat16"):
        loss = model(x, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()
"""


def lifted(text: str) -> Lifted:
    return lift(analyse([Source("train.py", text)]))


def scaling(text: str) -> object:
    """The mode, or `open` for a scaler beside bfloat16, which no recipe can say."""
    filled = lifted(text).fields["loss_scaling.mode"]
    return "open" if filled.how == "assumed" else filled.value


def torch(scaler: str, kind: str = PROBED) -> str:
    return TORCH.replace("KIND", kind).replace("SCALER", scaler)


@pytest.mark.parametrize("kind", [PROBED, TABLE])
@pytest.mark.parametrize(
    "scaler",
    [
        "scaler = torch.amp.GradScaler(enabled=kind == torch.float16)",
        "scaler = torch.amp.GradScaler(enabled=(kind is torch.float16))",
        "scaler = torch.amp.GradScaler(enabled=kind != torch.bfloat16)",
        "scaler = torch.amp.GradScaler(enabled=torch.float16 == kind)",
        "scaler = torch.amp.GradScaler(enabled=args.dtype in ('float16', 'fp16'))",
        "scaler = torch.amp.GradScaler(enabled='bf16' not in args.dtype and 'fp16' in args.dtype)",
        "needed = kind == torch.float16\nscaler = torch.amp.GradScaler(enabled=needed)",
        "scaler = torch.amp.GradScaler(enabled=not (kind == torch.bfloat16))",
        "scaler = torch.amp.GradScaler() if kind == torch.float16 else None",
        "scaler = torch.amp.GradScaler(enabled=args.fp16)",
    ],
)
def test_a_scaler_for_float16_only_is_none_with_bfloat16(scaler: str, kind: str) -> None:
    found = lifted(torch(scaler, kind))
    assert found.fields["precision.compute_dtype"].value == "bfloat16"
    assert found.fields["loss_scaling.mode"].value == "none"
    assert "CC914" not in [diagnostic.code for diagnostic in found.diagnostics]
    assert found.recipe is not None


@pytest.mark.parametrize(
    "scaler",
    [
        "scaler = torch.amp.GradScaler()",
        "scaler = torch.amp.GradScaler(enabled=True)",
        "scaler = torch.amp.GradScaler(enabled=kind == torch.bfloat16)",
        "scaler = torch.amp.GradScaler(enabled=kind in (torch.float16, torch.bfloat16))",
        "scaler = torch.amp.GradScaler(enabled=kind != torch.float32)",
        "scaler = torch.amp.GradScaler(enabled=args.mode == 'half')",
        "scaler = torch.amp.GradScaler(enabled=elsewhere())",
    ],
)
def test_other_switches_leave_the_scaler_on(scaler: str) -> None:
    assert scaling(torch(scaler)) == "open"


def test_with_float16_by_default_it_is_on() -> None:
    text = torch("scaler = torch.amp.GradScaler(enabled=args.dtype == 'float16')", TABLE)
    assert scaling(text.replace('default="bfloat16"', 'default="float16"')) == "dynamic"


def test_one_of_two_scalers_is_on() -> None:
    two = (
        "first = torch.amp.GradScaler(enabled=kind == torch.float16)\n"
        "scaler = torch.amp.GradScaler()"
    )
    assert scaling(torch(two)) == "open"


def test_a_scaler_of_keras_behind_a_flag() -> None:
    wrapped = "    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)\n"
    text = KERAS.replace("SCALER", 'if FLAGS.dtype == "float16":\n' + wrapped)
    assert scaling(text) == "none"
    on = text.replace('"dtype", "bfloat16"', '"dtype", "float16"')
    assert scaling(on) == "dynamic"
    always = KERAS.replace("SCALER", wrapped.strip())
    assert scaling(always) == "open"


@pytest.mark.parametrize(
    ("switch", "mode"), [("args.dtype == 'float16'", "none"), ("True", "open")]
)
def test_a_scaler_of_paddle(switch: str, mode: str) -> None:
    assert scaling(PADDLE.replace("SWITCH", switch)) == mode
