"""`tf.Module`s and strategies that use Keras: layers of Keras 3 are no modules."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_tensorflow.migration.experimental.keras.added_code import (
    CLEARED,
    MODULES,
    POLICY,
    TEXTS,
)
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import imported_as

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_STRATEGY = re.compile(r"strategy", re.I)
_OLD_RUN = "experimental_run_v2"
_CLEARS = ("keras.backend.clear_session", "keras.utils.clear_session")
_SETS_POLICY = ("set_policy", "set_global_policy")
_READS = ("variables", "trainable_variables")
_CELLS = {
    "keras.layers.GRUCell": "{tf}.cast({cell}.get_initial_state({size})[0], {dtype})",
    "keras.layers.SimpleRNNCell": "{tf}.cast({cell}.get_initial_state({size})[0], {dtype})",
    "keras.layers.LSTMCell": (
        "[{tf}.cast(state, {dtype}) for state in {cell}.get_initial_state({size})]"
    ),
}
"""Cell to the zeros that `get_initial_state(inputs, batch_size, dtype)` of Keras 2 returned."""


def bases(module: Module, program: Program, out: Outcomes) -> set[str]:
    """Give the `tf.Module`s of a program another base, which finds the variables of layers."""
    if not _has_layers(program) or not _reads_variables(program):
        return set()
    found = False
    for node in module.every(ast.ClassDef):
        scope = module.scopes.get(node)
        if scope is None or module.is_dead(node) or node.name == MODULES:
            continue
        for base in node.bases:
            source = imported_as(base, module)
            if source is not None and ".".join([source[0], *source[1]]) == "tensorflow.Module":
                out.edits.append(replace_node(module, base, MODULES))
                found = True
    return {MODULES} if found else set()


def runs(module: Module, program: Program, out: Outcomes) -> set[str]:
    """Rename `experimental_run_v2`, and give the replicas the dtype policy where they read it."""
    policy = _reads_policy(program)
    found = False
    for call in module.calls:
        node = call.node
        if (
            module.is_dead(node)
            or call.receiver is None
            or not isinstance(node.func, ast.Attribute)
        ):
            continue
        if call.method not in ("run", _OLD_RUN) or not _STRATEGY.search(call.receiver_text):
            continue
        if call.method == _OLD_RUN:
            text = f"{raw(module, call.receiver)}.run"
            out.edits.append(replace_node(module, node.func, text))
        given = [k.value for k in node.keywords if k.arg == "fn"] or node.args[:1]
        if policy and given and not module.text(given[0]).startswith(f"{POLICY}("):
            text = f"{POLICY}({raw(module, given[0])})"
            out.edits.append(replace_node(module, given[0], text))
            found = True
    return {POLICY} if found else set()


def sessions(module: Module, program: Program, out: Outcomes) -> set[str]:
    """Keep the policy of a program where it clears the session."""
    if "clear_session" not in module.source.text or not _sets_policy(program):
        return set()
    found = False
    for call in module.calls:
        names = [canonical(name) for name in call.names]
        if not names or not all(name in _CLEARS for name in names):
            continue
        if not module.is_dead(call.node) and not _added(call):
            out.edits.append(replace_node(module, call.node.func, CLEARED))
            found = True
    return {CLEARED} if found else set()


def _has_layers(program: Program) -> bool:
    return any(
        canonical(name).startswith(("keras.layers.", "keras.Sequential", "keras.Model"))
        for name, _ in calls_of(program)
    )


def _reads_variables(program: Program) -> bool:
    return any(
        node.attr in _READS for module in program.modules for node in module.every(ast.Attribute)
    )


def _reads_policy(program: Program) -> bool:
    """Whether a program that sets the policy reads it outside of what a migration added."""
    return _sets_policy(program) and any(
        "global_policy" in (call.method, last(call.name)) and not _added(call)
        for module in program.modules
        for call in module.calls
    )


def _sets_policy(program: Program) -> bool:
    return any(
        (call.method in _SETS_POLICY or last(call.name) in _SETS_POLICY) and not _added(call)
        for module in program.modules
        for call in module.calls
    )


def _added(call: Call) -> bool:
    here: ast.AST | None = call.node
    while here is not None:
        if isinstance(here, ast.FunctionDef | ast.ClassDef) and here.name in TEXTS:
            return True
        here = call.module.parent(here)
    return False


def cells(module: Module, out: Outcomes) -> None:
    """Rewrite `cell.get_initial_state(None, size, dtype)`, which takes only the size in Keras 3."""
    for call in module.calls:
        node = call.node
        if call.method != "get_initial_state" or call.receiver is None or module.is_dead(node):
            continue
        named = {k.arg: k.value for k in node.keywords}
        given = dict(zip(("inputs", "batch_size", "dtype"), node.args, strict=False)) | named
        if len(node.args) < 2 and not {"inputs", "dtype"} & set(named):
            continue
        makers = makers_of(call.receiver, module) or []
        kinds = {canonical(name) for maker in makers for name in maker.names or ("",)}
        inputs = given.get("inputs")
        plain = inputs is None or (isinstance(inputs, ast.Constant) and inputs.value is None)
        if kinds and not all(kind.startswith("keras.layers.") for kind in kinds):
            continue  # a cell of the program's own
        form = _CELLS.get(min(kinds), "") if len(kinds) == 1 else ""
        library = next((n for n, target in module.imports.items() if target == "tensorflow"), "")
        complete = plain and library and {"batch_size", "dtype"} <= set(given)
        if not form or not complete:
            if makers:
                out.refuse(
                    module,
                    node,
                    "get_initial_state of a cell takes only batch_size in Keras 3",
                    "pass the batch size alone, and cast the states that it returns as a list",
                )
            continue
        parts = {
            "tf": library,
            "cell": raw(module, call.receiver),
            "size": raw(module, given["batch_size"]),
            "dtype": raw(module, given["dtype"]),
        }
        out.edits.append(replace_node(module, node, form.format(**parts)))


def units(module: Module, out: Outcomes) -> None:
    """Make `Dense(np.prod(shape))` a whole number: Keras 3 takes no floating-point one."""
    for call in module.calls:
        places = zip([call.node.func, *call.node.args], call.node.args, strict=False)
        for before, argument in places:
            if not isinstance(argument, ast.Call) or module.is_dead(call.node):
                continue
            source = imported_as(before, module)
            dense = source is not None and canonical(".".join([source[0], *source[1]]))
            product = imported_as(argument.func, module)
            if dense == "keras.layers.Dense" and product == ("numpy", ["prod"]):
                text = f"int({raw(module, argument)})"
                out.edits.append(replace_node(module, argument, text))
