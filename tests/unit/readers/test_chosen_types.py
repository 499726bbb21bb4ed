"""Types and Keras policies that a condition, a table or a flag names."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.precedence import settle
from crosscast_reading.sources.subject_builder import subject_of
from program_facts import values_of

PROGRAM = """
import tensorflow as tf
from absl import flags
FLAGS = flags.FLAGS
flags.DEFINE_bool("amp", True, "")
flags.DEFINE_bool("half", False, "")
flags.DEFINE_string("kind", "fp16", "")
flags.DEFINE_string("other", "fp32", "")
flags.DEFINE_enum("policy", "float32", ["float32", "mixed_float16", "mixed_bfloat16"], "")
NAMES = {"fp16": "mixed_float16", "bf16": "mixed_bfloat16", "fp32": "float32"}
CHOICE
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
model.fit(rows)
"""
SET = "tf.keras.mixed_precision.set_global_policy"


def told(choice: str) -> tuple[object, object, object]:
    program = Source("train.py", PROGRAM.replace("CHOICE", choice))
    settled = settle(subject_of([program])[0].profile)
    fields = ("precision.enabled", "precision.dtypes", "precision.compute_dtype")
    facts = [settled[(field, "")].fact if (field, "") in settled else None for field in fields]
    enabled, types, default = (fact.value if fact is not None else None for fact in facts)
    return enabled, types, default


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (
            f'{SET}("mixed_float16" if FLAGS.amp else "float32")',
            ("flag", ("float16",), "float16"),
        ),
        (
            f'{SET}("mixed_float16" if FLAGS.half else "float32")',
            ("flag", ("float16",), "float32"),
        ),
        (
            f'name = "float32" if not FLAGS.amp else "mixed_bfloat16"\n{SET}(name)',
            ("flag", ("bfloat16",), "bfloat16"),
        ),
        (
            "policy = tf.keras.mixed_precision.Policy("
            f'"mixed_float16" if FLAGS.half else "float32")\n{SET}(policy)',
            ("flag", ("float16",), "float32"),
        ),
        (f"{SET}(NAMES[FLAGS.kind])", ("flag", ("float16", "bfloat16"), "float16")),
        (f"{SET}(NAMES[FLAGS.other])", ("flag", ("float16", "bfloat16"), "float32")),
        (f"{SET}(FLAGS.policy)", ("flag", ("float16", "bfloat16"), "float32")),
        (f'{SET}("float32")', (None, None, None)),
        (f"{SET}(FLAGS.kind)", ("flag", ("float16",), "float16")),
        (f'{SET}("mixed_float16" if elsewhere() else "float32")', ("always", ("float16",), None)),
    ],
)
def test_policies_by_default(choice: str, expected: tuple[object, object, object]) -> None:
    assert told(choice) == expected


# ---- types that conditions around auto_cast name


CHOSEN = """
    import argparse
    import paddle
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="float16")
    parser.add_argument("--device", default=found())
    args = parser.parse_args()
    for x in loader:
        if args.kind in ("float16", "bfloat16") and args.device != "cpu":
            with paddle.amp.auto_cast(dtype=args.kind):
                loss = model(x)
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("old", "new", "types", "default"),
    [
        ("", "", ("float16", "bfloat16"), "float16"),
        ('default="float16"', 'default="bfloat16"', ("bfloat16", "float16"), "bfloat16"),
        ('default="float16"', 'default="float32"', ("float32", "float16", "bfloat16"), "float32"),
        ('args.device != "cpu"', 'args.device == "cpu"', ("float16", "bfloat16"), "float32"),
        ("dtype=args.kind", 'dtype="float16"', ("float16",), "float16"),
        ("args.kind in", "args.other in", ("float16",), "float32"),
    ],
)
def test_types_that_a_condition_names(
    old: str, new: str, types: tuple[str, ...], default: str | None
) -> None:
    found = values_of(CHOSEN.replace(old, new) if old else CHOSEN)
    assert found["precision.dtypes"] == tuple(t for t in types if t != "float32")
    assert found.get("precision.compute_dtype") == default
