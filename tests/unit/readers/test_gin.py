"""Parameters that gin configures: bindings of `.gin` files, and defaults that they change."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.config.gin_bindings import gin_bindings
from crosscast_reading.sources.grouping import group

PROGRAM = """
import gin
import tensorflow as tf

@gin.configurable
def train(lr=1e-3, dtype="float32", clip=1.0):
    if dtype == "float16":
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
    elif dtype == "bfloat16":
        tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    model = build()
    optimizer = tf.keras.optimizers.Adam(learning_rate=lr)
    for x, y in rows:
        with tf.GradientTape() as tape:
            loss = model(x, y)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, clip)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

def main():
    gin.parse_config_file("a.gin")
    train()

main()
"""
BINDINGS = """# bindings
RATE = 3e-4  # a macro
train.lr = %RATE
train.dtype = "bfloat16"
"""


def test_bindings_of_a_file() -> None:
    text = (
        "import a.b\ninclude 'x.gin'\nN = 3\nf.a = [\n    1, 2,\n]\nmodule.g.b = 'x # y'\n"
        "h.c = \\\n    %N\nf.d = @g\n"
    )
    found = gin_bindings([Source("a.gin", text), Source("b.yaml", "f.a: 3\n")])
    assert found["f.a"] == Known([1, 2], "config")
    assert found["g.b"] == Known("x # y", "config")
    assert found["h.c"] == Known(3, "config")
    assert isinstance(found["f.d"], Unknown)
    assert "b.yaml" not in found


def test_the_file_that_a_program_names_belongs_to_it() -> None:
    sources = [Source("a.gin", BINDINGS), Source("b.gin", BINDINGS), Source("train.py", PROGRAM)]
    assert [[s.name for s in members] for members in group(sources)] == [["train.py", "a.gin"]]
