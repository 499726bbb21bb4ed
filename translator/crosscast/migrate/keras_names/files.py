"""Names of files with weights, which must end in .weights.h5 in Keras 3."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.edits.node_edits import replace_node
from crosscast.migrate.keras.policies import Outcomes
from crosscast.migrate.keras_names.receivers import named_as_model
from crosscast.pysource.names.lookup import bindings_of
from crosscast.pysource.values.value import Known
from crosscast.readers.python.library_calls import canonical, value_of

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program

_WEIGHTS = ".weights.h5"
_OLD = (".h5", ".hdf5", ".keras")
_PATTERN = re.compile(r".*\*\.?(h5|hdf5)|\.?(h5|hdf5)")
_CHECKPOINTS = ("latest_checkpoint", "load_checkpoint", "get_checkpoint_state", "CheckpointManager")
_NOTE = "files of weights end in .weights.h5; older files are read by load_weights as before"


def files(module: Module, program: Program, out: Outcomes) -> None:
    """Rename the files that `save_weights` and ModelCheckpoint write, and where they are read."""
    for call in module.calls:
        if module.is_dead(call.node):
            continue
        _folder(call, program, out)
        if canonical(call.name) == "keras.callbacks.ModelCheckpoint":
            _checkpoint(call, out)
        path = _weights_path(call, program)
        if path is not None:
            _rename(path, module, program, out)


def _folder(call: Call, program: Program, out: Outcomes) -> None:
    """Refuse `model.save("folder")`: Keras 3 writes single files only."""
    if call.method != "save" or call.receiver is None or program.function(call) is not None:
        return
    path = next(iter(call.node.args), None)
    if path is None or not named_as_model(call.receiver_text):
        return
    end = _end(path, call.module)
    if end is None or not isinstance(end.value, str) or end.value.endswith((*_OLD, ".pb", ".pt")):
        return
    name = call.receiver_text
    out.refuse(
        call.module,
        path,
        "save of Keras 3 writes a file that ends in .keras or .h5, not the folder of a SavedModel",
        f'write {name}.save("NAME.keras") to train on, or {name}.export("NAME") to serve',
    )


def _checkpoint(call: Call, out: Outcomes) -> None:
    """Refuse a ModelCheckpoint of whole models, or of perhaps whole ones, to files of old names."""
    if _only_weights(call) is True:
        return
    named = [k.value for k in call.node.keywords if k.arg == "filepath"]
    path = next(iter([*call.node.args[:1], *named]), None)
    end = _end(path, call.module) if path is not None else None
    if end is not None and isinstance(end.value, str):
        old = not end.value.endswith((".h5", ".keras")) and "{" not in end.value[-1:]
    else:
        old = any(
            isinstance(node.value, str) and node.value.endswith(".hdf5")
            for node in call.module.every(ast.Constant)
        )
    if old:
        out.refuse(
            call.module,
            call.node,
            "ModelCheckpoint of Keras 3 writes files that end in .keras, .h5 or .weights.h5",
            "let the file of a whole model end in .keras, that of weights in .weights.h5",
        )


def _only_weights(call: Call) -> bool | None:
    """Whether a ModelCheckpoint saves only weights; None if that is not known."""
    only = [k.value for k in call.node.keywords if k.arg == "save_weights_only"]
    value = value_of(only[0], call.module) if only else Known(False)
    return bool(value.value) if isinstance(value, Known) else None


def _weights_path(call: Call, program: Program) -> ast.expr | None:
    """Return the path of a file of weights that a call writes."""
    named = [k.value for k in call.node.keywords if k.arg in ("filepath", "filename")]
    path = next(iter([*call.node.args[:1], *named]), None)
    if call.method == "save_weights" and call.receiver is not None:
        return path if program.function(call) is None else None
    if canonical(call.name) != "keras.callbacks.ModelCheckpoint":
        return None
    return path if _only_weights(call) is True else None


def _rename(path: ast.expr, module: Module, program: Program, out: Outcomes) -> None:
    end = _end(path, module)
    if end is None or not isinstance(end.value, str):
        if end is None and _known(path, module).endswith(_WEIGHTS):
            return
        return out.refuse(
            module,
            path,
            f"the file name {module.text(path)} must end in {_WEIGHTS} in Keras 3",
            f"let it end in {_WEIGHTS}, here and where the file is read",
        )
    if end.value.endswith(_WEIGHTS):
        return None
    if isinstance(module.parent(end), ast.JoinedStr) or module.text(end)[-1:] not in "\"'":
        return out.refuse(
            module,
            path,
            f"the file name {module.text(path)} must end in {_WEIGHTS} in Keras 3",
            f"let it end in {_WEIGHTS}, here and where the file is read",
        )
    new = next((end.value.removesuffix(old) for old in _OLD if end.value.endswith(old)), "")
    reader = _reader(program, "checkpoint" if not new else "")
    reader = reader or _other_use(end.value, module, program)
    if reader is not None:
        return out.refuse(
            module,
            path,
            f"the file name {module.text(path)} must end in {_WEIGHTS} in Keras 3, and "
            f"{reader} depends on its old end",
            f"let it end in {_WEIGHTS}, here and where the file is looked for and read",
        )
    new = new or end.value
    for node in module.every(ast.Constant):
        if node.value == end.value and not module.is_dead(node):
            text = module.text(node)
            inner = text.replace(end.value, new + _WEIGHTS)
            out.edits.append(replace_node(module, node, inner))
    out.notes.append(_NOTE)
    return None


def _reader(program: Program, kind: str) -> str | None:
    """Return a text of the program that takes names of files apart, or looks for checkpoints."""
    for module in program.modules:
        for node in module.every(ast.Constant):
            if isinstance(node.value, str) and _PATTERN.fullmatch(node.value):
                return module.text(node)
        if kind:
            for used in module.every(ast.Attribute):
                if used.attr in _CHECKPOINTS:
                    return str(used.attr)
    return None


def _other_use(name: str, module: Module, program: Program) -> str | None:
    """Return a text that names the file of weights in a way that renaming would not reach.

    That is a whole model under the same name, a longer path, or another module.
    """
    for call in module.calls:
        whole = call.method == "save" or canonical(call.name) == "keras.models.load_model"
        given = [*call.node.args[:1], *(k.value for k in call.node.keywords)]
        end = next((end for path in given if whole and (end := _end(path, module))), None)
        if end is not None and end.value == name:
            return module.text(call.node)
    for other in program.modules:
        for node in other.every(ast.Constant):
            value = node.value
            if not isinstance(value, str) or other.is_dead(node):
                continue
            if (value == name and other is not module) or value.endswith(f"/{name.lstrip('/')}"):
                return other.text(node)
    return None


def _known(path: ast.expr, module: Module) -> str:
    value = value_of(path, module)
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else ""


def _end(path: ast.expr, module: Module, depth: int = 0) -> ast.Constant | None:
    """Return the string constant with which a path ends."""
    if isinstance(path, ast.Constant):
        return path if isinstance(path.value, str) and Path(path.value).name else None
    if isinstance(path, ast.BinOp) and isinstance(path.op, ast.Add | ast.Div):
        return _end(path.right, module, depth)
    if isinstance(path, ast.JoinedStr) and path.values:
        return _end(path.values[-1], module, depth)
    if isinstance(path, ast.Call):
        if isinstance(path.func, ast.Attribute) and path.func.attr in ("join", "format"):
            of_path = path.func.attr == "join" and path.args
            return _end(path.args[-1] if of_path else path.func.value, module, depth)
        if isinstance(path.func, ast.Name) and path.func.id == "str" and len(path.args) == 1:
            return _end(path.args[0], module, depth)
    if isinstance(path, ast.Name) and depth < 3:
        found = list(bindings_of(path.id, path, module))
        value = found[0].value if len(found) == 1 and found[0].kind == "assign" else None
        if value is not None and not found[0].path and found[0].scope.module is module:
            return _end(value, module, depth + 1)
    return None
