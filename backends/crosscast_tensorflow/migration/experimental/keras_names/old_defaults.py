"""Values that Keras 2 took where Keras 3 takes another one; a test compares both releases."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import canonical, last
from crosscast_tensorflow.migration.experimental.keras.added_code import HARD
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import open_call

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_POOLS = {
    f"keras.layers.{name}{size}D": {"pool_size": (0, "2")}
    for name in ("AveragePooling", "AvgPool")
    for size in (1, 2, 3)
}
_CONV_LSTMS = {
    f"keras.layers.ConvLSTM{size}D": {"recurrent_activation": (7, HARD)} for size in (1, 2, 3)
}
DEFAULTS: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "keras.regularizers.l1_l2": {"l1": (0, "0.01"), "l2": (1, "0.01")},
    "keras.preprocessing.image.apply_affine_transform": {
        "row_axis": (6, "0"), "col_axis": (7, "1"), "channel_axis": (8, "2"),
    },
    **_POOLS,
    **_CONV_LSTMS,
}  # fmt: skip
"""Canonical name to arguments whose default differs: their places, and the old default."""
_OLD_CONV_LSTM = "ConvLSTM2D of Keras 2 had the recurrent activation hard_sigmoid up to 2.5"
_HARD = "hard_sigmoid"
_NAMED_HARD = re.compile(r"(recurrent_)?activation|gate_activation")
_HARD_NOTE = (
    "hard_sigmoid of Keras 3 is relu6(x + 3) / 6, that of Keras 2 clip(0.2 * x + 0.5, 0, 1): the "
    "program keeps the old one"
)
_TAKE_NAMES = ("keras.layers.Activation", "keras.activations.get")
_NAMES = "keras.activations.hard_sigmoid"
_L1_L2 = "l1_l2 of Keras 2 had the defaults 0.01 for both, Keras 3 has 0"
_NOTES = {"keras.regularizers.l1_l2": _L1_L2, **dict.fromkeys(_CONV_LSTMS, _OLD_CONV_LSTM)}
_CHANGED = {
    "keras.utils.to_categorical": (
        "to_categorical returns float64 in Keras 3 (Keras 2: float32); fit casts it, a loop of "
        "your own does not"
    ),
    "keras.metrics.MeanIoU": (
        "MeanIoU counts in int64 in Keras 3: sample weights that are no whole numbers are cut off"
    ),
    "keras.metrics.binary_accuracy": (
        "the function binary_accuracy no longer averages over the last axis in Keras 3"
    ),
    "keras.metrics.KLDivergence": (
        "the metric KLDivergence is kl_divergence in logs (Keras 2: kullback_leibler_divergence)"
    ),
    "keras.utils.plot_model": "plot_model shows no layer names unless show_layer_names=True",
}
"""Function to what is different in its results."""
CHANGED = tuple(_CHANGED)


def old_defaults(module: Module, out: Outcomes) -> set[str]:
    """Write the old defaults out, and keep the old hard_sigmoid.

    Returns:
        The names of the functions that the module needs.
    """
    needed: set[str] = set()
    for call in module.calls:
        if module.is_dead(call.node) or any(name.startswith("tf_keras.") for name in call.names):
            continue
        names = {canonical(name) for name in call.names}
        if len(names) == 1:
            _write(call, names.pop(), out, needed)
    _hard(module, out, needed)
    return needed


def _write(call: Call, name: str, out: Outcomes, needed: set[str]) -> None:
    out.notes += [_CHANGED[name]] if name in _CHANGED else []
    missing = {
        key: text
        for key, (place, text) in DEFAULTS.get(name, {}).items()
        if place >= len(call.node.args) and not any(k.arg == key for k in call.node.keywords)
    }
    if not missing:
        return
    texts = tuple(f"{key}={text}" for key, text in missing.items())
    if open_call(call.node):
        out.refuse(
            call.module,
            call.node,
            f"the defaults of {last(name)} differ in Keras 2, and its arguments are not visible",
            f"write {', '.join(texts)} if they are not among them",
        )
        return
    out.edits += argument_edits(call.module, call.node, [], texts)
    out.notes += [_NOTES[name]] if name in _NOTES else []
    needed |= {HARD} & set(missing.values())


def _hard(module: Module, out: Outcomes, needed: set[str]) -> None:
    """Replace hard_sigmoid as an activation, by its name or as the function."""
    if _HARD not in module.source.text:
        return
    found: list[ast.expr] = []
    for text in module.every(ast.Constant):
        if text.value == _HARD and not module.is_dead(text):
            if _is_activation(text, module):
                found.append(text)
            elif isinstance(module.parent(text), ast.Dict | ast.keyword | ast.Assign):
                out.refuse(
                    module,
                    text,
                    "if hard_sigmoid is an activation here, Keras 3 gives it another slope",
                    "write tf.keras.activations.hard_sigmoid, and run again",
                )
    for node in module.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            names = {canonical(name) for name in module.resolve_all(node)}
            if names == {_NAMES} and not module.is_dead(node):
                found.append(node)
    for used in dict.fromkeys(found):
        if isinstance(used, ast.Name) and not isinstance(
            module.parent(used), ast.Call | ast.keyword
        ):
            continue
        out.edits.append(replace_node(module, used, HARD))
        out.notes.append(_HARD_NOTE)
        needed.add(HARD)


def _is_activation(node: ast.Constant, module: Module) -> bool:
    """Whether a string certainly is an activation of Keras."""
    parent = module.parent(node)
    if isinstance(parent, ast.arguments):
        named = [*parent.posonlyargs, *parent.args][-len(parent.defaults) :]
        pairs = [*zip(named, parent.defaults, strict=False)]
        pairs += [
            (name, value)
            for name, value in zip(parent.kwonlyargs, parent.kw_defaults, strict=True)
            if value is not None
        ]
        return any(
            value is node and _NAMED_HARD.fullmatch(name.arg) is not None for name, value in pairs
        )
    call = module.parent(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call):
        return False
    name = canonical(module.call(call).name)
    if isinstance(parent, ast.keyword):
        return name.startswith("keras.") and bool(_NAMED_HARD.fullmatch(parent.arg or ""))
    return name in _TAKE_NAMES and call.args[:1] == [node]
