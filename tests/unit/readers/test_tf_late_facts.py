"""Facts of TensorFlow programs that depend on what else the program does."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import EVERYTHING
from crosscast_reading.sources.subject_builder import subject_of


def values(text: str, field: str) -> list[object]:
    """Return the known values of a field."""
    subject, _ = subject_of([Source("train.py", text)], EVERYTHING.versions)
    return [fact.value for fact in subject.profile if fact.field == field and fact.known]


POLICY = """\
import keras

keras.mixed_precision.set_global_policy("mixed_float16")
painter = make_painter(height=512)
painter.generate("a boat")
"""


def test_a_policy_without_training_scales_no_loss() -> None:
    assert values(POLICY, "loss_scaling.mode") == []
    trained = POLICY + "painter.fit(rows)\n"
    assert values(trained, "loss_scaling.mode") == ["library"]


SWITCHED = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self, half=False):
        self.half = half

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(data[1], self(data[0]))
            if self.half:
                loss = self.optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(loss, self.trainable_variables)
        if self.half:
            gradients = self.optimizer.get_unscaled_gradients(gradients)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
"""


def test_a_switch_of_the_caller_that_is_off() -> None:
    assert values(SWITCHED, "precision.enabled") == ["caller"]
    assert values(SWITCHED, "precision.compute_dtype") == ["float32"]
    assert values(SWITCHED.replace("half=False", "half=True"), "precision.compute_dtype") != [
        "float32"
    ]
    scaled = (
        "import tensorflow as tf\n\n\nclass Trainer:\n"
        "    def __init__(self, loss_scale=False):\n"
        "        self.optimizer = tf.keras.optimizers.Adam(1e-3)\n"
        "        if loss_scale:\n"
        "            self.optimizer = tf.keras.mixed_precision.LossScaleOptimizer(self.optimizer)\n"
    )
    assert values(scaled, "precision.compute_dtype") == ["float32"]
    other = scaled.replace("if loss_scale", "if training")
    assert values(other, "precision.enabled") == ["caller"]
    assert values(other, "precision.compute_dtype") == []


def test_a_policy_behind_the_model_leaves_the_type_open() -> None:
    built = 'model = keras.Sequential([keras.layers.Dense(4)])\nmodel.compile("sgd", loss="mse")\n'
    policy = 'keras.mixed_precision.set_global_policy("mixed_float16")\n'
    assert values(f"import keras\n{policy}{built}model.fit(rows)\n", "precision.compute_dtype") == [
        "float16"
    ]
    late = f"import keras\n{built}{policy}model.fit(rows)\n"
    assert values(late, "precision.compute_dtype") == []
    assert values(late, "precision.enabled") == ["always"]


REWRITTEN = """\
import tensorflow as tf

tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for inputs, targets in dataset:
    step(inputs, targets)
"""


def test_a_rewrite_without_a_graph_leaves_the_type_open() -> None:
    assert values(REWRITTEN, "precision.compute_dtype") == ["float16"]
    eager = REWRITTEN.replace("@tf.function\n", "")
    assert values(eager, "precision.compute_dtype") == []
    assert values(eager, "precision.dtypes") == [("float16",)]


ASKED = """\
import tensorflow as tf

schedule = tf.keras.optimizers.schedules.CosineDecay(0.1, 1000)
lr_schedule = WarmupScheduler(schedule, 0.01, 100)
optimizer = tf.keras.mixed_precision.experimental.LossScaleOptimizer(
    tf.keras.optimizers.SGD(lr_schedule), 128
)
for inputs, targets in dataset:
    with tf.GradientTape() as tape:
        loss = optimizer.get_scaled_loss(tf.reduce_mean(tf.square(model(inputs) - targets)))
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    print(lr_schedule(optimizer.iterations))
"""


def test_a_rate_that_is_only_asked_for() -> None:
    assert "steps" not in values(ASKED, "schedule.on_skip")
    moved = ASKED.replace(
        "print(lr_schedule(optimizer.iterations))", "lr_schedule(optimizer, step)"
    )
    assert "steps" in values(moved, "schedule.on_skip")
