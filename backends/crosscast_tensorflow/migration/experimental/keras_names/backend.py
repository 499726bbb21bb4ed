"""`keras.backend`: names that Keras 3 keeps, that only `tensorflow.keras.backend` has, or none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import (
    chain_of,
    imported_as,
    own_choice,
)
from crosscast_tensorflow.migration.experimental.keras_names.table import GONE

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

KEPT = frozenset((
    "backend", "clear_session", "epsilon", "floatx", "get_uid", "image_data_format",
    "is_float_dtype", "is_int_dtype", "is_keras_tensor", "result_type", "set_epsilon",
    "set_floatx", "set_image_data_format", "standardize_dtype",
))  # fmt: skip
"""The names of `keras.backend`."""
OLD = frozenset((
    "abs", "all", "any", "arange", "argmax", "argmin", "batch_dot", "batch_flatten",
    "batch_get_value", "batch_normalization", "batch_set_value", "bias_add",
    "binary_crossentropy", "binary_focal_crossentropy", "cast", "cast_to_floatx",
    "categorical_crossentropy", "categorical_focal_crossentropy", "clip", "concatenate",
    "constant", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "cos", "count_params",
    "ctc_batch_cost", "ctc_decode", "ctc_label_dense_to_sparse", "cumprod", "cumsum",
    "depthwise_conv2d", "dot", "dropout", "dtype", "elu", "equal", "eval", "exp", "expand_dims",
    "eye", "flatten", "foldl", "foldr", "gather", "get_value", "gradients", "greater",
    "greater_equal", "hard_sigmoid", "in_top_k", "int_shape", "is_sparse", "l2_normalize",
    "less", "less_equal", "log", "map_fn", "max", "maximum", "mean", "min", "minimum",
    "moving_average_update", "name_scope", "ndim", "not_equal", "one_hot", "ones", "ones_like",
    "permute_dimensions", "pool2d", "pool3d", "pow", "prod", "random_bernoulli",
    "random_normal", "random_normal_variable", "random_uniform", "random_uniform_variable",
    "relu", "repeat", "repeat_elements", "reshape", "resize_images", "resize_volumes",
    "reverse", "rnn", "round", "separable_conv2d", "set_value", "shape", "sigmoid", "sign",
    "sin", "softmax", "softplus", "softsign", "sparse_categorical_crossentropy",
    "spatial_2d_padding", "spatial_3d_padding", "sqrt", "square", "squeeze", "stack", "std",
    "stop_gradient", "sum", "switch", "tanh", "temporal_padding", "tile", "to_dense",
    "transpose", "truncated_normal", "update", "update_add", "update_sub", "var", "variable",
    "zeros", "zeros_like",
))  # fmt: skip
"""The names that only `tensorflow.keras.backend` has."""
_PLACE = "keras.backend"
_NAMED = {row.old for row in GONE}
_NOTE = "the functions of keras.backend are those of tensorflow.keras.backend, for TensorFlow alone"


def backend(module: Module, out: Outcomes) -> None:
    """Take `keras.backend` from TensorFlow where the module needs that, and refuse what is gone."""
    if "backend" not in module.source.text:
        return
    old: dict[str, None] = {}
    for node in module.every(ast.Attribute):
        source = imported_as(node, module)
        if source is None or module.is_dead(node) or own_choice(module, node, "keras"):
            continue
        place, (name, *rest) = _split(*source)
        if rest or not name or f"{_PLACE}.{name}" in _NAMED or canonical(place) != _PLACE:
            continue
        if name not in KEPT | OLD:
            hint = "write it with keras.ops, or with functions of TensorFlow"
            out.refuse(module, node, f"{_PLACE}.{name} is not in Keras 3", hint)
        elif name in OLD and place == _PLACE:
            if source[0] == _PLACE:
                old[chain_of(node)[0]] = None
            else:
                hint = "write `from tensorflow.keras import backend`, and use that"
                out.refuse(module, node, f"{_PLACE}.{name} is not in Keras 3", hint)
    for statement in module.nodes:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            _import(statement, old, module, out)


def _split(target: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return the place of a name of the backend, and the name with what follows it."""
    parts = [*target.split("."), *rest]
    if "backend" not in parts[:-1]:
        return "", [""]
    place = parts.index("backend") + 1
    return ".".join(parts[:place]), parts[place:]


def _import(
    statement: ast.Import | ast.ImportFrom, old: dict[str, None], module: Module, out: Outcomes
) -> None:
    """Import the backend from TensorFlow, where functions that only it has are used."""
    match statement:
        case ast.ImportFrom(module="keras", names=names, level=0):
            found = [alias for alias in names if alias.name == "backend"]
            new = "from tensorflow.keras import backend"
        case ast.Import(names=names):
            found = [alias for alias in names if alias.name == _PLACE and alias.asname]
            new = "import tensorflow.keras.backend"
        case _:
            return
    if not any((alias.asname or alias.name) in old for alias in found):
        return
    if len(names) > 1:
        hint = f"write `{new}` in a statement of its own"
        out.refuse(module, statement, f"{_PLACE} of Keras 3 has other names", hint)
        return
    end = f" as {names[0].asname}" if names[0].asname else ""
    out.edits.append(replace_node(module, statement, new + end))
    out.notes.append(_NOTE)
