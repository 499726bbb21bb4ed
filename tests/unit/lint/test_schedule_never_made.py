"""Schedules that are made in a function which nothing calls (CL721)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.rules.schedule.schedule_never_made import RULE


def found(text: str) -> bool:
    return "CL721" in {d.code for d in lint_sources([Source("train.py", text)])}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def make_callbacks", "@registered\ndef make_callbacks"),
        ("def main", "CALLBACKS = {'plateau': make_callbacks}\n\n\ndef main"),
        ("def main", "def main_of(name):\n    return globals()[name]\n\n\ndef main"),
        ('if __name__ == "__main__":\n    main', "main"),
        ('config["lr_scheduler"]["factor"]', "0.5"),
        ("    model.fit", "    set_schedule(model)\n    model.fit"),
        ("    model.fit", "    tf.keras.backend.set_value(model.optimizer.lr, 0.1)\n    model.fit"),
        ('tf.keras.optimizers.Adam(config["learning_rate"])', "make_optimizer(config)"),
        ("model.fit(dataset", "model.evaluate(dataset"),
        ("tf.keras.callbacks.ReduceLROnPlateau", "tf.keras.callbacks.EarlyStopping"),
    ],
)
def test_look_alikes(old: str, new: str) -> None:
    assert RULE.wrong.count(old) == 1
    assert not found(RULE.wrong.replace(old, new))


def test_a_method_that_callers_may_use() -> None:
    text = RULE.wrong.replace(
        "def make_callbacks(config):\n", "class Tools:\n  def make(config):\n"
    )
    assert not found(text)
    assert found(RULE.wrong)


SEVERAL = """
import paddle.fluid as fluid


def slow(settings):
    values = [settings["rate"] * share for share in settings["lr_decay"]]
    return fluid.optimizer.SGD(fluid.layers.piecewise_decay(settings["edges"], values))


def fast(settings):
    values = [settings["rate"] * share for share in settings["lr_decay"]]
    return fluid.optimizer.RMSProp(fluid.layers.piecewise_decay(settings["edges"], values))


def plain():
    return fluid.optimizer.Adam(0.001)


def main(loss):
    plain().minimize(loss)


if __name__ == "__main__":
    main(make_loss())
"""


def test_several_functions_that_nothing_calls() -> None:
    results = lint_sources([Source("train.py", SEVERAL)])
    messages = [each.message for each in results if each.code == "CL721"]
    assert [message.partition(":")[0] for message in messages] == [
        "nothing calls slow and fast, which make the only schedules"
    ]
    assert not found(
        SEVERAL.replace("    plain().", "    slow(read()).minimize(loss)\n    plain().")
    )
    assert not found(SEVERAL.replace("Adam(0.001)", "Adam(fluid.layers.noam_decay(8, 9))"))
    by_name = SEVERAL.replace("def main(", "def eval(text):\n    return text\n\n\ndef main(")
    looked_up = by_name.replace("    plain().", '    eval("slow()")\n    plain().')
    assert found(looked_up)
    assert not found(looked_up.replace("def eval(", "def test("))
