"""CM201: policies of the experimental interface."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, migrated, refused, untouched

FIT = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
"""
SET = "tf.keras.mixed_precision.experimental.set_policy"
POLICY = "tf.keras.mixed_precision.experimental.Policy"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "import tensorflow as tf\n"
            "tf.keras.mixed_precision.experimental.set_policy('float32')\n",
            "import tensorflow as tf\ntf.keras.mixed_precision.set_global_policy('float32')\n",
        ),
        (
            "from tensorflow.keras.mixed_precision import experimental as mp\n"
            "mp.set_policy('mixed_bfloat16')\n",
            "from tensorflow.keras import mixed_precision as mp\n"
            "mp.set_global_policy('mixed_bfloat16')\n",
        ),
        (
            "from tensorflow.keras.mixed_precision import experimental\n"
            "experimental.set_policy('mixed_bfloat16')  # for TPUs\n",
            "from tensorflow.keras import mixed_precision\n"
            "mixed_precision.set_global_policy('mixed_bfloat16')  # for TPUs\n",
        ),
        (
            "from keras.mixed_precision.experimental import Policy, set_policy\n"
            "set_policy(Policy('float32'))\n",
            "from keras.mixed_precision import Policy, set_global_policy\n"
            "set_global_policy(Policy('float32'))\n",
        ),
        (
            "from tensorflow.keras.mixed_precision.experimental import (\n"
            "    Policy,  # types\n"
            "    set_policy as use,\n"
            ")\n"
            "use(Policy('float32'))\n",
            "from tensorflow.keras.mixed_precision import (\n"
            "    Policy,  # types\n"
            "    set_global_policy as use,\n"
            ")\n"
            "use(Policy('float32'))\n",
        ),
        (
            "import tensorflow.keras.mixed_precision.experimental as mp\n"
            "mp.set_policy('float32')\n",
            "import tensorflow.keras.mixed_precision as mp\nmp.set_global_policy('float32')\n",
        ),
        (
            "from tensorflow._api.v2.keras.mixed_precision import experimental as mp\n"
            "from tensorflow.compat.v1.keras.mixed_precision.experimental import Policy\n"
            "mp.set_policy(Policy('float32'))\n",
            "from tensorflow.keras import mixed_precision as mp\n"
            "from tensorflow.keras.mixed_precision import Policy\n"
            "mp.set_global_policy(Policy('float32'))\n",
        ),
        (
            "from tensorflow import keras as K\n"
            "use = K.mixed_precision.experimental.set_policy\n"
            "now = K.mixed_precision.experimental.global_policy().name\n",
            "from tensorflow import keras as K\n"
            "use = K.mixed_precision.set_global_policy\n"
            "now = K.mixed_precision.global_policy().name\n",
        ),
        (
            "from tensorflow.keras import mixed_precision\nmixed_precision.set_policy('float32')\n",
            "from tensorflow.keras import mixed_precision\n"
            "mixed_precision.set_global_policy('float32')\n",
        ),
        (
            "import tensorflow as tf\n"
            "if isinstance(opt, tf.keras.mixed_precision.experimental.LossScaleOptimizer):\n"
            "    opt = opt.inner\n",
            "import tensorflow as tf\n"
            "if isinstance(opt, tf.keras.mixed_precision.LossScaleOptimizer):\n"
            "    opt = opt.inner\n",
        ),
        (
            "import tensorflow as tf\n"
            "print(tf.keras.mixed_precision.experimental.get_layer_policy(layers[0]).name)\n",
            "import tensorflow as tf\nprint(layers[0].dtype_policy.name)\n",
        ),
    ],
)
def test_names(old: str, new: str) -> None:
    assert after(old, "CM201") == new


def test_the_same_name_elsewhere_in_the_module_is_not_taken() -> None:
    text = (
        "from tensorflow.keras.mixed_precision import experimental\n"
        "mixed_precision = True\n"
        "if mixed_precision:\n"
        "    experimental.set_policy('float32')\n"
    )
    new = after(text, "CM201")
    assert "from tensorflow.keras import mixed_precision as experimental" in new
    assert "experimental.set_global_policy('float32')" in new


def test_a_policy_without_scaling_tells_compile() -> None:
    text = f"import tensorflow as tf\n{SET}({POLICY}('mixed_float16', loss_scale=None))\n{FIT}"
    new = after(text, "CM201")
    assert "set_global_policy(tf.keras.mixed_precision.Policy('mixed_float16'))" in new
    assert 'loss="mse", auto_scale_loss=False)' in new


def test_an_explicit_scaler_keeps_its_scale() -> None:
    text = (
        f"import tensorflow as tf\n{SET}({POLICY}('mixed_float16', loss_scale=64))\n"
        "opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(\n"
        "    tf.keras.optimizers.Adam(1e-3), 'dynamic')\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
        "model.compile(opt, loss='mse')\n"
    )
    new = after(text, "CM201")
    assert "LossScaleOptimizer(\n    tf.keras.optimizers.Adam(1e-3))" in new
    assert "auto_scale_loss" not in new
    assert "loss_scale_factor" not in new


@pytest.mark.parametrize(
    ("given", "new"),
    [
        ("'dynamic'", "(inner)"),
        ("loss_scale='dynamic'", "(inner)"),
        ("128", "(inner, dynamic=False, initial_scale=128.0)"),
        ("2.0 ** 7", "(inner, dynamic=False, initial_scale=2.0 ** 7)"),
        (
            "tf.mixed_precision.experimental.DynamicLossScale(1024.0, 500)",
            "(inner, initial_scale=1024.0, dynamic_growth_steps=500)",
        ),
        (
            "tf.mixed_precision.experimental.DynamicLossScale(increment_period=500, "
            "multiplier=2.0)",
            "(inner, dynamic_growth_steps=500)",
        ),
        (
            "loss_scale=tf.mixed_precision.experimental.FixedLossScale(64.0)",
            "(inner, dynamic=False, initial_scale=64.0)",
        ),
        ("policy.loss_scale", "(inner)"),
    ],
)
def test_scales_of_scalers(given: str, new: str) -> None:
    text = (
        "import tensorflow as tf\n"
        f"policy = {POLICY}('mixed_float16')\n"
        f"opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(inner, {given})\n"
    )
    assert f"opt = tf.keras.mixed_precision.LossScaleOptimizer{new}\n" in after(text, "CM201")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{SET}({POLICY}('mixed_float16', loss_scale=scale))\n", "has the loss scale scale"),
        (f"{SET}({POLICY}(name, loss_scale='dynamic'))\n", "this policy is not known"),
        (f"{SET}({POLICY}('float16', loss_scale='dynamic'))\n", "this policy is float16"),
        (f"{SET}({POLICY}(*given))\n", "not visible"),
        (f"{SET}({POLICY}('infer'))\n", "the policy infer was removed"),
        (f"{SET}(None)\n", "set_global_policy rejects None"),
        (
            f"policy = {POLICY}('mixed_float16')\n{SET}(policy)\nprint(policy.loss_scale)\n",
            "no loss scale to read",
        ),
        (f"{SET}({POLICY}('mixed_float16', loss_scale=64))\n", "compiled elsewhere"),
        (
            f"if fp16:\n    {SET}({POLICY}('mixed_float16', loss_scale=64))\n{FIT}",
            "only set under a condition",
        ),
        (
            f"{SET}({POLICY}('mixed_float16', loss_scale=64))\n"
            "model = tf.keras.Sequential([])\nmodel.compile(optimizer='adam', loss='mse')\n",
            "the optimizer of this compile",
        ),
        (
            "opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(inner, scale)\n",
            "the loss scale of this optimizer",
        ),
        (
            "opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(inner,\n"
            "    tf.mixed_precision.experimental.DynamicLossScale(multiplier=4.0))\n",
            "the loss scale of this optimizer",
        ),
        ("tf.keras.mixed_precision.experimental.Strange()\n", "no counterpart"),
        (
            "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + f"{SET}('mixed_float16')\n",
            "TF_USE_LEGACY_KERAS",
        ),
    ],
)
def test_refusals(text: str, why: str) -> None:
    assert why in refused(f"import tensorflow as tf\n{text}", "CM201")


@pytest.mark.parametrize(
    "line",
    [
        "from tensorflow.python.keras.mixed_precision.experimental import policy",
        "from tensorflow.keras.mixed_precision.experimental import Policy, other",
        "from tensorflow.keras.mixed_precision import experimental, LossScaleOptimizer",
    ],
)
def test_imports_that_stay(line: str) -> None:
    assert refused(f"{line}\n", "CM201")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import tensorflow as tf\ntf.keras.mixed_precision.set_global_policy('mixed_float16')\n",
        "import keras\nkeras.mixed_precision.set_dtype_policy('mixed_float16')\n",
        "import tf_keras\ntf_keras.mixed_precision.set_global_policy('mixed_float16')\n",
        "# tf.keras.mixed_precision.experimental.set_policy('mixed_float16')\nimport tensorflow\n",
        "HELP = 'tf.keras.mixed_precision.experimental.set_policy'\n",
        "import haiku as hk\nhk.mixed_precision.set_policy(hk.nets.ResNet50, policy)\n",
        "import ours.mixed_precision.experimental as mp\nmp.set_policy('mixed_float16')\n",
        "from ours.mixed_precision.experimental import Policy\nPolicy('x', loss_scale=3)\n",
        "mixed_precision.experimental.set_policy('mixed_float16')\n",
        "def f(tf):\n    tf.keras.mixed_precision.experimental.set_policy('mixed_float16')\n",
        "import tensorflow as tf\nif False:\n    "
        "tf.keras.mixed_precision.experimental.set_policy('float32')\n",
        "import tensorflow as tf\ntry:\n    tf.keras.mixed_precision.set_global_policy('x')\n"
        "except AttributeError:\n    tf.keras.mixed_precision.experimental.set_policy('x')\n",
        "import tensorflow as tf\nif hasattr(tf.keras.mixed_precision, 'set_global_policy'):\n"
        "    tf.keras.mixed_precision.set_global_policy('mixed_float16')\nelse:\n"
        "    tf.keras.mixed_precision.experimental.set_policy('mixed_float16')\n",
        "import tensorflow as tf\nif tf.__version__ < '2.4':\n"
        "    tf.keras.mixed_precision.experimental.set_policy('mixed_float16')\n",
        "class Agent:\n    def act(self):\n        return self._policy.compute_dtype\n",
        "import tensorflow as tf\nclass L(tf.keras.layers.Layer):\n"
        "    def __init__(self):\n        self._policy = make()\n"
        "    def call(self, x):\n        return tf.cast(x, self._policy.compute_dtype)\n",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM201")


def test_the_policy_of_a_layer() -> None:
    text = (
        "import tensorflow as tf\n"
        "class L(tf.keras.layers.Layer):\n"
        "    def call(self, x):\n"
        "        return tf.cast(x, self._policy.compute_dtype)  # mixed_precision\n"
    )
    assert after(text, "CM201") == text.replace("_policy.", "dtype_policy.")


@pytest.mark.parametrize(("kind", "told"), [("float16", True), ("bfloat16", False)])
def test_the_note_tells_that_a_scale_has_no_minimum(kind: str, told: bool) -> None:
    text = f"import tensorflow as tf\n{SET}('mixed_{kind}')\n{FIT}"
    (change,) = migrated(text, "CM201").changes
    assert ("no minimum (Keras 2: 1)" in change.hint) == told


def test_a_loop_of_ones_own_never_used_the_scale_of_the_policy() -> None:
    text = (
        f"import tensorflow as tf\n{SET}({POLICY}('mixed_float16', loss_scale=64))\n"
        "with tf.GradientTape() as tape:\n    loss = f()\n"
    )
    found = migrated(text, "CM201")
    assert "Policy('mixed_float16')" in found.texts["train.py"]
    assert "a custom loop does not use it" in found.changes[0].hint


SCALED = f"{SET}({POLICY}('mixed_float16', loss_scale=64))"
INDENTED = "".join(f"    {line}\n" for line in FIT.splitlines())
MAIN = f"""\
import tensorflow as tf


def main():
    {SCALED}
{INDENTED}

"""
FACTOR = 'Adam(1e-3, loss_scale_factor=64.0), loss="mse", auto_scale_loss=False)'


@pytest.mark.parametrize(
    "text",
    [
        MAIN + "main()\n",
        MAIN + "if __name__ == '__main__':\n    main()\n",
        MAIN + "if __name__ == '__main__':\n    from absl import app\n    app.run(main)\n",
        MAIN + "if __name__ == '__main__':\n    tf.compat.v1.app.run(main)\n",
        MAIN.replace("main():\n", "main():\n    if not data:\n        return\n") + "main()\n",
        MAIN.replace("main():", "half():").replace(
            INDENTED, f"\n\ndef train():\n{INDENTED}\n\ndef main():\n    half()\n    train()\n"
        )
        + "main()\n",
        f"import tensorflow as tf\npolicy = {POLICY}('mixed_float16', loss_scale=64)\n"
        f"{SET}(policy)\n\n\ndef train():\n{INDENTED}",
    ],
)
def test_a_policy_that_is_certainly_set_before(text: str) -> None:
    assert FACTOR in after(text, "CM201")


HALF = f"""\
import tensorflow as tf


def half():
    {SCALED}


def train():
{INDENTED}

"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MAIN, "only set under a condition"),  # who calls it is not to be seen
        (MAIN + "if fast:\n    main()\n", "only set under a condition"),
        (MAIN + "main()\nmain()\n", "only set under a condition"),
        (MAIN + "for _ in runs:\n    main()\n", "only set under a condition"),
        (MAIN + "try:\n    main()\nexcept ValueError:\n    pass\n", "only set under a condition"),
        (MAIN + "start(main)\n", "only set under a condition"),
        (MAIN + "run = lambda: main()\n", "only set under a condition"),
        (
            MAIN.replace(f"    {SCALED}", f"    if fp16:\n        {SCALED}") + "main()\n",
            "only set under a condition",
        ),
        (HALF + "train()\nhalf()\n", "may not be set where"),
        (HALF + "half()\n", "may not be set where"),  # who calls train is not to be seen
        (HALF + "train()\nhalf()\ntrain()\n", "may not be set where"),
        (
            HALF.replace("half():", "half():\n    if late:\n        return") + "half()\ntrain()\n",
            "only set under a condition",
        ),
        (
            HALF.replace("def half", "first = tf.keras.layers.Dense(2)\n\n\ndef half")
            + "half()\ntrain()\n",
            "after the first layers",
        ),
        (
            f"import tensorflow as tf\npolicy = {POLICY}('mixed_float16', loss_scale=64)\n"
            f"if fp16:\n    {SET}(policy)\n{FIT}",
            "only set under a condition",
        ),
        (
            f"import tensorflow as tf\npolicy = {POLICY}('mixed_float16', loss_scale=64)\n"
            f"layer = tf.keras.layers.Dense(2, dtype=policy)\n{FIT}",
            "not certainly the one",
        ),
        (
            f"import tensorflow as tf\n{SCALED}\n{SET}('float32')\n{FIT}",
            "not certainly the one",
        ),
        (f"import tensorflow as tf\n{FIT}{SCALED}\n", "may not be set where"),
    ],
)
def test_a_policy_that_may_not_hold(text: str, why: str) -> None:
    assert why in refused(text, "CM201")
