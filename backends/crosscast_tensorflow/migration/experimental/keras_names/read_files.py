"""Files that Keras 2 wrote and Keras 3 cannot read: checkpoints of TensorFlow, SavedModels."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last, value_of
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes, policy_argument
from crosscast_tensorflow.migration.experimental.keras_names.file_names import (
    OLD_ENDS,
    WEIGHTS,
    end_of,
)
from crosscast_tensorflow.migration.experimental.keras_names.receivers import is_model

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_LATEST = "tensorflow.train.latest_checkpoint"
_STATUS = ("expect_partial", "assert_consumed", "assert_existing_objects_matched")
OLD_CHECKPOINT = (
    "checkpoints that Keras 2 wrote under a name without .h5 are those of TensorFlow, which Keras "
    "3 cannot read: load them once with tf_keras and save them as .weights.h5"
)
_READ = (
    "load it once with tf_keras and save it as .weights.h5, or read its arrays by "
    "tf.train.load_checkpoint"
)
_SAVED_MODEL = (
    "load the folder once with tf_keras and save it as .keras, or wrap it in "
    'keras.layers.TFSMLayer(folder, call_endpoint="serving_default") to predict only'
)
_BY_NAME = (
    "load the old .h5 file by name, or save and load both with the layers under the same names"
)
_OBJECTS = (
    "tf.train.Checkpoint finds nothing of a model of Keras in a checkpoint that Keras 2 wrote, and "
    "restore says nothing: call assert_existing_objects_matched(), and convert old checkpoints "
    "with tf_keras"
)
_COMPILED = (
    "load_model of an .h5 file fails in Keras 3 if its model was compiled with the name of a loss "
    "such as mse: pass compile=False and compile again"
)


def read_files(module: Module, program: Program, renamed: set[str], out: Outcomes) -> None:
    """Refuse what Keras 3 cannot read.

    Args:
        module: to look at.
        program: of the module.
        renamed: the ends of names that now end in `.weights.h5`.
        out: receives the edits, refusals and notes.
    """
    for call in module.calls:
        if module.is_dead(call.node) or any(name.startswith("tf_keras.") for name in call.names):
            continue
        name = canonical(call.name)
        if call.method == "load_weights" and call.receiver is not None:
            if program.function(call) is None and is_model(call.receiver, module, program):
                _weights(call, program, renamed, out)
        elif name in ("keras.models.load_model", "keras.saving.load_model"):
            _model(call, out)
        elif name == "tensorflow.train.Checkpoint" and _holds_model(call, program):
            out.notes.append(_OBJECTS)


def _path(call: Call) -> ast.expr | None:
    return policy_argument(call.node, 0, "filepath")


def _end(path: ast.expr, module: Module) -> str | None:
    """Return the end of a path, or its whole known value; None if neither is certain."""
    end = end_of(path, module)
    if end is not None:
        return str(end.value)
    value = value_of(path, module)
    known = isinstance(value, Known) and isinstance(value.value, str)
    return str(value.value) if known and value.value else None  # type: ignore[union-attr]


def _weights(call: Call, program: Program, renamed: set[str], out: Outcomes) -> None:
    module, path = call.module, _path(call)
    if path is None:
        return
    parent = module.parent(call.node)
    if isinstance(parent, ast.Attribute) and parent.attr in _STATUS:
        outer = module.parent(parent)
        if isinstance(outer, ast.Call) and outer.func is parent:
            out.edits.append(replace_node(module, outer, raw(module, call.node)))
    end = _end(path, module)
    latest = any(
        canonical(name) == _LATEST
        for maker in makers_of(path, module) or ()
        for name in maker.names
    )
    becomes = end in renamed
    if latest or (end is not None and not becomes and not end.endswith(OLD_ENDS)):
        out.refuse(
            module,
            path,
            f"{module.text(path)} names a checkpoint of TensorFlow: load_weights of Keras 3 reads "
            ".weights.h5, .h5 and .keras",
            _READ,
        )
        return
    by_name = policy_argument(call.node, 9, "by_name")
    value = value_of(by_name, module) if by_name is not None else Known(False)
    if isinstance(value, Known) and not value.value:
        return
    open_end = end_of(path, module) is None and _saves_weights(program)
    if becomes or open_end or (end or "").endswith(WEIGHTS):
        out.refuse(
            module,
            call.node,
            "load_weights of Keras 3 loads only old .h5 files by name, and the files of weights "
            "that this program saves end in .weights.h5",
            _BY_NAME,
        )


def _model(call: Call, out: Outcomes) -> None:
    module, path = call.module, _path(call)
    end = _end(path, module) if path is not None else None
    if path is None or end is None:
        return
    if not end.endswith(OLD_ENDS):
        out.refuse(
            module,
            path,
            "load_model of Keras 3 reads files that end in .keras or .h5, not the folder of a "
            "SavedModel",
            _SAVED_MODEL,
        )
        return
    compiles = policy_argument(call.node, 2, "compile")
    if not end.endswith(".keras") and compiles is None:
        out.notes.append(_COMPILED)


def _holds_model(call: Call, program: Program) -> bool:
    return any(
        is_model(keyword.value, call.module, program) is True for keyword in call.node.keywords
    )


def _saves_weights(program: Program) -> bool:
    return any(
        call.method == "save_weights" or last(name) == "ModelCheckpoint"
        for name, call in calls_of(program)
    )
