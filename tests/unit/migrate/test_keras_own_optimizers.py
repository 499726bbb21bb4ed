"""CM213: optimizer classes for Keras 2."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

CLASS = """\
{imports}

class Own(tf.keras.optimizers.{base}):
    def __init__(self, learning_rate=0.1, name="Own", **kwargs):
        super().__init__({given}, **kwargs)

    def _resource_apply_dense(self, grad, var, apply_state=None):
        {body}
"""


def own(
    body: str = "return var.assign_sub(grad)",
    base: str = "Optimizer",
    given: str = "name",
    imports: str = "import tensorflow as tf\n",
) -> str:
    return CLASS.format(body=body, base=base, given=given, imports=imports)


@pytest.mark.parametrize("base", ["Optimizer", "legacy.Optimizer"])
def test_the_base_becomes_one_that_calls_the_methods(base: str) -> None:
    assert "class Own(Keras2Optimizer):" in after(own(base=base), "CM213")


def test_adam_takes_its_name_by_name() -> None:
    text = after(own(base="Adam", given="0.1, 0.9, 0.99, 1e-8, False, name"), "CM213")
    assert "class Own(Keras2Updates, tf.keras.optimizers.Adam):" in text
    assert "super().__init__(0.1, 0.9, 0.99, 1e-8, False, name=name, **kwargs)" in text


def test_private_modules_that_moved_are_found_again() -> None:
    text = own(
        "return training_ops.resource_apply_gradient_descent(var.handle, 0.1, grad)",
        imports="import tensorflow as tf\nfrom tensorflow.python.training import training_ops\n",
    )
    new = after(text, "CM213")
    assert "from tensorflow.python.ops import gen_training_ops as training_ops\n" in new


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (own("self._assert_things(grad)"), "_assert_things"),
        (own("self.add_weight('x', shape=[])"), "add_weight"),
        (own("self._iterations = 1"), "Keras 3 has another _iterations"),
        (own("return apply_state[1]['momentum']"), "is not computed"),
        (own("return apply_state[1]['beta_1_t']", "Adam", "learning_rate"), "is not computed"),
        (own("return self.get_slot(var, 'm')", "Adam", "learning_rate"), "slots of the base"),
        (own("return self.add_slot(var, 'm', shape=[1])"), "a slot with a shape"),
        (own("return tf.no_op() if var.op.name else grad"), "var.op"),
        (own("return tf.no_op() if grad.name else grad"), "grad.name"),
        (own(base="SGD"), "only Optimizer and Adam"),
        (own(base="Adam", given="*given"), "arguments of the base"),
        (
            own(
                "return old.thing(grad)",
                imports="import tensorflow as tf\nfrom tensorflow.python.ops import old\n",
            ),
            "tensorflow.python.ops.old.thing is private",
        ),
    ],
)
def test_what_is_not_known_is_refused(text: str, why: str) -> None:
    assert why in refused(text, "CM213")


def test_other_classes_stay() -> None:
    text = "import tensorflow as tf\n\n\nclass Own:\n    def _create_slots(self):\n        pass\n"
    assert untouched(text, "CM213")


def test_functions_that_read_the_name_of_a_variable_are_refused() -> None:
    helper = 'def decays(v):\n    return "bias" not in v.name\n\n'
    text = own("return var.assign_sub(grad) if decays(var) else None")
    text = text.replace("class Own", f"{helper}\nclass Own")
    assert "what names decays reads is not certain" in refused(text, "CM213")
    plain = text.replace("v.name", "v.shape")
    assert "class Own(Keras2Optimizer):" in after(plain, "CM213")


def test_updates_of_the_base_return_an_operation() -> None:
    """`tf.control_dependencies([super()._resource_apply_dense(...)])` takes no None."""
    text = own("return super()._resource_apply_dense(grad, var, apply_state)", base="Adam")
    assert after(text, "CM213").count("return tf.no_op()") == 2
