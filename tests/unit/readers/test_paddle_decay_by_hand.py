"""Weight decay that Paddle programs subtract themselves after an update."""

from __future__ import annotations

import pytest

from program_facts import values_of

PROGRAM = """
import paddle.fluid as fluid

def exclude_from_weight_decay(name):
    return "layer_norm" in name or name.endswith("_b")

def optimization(loss, program, learning_rate, weight_decay):
    scheduled_lr = fluid.layers.create_global_var(shape=[1], value=learning_rate, dtype="float32")
    optimizer = fluid.optimizer.Adam(learning_rate=scheduled_lr)
    before = dict()
    for param in program.global_block().all_parameters():
        before[param.name] = param * 1.0
    _, param_grads = optimizer.minimize(loss)
    if weight_decay > 0:
        for param, grad in param_grads:
            if exclude_from_weight_decay(param.name):
                continue
            with param.block.program._optimized_guard([param, grad]):
                updated = param - before[param.name] * weight_decay * scheduled_lr
                fluid.layers.assign(output=param, input=updated)

optimization(loss, fluid.default_main_program(), 1e-4, 0.05)
"""


def test_a_decay_after_the_update_is_decoupled() -> None:
    found = values_of(PROGRAM)
    assert found["optimizer.name"] == "adamw"
    assert found["optimizer.weight_decay"] == 0.05
    assert found["optimizer.no_decay"] == "yes"
    assert "optimizer.l2" not in found


def test_weights_are_spared_by_a_function_of_any_name() -> None:
    found = values_of(PROGRAM.replace("exclude_from_weight_decay", "is_small"))
    assert found["optimizer.no_decay"] == "yes"


def test_every_weight_decays() -> None:
    text = PROGRAM.replace("            if exclude_from_weight_decay(param.name):\n", "")
    text = text.replace("                continue\n", "").replace("exclude_from_weight_decay", "x")
    found = values_of(text)
    assert found["optimizer.name"] == "adamw"
    assert found["optimizer.no_decay"] == "no"


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("for param, grad in param_grads:", "for param, grad in other_pairs:"),
        ("* weight_decay * scheduled_lr", "* weight_decay"),
        ("* weight_decay * scheduled_lr", "* ema_share * scheduled_lr"),
        ("param - before", "average - before"),
        ("param - before", "param + before"),
    ],
)
def test_what_is_no_decay_of_the_weights(wanted: str, given: str) -> None:
    found = values_of(PROGRAM.replace(wanted, given))
    assert found["optimizer.name"] == "adam"
    assert "optimizer.weight_decay" not in found
