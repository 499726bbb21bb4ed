"""`crosscast diff`: a field differs only where both sides say it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscast_reading.lift.recipe_diff import Difference, differences, side_of

SCRIPT = """\
import torch

model = torch.nn.Linear(128, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for index, (inputs, labels) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(inputs), labels) / 4
    loss.backward()
    {clip}
    if (index + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sides(left: str, right: str) -> dict[str, Difference]:
    Path("left.py").write_text(left, encoding="utf-8")
    name = "right.yaml" if right.startswith("version") else "right.py"
    Path(name).write_text(right, encoding="utf-8")
    return {
        difference.path: difference
        for difference in differences(side_of("left.py", {}), side_of(name, {}))
    }


def recipe(**more: object) -> str:
    sections: dict[str, object] = {
        "version": 1,
        "name": "x",
        "model": {"kind": "bert", "preset": "tiny", "labels": 3},
        "data": {"source": "synthetic"},
        "accumulation": {"steps": 4},
        "optimizer": {"name": "sgd", "learning_rate": 0.1},
        "schedule": {"name": "constant", "total_steps": 10},
        "batch": {"micro_batch_size": 8},
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in {**sections, **more}.items())


PLAIN = SCRIPT.format(before="", clip="pass")


@pytest.mark.parametrize("tail", ["carry", "flush"])
def test_a_tail_that_a_script_drops_is_compared(tail: str) -> None:
    found = sides(PLAIN, recipe(accumulation={"steps": 4, "tail": tail}))["accumulation.tail"]
    assert (found.state, found.left, found.right) == ("different", "drop", tail)


def test_a_tail_that_both_drop_is_no_difference() -> None:
    assert "accumulation.tail" not in sides(
        PLAIN, recipe(accumulation={"steps": 4, "tail": "drop"})
    )


def test_a_tail_that_a_script_does_not_show_is_not_compared() -> None:
    text = "from accelerate import Accelerator\naccelerator = Accelerator(**options)\n" + PLAIN
    text = text.replace("loss.backward()", "accelerator.backward(loss)").replace(
        "if (index + 1) % 4 == 0:", "if accelerator.sync_gradients:"
    )
    found = sides(text, recipe(accumulation={"steps": 4, "tail": "carry"}))
    assert found["accumulation.tail"].state == "unknown"


def test_tails_that_both_sides_say_are_compared() -> None:
    text = "from accelerate import Accelerator\naccelerator = Accelerator({given})\n" + PLAIN
    text = text.format(given="gradient_accumulation_steps=4").replace(
        "loss.backward()", "accelerator.backward(loss)"
    )
    found = sides(text, recipe(accumulation={"steps": 4, "tail": "carry"}))["accumulation.tail"]
    assert (found.state, found.left, found.right) == ("different", "drop", "carry")


def test_accumulation_that_one_side_lacks_is_a_difference() -> None:
    found = sides(PLAIN.replace("% 4", "% 2").replace("/ 4", "/ 2"), PLAIN.replace("left", "right"))
    assert (found["accumulation.steps"].state, found["accumulation.steps"].left) == ("different", 2)
    assert "accumulation.tail" not in found


def test_the_scale_of_a_source_that_may_not_scale_is_not_compared() -> None:
    plain = "model.compile(tf.keras.optimizers.Adam(1e-4), 'mse')\nmodel.fit(data)\n"
    head = "import os\nimport tensorflow as tf\n"
    on = 'os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"\n'
    policy = 'tf.keras.mixed_precision.set_global_policy("mixed_float16")\n'
    model = "model = tf.keras.Sequential([tf.keras.layers.Dense(4)])\n"
    found = sides(head + on + model + plain, head + policy + model + plain)
    scale = found["loss_scaling.init_scale"]
    assert (scale.state, scale.left, scale.right) == ("unknown", None, 2.0**15)
    assert not [difference for difference in found.values() if difference.state == "different"]


def test_a_seed_that_a_script_does_not_set_is_not_compared() -> None:
    found = sides(PLAIN, recipe(seed=7))
    assert (found["seed"].state, found["seed"].left, found["seed"].right) == ("unknown", None, 7)


def test_a_seed_that_it_sets_is() -> None:
    found = sides(SCRIPT.format(before="torch.manual_seed(3)", clip="pass"), recipe(seed=7))
    assert (found["seed"].state, found["seed"].left) == ("different", 3)
    found = sides(SCRIPT.format(before="torch.manual_seed(7)", clip="pass"), recipe(seed=7))
    assert "seed" not in found
