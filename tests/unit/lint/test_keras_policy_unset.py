"""Policies that nothing uses (CL722)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_tensorflow.rules.keras.keras_policy_unset import RULE


def found(text: str) -> bool:
    return "CL722" in {d.code for d in lint_sources([Source("train.py", text)])}


MADE = 'policy = tf.keras.mixed_precision.Policy("mixed_float16")\n'


def test_other_lost_policies() -> None:
    assert found(RULE.wrong)
    assert found(RULE.wrong.replace("policy = ", ""))
    assert found(RULE.wrong.replace("mixed_float16", "mixed_bfloat16"))
    inside = RULE.wrong.replace(MADE, f"\n\ndef prepare():\n    {MADE}\n\nprepare()\n")
    assert found(inside)
    read_elsewhere = inside + "print(policy)\n"
    assert found(read_elsewhere)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Dense(2, dtype="float32")', "Dense(2, dtype=policy)"),
        ("mixed_float16", "float32"),
        ("model.compile", "print(policy.compute_dtype)\nmodel.compile"),
        ("model =", "tf.keras.mixed_precision.set_global_policy('mixed_float16')\nmodel ="),
        ("model =", "tf.keras.config.set_dtype_policy('mixed_float16')\nmodel ="),
        ("policy = ", "options['policy'] = "),
        (MADE, f"def policy_of():\n    return {MADE[9:]}"),
    ],
)
def test_policies_that_may_be_used(old: str, new: str) -> None:
    changed = RULE.wrong.replace(old, new)
    assert changed != RULE.wrong
    assert not found(changed)
