"""Lists of gradients that are concatenated, and additions that are right (CL119)."""

from __future__ import annotations

import pytest

from .lint_results import codes

LOOP = """
import tensorflow as tf

class Trainer:
    def gradients_of(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x) - y)) / self.n
        return loss, {returned}

    def window(self, batches):
        {first}
        for x, y in batches:
            _, gradients = self.gradients_of(x, y)
            {add}
        self.optimizer.apply_gradients(zip(total, self.model.trainable_variables))
"""
LIST = "tape.gradient(loss, self.model.trainable_variables)"


@pytest.mark.parametrize(
    ("returned", "first", "add", "found"),
    [
        (LIST, "total = []", "total += gradients", True),
        (LIST, "total = 0", "total = total + gradients", True),
        (LIST, "total = []", "total = gradients + total", True),
        (LIST, "total = [tf.zeros_like(v) for v in variables]", "total += gradients", True),
        (LIST, "total = np.zeros(4)", "total += gradients", False),
        (LIST, "total = first", "total += gradients", False),
        (
            LIST,
            "total = None",
            "total = gradients if total is None else [a + b for a, b in zip(total, gradients)]",
            False,
        ),
        (LIST, "total = zeros", "total = [a + b for a, b in zip(total, gradients)]", False),
        (LIST, "total = 0", "total += gradients[0]", False),
        ("tape.gradient(loss, self.weight)", "total = 0", "total += gradients", False),
        ("tape.gradient(loss, self.weights)", "total = []", "total += gradients", False),
        ("np.array(tape.gradient(loss, self.weights))", "total = 0", "total += gradients", False),
        (LIST, "total = []", "total.append(gradients)", False),
        (LIST, "total = 0", "total += self.gradients_of(x, y)[0]", False),
    ],
)
def test_sums_of_lists(returned: str, first: str, add: str, found: bool) -> None:
    text = LOOP.format(returned=returned, first=first, add=add)
    assert ("CL119" in codes(text)) is found


def test_gradients_behind_a_helper_are_lists_too() -> None:
    text = LOOP.format(returned="self._gradients(tape, loss)", first="total = []", add="pass")
    text = text.replace("pass", "total += gradients")
    helper = f"""
    def _gradients(self, tape, loss):
        return {LIST}
"""
    assert "CL119" in codes(text + helper)
    assert "CL119" not in codes(text)


TWO_MODELS = """
import tensorflow as tf
for x, y in rows:
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(tf.square(decoder(encoder(x)) - y))
    total = tape.gradient(loss, encoder.trainable_variables)
    total += tape.gradient(loss, decoder.trainable_variables)
    optimizer.apply_gradients(zip(total, {variables}))
"""
EVERY_MODEL = """
import tensorflow as tf
total = []
for model in models:
    total += tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(total, variables))
"""


def test_one_list_for_several_models() -> None:
    both = "encoder.trainable_variables + decoder.trainable_variables"
    assert "CL119" not in codes(TWO_MODELS.format(variables=both))
    assert "CL119" not in codes(TWO_MODELS.format(variables="variables"))
    assert "CL119" not in codes(EVERY_MODEL)
