"""The parts of a static program with a decorated optimizer.

In Paddle 3 `paddle.static.amp.decorate` casts nothing and scales nothing by itself (3.0.0, 3.3.1):
the network must be built under `auto_cast`, and a `GradScaler` minimizes. The migration requires
data, network, loss, optimizer and `minimize` in one block.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crosscast_migrate.conditions import as_bool
from crosscast_paddle.migration.experimental.paddle_fluid import CannotError, is_bound
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, insert_before, replace_node
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk

_DATA = ("paddle.static.data", "paddle.static.InputSpec", "paddle.fluid.data")
_PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
_HARMLESS = ("get_loss_scaling", "get_scaled_loss", "amp_init")


@dataclass(frozen=True, slots=True)
class Graph:
    """The parts of a static program, statements of one block in this order."""

    network: Sequence[ast.stmt]
    """Statements from the first data to the loss."""
    loss: ast.Name
    """The argument of `minimize`."""
    decorated: ast.Assign
    test: ast.If | None
    """Condition of `decorate`, known before the network is built."""
    minimize: ast.Call
    optimizer: str
    """Name of the decorated optimizer."""
    scaler: str
    """An unused name for the scaler."""
    block: Sequence[ast.stmt]
    """The common block."""

    @property
    def anchor(self) -> ast.stmt:
        """The statement of the block that contains `decorate`."""
        return self.test or self.decorated

    def only_assignment(self, module: Module, name: ast.Name) -> ast.Assign:
        """Return the assignment in the block of a name assigned and used once."""
        uses = [node for node in module.every(ast.Name) if node.id == name.id]
        before = [
            *self.block[: self.block.index(self.anchor)],
            *(self.test.body if self.test else ()),
        ]
        for statement in before:
            if (
                isinstance(statement, ast.Assign)
                and statement not in self.network
                and len(uses) == 2
                and len(statement.targets) == 1
                and statement.targets[0] in uses
            ):
                return statement
        raise CannotError(name, f"{name.id} is created elsewhere, or has other uses")


def graph_of(module: Module, decorate: ast.Call) -> Graph:
    """Return the program around a `decorate`; raise `CannotError` unless it is in one block."""
    decorated = module.parent(decorate)
    if (
        not isinstance(decorated, ast.Assign)
        or len(decorated.targets) != 1
        or not isinstance(decorated.targets[0], ast.Name)
    ):
        raise CannotError(decorate, "its result is not assigned to a separate name")
    optimizer = decorated.targets[0].id
    test = _test_of(module, decorated)
    anchor = test or decorated
    block = _block_of(module, anchor)
    minimize, at = _minimize(module, block, decorated, optimizer)
    if len(minimize.args) != 1 or minimize.keywords or not isinstance(minimize.args[0], ast.Name):
        raise CannotError(minimize, "minimize has other arguments than a name for the loss")
    loss = minimize.args[0]
    before = block[: block.index(anchor)]
    network = _network(module, before, loss.id, decorate)
    if test is not None:
        _known_before(module, test, network[0])
        _in_two(module, decorate, minimize, optimizer)
    for statement in block[block.index(network[-1]) + 1 : at]:
        if any(isinstance(node, ast.Name) and node.id == loss.id for node in _stored(statement)):
            raise CannotError(statement, f"{loss.id} is changed before minimize")
    _one_program(module)
    names = [name for name in ("scaler", "loss_scaler") if not is_bound(module, name)]
    if not names:
        raise CannotError(decorate, "there are already scalers")
    return Graph(network, loss, decorated, test, minimize, optimizer, names[0], block)


def _test_of(module: Module, decorated: ast.Assign) -> ast.If | None:
    """Return the `if` statement around `decorate`, if its body consists of assignments only."""
    around = module.parent(decorated)
    if not isinstance(around, ast.If) or around.orelse or around.body[-1] is not decorated:
        return None
    plain = all(
        isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        for statement in around.body
    )
    return around if plain else None


def _known_before(module: Module, test: ast.If, first: ast.stmt) -> None:
    """Raise `CannotError` unless a condition has the same value where the network begins."""
    for part in walk(test.test):
        if not isinstance(part, _PLAIN):
            raise CannotError(test, "it is under a computed condition")
        if isinstance(part, ast.Attribute | ast.Subscript):
            text = module.text(part)
            members: list[ast.Attribute | ast.Subscript] = [
                *module.every(ast.Attribute),
                *module.every(ast.Subscript),
            ]
            stored = any(
                isinstance(node.ctx, ast.Store | ast.Del) and module.text(node) == text
                for node in members
            )
            if stored:
                raise CannotError(test, f"its condition {text} is changed")
        if isinstance(part, ast.Name):
            here = list(bindings_of(part.id, part, module))
            home = module.scope_of(first)
            late = any(
                binding.scope is home
                and binding.kind != "parameter"
                and getattr(binding.node, "lineno", 0) >= first.lineno
                for binding in (*here, *bindings_of(part.id, first, module))
            )
            if not here or late:
                raise CannotError(
                    test,
                    f"its condition {part.id} is not known before the network",
                )


def _in_two(module: Module, decorate: ast.Call, minimize: ast.Call, optimizer: str) -> None:
    """Check that `minimize` can be duplicated for both values of the condition."""
    given = [*decorate.args[:1], *(k.value for k in decorate.keywords if k.arg == "optimizer")]
    if not given or module.text(given[0]) != optimizer:
        raise CannotError(decorate, "it is under a condition and its result has a separate name")
    statement = module.statement_of(minimize)
    if not isinstance(statement, ast.Expr | ast.Assign) or statement.value is not minimize:
        raise CannotError(minimize, "minimize is part of another expression")
    if statement.lineno != statement.end_lineno:
        raise CannotError(minimize, "minimize spans several lines")


def minimized(module: Module, graph: Graph) -> list[Edit]:
    """Return the edits that call the scaler's `minimize` if the optimizer is decorated."""
    member = graph.minimize.func
    assert isinstance(member, ast.Attribute)
    given = f"{graph.optimizer}, {graph.scaler}.scale({graph.loss.id})"
    if graph.test is None:
        return [
            replace_node(module, member.value, graph.scaler),
            replace_node(module, graph.loss, given),
        ]
    statement = module.statement_of(graph.minimize)
    assert isinstance(statement, ast.Expr | ast.Assign)
    plain = module.text(statement)
    head = plain.removesuffix(module.text(graph.minimize))
    indent = " " * statement.col_offset
    lines = (
        f"if {module.text(graph.test.test)}:",
        f"    {head}{graph.scaler}.minimize({given})",
        "else:",
        f"    {plain}",
    )
    return [replace_node(module, statement, f"\n{indent}".join(lines))]


def _block_of(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    parent = module.parent(statement)
    body = getattr(parent, "body", [])
    if not isinstance(parent, ast.Module | ast.FunctionDef | ast.With) or statement not in body:
        raise CannotError(statement, "it is under a condition or in a loop")
    found: list[ast.stmt] = body
    return found


def _minimize(
    module: Module, block: list[ast.stmt], decorated: ast.stmt, optimizer: str
) -> tuple[ast.Call, int]:
    """Return the only `minimize` of the optimizer, and the index of its statement."""
    found: list[tuple[ast.Call, int]] = []
    for node in module.every(ast.Name):
        if node.id != optimizer or not _after(node, decorated):
            continue
        member = module.parent(node)
        call = module.parent(member) if isinstance(member, ast.Attribute) else None
        if not isinstance(call, ast.Call) or call.func is not member:
            raise CannotError(node, f"{optimizer} is passed on")
        assert isinstance(member, ast.Attribute)
        statement = module.statement_of(call)
        if member.attr == "minimize" and statement in block:
            assert statement is not None
            found.append((call, block.index(statement)))
        elif member.attr == "minimize":
            raise CannotError(
                call, f"{optimizer}.minimize is not called exactly once in the same block"
            )
        elif member.attr not in _HARMLESS or len(call.args) > 1 or call.keywords:
            raise CannotError(call, f"{optimizer}.{member.attr} behaves differently in Paddle 3")
    if len(found) != 1:
        raise CannotError(
            decorated, f"{optimizer}.minimize is not called exactly once in the same block"
        )
    return found[0]


def _network(
    module: Module, before: list[ast.stmt], loss: str, decorate: ast.Call
) -> Sequence[ast.stmt]:
    """Return the statements from the first data to the loss."""
    data = [call.node for call in module.calls if call.name in _DATA]
    first = next((n for n, statement in enumerate(before) if _contains(statement, data)), None)
    made = [
        n for n, statement in enumerate(before) if any(x.id == loss for x in _stored(statement))
    ]
    if first is None or not made or made[-1] < first:
        raise CannotError(decorate, "data, network and loss are not created in the same block")
    last = made[-1]
    inside = [
        statement
        for statement in data
        if any(_contains(s, [statement]) for s in before[first : last + 1])
    ]
    if len(inside) < len(data):
        raise CannotError(decorate, "there is data for other programs")
    if not isinstance(before[last], ast.Assign):
        raise CannotError(before[last], f"{loss} is not created by an assignment")
    return before[first : last + 1]


def _one_program(module: Module) -> None:
    for call in module.calls:
        if call.method == "clone":
            raise CannotError(
                call.node, "a program is cloned, and in Paddle 3 the clone also computes in half"
            )


def _contains(statement: ast.stmt, nodes: Sequence[ast.AST]) -> bool:
    wanted = {id(node) for node in nodes}
    return any(id(node) in wanted for node in walk(statement))


def _stored(statement: ast.stmt) -> list[ast.Name]:
    return [
        node
        for node in walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _after(node: ast.Name, statement: ast.stmt) -> bool:
    end = (statement.end_lineno or 0, statement.end_col_offset or 0)
    return (node.lineno, node.col_offset) >= end


def decorated_plainly(module: Module, node: ast.Call, optimizer: str) -> Edit:
    """Return the edit that reduces `decorate` to the optimizer with explicit old defaults."""
    assert node.func.end_lineno is not None
    assert node.func.end_col_offset is not None
    whole = replace_node(
        module, node, f'({optimizer}, level="O1", dtype="float16", master_weight=False)'
    )
    column = column_at(module, node.func.end_lineno, node.func.end_col_offset)
    return replace(whole, line=node.func.end_lineno, column=column)


def put_under(module: Module, graph: Graph, lists: str) -> list[Edit]:
    """Return the edits that wrap the network in auto_cast."""
    first, last = graph.network[0], graph.network[-1]
    indent = " " * first.col_offset
    enable = f"{as_bool(graph.test.test, module)}, " if graph.test is not None else ""
    given = f'{enable}{lists}level="O1", dtype="float16"'
    head = f"with {name_of_paddle(module)}.amp.auto_cast({given}):"
    edits = [insert_before(module, first, f"{head}\n{indent}    ")]
    for line in range(first.lineno + 1, (last.end_lineno or last.lineno) + 1):
        if module.lines[line - 1].strip():
            edits.append(insert(module, line, 1, "    "))
    return edits


def can_be_indented(module: Module, graph: Graph) -> bool:
    """Whether the network can be indented: spaces, one statement per line, one-line strings."""
    first, last = graph.network[0], graph.network[-1]
    rows = module.lines[first.lineno - 1 : last.end_lineno]
    if any("\t" in row or row.rstrip().endswith("\\") for row in rows):
        return False
    if rows[0][: first.col_offset].strip() or '"""' in "".join(rows) or "'''" in "".join(rows):
        return False
    rest = rows[-1][last.end_col_offset or 0 :].strip()
    decorated = module.lines[(graph.decorated.end_lineno or 1) - 1]
    after = decorated[graph.decorated.end_col_offset or 0 :].strip()
    return all(not line or line.startswith("#") for line in (rest, after))


def name_of_paddle(module: Module) -> str:
    """Return the name of paddle in a module."""
    for statement in module.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "paddle":
                    return alias.asname or "paddle"
    raise CannotError(module.tree.body[0], "there is no import of paddle at module level")
