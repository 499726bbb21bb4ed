"""CL512 for callbacks of Keras that `fit` does not get."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse

from .lint_results import codes

FIT = """\
from tensorflow import keras
from tensorflow.keras.callbacks import ModelCheckpoint, ReduceLROnPlateau


def train(model, data):
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    slower = ReduceLROnPlateau(monitor="loss", factor=0.5)
LINES
    model.fit(data, epochs=3GIVEN)
"""


@pytest.mark.parametrize(
    ("lines", "given", "found"),
    [
        ("", "", True),
        ("callbacks = [slower]", "", True),
        ("callbacks = []; callbacks.append(slower); every = [*[], callbacks]", "", True),
        ("callbacks = [slower]", ", callbacks=[ModelCheckpoint('x')]", True),
        ("callbacks = [slower]", ", callbacks=callbacks", False),
        ("callbacks = []; callbacks += [slower]", ", callbacks=callbacks", False),
        ("", ", callbacks=[slower]", False),
        ("extra = dict(callbacks=[slower])", ", **extra", False),
        ("model.slower = slower", "", False),
        ("return locals()", "", False),
        ("slower.set_model(model)", "", False),
    ],
)
def test_callbacks_that_change_the_rate(lines: str, given: str, found: bool) -> None:
    text = FIT.replace("LINES", f"    {lines}").replace("GIVEN", given)
    assert ("CL512" in codes(text)) is found
    profile = analyse([Source("train.py", text)]).subject.profile
    assert ("schedule.name" in {fact.field for fact in profile}) is not found


OF_CLASS = """\
from tensorflow import keras


class Training:
    callbacks = [keras.callbacks.ReduceLROnPlateau(patience=3)]

    def run(self, model, data):
        model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
        model.fit(data, epochs=10, callbacks=self.callbacks)
"""


def test_callbacks_of_a_class_may_be_given() -> None:
    assert "CL512" not in codes(OF_CLASS)
    profile = analyse([Source("train.py", OF_CLASS)]).subject.profile
    assert "schedule.name" in {fact.field for fact in profile}


def test_a_file_that_does_not_train() -> None:
    text = FIT.replace("LINES", "    return slower").replace(
        "    model.fit(data, epochs=3GIVEN)", ""
    )
    assert "CL512" not in codes(text)
