"""The executed proof of migrations to Paddle 3, for real: dynamic and static graphs.

With CROSSCAST_PADDLE_1_8 or CROSSCAST_PADDLE_2_6 naming a Python that has that release, old
programs run there.
"""

from __future__ import annotations

import os

import pytest

from crosscast_parity.side_by_side.on_cpu import NOTE
from crosscast_parity.side_by_side.running import Limits
from frameworks.subprocesses import interpreter, older, require, warm
from side_by_side import Bench
from tiers import cases, exhaustive

pytestmark = pytest.mark.paddle

ROWS = """\
import numpy as np
import paddle

random = np.random.RandomState(0)


def batch():
    rows = random.normal(size=(4, 8)).astype("float32")
    return rows, random.randint(0, 4, (4, 1)).astype("int64")


"""
DYNAMIC = (
    ROWS
    + """\
model = paddle.nn.Sequential(
    paddle.nn.Linear(8, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 4)
)
clip = paddle.nn.ClipGradByGlobalNorm(0.5)
optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters(), grad_clip=clip)
scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
for number in range(8):
    rows, labels = batch()
    with paddle.amp.auto_cast():
        logits = model(paddle.to_tensor(rows))
        loss = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor(labels))
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    optimizer.clear_grad()
"""
)
STEP = DYNAMIC.replace(
    "    scaler.minimize(optimizer, scaled)\n", "    scaler.step(optimizer)\n    scaler.update()\n"
)
NET = """\
with paddle.amp.auto_cast(level="O1", dtype="float16"):
    rows = paddle.static.data("rows", [-1, 8])
    labels = paddle.static.data("labels", [-1, 1], "int64")
    logits = paddle.static.nn.fc(paddle.static.nn.fc(rows, 8, activation="tanh"), 4)
    loss = paddle.nn.functional.cross_entropy(logits, labels)
"""
STATIC = (
    ROWS
    + "paddle.enable_static()\n"
    + NET
    + """\
optimizer = paddle.optimizer.Momentum(0.05, 0.9)
optimizer = paddle.static.amp.decorate(optimizer, level="O1", dtype="float16", master_weight=False)
scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
scaler.minimize(optimizer, scaler.scale(loss))
executor = paddle.static.Executor(paddle.CPUPlace())
executor.run(paddle.static.default_startup_program())
for number in range(8):
    rows, labels = batch()
    (found,) = executor.run(feed={"rows": rows, "labels": labels}, fetch_list=[loss])
    assert found.size == 1
"""
)
PLAIN = STATIC.replace(
    """\
optimizer = paddle.static.amp.decorate(optimizer, level="O1", dtype="float16", master_weight=False)
scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
scaler.minimize(optimizer, scaler.scale(loss))
""",
    "optimizer.minimize(loss)\n",
)
FLUID = """\
import paddle.fluid as fluid
"""
STATIC_1_8 = (
    FLUID
    + ROWS
    + """\
rows = fluid.data("rows", [-1, 8])
labels = fluid.data("labels", [-1, 1], "int64")
logits = fluid.layers.fc(fluid.layers.fc(rows, 8, act="tanh"), 4)
loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, labels))
optimizer = fluid.optimizer.Momentum(0.05, 0.9)
optimizer = fluid.contrib.mixed_precision.decorate(
    optimizer, init_loss_scaling=1024.0, use_dynamic_loss_scaling=True
)
optimizer.minimize(loss)
executor = fluid.Executor(fluid.CPUPlace())
executor.run(fluid.default_startup_program())
for number in range(8):
    rows, labels = batch()
    executor.run(feed={"rows": rows, "labels": labels}, fetch_list=[loss])
"""
)
DYNAMIC_1_8 = (
    FLUID
    + ROWS
    + """\
with fluid.dygraph.guard(fluid.CPUPlace()):
    one, two = fluid.dygraph.Linear(8, 8, act="tanh"), fluid.dygraph.Linear(8, 4)
    clip = fluid.clip.GradientClipByGlobalNorm(0.5)
    weights = one.parameters() + two.parameters()
    optimizer = fluid.optimizer.AdamOptimizer(0.01, parameter_list=weights, grad_clip=clip)
    for number in range(8):
        rows, labels = map(fluid.dygraph.to_variable, batch())
        logits = two(one(rows))
        loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, labels))
        loss.backward()
        optimizer.minimize(loss)
        one.clear_gradients()
        two.clear_gradients()
"""
)
WITHOUT_SCALER = """\
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
MODERN_1_8 = (DYNAMIC[: DYNAMIC.index("    scaled = ")] + WITHOUT_SCALER).replace(
    "scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)\n", ""
)
PLANTED = {
    "static rate": (STATIC, "Momentum(0.05", "Momentum(0.06", "rate"),
    "static momentum": (STATIC, "0.05, 0.9", "0.05, 0.8", "momentum"),
    "static scale": (STATIC, "1024.0", "512.0", "scale"),
    "static loss": (STATIC, "entropy(logits, labels)", "entropy(2 * logits, labels)", "gradients"),
    "no scaler": (STATIC, "", "", "skips"),
    "dynamic rate": (DYNAMIC, "Adam(0.01", "Adam(0.02", "rate"),
    "dynamic clip": (DYNAMIC, ", grad_clip=clip", "", "clipping"),
    "fewer updates": (DYNAMIC, "range(8)", "range(6)", "updates"),
}
NO_1_8 = "needs Paddle 1.8: let CROSSCAST_PADDLE_1_8 name its Python (docs/testing.md)"
NO_2_6 = "needs Paddle 2.6: let CROSSCAST_PADDLE_2_6 name its Python (docs/testing.md)"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("paddle")
    folder = tmp_path_factory.mktemp("own")
    (folder / "train.py").write_text("raise SystemExit('the copy was not written over')\n")
    return Bench(folder, "paddle", Limits(seconds=300.0), warm("paddle"))


ADAM = STATIC.replace("Momentum(0.05, 0.9)", "Adam(0.05)")


@pytest.mark.parametrize(
    ("before", "after"),
    cases(
        [(ADAM, ADAM.replace("number", "n")), (DYNAMIC, STEP)],
        quick=[],
        reason="programs of Paddle on both sides",
    ),
    ids=["static", "dynamic"],
)
def test_the_same_training_is_the_same(bench: Bench, before: str, after: str) -> None:
    found = bench.prove(before, after)
    assert found.outcome == "same", found.wording
    assert found.updates == 8
    assert found.exact
    assert found.wording.endswith("an injected overflow is skipped by both")
    assert found.shown["loss_scaling.init_scale"] == "1024 at the first update on both sides"
    assert "initial weights were drawn alike: initializers are not compared" in found.notes


@pytest.mark.parametrize(
    "name", cases(PLANTED, quick=["static rate"], reason="planted mistakes in Paddle")
)
def test_a_planted_mistake_is_found(bench: Bench, name: str) -> None:
    before, old, new, what = PLANTED[name]
    found = bench.prove(before, before.replace(old, new) if old else PLAIN)
    assert found.outcome == "different", found.wording
    assert found.difference is not None
    assert found.difference.what == what, found.wording


@pytest.mark.skipif("CROSSCAST_PADDLE_1_8" not in os.environ, reason=NO_1_8)
@pytest.mark.parametrize(
    ("before", "after", "note"),
    cases(
        [
            (STATIC_1_8, STATIC, "it does not skip the update"),
            (DYNAMIC_1_8, MODERN_1_8, "adds epsilon before the bias correction"),
        ],
        quick=[],
        reason="programs that ran in Paddle 1.8",
    ),
    ids=["static", "dynamic"],
)
def test_what_ran_in_paddle_1_is_proven(bench: Bench, before: str, after: str, note: str) -> None:
    found = bench.prove(before, after, old_python=interpreter("paddle@1.8"))
    assert found.outcome == "same", found.wording
    assert found.updates == 8
    assert any(note in given for given in found.notes), found.notes


@exhaustive("what static graphs of Paddle 3 do with an overflow")
def test_momentum_goes_on_through_an_overflow(bench: Bench) -> None:
    found = bench.prove(STATIC, STATIC.replace("number", "n"))
    assert found.outcome == "same", found.wording
    assert "it does not skip the update" in found.notes[-1]


@pytest.mark.skipif("paddle@2.6" not in older("paddle"), reason=NO_2_6)
@exhaustive("programs that ran in Paddle 2.6")
def test_what_ran_in_paddle_2_is_proven(bench: Bench) -> None:
    found = bench.prove(DYNAMIC, STEP, old_python=interpreter("paddle@2.6"))
    assert found.outcome == "same", found.wording
    assert found.updates == 8


@exhaustive("the original cannot be run")
def test_the_migrated_side_alone(bench: Bench) -> None:
    found = bench.prove(STATIC_1_8, STATIC)
    assert found.outcome == "cannot be verified here"
    assert found.alone == 8
    assert found.wording.endswith("the migrated script alone makes 8 updates")


ON_GPU = {
    "device": DYNAMIC.replace("import paddle\n", "import paddle\n\npaddle.set_device('gpu')\n", 1),
    "place": STATIC.replace("paddle.CPUPlace()", "paddle.CUDAPlace(0)"),
    "tensor": DYNAMIC.replace("paddle.to_tensor(rows)", "paddle.to_tensor(rows).cuda()"),
}


@pytest.mark.parametrize("name", cases(ON_GPU, quick=[], reason="programs that ask for a GPU"))
def test_a_program_that_asks_for_a_gpu_is_proven_on_the_cpu(bench: Bench, name: str) -> None:
    found = bench.prove(ON_GPU[name], ON_GPU[name])
    assert found.outcome == "same", found.wording
    assert found.updates == 8
    assert NOTE in found.notes
