"""Finds the places of `places` in a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.program import own_choice
from crosscast_tensorflow.migration.experimental.keras_names import present
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.place_tests import compiled_metrics
from crosscast_tensorflow.migration.experimental.keras_names.places import (
    ALSO_GONE,
    CALLS,
    ENVIRONMENT,
    GONE_HINTS,
    HYPERPARAMETERS,
    PRIVATE,
    TEXTS,
    CallPlace,
)
from crosscast_tensorflow.migration.experimental.keras_names.receivers import (
    is_layer,
    is_model,
    is_optimizer,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_ARTICLES = {"model": "a model", "layer": "a layer", "optimizer": "an optimizer"}
_GONE_HINT = "write it with what Keras 3 has"
_LIST = "lists of variables hold names without their layer in Keras 3: kernel, not dense/kernel:0"
_THAWED = (
    "an optimizer of Keras 3 belongs to the variables of its first update: apply_gradients raises "
    "an error if layers become trainable afterwards"
)
_VARIABLES = re.compile(r"\.(non_)?(trainable_)?(variables|weights)\b")
_SETS_RATE = ("LearningRateScheduler", "ReduceLROnPlateau")
_LOGS = re.compile(r"(^|[._])(logs|history|hist)$")
_STEPS = ("steps_per_epoch", "validation_steps", "steps")
_SYMBOLS = ("input", "inputs", "output", "outputs")
_ACCURACY = re.compile(r"^(val_)?acc$|\{(val_)?acc[:!}]")
_CLASS = re.compile(r"(^|\.)_*[A-Z]\w*$")
_KERAS = ("keras.", "tensorflow.", "tf_keras.")
_TAKE_ROWS = (
    *("fit", "evaluate", "predict"),
    *("fit_generator", "evaluate_generator", "predict_generator"),
)
_ROWS = ("x", "generator", "validation_data")
_EMPTY = frozenset[str]()


def place_search(module: Module, program: Program, out: Outcomes) -> None:
    """Name the places of a module."""
    _calls(module, program, out)
    _members(module, program, out)
    _texts(module, program, out)
    _names_of_weights(module, out)
    _generators(module, program, out)
    _unseen_rows(module, program, out)
    _switches(module, program, out)
    _steps(module, out)
    _classes_of_symbols(module, out)


def _calls(module: Module, program: Program, out: Outcomes) -> None:
    told: set[CallPlace] = set()
    for call in module.calls:
        if module.is_dead(call.node) or any(name.startswith("tf_keras.") for name in call.names):
            continue
        for row in CALLS:
            chosen = _is_named(row, call, program) and not own_choice(module, call.node, "keras")
            if chosen and row not in told and row.when(call):
                out.refuse(module, call.node, row.message, row.hint)
                told |= {row} if row.once else set()


def _is_named(row: CallPlace, call: Call, program: Program) -> bool:
    if row.method:
        mine = call.method == row.method and call.receiver is not None
        others = any(not canonical(n).startswith("keras.") for n in call.names if ":" not in n)
        return mine and not others and program.function(call) is None
    return any(re.fullmatch(row.names, canonical(name)) for name in call.names)


def _members(module: Module, program: Program, out: Outcomes) -> None:
    """Name the members of models, layers and optimizers that are gone or mean something else."""
    by_hand = any(c.method == "apply_gradients" for m in program.modules for c in m.calls)
    known = set(PRIVATE) | HYPERPARAMETERS | {"iterations", *(["trainable"] if by_hand else [])}
    known |= {name for kind in _ARTICLES for name in _gone(kind)}
    for node in module.every(ast.Attribute):
        if node.attr not in known or module.is_dead(node) or _is_defined(node, module, program):
            continue
        stored = isinstance(node.ctx, ast.Store)
        if node.attr == "trainable":
            if stored and not _is_frozen(node, module):
                out.refuse(module, node, _THAWED, "call optimizer.build(all variables) first")
            continue
        if node.attr in PRIVATE and (node.attr[:6] == "_keras" or _kinds(node, module, program)):
            hint = PRIVATE[node.attr]
            out.refuse(module, node, f"{node.attr} is a private part that Keras 3 lacks", hint)
        elif stored and node.attr in (*HYPERPARAMETERS, "iterations"):
            if is_optimizer(node.value, module, program):
                out.refuse(
                    module,
                    node,
                    f"{node.attr} is not for setting in Keras 3: a step that is compiled keeps the "
                    "one of its first call",
                    "make the optimizer with it; write iterations.assign(...)",
                )
        elif not stored:
            _gone_member(node, module, program, out)


def _is_frozen(node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is set to False."""
    match module.parent(node):
        case ast.Assign(value=ast.Constant(value=False)):
            return True
    return False


def _gone(kind: str) -> frozenset[str]:
    return present.gone(kind) | ALSO_GONE.get(kind, _EMPTY)


def _gone_member(node: ast.Attribute, module: Module, program: Program, out: Outcomes) -> None:
    parent = module.parent(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    for kind in _kinds(node, module, program):
        if node.attr == "variables" and kind == "optimizer":
            continue
        if node.attr in _gone(kind) and node.attr not in ("lr", "reset_states", "history"):
            if node.attr == "compiled_loss" and called:
                return  # still computes the loss
            message = f"{node.attr} of {_ARTICLES[kind]} is not in Keras 3"
            hint = GONE_HINTS.get(node.attr, _GONE_HINT)
            return out.refuse(module, node, message, hint)
    return None


def _kinds(node: ast.Attribute, module: Module, program: Program) -> Iterator[str]:
    if is_model(node.value, module, program) is True:
        yield "model"
    elif is_optimizer(node.value, module, program):
        yield "optimizer"
    elif is_layer(node.value, module, program):
        yield "layer"


def _is_defined(node: ast.Attribute, module: Module, program: Program) -> bool:
    """Whether the program itself gives the object the attribute."""
    owner = module.class_of(node)
    scope = module.scopes.get(owner) if owner is not None else None
    mine = isinstance(node.value, ast.Name) and node.value.id == "self"
    if mine and scope is not None and program.has_attribute(scope, node.attr):
        return True
    parent = module.parent(node)
    if not isinstance(parent, ast.Call) or parent.func is not node:
        return False
    return program.function(module.call(parent)) is not None


def _texts(module: Module, program: Program, out: Outcomes) -> None:
    """Name texts that mean something else, and variables of the environment."""
    sets = any(word in m.source.text for m in program.modules for word in _SETS_RATE)
    metrics = set(compiled_metrics(program))
    accurate = "accuracy" in metrics and "acc" not in metrics
    for node in module.every(ast.Constant):
        parent = module.parent(node)
        key = isinstance(parent, ast.Dict) and node in parent.keys
        if not isinstance(node.value, str) or key or module.is_dead(node):
            continue
        if node.value in TEXTS and not isinstance(parent, ast.Expr | ast.Compare | ast.List):
            printed = isinstance(parent, ast.Call) and module.call(parent).name == "print"
            if not printed:
                out.refuse(module, node, *TEXTS[node.value])
        elif node.value == "lr" and _is_asked(parent, module, program):
            message = "optimizers of Keras 3 have no lr, which is asked for here"
            out.refuse(module, node, message, 'write "learning_rate"')
        elif node.value == "lr" and sets and _is_log(parent, module):
            message = "logs have the learning rate as learning_rate in Keras 3"
            out.refuse(module, node, message, 'write "learning_rate"')
        elif _ACCURACY.search(node.value) and accurate:
            message = "logs have the metric accuracy as accuracy in Keras 3, not as acc"
            out.refuse(module, node, message, "write accuracy, and val_accuracy")
        elif ENVIRONMENT.fullmatch(node.value) and not isinstance(parent, ast.Expr):
            message = f"{node.value} does nothing for models of Keras 3"
            hint = 'write keras.mixed_precision.set_global_policy("mixed_float16")'
            out.refuse(module, node, message, f"{hint} before the model is built")


def _is_asked(parent: ast.AST | None, module: Module, program: Program) -> bool:
    """Whether a text is the second argument of `hasattr(optimizer, "lr")` and the like."""
    match parent:
        case ast.Call(func=ast.Name(id="hasattr" | "getattr" | "setattr"), args=[owner, *_]):
            return is_optimizer(owner, module, program) is not False
    return False


def _is_log(parent: ast.AST | None, module: Module) -> bool:
    owner: ast.expr | None = None
    if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
        owner = parent.value
    elif isinstance(parent, ast.Call) and module.call(parent).method in ("get", "pop"):
        owner = module.call(parent).receiver
    return owner is not None and _LOGS.search(module.text(owner)) is not None


def _names_of_weights(module: Module, out: Outcomes) -> None:
    """Name where a loop over weights reads their names."""
    loops: list[tuple[ast.expr, ast.expr, ast.AST]] = []
    for n in module.nodes:
        if isinstance(n, ast.For):
            loops.append((n.target, n.iter, n))
        elif isinstance(n, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            loops += [(part.target, part.iter, n) for part in n.generators]
    for target, source, whole in loops:
        if not _VARIABLES.search(module.text(source)) or module.is_dead(whole):
            continue
        bound = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
        for node in ast.walk(whole):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr="name") if name in bound:
                    hint = "read variable.path, which is dense/kernel"
                    out.refuse(module, node, _LIST, hint)
                    break


def _generators(module: Module, program: Program, out: Outcomes) -> None:
    """Name generators of rows that yield lists, which fit of Keras 3 does not take."""
    fed = {*_fed(program)}
    for node in module.every(ast.Yield):
        parts = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else []
        inner = any(isinstance(part, ast.List | ast.ListComp) for part in parts)
        outer = isinstance(node.value, ast.List) and len(parts) in (2, 3)
        alone = not parts and module.function_of(node) in fed
        if (inner or outer or alone) and not module.is_dead(node):
            out.refuse(
                module,
                node,
                "if fit takes these rows: Keras 3 takes tuples from a generator, and no lists",
                "write yield (first, second), labels, and for a single array yield (array,)",
            )


def _fed(program: Program) -> Iterator[ast.AST]:
    """Yield the functions of a program whose results are given to `fit`, `predict` and the like."""
    for call in program.calls():
        for rows in _rows_of(call):
            made = _maker(rows, call.module)
            function = program.function(made) if made is not None else None
            if function is not None:
                yield function[1]


def _unseen_rows(module: Module, program: Program, out: Outcomes) -> None:
    """Name calls of `fit` with a number of steps whose rows come from code that is not there."""
    for call in module.calls:
        given = {keyword.arg for keyword in call.node.keywords}
        steps = given.intersection(_STEPS) or (call.method or "").endswith("_generator")
        if not steps or "y" in given or module.is_dead(call.node):
            continue
        unseen = [rows for rows in _rows_of(call) if _are_unseen(rows, module, program)]
        if unseen:
            out.refuse(
                module,
                unseen[0],
                "if these rows are lists: Keras 3 takes tuples from a generator, and no lists",
                "look at the function that makes them: it yields (inputs, labels)",
            )


def _rows_of(call: Call) -> Iterator[ast.expr]:
    if call.method in _TAKE_ROWS:
        yield from call.node.args[:1]
        yield from (k.value for k in call.node.keywords if k.arg in _ROWS)


def _maker(rows: ast.expr, module: Module) -> Call | None:
    """The call whose result rows are."""
    made: ast.AST | None = rows
    if isinstance(rows, ast.Name):
        bindings = bindings_of(rows.id, rows, module)
        made = next((b.assigned for b in bindings if b.assigned is not None), None)
    return module.call(made) if isinstance(made, ast.Call) else None


def _are_unseen(rows: ast.expr, module: Module, program: Program) -> bool:
    """Whether rows come from a function that is neither in the program nor Keras' own.

    A class, as names of classes are spelled, is a Sequence.
    """
    made = _maker(rows, module)
    if made is None or program.function(made) is not None:
        return False
    names = [canonical(name) for name in made.names]
    return not any(name.startswith(_KERAS) or _CLASS.search(name) for name in names)


def _switches(module: Module, program: Program, out: Outcomes) -> None:
    """Name layers that get `training` by its place."""
    for call in module.calls:
        last = call.node.args[-1] if len(call.node.args) > 1 else None
        if not isinstance(last, ast.Name) or last.id not in ("training", "is_training"):
            continue
        made = all(name.endswith(".__call__") for name in call.names)
        layer = call.receiver_text == "self" or (bool(call.names) and made)
        if layer and program.function(call) is None and not module.is_dead(call.node):
            message = "layers of Keras 3 take only tensors by their place, and this is a switch"
            out.refuse(module, last, message, f"write training={last.id}")


def _steps(module: Module, out: Outcomes) -> None:
    """Name numbers of steps that are no whole numbers."""
    for call in module.calls:
        for keyword in call.node.keywords if call.method in _TAKE_ROWS else ():
            given: ast.AST | None = keyword.value
            if keyword.arg not in _STEPS or module.is_dead(call.node):
                continue
            if isinstance(given, ast.Name):
                bindings = list(bindings_of(given.id, given, module))
                given = bindings[0].assigned if len(bindings) == 1 else None
            if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Div):
                message = f"{keyword.arg} is a quotient, and Keras 3 takes only whole numbers"
                out.refuse(module, keyword.value, message, "write // or math.ceil")


def _classes_of_symbols(module: Module, out: Outcomes) -> None:
    """Name where the input or output of a model or layer is asked for its class."""
    for call in module.calls:
        match call.node.args:
            case [(ast.Attribute() | ast.Name()) as asked, kind] if call.name == "isinstance":
                of = asked.attr if isinstance(asked, ast.Attribute) else _origin(asked, module)
                kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
                named = {module.resolve(each) for each in kinds}
                if of in _SYMBOLS and "tensorflow.Tensor" in named:
                    message = f"the {of} of a model of Keras 3 is no tf.Tensor"
                    out.refuse(module, call.node, message, "ask for keras.KerasTensor as well")


def _origin(node: ast.Name, module: Module) -> str:
    """The last part of the only attribute that a name is bound to."""
    bindings = list(bindings_of(node.id, node, module))
    made = bindings[0].assigned if len(bindings) == 1 else None
    return made.attr if isinstance(made, ast.Attribute) else ""


def launched_rewrite(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a launch script that ask for the graph rewrite, and the variable."""
    for number, line in enumerate(lines, 1):
        name = ENVIRONMENT.search(line.partition("#")[0])
        if name is not None:
            yield number, name[0]
