"""What a training step computes of the model's outputs before the loss: it is not in the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crosscast_migrate.changed_values import changes
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Opaque, Tensor
from crosscast_migrate.models.tensor_calls import of_row, of_tensor, part_of_tensor
from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.machine.frames import Variables
from crosscast_reading.pysource.syntax.nodes import names_in, walk
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.readers.python.loss_kinds import loss_of_call

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.events import TrainingStep

_SAME = frozenset(
    {"float", "to", "astype", "cast", "cpu", "cuda", "contiguous", "as_tensor", "to_tensor"}
)
"""Functions and methods that change no number but by its type."""
_MOST = 8
"""Computations of an output, one after the other."""
_METHODS = frozenset(
    {
        *("squeeze", "unsqueeze", "view", "reshape", "flatten", "permute", "transpose", "mean"),
        *("softmax", "log_softmax", "sigmoid", "tanh", "exp", "log", "sum", "clamp", "clip"),
        *("mul", "div", "add", "sub", "mul_", "div_", "add_", "sub_", "squeeze_", "t"),
    }
)


Computed = ast.expr | ast.stmt


def computations(
    call: ast.Call, module: Module, steps: Sequence[TrainingStep]
) -> tuple[Computed, ...]:
    """Return the computations on a model's output before the loss takes it, in order."""
    computed: list[Computed] = []
    made = computed_after(call, module, steps)
    while made is not None and len(computed) < _MOST:
        computed.append(made)
        made = computed_after(made, module, steps) if isinstance(made, ast.Call) else None
    return tuple(computed)


def applied(
    machine: ModelMachine, output: Tensor, computed: Sequence[Computed], module: Module
) -> tuple[Tensor, bool]:
    """Return the value a loss takes, as part of the model, and whether it takes all labels as rows.

    Args:
        machine: with the model.
        output: of the model.
        computed: what is computed of it, see `computations`.
        module: of the computations.

    Raises:
        UnreadableError: it is not an operation of the tables.
    """
    for node in computed:
        if node is computed[-1] and joins_rows(node, module):
            return output, True
        output = _applied(machine, output, node, module)
    return output, False


def outputs_taken(
    machine: ModelMachine,
    returned: Any,
    call: ast.Call | None,
    taken: Sequence[ast.expr | int | str],
    module: Module,
) -> Tensor:
    """Return the outputs of a model that several losses take, as one value with all of them.

    Args:
        machine: with the model.
        returned: what the model returns.
        call: of the model; None where each loss is that of an output.
        taken: expressions, of which some are the same, or places and names of outputs.
        module: of the call.

    Raises:
        UnreadableError: one is no operation of the tables on an output.
    """
    if call is None:
        return machine.graph.apply("values", _outputs(machine, returned, taken), {})
    frame = Variables(module)
    statement = module.statement_of(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        for target in statement.targets:
            machine.assign(target, returned, frame)
        for later in _following(statement, module):
            _run(machine, later, frame)
    nodes = [node for node in taken if isinstance(node, ast.expr)]
    values = [machine.certain(node, frame) for node in nodes]
    for node, value in zip(nodes, values, strict=True):
        if not isinstance(value, Tensor) or value.is_turned:
            reason = f"the loss takes {module.text(node)[:60]}, not what the model returns"
            raise UnreadableError(reason, module.span(node))
    first: Tensor = values[0]
    if len(set(values)) == 1:
        return first
    return machine.graph.apply("values", values, {})


def _outputs(machine: ModelMachine, returned: Any, taken: Sequence[object]) -> list[Tensor]:
    """Return the outputs of a model at places or with names, which must be all that there are."""
    parts: dict[object, Any] = {}
    if isinstance(returned, list | tuple):
        parts = dict(enumerate(returned))
        if not all(isinstance(key, int) for key in taken):
            numbers = [getattr(part, "number", -1) for part in returned]
            parts = {machine.output_names.get(n): p for n, p in zip(numbers, returned, strict=True)}
    elif isinstance(returned, dict):
        parts = dict(returned)
    values = [parts.get(key) for key in taken]
    tensors = [value for value in values if isinstance(value, Tensor) and not value.is_turned]
    if len(tensors) < len(taken) or parts.keys() != set(taken):
        shown = ", ".join(str(key) for key in taken)
        raise UnreadableError(f"the outputs of the model are not those of the losses: {shown}")
    return tensors


def _run(machine: ModelMachine, statement: ast.stmt, frame: Variables) -> None:
    """Run a statement behind the model; what it changes is not known if it is no operation."""
    module = frame.module
    span, reason = module.span(statement), f"{module.text(statement)[:60]} is not carried"
    nodes = walk(statement)
    changed = [each for node in nodes for each in changes(node)]
    if isinstance(statement, ast.Assign):
        try:
            machine.run([statement], frame)
        except UnreadableError as error:
            span, reason = error.span or span, error.reason
        else:
            nodes = []
    for node in (*nodes, *changed):
        if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Store) or node in changed):
            frame.names[node.id] = Opaque(reason, span, is_changed=True)


def _applied(machine: ModelMachine, output: Tensor, node: Computed, module: Module) -> Tensor:
    try:
        value = _operation(machine, output, node, module)
    except UnreadableError:
        value = None
    if not isinstance(value, Tensor):
        reason = f"the loss takes {module.text(node)[:60]}, not what the model returns"
        raise UnreadableError(reason, module.span(node))
    return value


def _operation(machine: ModelMachine, output: Tensor, node: Computed, module: Module) -> object:
    """Return the value of an operation on an output; None for one that is not in the tables."""
    match node:
        case ast.Subscript():
            return part_of_tensor(machine, output, node, Variables(module))
        case ast.Call(func=function, args=args, keywords=keywords):
            frame = Variables(module)
            given = [machine.certain(argument, frame) for argument in args[1:]]
            named = {k.arg: machine.certain(k.value, frame) for k in keywords if k.arg}
            row = machine.tables.functions.get(canonical(module.call(node).name))
            if row is not None and row.inputs == 1 and args:
                return of_row(machine, row, [output, *given], named, module.span(node))
            if isinstance(function, ast.Attribute) and row is None:
                given = [machine.certain(argument, frame) for argument in args]
                return of_tensor(machine, output, function.attr, given, named, node, module)
    return None


def joins_rows(node: Computed, module: Module) -> bool:
    """Whether every label becomes a row: `outputs.view(-1, classes)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="view" | "reshape"), args=[ast.List() as shape]):
            sizes = shape.elts
        case ast.Call(func=ast.Attribute(attr="view" | "reshape"), args=[first, second]):
            named = is_of_framework(canonical(module.call(node).name))
            sizes = getattr(second, "elts", []) if named else [first, second]
        case _:
            return False
    return len(sizes) == 2 and module.text(sizes[0]) == "-1" and module.text(sizes[1]) != "-1"


def computed_after(
    call: ast.Call, module: Module, steps: Sequence[TrainingStep]
) -> ast.expr | ast.stmt | None:
    """Return the computation on a model's output before the loss takes it; None without one.

    Args:
        call: of the model.
        module: of the call.
        steps: training steps, whose backward passes show the loss.
    """
    around = _computation(call, module)
    if around is not None:
        return around
    statement = module.statement_of(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return None
    match statement.targets:
        case [ast.Name(id=output)]:
            results = _returned(call, module, steps)
            names = {name for result in results for name in names_in(result)}
            return _between(output, statement, module, _differentiated(steps) | names, results)
    return None


def _returned(
    call: ast.Call, module: Module, steps: Sequence[TrainingStep]
) -> tuple[ast.expr, ...]:
    """Return the first results of the function around a call: the loss, if it makes no step."""
    function = module.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)
    scope = module.scopes.get(function) if function is not None else None
    inside = set(walk(function)) if function is not None else set()
    if scope is None or any(e.node in inside for step in steps for e in step.of("backward")):
        return ()
    firsts = (_first(node.value) for node in scope.returns if node.value is not None)
    return tuple(value for value in firsts if not isinstance(value, ast.Dict))


def _first(value: ast.expr | None) -> ast.expr:
    """Return the first of several results, or the only one."""
    if isinstance(value, ast.Tuple) and value.elts:
        return value.elts[0]
    return value or ast.Constant(value=None)


def _differentiated(steps: Sequence[TrainingStep]) -> set[str]:
    """Return the names in the backward passes."""
    events = [event for step in steps for event in step.of("backward")]
    return {name for event in events for name in names_in(event.node)}


def _between(
    output: str,
    made: ast.Assign,
    module: Module,
    losses: set[str],
    results: Sequence[ast.expr],
) -> ast.expr | ast.stmt | None:
    """Return the first computation of an output that a loss takes under a name.

    Args:
        output: the name that holds what the model returns.
        made: the statement that assigns it.
        module: of the statement.
        losses: names that a backward pass or a result is computed of.
        results: what the function around returns, if that is the loss.
    """
    plain, computed = {output}, dict[str, ast.expr | ast.stmt]()
    for statement in _following(made, module):
        match statement:
            case ast.AugAssign(target=ast.Name(id=name)) if name in plain:
                computed[name] = statement
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                computation = _of_names(value, module, plain, computed)
                if name in losses and computation is not None:
                    return computation
                if isinstance(value, ast.Name) and value.id in plain:
                    plain.add(name)
                elif computation is not None:
                    computed[name] = computation
                elif name in plain:
                    return None  # it is something else from here on
            case ast.Return(value=value) if _first(value) in results:
                return _of_names(_first(value), module, plain, computed)
            case ast.Expr(value=value):
                computation = _of_names(value, module, set(), computed)
                if computation is not None and names_in(value) & losses:
                    return computation
    return None


def _following(made: ast.stmt, module: Module) -> Iterator[ast.stmt]:
    """Yield the statements after one in its block, with those in `with` blocks."""
    parent = module.parent(made)
    for name in ("body", "orelse"):
        block = getattr(parent, name, [])
        if isinstance(block, list) and made in block:
            for statement in block[block.index(made) + 1 :]:
                yield from statement.body if isinstance(statement, ast.With) else (statement,)
    if isinstance(parent, ast.With):
        yield from _following(parent, module)


def _of_names(
    value: ast.expr,
    module: Module,
    plain: set[str],
    computed: dict[str, ast.expr | ast.stmt],
) -> ast.expr | ast.stmt | None:
    """Return the computation of an output in a value, or that behind a name in it."""
    for node in walk(value):
        if isinstance(node, ast.Name) and node.id in computed and not _measured(node, module):
            return computed[node.id]
        if isinstance(node, ast.Name) and node.id in plain:
            computation = _computation(node, module)
            if computation is not None:
                return computation
    return None


def _measured(node: ast.Name, module: Module) -> bool:
    """Whether only an attribute of a value is read that is no computation: `outputs.shape`."""
    parent = module.parent(node)
    return isinstance(parent, ast.Attribute) and not isinstance(module.parent(parent), ast.Call)


def _computation(node: ast.expr, module: Module) -> ast.expr | None:
    """Return the operator, function or method that takes a value, if it changes it."""
    around = module.parent(node)
    match around:
        case ast.BinOp() | ast.UnaryOp():
            return around
        case ast.Subscript(value=value) if value is node:
            return around
        case ast.Attribute(attr=method) if method in _METHODS:
            called = module.parent(around)
            return called if isinstance(called, ast.Call) and called.func is around else None
        case ast.Call() if node in around.args:
            call = module.call(around)
            name = canonical(call.name)
            plain = loss_of_call(call) is None and "loss" not in name and "entropy" not in name
            package, _, word = name.rpartition(".")
            if plain and package in _function_packages() and word not in _SAME:
                return around
    return None


def _function_packages() -> frozenset[str]:
    """Return the packages whose functions compute something of an output, in any framework."""
    readings = [tables.reading for tables in model_tables().values()]
    return frozenset[str]().union(*(each.function_packages for each in readings if each))
