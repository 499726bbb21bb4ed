"""Files of weights and models, whose formats and names are others in Keras 3."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras.program import argument
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.receivers import is_model

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_WEIGHTS, _OLD = ".weights.h5", (".h5", ".hdf5", ".keras")
_WHOLE = (".h5", ".hdf5", ".keras")
_DEPTH = 3
_TO_WEIGHTS = "let it end in .weights.h5, here and wherever the program looks for it or reads it"
_READ = (
    "Keras 3 reads .weights.h5, .h5 and .keras: load a checkpoint of TensorFlow once with tf_keras "
    "and save it as .weights.h5"
)
_TO_MODEL = 'write model.save("NAME.keras") to train on, or model.export("NAME") to serve'
_LOADED = (
    "load the folder once with tf_keras and save it as .keras, or wrap it in "
    'keras.layers.TFSMLayer(folder, call_endpoint="serving_default") to predict only'
)


def files(module: Module, program: Program, out: Outcomes) -> None:
    """Name the files that Keras 3 does not write or read under their names."""
    for call in module.calls:
        if module.is_dead(call.node) or any(name.startswith("tf_keras.") for name in call.names):
            continue
        name = canonical(call.name)
        if name == "keras.callbacks.ModelCheckpoint":
            _checkpoint(call, out)
        elif name in ("keras.models.save_model", "keras.saving.save_model"):
            _saved(call, 1, out)
        elif name in ("keras.models.load_model", "keras.saving.load_model"):
            _loaded(call, out)
        elif call.receiver is not None and program.function(call) is None:
            if name.startswith("tensorflow."):
                continue  # tf.saved_model.save
            _method(call, is_model(call.receiver, module, program), out)


def _method(call: Call, of_model: bool | None, out: Outcomes) -> None:
    if call.method == "save_weights" and of_model is not False:
        path = argument(call.node, 0, "filepath")
        if path is not None and not _ends(path, call.module, (_WEIGHTS,)):
            _name(call, path, f"save_weights of Keras 3 wants a name in {_WEIGHTS}", out)
    elif call.method == "load_weights" and of_model:
        _weights(call, out)
    elif call.method == "save" and of_model:
        _saved(call, 0, out)


def _name(call: Call, path: ast.expr, message: str, out: Outcomes, hint: str = _TO_WEIGHTS) -> None:
    known = _end(path, call.module)
    shown = f"{message}, and this is {known}" if known else f"{message}: here it is not certain"
    out.refuse(call.module, path, shown, hint)


def _checkpoint(call: Call, out: Outcomes) -> None:
    module, path = call.module, argument(call.node, 0, "filepath")
    only = argument(call.node, 4, "save_weights_only")
    value = value_of(only, module) if only is not None else Known(False)
    if path is None or (isinstance(value, Known) and _ends(path, module, _kept(value))):
        return
    ends = ".weights.h5 for weights, .keras or .h5 for whole models"
    message = f"ModelCheckpoint of Keras 3 writes {ends}"
    _name(call, path, message, out, "change the name here and wherever the program reads the file")


def _kept(only_weights: Known) -> tuple[str, ...]:
    return (_WEIGHTS,) if only_weights.value else (".keras", ".h5")


def _weights(call: Call, out: Outcomes) -> None:
    module, path = call.module, argument(call.node, 0, "filepath")
    if path is None:
        return
    if not _ends(path, module, _OLD):
        _name(call, path, "load_weights reads no checkpoint of TensorFlow in Keras 3", out, _READ)
    by_name = argument(call.node, 1, "by_name")
    value = value_of(by_name, module) if by_name is not None else Known(False)
    new = _ends(path, module, (_WEIGHTS,)) or not _ends(path, module, _OLD)
    if new and not (isinstance(value, Known) and not value.value):
        message = "load_weights of Keras 3 loads only old .h5 files by name, and no .weights.h5"
        out.refuse(module, call.node, message, "load the old file, or load without by_name")
    parent = module.parent(call.node)
    if isinstance(parent, ast.Attribute):
        message = f"load_weights returns nothing in Keras 3, and has no {parent.attr}"
        out.refuse(module, call.node, message, f"remove .{parent.attr}()")


def _saved(call: Call, place: int, out: Outcomes) -> None:
    path = argument(call.node, place, "filepath")
    if path is not None and not _ends(path, call.module, _WHOLE):
        message = "save of Keras 3 writes a file in .keras or .h5, not the folder of a SavedModel"
        _name(call, path, message, out, _TO_MODEL)


def _loaded(call: Call, out: Outcomes) -> None:
    module, path = call.module, argument(call.node, 0, "filepath")
    if path is None:
        return
    if not _ends(path, module, _WHOLE):
        message = "load_model of Keras 3 reads .keras or .h5, not the folder of a SavedModel"
        _name(call, path, message, out, _LOADED)
    elif not _ends(path, module, (".keras",)) and argument(call.node, 2, "compile") is None:
        message = (
            "load_model of an .h5 file fails in Keras 3 if its model was compiled with the name of "
            "a loss or metric such as mse"
        )
        out.refuse(module, call.node, message, "pass compile=False and compile again")


def _ends(path: ast.expr, module: Module, ends: tuple[str, ...]) -> bool:
    return _end(path, module).endswith(ends)


def _end(path: ast.expr, module: Module, depth: int = 0) -> str:
    """Return the text with which a path certainly ends, or its whole value; empty if unknown."""
    match path:
        case ast.Constant(value=str() as text):
            return text if Path(text).name else ""
        case ast.BinOp(op=ast.Add() | ast.Div(), right=last):
            return _end(last, module, depth)
        case ast.BinOp(op=ast.Mod(), left=text):
            return _end(text, module, depth)
        case ast.JoinedStr(values=[*_, last]):
            return _end(last, module, depth)
        case ast.Call(func=ast.Attribute(attr="join"), args=[*_, last]):
            return _end(last, module, depth)
        case ast.Call(func=ast.Attribute(attr="format", value=text)):
            return _end(text, module, depth)
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return _end(inner, module, depth)
        case ast.Name() if depth < _DEPTH:
            bindings = list(bindings_of(path.id, path, module))
            given = bindings[0].assigned if len(bindings) == 1 else None
            if given is not None and bindings[0].module is module:
                return _end(given, module, depth + 1)
    value = value_of(path, module)
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else ""
