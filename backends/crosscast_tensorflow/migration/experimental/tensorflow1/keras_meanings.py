"""What Keras of TensorFlow 1 meant and Keras 3 means otherwise, under the same names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_tensorflow.migration.experimental.edits import argument_edits, raw
from crosscast_tensorflow.migration.experimental.keras_names.places import OLD_METHODS
from crosscast_tensorflow.migration.experimental.tensorflow1.added_code import HARD
from crosscast_tensorflow.migration.experimental.tensorflow1.keras_uses import KerasUses

METRIC_KEYS: Mapping[str, str] = {
    "accuracy": "acc",
    **dict.fromkeys(("mse", "MSE"), "mean_squared_error"),
    **dict.fromkeys(("mae", "MAE"), "mean_absolute_error"),
    **dict.fromkeys(("mape", "MAPE"), "mean_absolute_percentage_error"),
    **dict.fromkeys(("msle", "MSLE"), "mean_squared_logarithmic_error"),
}
"""Metric given to `compile` to the key of its values in TensorFlow 1; Keras 3 keeps the name."""
RECURRENT: Mapping[str, Mapping[str, str]] = {
    **{name: {"recurrent_activation": HARD} for name in ("LSTM", "LSTMCell", "ConvLSTM2D")},
    **{name: {"recurrent_activation": HARD, "reset_after": "False"} for name in ("GRU", "GRUCell")},
}
"""Layer to the arguments whose default was another one in TensorFlow 1."""
_HARD = "hard_sigmoid"
_PLACE = {"ConvLSTM2D": 8}
"""Layer to the place of its recurrent_activation, if it is not the third."""
_FROZEN = (
    "a BatchNormalization with trainable = False normalizes with its moving statistics in Keras 3; "
    "in TensorFlow 1 it went on with those of the batch while training"
)
_KEYS = "metrics={} keep the keys of TensorFlow 1, which the program reads"
_HARD_NOTE = "recurrent layers keep the recurrent activation and the reset of TensorFlow 1"


def metric_keys(
    compiled: Sequence[Call], modules: Sequence[Module], found: Mapping[Module, KerasUses]
) -> None:
    """Give the metrics of `compile` the names that the program reads their values by.

    Args:
        compiled: the calls of `compile`.
        modules: those of the program.
        found: what gets the edits.
    """
    if any("enable_v2_behavior" in module.source.text for module in modules):
        return
    given = [node for call in compiled for node in _metrics(call.node)]
    ids = {id(node) for node in given}
    read = "\n".join(
        node.value
        for module in modules
        for node in module.every(ast.Constant)
        if isinstance(node.value, str)
        and id(node) not in ids
        and not isinstance(module.parent(node), ast.Expr)
    )
    for call in compiled:
        for node in _metrics(call.node):
            new = METRIC_KEYS.get(str(node.value), "")
            if new and re.search(rf"(?<![A-Za-z]){new}(?![A-Za-z])", read):
                uses = found[call.module]
                uses.edits.append(replace_node(call.module, node, f'"{new}"'))
                uses.notes.append(_KEYS.format(new))


def _metrics(call: ast.Call) -> Iterator[ast.Constant]:
    for keyword in call.keywords:
        if keyword.arg in ("metrics", "weighted_metrics"):
            for node in ast.walk(keyword.value):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node


def layers(uses: KerasUses) -> None:
    """Write the old defaults of recurrent layers, and the old hard_sigmoid."""
    module = uses.module
    for call in module.calls:
        public = call.name.replace("tensorflow.python.keras.", "tensorflow.keras.")
        home, _, name = canonical(public).rpartition(".")
        node = call.node
        if not home.startswith("keras.layers") or module.is_dead(node):
            continue
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(value, ast.Constant) and value.value == _HARD:
                uses.edits.append(replace_node(module, value, HARD))
                uses.needed.add(HARD)
        added = RECURRENT.get(name, {})
        if not added:
            continue
        place = _PLACE.get(name, 2)
        if len(node.args) > place or any(keyword.arg is None for keyword in node.keywords):
            uses.refuse(
                node,
                f"the defaults of {name} differ in TensorFlow 1, and its arguments are not visible",
                'write recurrent_activation by name ("hard_sigmoid" was 0.2 * x + 0.5), and '
                "reset_after=False for a GRU",
            )
            continue
        keys = {keyword.arg for keyword in node.keywords}
        texts = tuple(f"{key}={text}" for key, text in added.items() if key not in keys)
        if texts:
            uses.edits += argument_edits(module, node, [], texts)
            uses.needed |= {HARD} if "recurrent_activation" not in keys else set()
            uses.notes.append(_HARD_NOTE)


def frozen(program: Program, found: Mapping[Module, KerasUses]) -> None:
    """Note layers that are frozen together with their normalization."""
    names = {canonical(name) for name, _ in calls_of(program)}
    if not any("BatchNormalization" in name or ".applications." in name for name in names):
        return
    for module, uses in found.items():
        for node in module.every(ast.Assign):
            target = node.targets[0]
            off = isinstance(node.value, ast.Constant) and node.value.value is False
            if off and isinstance(target, ast.Attribute) and target.attr == "trainable":
                uses.notes.append(_FROZEN)


def added_losses(uses: KerasUses) -> None:
    """Give weights their regularizers: Keras 3 forgets `layer.add_loss(l2(1e-4)(layer.kernel))`."""
    module = uses.module
    for call in module.calls:
        node, owner = call.node, call.receiver_text
        if call.method != "add_loss" or owner in ("", "self") or owner.startswith("super("):
            continue
        form = _regularized(node, owner, module)
        if form is None:
            uses.refuse(
                node,
                "Keras 3 forgets a loss that is added outside of the call of a layer",
                "set the regularizer of a weight: layer.kernel.regularizer = ...; or add the loss "
                "in your layer's call",
            )
            continue
        uses.edits.append(replace_node(module, node, form))


def _regularized(node: ast.Call, owner: str, module: Module) -> str | None:
    """Return `layer.kernel.regularizer = l2(1e-4)`; None if the loss is another one."""
    loss = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if not isinstance(loss, ast.Call) or not isinstance(module.parent(node), ast.Expr):
        return None
    made, given = loss.func, loss.args
    if not isinstance(made, ast.Call) or len(given) != 1 or loss.keywords:
        return None
    name = canonical(module.call(made).name)
    weight = given[0]
    mine = isinstance(weight, ast.Attribute) and module.text(weight.value) == owner
    if not mine or not name.startswith("keras.regularizers."):
        return None
    return f"{raw(module, weight)}.regularizer = {raw(module, made)}"


def patched_optimizers(uses: KerasUses) -> None:
    """Refuse methods that a program puts into an optimizer, and that Keras 3 never calls."""
    for node in uses.module.every(ast.Attribute):
        if node.attr in (*OLD_METHODS, "get_gradients") and isinstance(node.ctx, ast.Store):
            uses.refuse(
                node,
                f"Keras 3 never calls {node.attr} of an optimizer: the method that is put here "
                "would have no effect",
                "derive from an optimizer of Keras 3 and write update_step, or use its argument "
                "gradient_accumulation_steps",
            )


def set_inputs(uses: KerasUses) -> None:
    """`model._set_inputs(x)` made the weights; Keras 3 makes them when the model is called."""
    module = uses.module
    for call in module.calls:
        node = call.node
        if call.method != "_set_inputs" or call.receiver is None or module.is_dead(node):
            continue
        plain = (
            len(node.args) == 1 and not node.keywords and isinstance(module.parent(node), ast.Expr)
        )
        if plain and not isinstance(node.args[0], ast.Starred):
            uses.edits.append(replace_node(module, node.func, raw(module, call.receiver)))
        else:
            uses.refuse(
                node,
                "models of Keras 3 have no _set_inputs",
                "call the model once with rows, which makes its weights",
            )


_FITS = ("fit", "fit_generator", "evaluate", "evaluate_generator", "predict", "predict_generator")
_MAKES = "make_one_shot_iterator"
_RESTARTS = "a dataset begins again with each validation or evaluation; an iterator went on"


def iterators(uses: KerasUses, *, eager: bool) -> None:
    """Pass datasets instead of their iterators to `fit`."""
    module = uses.module
    for call in module.calls:
        node = call.node
        if _MAKES not in (call.method, call.name.rpartition(".")[2]) or module.is_dead(node):
            continue
        function = len(node.args) == 1 and (call.name.startswith("tensorflow."))
        dataset = node.args[0] if function else call.receiver
        if dataset is None or (node.args and not function):
            continue
        text = raw(module, dataset)
        if _only_fitted(node, module):
            uses.edits.append(replace_node(module, node, text))
            uses.handled.append(node)
            uses.notes.append(_RESTARTS)
        elif eager and not function and uses.tensorflow:
            new = f"{uses.tensorflow}.compat.v1.data.{_MAKES}({text})"
            uses.edits.append(replace_node(module, node, new))
        elif not eager:
            uses.refuse(
                node,
                "the tensors of an iterator belong to a graph; in TensorFlow 2 they are the first "
                "batch only",
                "pass the dataset itself to fit",
            )


def _only_fitted(node: ast.Call, module: Module) -> bool:
    """Whether an iterator is only an argument of `fit` and its like."""
    if _is_fitted(node, module):
        return True
    statement = module.parent(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    function = module.function_of(statement)
    uses = [
        name
        for name in module.every(ast.Name)
        if name.id == target.id
        and isinstance(name.ctx, ast.Load)
        and module.function_of(name) is function
    ]
    return bool(uses) and all(_is_fitted(name, module) for name in uses)


def _is_fitted(node: ast.expr, module: Module) -> bool:
    parent = module.parent(node)
    if isinstance(parent, ast.keyword):
        parent = module.parent(parent)
    return isinstance(parent, ast.Call) and module.call(parent).method in _FITS


def optimizer_methods(uses: KerasUses, *, replaced: bool) -> None:
    """Change or refuse the methods of optimizers of `tf.train` that those of Keras lack."""
    module = uses.module
    for call in module.calls if replaced else ():
        node = call.node
        if call.method in ("minimize", "compute_gradients") and call.receiver is not None:
            uses.refuse(
                node,
                f"optimizers of Keras 3 have no {call.method}",
                "compute the gradients with a GradientTape, and call apply_gradients",
            )
        elif call.method == "variables" and "opt" in call.receiver_text.lower():
            assert call.receiver is not None
            text = f"{raw(module, call.receiver)}.variables"
            uses.edits.append(replace_node(module, node, text))
        elif call.method == "apply_gradients":
            _counted(uses, node)


def _counted(uses: KerasUses, node: ast.Call) -> None:
    """`apply_gradients(pairs, global_step=step)` also counted the step."""
    module = uses.module
    named = [keyword.value for keyword in node.keywords if keyword.arg == "global_step"]
    step = next(iter([*named, *node.args[1:2]]), None)
    if step is None:
        return
    edits: list[Edit] = argument_edits(module, node, [step])
    uses.handled.append(step)
    if isinstance(step, ast.Constant) and step.value is None:
        uses.edits += edits
        return
    text = module.text(step)
    if "get_or_create_global_step" in text and uses.tensorflow:
        text = f"{uses.tensorflow}.compat.v1.train.get_or_create_global_step()"
    elif not isinstance(step, ast.Name | ast.Attribute):
        text = ""
    statement = module.parent(node)
    if not text or not isinstance(statement, ast.Expr):
        uses.refuse(node, "the counted step is not certain", "add 1 to it after apply_gradients")
        return
    uses.edits += edits
    uses.after(statement, f"{text}.assign_add(1)")
