"""Rules about Keras and TensorFlow: what they find beside their examples, and what they leave."""

from __future__ import annotations

import textwrap

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_tensorflow.answers.keras import FIT, LOOP


def codes(text: str, name: str = "train.py") -> list[str]:
    """Return the codes of Keras that are found, and all others of errors and warnings."""
    found = lint_sources([Source(name, textwrap.dedent(text))])
    return sorted({diagnostic.code for diagnostic in found if diagnostic.code.startswith("CL7")})


def accumulating(more: str, before: str = "") -> str:
    return before + FIT.replace("AdamW(1e-3)", f"AdamW({more})")


SCHEDULE = "rate = keras.optimizers.schedules.CosineDecay(1e-3, 100)\n"
IMPORT = "import keras\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (accumulating("rate, gradient_accumulation_steps=4", IMPORT + SCHEDULE), ["CL701"]),
        (accumulating("rate, gradient_accumulation_steps=n", IMPORT + SCHEDULE), ["CL701"]),
        (accumulating("rate, gradient_accumulation_steps=1", IMPORT + SCHEDULE), []),
        (accumulating("rate, gradient_accumulation_steps=None", IMPORT + SCHEDULE), []),
        (accumulating("rate", IMPORT + SCHEDULE), []),
        (accumulating("1e-3, gradient_accumulation_steps=4"), []),
        (accumulating("1e-3, gradient_accumulation_steps=4, use_ema=True"), ["CL702"]),
        (accumulating("1e-3, gradient_accumulation_steps=4, use_ema=False"), []),
        (
            accumulating(
                "1e-3, gradient_accumulation_steps=4",
                "import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\n",
            ),
            ["CL703"],
        ),
        (
            accumulating(
                "1e-3, gradient_accumulation_steps=4",
                "import tensorflow as tf\ns = tf.distribute.OneDeviceStrategy('cpu')\n",
            ),
            [],
        ),
    ],
)
def test_accumulation_of_keras(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize("version", ["3.1.1", "3.4.1", "3.5.0", "3.15.1"])
def test_every_keras_3_counts_micro_batches(version: str) -> None:
    text = accumulating("rate, gradient_accumulation_steps=4", IMPORT + SCHEDULE)
    options = Options(versions={"keras": version})
    found = lint_sources([Source("train.py", text)], options)
    assert "CL701" in {diagnostic.code for diagnostic in found}


SCALED = """
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    optimizer = {}(tf.keras.optimizers.Adam(1e-3))
    model.compile(optimizer, loss="mse")
model.fit(x, y)
"""


def test_a_scaler_under_a_strategy() -> None:
    assert codes(SCALED.format("tf.keras.optimizers.LossScaleOptimizer")) == ["CL704"]
    assert codes(SCALED.format("tf.keras.mixed_precision.LossScaleOptimizer")) == []


REMAT = """
import tensorflow as tf
drop = tf.keras.layers.Dropout({rate})
optimizer = tf.keras.optimizers.Adam(1e-3)

def block(x):
    return {body}

again = {wrap}(block)
with tf.GradientTape() as tape:
    loss = again(x)
optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
"""


@pytest.mark.parametrize(
    ("rate", "body", "wrap", "expected"),
    [
        ("0.1", "drop(x)", "tf.recompute_grad", ["CL705"]),
        ("0.1", "tf.nn.dropout(x, 0.1)", "tf.recompute_grad", ["CL705"]),
        ("0.0", "drop(x)", "tf.recompute_grad", []),
        ("0.1", "tf.nn.experimental.stateless_dropout(x, 0.1, s)", "tf.recompute_grad", []),
        ("0.1", "tf.nn.relu(x)", "tf.recompute_grad", []),
        ("0.1", "drop(x)", "tf.function", []),
    ],
)
def test_recomputation(rate: str, body: str, wrap: str, expected: list[str]) -> None:
    assert codes(REMAT.format(rate=rate, body=body, wrap=wrap)) == expected


NORM = """
import keras

class {name}(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = keras.layers.LayerNormalization({epsilon})

optimizer = keras.optimizers.AdamW(1e-5)
"""


@pytest.mark.parametrize(
    ("name", "epsilon", "expected"),
    [
        ("BertOutput", "", ["CL706"]),
        ("RobertaLayer", "axis=-1", ["CL706"]),
        ("BertOutput", "epsilon=config.eps", []),
        ("Decoder", "", []),
        ("Albertson", "", []),
    ],
)
def test_epsilon_of_norms(name: str, epsilon: str, expected: list[str]) -> None:
    assert codes(NORM.format(name=name, epsilon=epsilon)) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("keras.ops.gelu(x)", ["CL707"]),
        ("keras.ops.gelu(x, approximate=True)", []),
        ("keras.ops.gelu(x, True)", []),
        ("keras.activations.gelu(x)", []),
    ],
)
def test_gelu(call: str, expected: list[str]) -> None:
    assert codes(f"import keras\ny = {call}\nopt = keras.optimizers.AdamW(1e-5)\n") == expected


UNSCALED = (
    LOOP.replace(
        "tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))",
        "tf.keras.optimizers.Adam(1e-3)",
    )
    .replace("        scaled = optimizer.get_scaled_loss(loss)\n", "")
    .replace("tape.gradient(scaled", "tape.gradient(loss")
    .replace("    gradients = optimizer.get_unscaled_gradients(gradients)\n", "")
)


def test_loops_without_a_scale() -> None:
    assert codes(UNSCALED) == ["CL708"]
    assert codes(UNSCALED.replace("mixed_float16", "mixed_bfloat16")) == []
    assert codes(UNSCALED.replace("mixed_float16", "float32")) == []
    assert codes(UNSCALED.replace("optimizer.apply", "self.optimizer.apply")) == []


HELPER = """
import tensorflow as tf

def kind_of(half):
    # there is no loss_scale here
    if half and tf.config.list_physical_devices("GPU"):
        return "mixed_float16"
    return "float32"

def set_policy(name):
    policy = tf.keras.mixed_precision.Policy(name)
    tf.keras.mixed_precision.set_global_policy(policy)
"""
GRAPH = """
import tensorflow.compat.v1 as tf
import helper

def model_fn(features, labels, mode, params):
    helper.set_policy(helper.kind_of(params["half"]))
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 2))
    optimizer = tf.train.AdamOptimizer(params["lr"])
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL708"]),
        ("mixed_float16", "mixed_bfloat16", []),
        ("mixed_float16", "float32", []),
        ("tf.train.AdamOptimizer(params", "helper.optimizer(params", []),
        ("    train_op", "    optimizer = helper.with_loss_scale(optimizer)\n    train_op", []),
        ("AdamOptimizer(params", "AdamOptimizer(loss_scale=8, lr=params", []),
        ("optimizer.minimize(loss", "optimizer.minimize(loss_scaler(loss)", []),
        ("optimizer.minimize(loss,", "optimizer.compute_gradients(loss,", []),
    ],
)
def test_a_policy_of_a_helper(old: str, new: str, expected: list[str]) -> None:
    assert old in GRAPH + HELPER
    texts = [text.replace(old, new) if old else text for text in (GRAPH, HELPER)]
    names = ("train.py", "helper.py")
    found = lint_sources([Source(n, t) for n, t in zip(names, texts, strict=True)])
    assert [
        diagnostic.code for diagnostic in found if diagnostic.code.startswith("CL7")
    ] == expected


def test_a_loop_under_a_policy_that_may_be_half() -> None:
    """Who may have wrapped the optimizer of a tape is not seen, unless the policy is certain."""
    text = UNSCALED.replace('set_global_policy("mixed_float16")', "set_global_policy(kind)")
    text = text.replace("model =", 'kind = "mixed_float16" if half() else "float32"\nmodel =', 1)
    assert "set_global_policy(kind)" in text
    assert codes(text) == []


def test_half_of_a_pair() -> None:
    first = LOOP.replace("    gradients = optimizer.get_unscaled_gradients(gradients)\n", "")
    assert codes(first) == ["CL709"]
    second = LOOP.replace("        scaled = optimizer.get_scaled_loss(loss)\n", "").replace(
        "gradient(scaled", "gradient(loss"
    )
    assert codes(second) == ["CL709"]
    assert codes(LOOP) == []


def test_a_helper_that_only_scales_is_no_half() -> None:
    text = """
        import tensorflow as tf

        def scale(optimizer, loss):
            return optimizer.get_scaled_loss(loss)
    """
    assert codes(text) == []


LAYER = """
import keras
model = keras.Sequential([keras.layers.Dense(2, dtype="{policy}")])
{more}
model.compile(keras.optimizers.AdamW(1e-3), loss="mse")
model.fit(x, y)
"""


def test_policies_of_layers() -> None:
    assert codes(LAYER.format(policy="mixed_float16", more="")) == ["CL710"]
    assert codes(LAYER.format(policy="mixed_bfloat16", more="")) == []
    assert codes(LAYER.format(policy="float32", more="")) == []
    scaled = "optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.AdamW(1e-3))"
    assert codes(LAYER.format(policy="mixed_float16", more=scaled)) == []


ORDER = """
import keras
{first}
{second}
model.compile("adam", loss="mse")
model.fit(x, y)
"""
SET = 'keras.config.set_dtype_policy("mixed_float16")'
MADE = 'model = keras.Sequential([keras.layers.Dense(2, dtype="float32")])'


def test_the_order_of_policy_and_model() -> None:
    assert codes(ORDER.format(first=MADE, second=SET)) == ["CL711"]
    assert codes(ORDER.format(first=SET, second=MADE)) == []
    again = MADE.replace("model", "second")
    assert codes(ORDER.format(first=MADE, second=f"{SET}\n{again}")) == []


CLIP = "    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n"
UNSCALE = "    gradients = optimizer.get_unscaled_gradients(gradients)\n"


def test_clips_and_scales() -> None:
    assert codes(LOOP.replace(UNSCALE, CLIP + UNSCALE)) == ["CL712"]
    assert codes(LOOP.replace(UNSCALE, UNSCALE + CLIP)) == []
    modern = (
        LOOP.replace("get_scaled_loss", "scale_loss")
        .replace("mixed_precision.LossScaleOptimizer", "optimizers.LossScaleOptimizer")
        .replace(UNSCALE, CLIP)
    )
    assert codes(modern) == ["CL712"]
    assert codes(modern.replace(CLIP, "")) == []


REPLICAS = """
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
optimizer = tf.keras.optimizers.SGD(0.1)

def step(x, y):
    with tf.GradientTape() as tape:
        loss = {loss}
    optimizer.apply_gradients(zip(tape.gradient(loss, v), v))

strategy.run(step, args=(x, y))
"""


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("tf.reduce_mean(error(x, y))", ["CL713"]),
        ("tf.reduce_mean(error(x, y)) / strategy.num_replicas_in_sync", []),
        ("tf.nn.compute_average_loss(error(x, y), global_batch_size=64)", []),
        ("tf.reduce_sum(error(x, y)) / global_batch_size", []),
        ("helper(x, y)", []),
    ],
)
def test_sums_over_replicas(loss: str, expected: list[str]) -> None:
    assert codes(REPLICAS.format(loss=loss)) == expected


BOTH = """
import tensorflow as tf
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--way", default="keras")
args = parser.parse_args()
optimizer = tf.compat.v1.train.AdamOptimizer(1e-3)
if args.way == "keras":
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
{word}:
    optimizer = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite(optimizer)
model.compile(optimizer, loss="mse")
model.fit(x, y)
"""


def test_rewrite_and_policy() -> None:
    assert codes(BOTH.format(word='if args.way == "keras"')) == ["CL714"]
    assert codes(BOTH.format(word="else")) == []
    assert codes(BOTH.format(word='if args.way == "rewrite"')) == []


OUTPUT = """
import keras
{policy}
model = keras.Sequential([keras.layers.Dense(10, activation="{activation}"{dtype})])
model.compile("adam", loss="sparse_categorical_crossentropy")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("policy", "activation", "dtype", "expected"),
    [
        (SET, "softmax", "", ["CL715"]),
        (SET, "softmax", ', dtype="float32"', []),
        (SET, "softmax", ", **last", []),
        (SET, "relu", "", []),
        ("", "softmax", "", []),
        (SET.replace("mixed_float16", "mixed_bfloat16"), "softmax", "", []),
    ],
)
def test_the_last_softmax(policy: str, activation: str, dtype: str, expected: list[str]) -> None:
    text = OUTPUT.format(policy=policy, activation=activation, dtype=dtype)
    assert codes(text) == expected
