"""CM202: the arguments of LossScaleOptimizer."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, untouched


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inner, dynamic=True", "inner"),
        ("inner, True", "inner"),
        ("inner, True, 1024.0", "inner, initial_scale=1024.0"),
        (
            "inner, True, 1024.0, 100",
            "inner, initial_scale=1024.0, dynamic_growth_steps=100",
        ),
        ("inner, dynamic=True, initial_scale=1024.0", "inner, initial_scale=1024.0"),
        ("dynamic=True, inner_optimizer=inner", "inner_optimizer=inner"),
        ("inner, initial_scale=None, dynamic_growth_steps=None", "inner"),
    ],
)
def test_arguments(old: str, new: str) -> None:
    text = "import tensorflow as tf\nopt = tf.keras.mixed_precision.LossScaleOptimizer({})\n"
    assert after(text.format(old), "CM202") == text.format(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "(\n    inner,  # of ours\n    dynamic=True,\n    initial_scale=8.0,\n)",
            "(\n    inner,  # of ours\n    initial_scale=8.0,\n)",
        ),
        ("(\n    inner,  # of ours\n    dynamic=True)", "(\n    inner,  # of ours\n    )"),
        (
            "(\n    inner,\n    # as before\n    dynamic=True, initial_scale=8.0)",
            "(\n    inner,\n    # as before\n    initial_scale=8.0)",
        ),
    ],
)
def test_comments_between_arguments_stay(old: str, new: str) -> None:
    text = "import tensorflow as tf\nopt = tf.keras.mixed_precision.LossScaleOptimizer{}\n"
    assert after(text.format(old), "CM202") == text.format(new)


def test_a_program_that_chooses_by_itself() -> None:
    text = (
        "import tensorflow as tf\ntry:\n"
        "    opt = tf.keras.mixed_precision.LossScaleOptimizer(opt, dynamic=True)\n"
        "except AttributeError:\n"
        "    opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(opt, 'dynamic')\n"
    )
    assert untouched(text, "CM202")
