"""Optimizer classes for Keras 2: they keep their formulas and get a base that calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import column_at, insert, insert_before, replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.added_code import OWN, TEXTS, UPDATES
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras.program import imported_as
from crosscast_tensorflow.migration.experimental.keras_names.optimizer_table import (
    ADAM_ARGUMENTS,
    OLD_METHODS,
    PLAIN,
    WITH_UPDATE,
)
from crosscast_tensorflow.migration.experimental.keras_names.optimizer_uses import (
    Problem,
    is_super,
    names_of_variables,
    own_parameters,
    private_names,
    problems,
)

if TYPE_CHECKING:
    from crosscast_reading.edits.edit import Edit
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_HINT = (
    "write update_step(self, gradient, variable, learning_rate) and build(self, variables), which "
    "creates the slots by add_variable_from_reference"
)
_OPTIMIZERS = ("keras.optimizers.", "keras.optimizer_v2.", "tensorflow.python.keras.optimizer")
_NAMES = (
    "names of variables are now layer/weight:0 made of Variable.path, in a Sequential with the "
    "name of the model before it: check patterns that begin with ^"
)
_SCALES = ("mixed_float16", "LossScaleOptimizer")
_HYPER = (
    "hyperparameters of this optimizer other than learning_rate are plain numbers now: a compiled "
    "step keeps the values of its first call"
)


def _bypassed(node: ast.ClassDef, module: Module, program: Program, out: Outcomes) -> None:
    """Refuse an `apply_gradients` that a LossScaleOptimizer does not call."""
    scales = any(word in m.source.text for m in program.modules for word in _SCALES)
    for method in own_parameters(node):
        if method.name == "apply_gradients" and scales:
            out.refuse(
                module,
                method,
                "the LossScaleOptimizer of Keras 3 calls apply of its optimizer, and never "
                "apply_gradients",
                "write apply(self, grads, trainable_variables=None) instead",
            )


def own_optimizers(module: Module, program: Program, out: Outcomes) -> set[str]:
    """Give optimizers of a module a base that calls their methods; refuse the unknown ones.

    Returns:
        The names of the classes that the module needs.
    """
    needed: set[str] = set()
    for node in module.every(ast.ClassDef):
        scope = module.scopes.get(node)
        if scope is None or node.name in TEXTS or module.is_dead(node) or _is_done(node):
            continue
        found = [part.name for part in own_parameters(node) if part.name in OLD_METHODS]
        base = canonical(program.library_base(scope))
        if not found and base.startswith(_OPTIMIZERS):
            _bypassed(node, module, program, out)
        if not found or not base.startswith(_OPTIMIZERS):
            continue
        why = _base_problem(node, module) or next(problems(node, module, base), None)
        edits = [] if why is not None else list(_edits(node, module, base))
        if why is not None:
            out.refuse(
                module,
                why.node if why.node is not node else node,
                f"{node.name} is an optimizer for Keras 2: Keras 3 never calls {found[0]}, and "
                f"trains with the update of the base class, or fails; {why.text}",
                _HINT,
            )
            continue
        named = names_of_variables(node)
        out.edits += edits
        out.notes += [_NAMES] if named else []
        out.notes += [_HYPER] if "_set_hyper" in raw(module, node) else []
        needed |= {UPDATES, OWN} if base in PLAIN else {UPDATES}
    return needed


def _is_done(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id in TEXTS for base in node.bases)


def _base_problem(node: ast.ClassDef, module: Module) -> Problem | None:
    """Return why the base of a class cannot be replaced."""
    if len(node.bases) != 1:
        return Problem(node, "it has several bases")
    source = imported_as(node.bases[0], module)
    name = canonical(".".join([source[0], *source[1]])) if source is not None else ""
    if name not in (*PLAIN, *WITH_UPDATE):
        shown = name or module.text(node.bases[0])
        return Problem(node, f"only Optimizer and Adam are known as bases, not {shown}")
    return None


def _edits(node: ast.ClassDef, module: Module, base: str) -> Iterator[Edit]:
    whole = base in PLAIN
    if whole:
        yield replace_node(module, node.bases[0], OWN)
    else:
        yield insert_before(module, node.bases[0], f"{UPDATES}, ")
    for named in names_of_variables(node):
        text = f"self.name_in_keras_2({raw(module, named.value)})"
        yield replace_node(module, named, text)
    for method in own_parameters(node):
        if method.name.startswith("_resource_apply_") and not method.args.kwarg:
            parameters = [*method.args.args, *method.args.kwonlyargs]
            if all(parameter.arg != "apply_state" for parameter in parameters):
                last = parameters[-1]
                line, offset = last.end_lineno or 1, last.end_col_offset or 0
                column = column_at(module, line, offset)
                yield insert(module, line, column, ", apply_state=None")
    for call in [] if whole else _constructions(node):
        place = len(ADAM_ARGUMENTS) - 1
        if len(call.args) > place:
            yield insert_before(module, call.args[place], f"{ADAM_ARGUMENTS[place]}=")
    yield from private_names(node, module)


def _constructions(node: ast.ClassDef) -> Iterator[ast.Call]:
    """Yield the calls of the constructor of the base."""
    for call in ast.walk(node):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "__init__"
            and is_super(call.func.value)
        ):
            yield call
