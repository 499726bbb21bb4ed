"""Files of weights and models, whose names have other ends in Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, raw
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes, policy_argument
from crosscast_tensorflow.migration.experimental.keras_names.file_names import (
    OLD_ENDS,
    WEIGHTS,
    WHOLE,
    end_of,
    literal_of,
    named_elsewhere,
    other_use,
    reader,
    renamed_end,
    taken_apart,
)
from crosscast_tensorflow.migration.experimental.keras_names.read_files import (
    OLD_CHECKPOINT,
    read_files,
)
from crosscast_tensorflow.migration.experimental.keras_names.receivers import named_as_model

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SAVES_MODEL = "keras.models.save_model"
_CHECKPOINT = "keras.callbacks.ModelCheckpoint"
_NOTE = (
    "files of weights end in .weights.h5; older .h5 files are read by load_weights as before; tell "
    "programs outside the given files that read them"
)
_CHECKPOINTS = f"files of weights end in .weights.h5; {OLD_CHECKPOINT}"
_APART = "files with the old end are no longer looked for: load one by its name if you resume"
_MODELS = (
    "files of whole models end in .keras, which keeps a LossScaleOptimizer; tell programs outside "
    "the given files that read them"
)
_EXPORTED = (
    "export writes the SavedModel for serving, without what load_model needs to train it further"
)


def files(module: Module, program: Program, out: Outcomes) -> None:
    """Rename the files that `save_weights` and ModelCheckpoint write, and where they are read."""
    renamed: set[str] = set()
    for call in module.calls:
        if module.is_dead(call.node):
            continue
        _folder(call, program, out)
        if canonical(call.name) == _CHECKPOINT and _only_weights(call) is not True:
            _checkpoint(call, program, out)
        path = _weights_path(call, program)
        if path is not None:
            renamed.add(_rename(path, module, program, out))
    read_files(module, program, renamed - {""}, out)


def _folder(call: Call, program: Program, out: Outcomes) -> None:
    """Export a folder that the program treats as a SavedModel; refuse `model.save("folder")`."""
    whole = canonical(call.name) == _SAVES_MODEL
    if program.function(call) is not None or not (whole or _saves_itself(call)):
        return
    path = policy_argument(call.node, int(whole), "filepath")
    if path is None:
        return
    module = call.module
    end = end_of(path, module)
    form = policy_argument(call.node, 9, "save_format")
    value = value_of(form, module) if form is not None else Known(None)
    folder = isinstance(value, Known) and value.value == "tf"
    if not folder and (end is None or str(end.value).endswith((*OLD_ENDS, ".pb", ".pt"))):
        return
    name = call.receiver_text if not whole else module.text(call.node.args[0])
    if folder or whole or end is None or call.receiver is None:
        return _no_folder(path, name, module, out)
    given = [keyword for keyword in call.node.keywords if keyword.arg == "overwrite"]
    if len(given) == len(call.node.keywords) and _serves(str(end.value), program):
        function = call.node.func
        out.edits.append(replace_node(module, function, f"{raw(module, call.receiver)}.export"))
        if given:
            out.edits += argument_edits(module, call.node, [given[0].value])
        out.notes.append(_EXPORTED)
        return None
    return _no_folder(path, name, module, out)


def _saves_itself(call: Call) -> bool:
    return (
        call.method == "save" and call.receiver is not None and named_as_model(call.receiver_text)
    )


def _no_folder(path: ast.expr, name: str, module: Module, out: Outcomes) -> None:
    out.refuse(
        module,
        path,
        "save of Keras 3 writes a file that ends in .keras or .h5, not the folder of a SavedModel",
        f'write {name}.save("NAME.keras") to train on, or {name}.export("NAME") to serve',
    )


def _serves(folder: str, program: Program) -> bool:
    """Whether a program takes `saved_model.pb` out of a folder, and loads no model."""
    wanted = f"{folder}/saved_model.pb"
    return any(
        node.value == wanted
        for module in program.modules
        for node in module.every(ast.Constant)
        if isinstance(node.value, str)
    ) and not any(
        canonical(call.name) == "keras.models.load_model"
        for module in program.modules
        for call in module.calls
    )


def _checkpoint(call: Call, program: Program, out: Outcomes) -> None:
    """Rename the file of a ModelCheckpoint of whole models, or of perhaps whole ones."""
    module, path = call.module, _path(call)
    end = end_of(path, module) if path is not None else None
    if end is not None:
        name = str(end.value)
        if name.endswith((".h5", ".keras")) or "{" in name[-1:]:
            return
        stem = name.removesuffix(".hdf5")
        if stem != name and _renamed_checkpoint(call, end, program, out):
            out.notes.append(_MODELS)
            return
    elif not any(
        isinstance(node.value, str) and node.value.endswith(".hdf5")
        for node in module.every(ast.Constant)
    ):
        return
    out.refuse(
        module,
        call.node,
        "ModelCheckpoint of Keras 3 writes files that end in .keras, .h5 or .weights.h5",
        "let the file of a whole model end in .keras, that of weights in .weights.h5",
    )


def _renamed_checkpoint(call: Call, end: ast.Constant, program: Program, out: Outcomes) -> bool:
    """Write the name of a file of whole models, or the choice of an end at run time."""
    module, name = call.module, str(end.value)
    same = [node for node in module.every(ast.Constant) if node.value == name]
    if reader(program, {id(node) for node in same}, checkpoints=False):
        return False
    if named_elsewhere(name, module, program):
        return False
    if _only_weights(call) is False:
        edits = [renamed_end(node, name.removesuffix(".hdf5") + WHOLE, module) for node in same]
        out.edits += [edit for edit in edits if edit is not None]
        return all(edits)
    only = next((k.value for k in call.node.keywords if k.arg == "save_weights_only"), None)
    found = literal_of(end, module)
    if only is None or found is None or len(same) > 1 or not _known_at(only, found[0], module):
        return False
    node, text = found
    quote = raw(module, node)[len(text) + len(name) :]
    ends = f'(\n{{}}"{WEIGHTS}" if {raw(module, only)} else "{WHOLE}"\n{{}})'
    row = module.lines[node.lineno - 1]
    outer = row[: len(row) - len(row.lstrip())]
    chosen = ends.format(f"{outer}    ", outer)
    start = f"{text}{name.removesuffix('.hdf5')}{quote}"
    out.edits.append(replace_node(module, node, f"{start} + {chosen}"))
    return True


def _known_at(node: ast.expr, place: ast.expr, module: Module) -> bool:
    """Whether an expression has the same value at another place of its function."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    function = module.function_of(node)
    if not isinstance(root, ast.Name) or function is None:
        return False
    stored = any(
        isinstance(part, ast.Name | ast.Attribute)
        and isinstance(part.ctx, ast.Store)
        and module.text(node).startswith(module.text(part))
        for part in ast.walk(function)
    )
    parameters = {argument.arg for argument in function.args.args}
    return module.function_of(place) is function and root.id in parameters and not stored


def _path(call: Call) -> ast.expr | None:
    named = [k.value for k in call.node.keywords if k.arg in ("filepath", "filename")]
    return next(iter([*call.node.args[:1], *named]), None)


def _only_weights(call: Call) -> bool | None:
    """Whether a ModelCheckpoint saves only weights; None if that is not known."""
    only = [k.value for k in call.node.keywords if k.arg == "save_weights_only"]
    value = value_of(only[0], call.module) if only else Known(False)
    return bool(value.value) if isinstance(value, Known) else None


def _weights_path(call: Call, program: Program) -> ast.expr | None:
    """Return the path of a file of weights that a call writes."""
    if call.method == "save_weights" and call.receiver is not None:
        return _path(call) if program.function(call) is None else None
    if canonical(call.name) != _CHECKPOINT:
        return None
    return _path(call) if _only_weights(call) is True else None


def _rename(path: ast.expr, module: Module, program: Program, out: Outcomes) -> str:
    """Rename a file of weights; return the old end of its name, empty if it stays."""
    end = end_of(path, module)
    name = str(end.value) if end is not None else _known(path, module)
    if name.endswith(WEIGHTS):
        return ""
    if end is None or literal_of(end, module) is None:
        return _refuse(path, module, "", out)
    old = next((old for old in OLD_ENDS if name.endswith(old)), "")
    new = name.removesuffix(old) + WEIGHTS
    same = [node for node in module.every(ast.Constant) if node.value == name]
    if name == old:  # other texts like this one may be part of any name
        same = [end, *(node for node in _weight_ends(module) if node.value == name)]
    same = list(dict.fromkeys(node for node in same if not module.is_dead(node)))
    ends = {id(node) for node in same}
    parts = taken_apart(program, ends, WEIGHTS) if old else None
    found = reader(program, ends, checkpoints=not old) if parts is None else None
    found = found or other_use(name, module, program)
    if found is not None:
        return _refuse(path, module, found, out)
    edits = [renamed_end(node, new, module) for node in same]
    out.edits += [edit for edit in (*edits, *(parts or ())) if edit is not None]
    note = _NOTE if old else _CHECKPOINTS
    out.notes += [note, _APART] if parts else [note]
    return name


def _weight_ends(module: Module) -> Iterator[ast.Constant]:
    """Yield the ends of the names by which a module saves and loads weights."""
    for call in module.calls:
        path = _path(call) if call.method in ("save_weights", "load_weights") else None
        end = end_of(path, module) if path is not None else None
        if end is not None:
            yield end


def _refuse(path: ast.expr, module: Module, found: str, out: Outcomes) -> str:
    text = f"the file name {module.text(path)} must end in {WEIGHTS} in Keras 3"
    where = "looked for and read" if found else "read"
    out.refuse(
        module,
        path,
        f"{text}, and {found} depends on its old end" if found else text,
        f"let it end in {WEIGHTS}, here and where the file is {where}",
    )
    return ""


def _known(path: ast.expr, module: Module) -> str:
    value = value_of(path, module)
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else ""
