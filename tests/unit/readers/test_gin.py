"""Parameters that gin configures: bindings of `.gin` files, and defaults that they change."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.precedence import settle
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.config.gin_bindings import gin_bindings
from crosscast_reading.sources.grouping import group
from crosscast_reading.sources.subject_builder import subject_of

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


def told(program: str, bindings: str | None = None) -> dict[str, Any]:
    sources = [Source("train.py", program)]
    sources += [Source("a.gin", bindings)] if bindings is not None else []
    settled = settle(subject_of(sources)[0].profile)
    return {
        field: (found.fact.value if found.fact.known else "?", found.fact.origin)
        for (field, _), found in settled.items()
    }


def test_a_binding_decides() -> None:
    found = told(PROGRAM, BINDINGS)
    assert found["optimizer.learning_rate"] == (3e-4, "config")
    assert found["clipping.value"] == (1.0, "config")
    assert found["precision.compute_dtype"][0] == "bfloat16"
    assert found["precision.enabled"][0] == "config"


def test_without_one_the_default_does() -> None:
    found = told(PROGRAM)
    assert found["optimizer.learning_rate"] == (1e-3, "config")
    assert found["precision.compute_dtype"][0] == "float32"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@gin.configurable\n", "@gin.configurable('train')\n"),
        ("@gin.configurable\n", "@gin.configurable(denylist=['clip'])\n"),
        ("@gin.configurable\n", "@gin.configurable(name='train', module='a.b')\n"),
    ],
)
def test_forms_of_the_decorator(old: str, new: str) -> None:
    assert told(PROGRAM.replace(old, new), BINDINGS)["optimizer.learning_rate"][0] == 3e-4


@pytest.mark.parametrize(
    ("program", "bindings", "rate"),
    [
        (PROGRAM.replace("@gin.configurable\n", ""), BINDINGS, 1e-3),
        (PROGRAM.replace("@gin.configurable", "@mine.configurable"), BINDINGS, 1e-3),
        (PROGRAM.replace("    train()", "    train(lr=0.5)"), BINDINGS, 0.5),
        (PROGRAM, BINDINGS.replace("train.lr", "test.lr"), 1e-3),
        (PROGRAM, BINDINGS.replace("train.lr", "warm/train.lr"), "?"),
        (PROGRAM, "train.lr = @schedule()\n", "?"),
        (PROGRAM, "train.lr = %ELSEWHERE\n", "?"),
    ],
)
def test_other_values(program: str, bindings: str, rate: object) -> None:
    assert told(program, bindings)["optimizer.learning_rate"][0] == rate


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
