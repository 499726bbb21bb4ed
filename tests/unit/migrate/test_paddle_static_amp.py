"""CM302: decorated optimizers of static programs are named, with what to write."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import all_codemods, codemods_to

IMPORTS = "import paddle\nfrom paddle.static import amp\n\npaddle.enable_static()\n"
DATA = 'images = paddle.static.data("images", [8, 4])\n'
LOSS = "loss = paddle.mean(network(images))\n"
ADAM = "optimizer = paddle.optimizer.Adam(0.1)\n"
DECORATE = "optimizer = amp.decorate(optimizer, use_bf16=False)\n"
REST = "optimizer.minimize(loss)\nexecutor.run(fetch_list=[loss])\n"


def migrated(text: str, *others: Source) -> InPlaceMigration:
    found = migrate_in_place([Source("train.py", text), *others], codemods_to("paddle3"))
    assert not found.problems
    return found


@pytest.mark.parametrize(
    "call",
    [
        "optimizer, use_bf16=False",
        "optimizer, None, 8.0",
        "optimizer, level='O1'",
        "optimizer, use_pure_fp16=True",
        "optimizer, **settings",
    ],
)
def test_a_decorated_optimizer_is_named_whatever_its_arguments(call: str) -> None:
    text = f"{IMPORTS}{DATA}{LOSS}{ADAM}optimizer = amp.decorate({call})\n{REST}"
    found = migrated(text)
    assert not found.texts
    [refusal] = found.refusals
    assert refusal.code == "CM302"
    assert refusal.span is not None
    assert refusal.span.line == text[: text.index("amp.decorate(")].count("\n") + 1
    assert refusal.message.endswith("in Paddle 3 it neither casts nor scales on its own")
    assert "decr_every_n_nan_or_inf=2" in refusal.hint
    assert "under paddle.amp.auto_cast" in refusal.hint


def test_each_place_is_named_and_that_of_fluid_too() -> None:
    text = f"{IMPORTS}{DATA}{LOSS}{ADAM}{DECORATE}if half:\n    {DECORATE}{REST}"
    assert len(migrated(text).refusals) == 2
    old = text.replace("from paddle.static import amp", "import paddle.fluid.contrib as contrib")
    old = old.replace("amp.decorate", "contrib.mixed_precision.decorate")
    found = migrate_in_place([Source("train.py", old)], [all_codemods()["CM302"]])
    assert ["it was removed, and" in refusal.message for refusal in found.refusals] == [True, True]


@pytest.mark.parametrize(
    "text",
    [
        f"{IMPORTS}{DATA}{LOSS}{ADAM}{REST}",
        # The form of Paddle 3, and a representation that was chosen.
        f"{IMPORTS}{DATA}{LOSS}{ADAM}optimizer = amp.decorate(optimizer, level='O1')\n"
        "scaler = paddle.amp.GradScaler()\nscaler.minimize(optimizer, scaler.scale(loss))\n",
        'import os\nos.environ["FLAGS_enable_pir_api"] = "0"\n'
        f"{IMPORTS}{DATA}{LOSS}{ADAM}{DECORATE}{REST}",
        # Dynamic graphs.
        "import paddle\nmodel, optimizer = paddle.amp.decorate(model, optimizer, level='O2')\n",
        "import paddle.distributed.fleet as fleet\nstrategy = fleet.DistributedStrategy()\n"
        "strategy.amp = True\nmodel = fleet.distributed_model(model)\n",
        # Others of the same name.
        f"from mine import amp\n{DATA}{LOSS}{ADAM}{DECORATE}{REST}",
        "import tensorflow as tf\noptimizer = tf.contrib.mixed_precision.decorate(optimizer)\n",
        "from paddle_helpers.static.amp import decorate\noptimizer = decorate(optimizer)\n",
        "import torch\nfrom utils.fp16 import create_master_params_grads\n"
        "create_master_params_grads(optimizer)\n",
        "def decorate(optimizer):\n    return optimizer\noptimizer = decorate(optimizer)\n",
        # Texts, comments, dead code, both ways.
        f'"""{DECORATE}"""\nimport paddle\noptimizer.minimize(loss)\n',
        f"import paddle\n# {DECORATE}optimizer.minimize(loss)\n",
        "import paddle\nif 0:\n    optimizer = paddle.static.amp.decorate(optimizer, None, 8.0)\n",
        "try:\n    from paddle.static.amp import decorate\nexcept ImportError:\n"
        "    from paddle.fluid.contrib.mixed_precision import decorate\n"
        "optimizer = decorate(optimizer)\n",
    ],
)
def test_what_needs_no_change_stays(text: str) -> None:
    found = migrated(text)
    assert not found.texts
    assert not found.refusals


@pytest.mark.parametrize("name", ["amp", "use_amp"])
def test_strategies_of_static_programs(name: str) -> None:
    text = (
        f"import paddle.distributed.fleet as fleet\n{IMPORTS}{DATA}{LOSS}{ADAM}"
        f"strategy = fleet.DistributedStrategy()\nstrategy.{name} = True\n"
        f"optimizer = fleet.distributed_optimizer(optimizer, strategy=strategy)\n{REST}"
    )
    # CM323 selects the graphs that fleet changes; with them its strategies work as in Paddle 2.
    found = migrated(text)
    assert not found.refusals
    assert found.texts["train.py"].endswith(text)
    assert "FLAGS_enable_pir_api" in found.texts["train.py"]
