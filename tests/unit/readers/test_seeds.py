"""Seeds of all frameworks; those of other generators are none of a recipe."""

from __future__ import annotations

from typing import Any

import pytest

from reading_helpers.program_facts import values_of

TF = "import tensorflow as tf\nmodel.compile(tf.keras.optimizers.Adam(1e-3), loss='mse')\n"
KERAS = "import keras\nmodel.compile(keras.optimizers.Adam(1e-3), loss='mse')\n"
PADDLE = "import paddle\noptimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())\n"
TORCH = "import torch\noptimizer = torch.optim.Adam(model.parameters())\nloss.backward()\n"


def seed_of(text: str) -> Any:
    return values_of(text).get("seed")


@pytest.mark.parametrize(
    "text",
    [
        TF + "tf.random.set_seed(7)\n",
        TF + "tf.random.set_seed(seed=7)\n",
        TF + "tf.keras.utils.set_random_seed(7)\n",
        TF + "tf.compat.v1.set_random_seed(7)\n",
        TF + "tf.compat.v1.random.set_random_seed(seed=7)\n",
        "import tensorflow.compat.v1 as tf\ntf.set_random_seed(7)\n"
        "tf.train.AdamOptimizer(1e-3).minimize(loss)\n",
        TF + "chosen = 7\ntf.random.set_seed(chosen)\ntf.random.set_seed(8)\n",
        KERAS + "keras.utils.set_random_seed(7)\n",
        KERAS + "from keras.utils import set_random_seed\nset_random_seed(7)\n",
        PADDLE + "paddle.seed(7)\n",
        PADDLE + "paddle.seed(seed=7)\n",
    ],
)
def test_a_seed(text: str) -> None:
    assert seed_of(text) == 7


@pytest.mark.parametrize(
    "text",
    [
        TF + "import numpy as np\nnp.random.seed(7)\n",
        TF + "noise = tf.random.Generator.from_seed(7)\n",
        TF + "rows = rows.shuffle(100, seed=7)\n",
        TF + "tf.random.set_seed(None)\n",
        KERAS + "drop = keras.layers.Dropout(0.1, seed=7)\n",
        KERAS + "generator = keras.random.SeedGenerator(7)\n",
        PADDLE + "import random\nrandom.seed(7)\n",
        PADDLE + "state = paddle.get_rng_state()\n",
        # Two frameworks: only that of the training counts.
        TORCH + "import tensorflow as tf\ntf.random.set_seed(7)\n",
        PADDLE + "import torch\ntorch.manual_seed(7)\n",
    ],
)
def test_no_seed(text: str) -> None:
    assert seed_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        PADDLE + "paddle.seed(base + paddle.distributed.get_rank())\n",
        TF + "tf.random.set_seed(make_seed())\n",
    ],
)
def test_a_seed_that_is_not_known_is_left_open(text: str) -> None:
    assert str(seed_of(text)).startswith("?")
