"""The defaults of a loss scale are those of the function or class that the source calls."""

from __future__ import annotations

import pytest

from crosscast.lift.analysis import analyse
from crosscast.lift.drafting import Lifted, lift
from crosscast.messages.source import Source

DYNAMIC = """\
import paddle
import paddle.fluid as fluid

model = paddle.nn.Linear(128, 4)
optimizer = paddle.optimizer.Momentum(0.05, parameters=model.parameters())
scaler = {scaler}(init_loss_scaling=1024)
for inputs, labels in batches():
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.cross_entropy(model(inputs), labels)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    model.clear_gradients()
"""
STATIC = """\
import paddle
import paddle.fluid as fluid

paddle.enable_static()
inputs = paddle.static.data("inputs", [32, 128])
loss = paddle.mean(paddle.static.nn.fc(inputs, 4))
optimizer = paddle.optimizer.Momentum(0.05)
optimizer = {decorate}
optimizer.minimize(loss)
executor = paddle.static.Executor(paddle.CUDAPlace(0))
executor.run(feed=batch, fetch_list=[loss])
"""
FLUID = "fluid.contrib.mixed_precision.decorate(optimizer)"
NAMES = ("init_scale", "growth_interval", "backoff_factor", "hysteresis")


def lifted(text: str, *others: Source) -> Lifted:
    return lift(analyse([Source("train.py", text), *others]))


def defaults(found: Lifted) -> tuple[object, ...]:
    return tuple(found.fields[f"loss_scaling.{name}"].value for name in NAMES)


@pytest.mark.parametrize(
    ("scaler", "interval"),
    [
        ("paddle.amp.GradScaler", 2000),
        ("paddle.amp.AmpScaler", 1000),
        ("fluid.dygraph.AmpScaler", 1000),
        ("fluid.dygraph.amp.AmpScaler", 1000),
    ],
)
def test_scalers_of_dynamic_graphs(scaler: str, interval: int) -> None:
    found = lifted(DYNAMIC.format(scaler=scaler))
    assert defaults(found) == (1024, interval, 0.5, 1)


@pytest.mark.parametrize(
    ("decorate", "values", "note"),
    [
        (FLUID, (2.0**15, 1000, 0.8, 2), "default of paddle before 2.5"),
        (
            "paddle.static.amp.decorate(optimizer, use_bf16=False)",
            (2.0**15, 1000, 0.8, 2),
            "default of paddle 3.3.1",
        ),
        (
            "paddle.static.amp.decorate(optimizer, level='O1')",
            (2.0**16, 2000, 0.5, 1),
            "default of paddle 3.3.1",
        ),
    ],
)
def test_decorated_optimizers(decorate: str, values: tuple[object, ...], note: str) -> None:
    found = lifted(STATIC.format(decorate=decorate))
    assert defaults(found) == values
    assert found.fields["loss_scaling.growth_interval"].note == note


def test_a_newer_version_that_is_asked_for_does_not_change_what_is_gone() -> None:
    wanted = Source("requirements.txt", "paddlepaddle==3.0.0\n")
    assert defaults(lifted(STATIC.format(decorate=FLUID), wanted)) == (2.0**15, 1000, 0.8, 2)


def test_what_the_source_says_stays() -> None:
    text = STATIC.format(decorate=FLUID.replace(")", ", incr_every_n_steps=77)"))
    assert defaults(lifted(text)) == (2.0**15, 77, 0.8, 2)
