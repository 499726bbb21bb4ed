"""Programs of old Paddle that were migrated in place train with the installed Paddle."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.subprocesses import paddle_2, run_python

pytestmark = pytest.mark.paddle

DYNAMIC = """\
import math

import numpy as np
import paddle
import paddle.fluid as fluid

random = np.random.default_rng(0)
inputs = random.normal(size=(16, 4)).astype("float32")
labels = (inputs[:, :1] > 0).astype("int64")
model = paddle.nn.Linear(4, 2, weight_attr=paddle.nn.initializer.Constant(0.1))
optimizer = paddle.optimizer.Adam(0.05, parameters=model.parameters())
scaler = fluid.dygraph.AmpScaler(True, decr_ratio=0.25)  # scaled
losses = []
for step in range(20):
    with fluid.dygraph.amp_guard(custom_white_list={"elementwise_add"}):
        outputs = model(paddle.to_tensor(inputs))
        loss = paddle.nn.functional.cross_entropy(outputs, paddle.to_tensor(labels))
    if step == 5:
        loss = loss * math.inf
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    model.clear_gradients()
    losses.append(float(loss))
"""
STATIC = """\
import math

import numpy as np
import paddle
from paddle.fluid.contrib import mixed_precision

random = np.random.default_rng(0)
pixels = random.normal(size=(16, 4)).astype("float32")
classes = (pixels[:, :1] > 0).astype("int64")
paddle.enable_static()
inputs = paddle.static.data("inputs", [16, 4], "float32")
labels = paddle.static.data("labels", [16, 1], "int64")
even = paddle.nn.initializer.Constant(0.1)
outputs = paddle.nn.Linear(4, 2, weight_attr=even)(inputs)  # the network
loss = paddle.nn.functional.cross_entropy(
    outputs, labels
)
optimizer = paddle.optimizer.Adam(0.05)
optimizer = mixed_precision.decorate(
    optimizer,
    mixed_precision.AutoMixedPrecisionLists(custom_black_list={"softmax"}),
    decr_every_n_nan_or_inf=1,
)
optimizer.minimize(loss)
scale = optimizer.get_loss_scaling()
executor = paddle.static.Executor()
executor.run(paddle.static.default_startup_program())
optimizer.amp_init(paddle.CPUPlace())
losses, scales = [], []
for step in range(20):
    fed = {"inputs": pixels * (math.inf if step == 5 else 1), "labels": classes}
    values = executor.run(feed=fed, fetch_list=[loss, scale])
    losses.append(float(values[0]))
    scales.append(float(values[1][0]))
"""
HINTED = (
    STATIC.replace("from paddle.fluid.contrib import mixed_precision\n", "")
    .replace(
        """\
outputs = paddle.nn.Linear(4, 2, weight_attr=even)(inputs)  # the network
loss = paddle.nn.functional.cross_entropy(
    outputs, labels
)
""",
        """\
with paddle.amp.auto_cast(level="O1", dtype="float16", custom_black_list=["softmax"]):
    outputs = paddle.nn.Linear(4, 2, weight_attr=even)(inputs)
    loss = paddle.nn.functional.cross_entropy(outputs, labels)
""",
    )
    .replace(
        """\
optimizer = mixed_precision.decorate(
    optimizer,
    mixed_precision.AutoMixedPrecisionLists(custom_black_list={"softmax"}),
    decr_every_n_nan_or_inf=1,
)
optimizer.minimize(loss)
""",
        """\
optimizer = paddle.static.amp.decorate(optimizer, level="O1", dtype="float16", master_weight=False)
scaler = paddle.amp.GradScaler(
    init_loss_scaling=2.0**15,
    incr_ratio=2.0,
    decr_ratio=0.8,
    incr_every_n_steps=1000,
    decr_every_n_nan_or_inf=1,
)
scaler.minimize(optimizer, scaler.scale(loss))
""",
    )
)
"""STATIC as the hint of its place says."""


def migrated(text: str) -> str:
    found = migrate_in_place([Source("train.py", text)], codemods_to("paddle3"))
    assert not found.refusals
    assert not found.problems
    return found.texts["train.py"]


RUNNER = Path(__file__).with_name("run_migrated_paddle.py")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("migrated")
    texts = {"dynamic": migrated(DYNAMIC), "static": HINTED}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    files = [folder / f"{name}.py" for name in texts]
    found: dict[str, Any] = run_python(RUNNER, "paddle", *files)
    return found


def test_a_dynamic_program_trains_and_skips_the_overflow(trained: dict[str, Any]) -> None:
    losses = trained["dynamic"]["losses"]
    assert math.isinf(losses[5])
    assert losses[6] < losses[4]  # of the step before
    assert losses[-1] < 0.7 * losses[0]


def test_a_dynamic_program_keeps_the_old_scale_and_its_back_off(trained: dict[str, Any]) -> None:
    state = trained["dynamic"]["state"]
    assert state["scale"] == 2.0**15 * 0.25
    assert state["incr_every_n_steps"] == 1000
    assert state["decr_every_n_nan_or_inf"] == 1
    assert state["incr_count"] == 14
    assert state["use_dynamic_loss_scaling"]


def test_a_static_program_is_named_and_its_hint_trains(trained: dict[str, Any]) -> None:
    found = migrate_in_place([Source("train.py", STATIC)], codemods_to("paddle3"))
    assert not found.texts
    assert "decr_every_n_nan_or_inf=2" in found.refusals[0].hint
    losses = trained["static"]["losses"]
    assert not math.isfinite(losses[5])
    assert losses[6] < losses[4]
    assert losses[-1] < 0.7 * losses[0]


def test_a_static_program_keeps_the_old_scale_and_its_back_off(trained: dict[str, Any]) -> None:
    scales = trained["static"]["scales"]
    assert scales[:5] == [2.0**15] * 5
    assert scales[6:] == pytest.approx([2.0**15 * 0.8] * 14)


def test_a_static_program_is_cast_where_its_matrix_product_is(trained: dict[str, Any]) -> None:
    assert trained["static"]["casts"] >= 2  # both factors


@pytest.mark.parametrize("framework", paddle_2())
def test_the_old_programs_trained_the_same(
    framework: str, trained: dict[str, Any], tmp_path: Path
) -> None:
    """Paddle 2.6 has the old classes and the old signature of decorate in other places."""
    texts = {
        "dynamic": DYNAMIC.replace("import paddle.fluid as fluid\n", "").replace(
            "fluid.dygraph.", "paddle.amp."
        ),
        "static": STATIC.replace(
            "from paddle.fluid.contrib import mixed_precision",
            "from paddle.static import amp as mixed_precision",
        ).replace("decr_every_n_nan_or_inf=1,", "decr_every_n_nan_or_inf=1, use_bf16=False,"),
    }
    files = [tmp_path / f"{name}.py" for name in texts]
    for file in files:
        file.write_text(texts[file.stem], encoding="utf-8")
    before = run_python(RUNNER, framework, *files)
    for kind in texts:
        assert before[kind]["losses"] == pytest.approx(
            trained[kind]["losses"], rel=1e-5, nan_ok=True
        )
    assert before["dynamic"]["state"] == trained["dynamic"]["state"]
    assert before["static"]["scales"] == pytest.approx(trained["static"]["scales"])
