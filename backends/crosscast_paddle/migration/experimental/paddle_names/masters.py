"""Half precision by hand in static programs: float32 copies of half weights become static amp.

The form, of LARK and ERNIE in 2019: the network is built in "float16" if a flag is set, the loss is
multiplied by a scale, and in place of `optimizer.minimize(loss)` the program makes float32 copies
of the weights and of their gradients, applies the gradients to them and casts them back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError, drop_lines
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.layout import has_long_text, indent_of
from crosscast_reading.edits.node_edits import column_at, insert, replace_node
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program

MAKE = "create_master_params_grads"
_HALF = {"float16", "float32"}


@dataclass(frozen=True, slots=True)
class Masters:
    """The two branches of a program: copies by hand, and plain `minimize`."""

    module: Module
    branch: ast.If
    optimizer: str
    scale: ast.expr
    """The scale of the loss: a number, or a variable of the graph."""
    start: ast.expr | None
    """The first scale, if `scale` is a variable of the graph."""
    dynamic: tuple[str, ...]
    """Texts of condition, steps and ratios of a scale that changes; empty for a constant one."""

    @property
    def scales_here(self) -> bool:
        """Whether the loss is multiplied by the scale in the branch."""
        scale = self.module.text(self.scale)
        return any(_scales(self.module, statement, scale) for statement in self.branch.body)


def masters_of(module: Module, node: ast.Call) -> Masters:
    """Return the branches around a call that makes the copies.

    Raises:
        CannotError: the form is another one.
    """
    branch = next(
        (part for part in _branches(module, node) if _minimized(module, part.orelse)), None
    )
    if branch is None:
        raise CannotError(node, "there is no plain minimize(loss) in an else branch beside it")
    if len(node.args) != 4 or node.keywords:
        raise CannotError(node, "it has other arguments than a constant scale")
    made = {f"{module.text(c.func)}" for c in _calls(branch.body) if _is(c, "backward")}
    plain = _minimized(module, branch.orelse)
    optimizers = {text.rpartition(".")[0] for text in made} | {plain.rpartition(".")[0]}
    if len(optimizers) != 1 or len(made) != 1:
        raise CannotError(node, "the two branches do not use the same optimizer")
    scale = node.args[3]
    dynamic = _dynamic(module, branch)
    start = _start(module, branch, scale)
    if dynamic and start is None:
        raise CannotError(node, "the first scale of the loss is not visible")
    return Masters(module, branch, optimizers.pop(), scale, start, dynamic)


def _dynamic(module: Module, branch: ast.If) -> tuple[str, ...]:
    """Return condition and settings of a scale that changes in the program."""
    for call in _calls(branch.body):
        if _is(call, "apply_dynamic_loss_scaling"):
            around = module.enclosing(call, ast.If)
            if len(call.args) != 6 or call.keywords or around is None:
                raise CannotError(call, "the scale of the loss changes in another way")
            test = "True" if around is branch else module.text(around.test)
            return (test, *map(module.text, call.args[2:]))
    return ()


def _start(module: Module, branch: ast.If, scale: ast.expr) -> ast.expr | None:
    """Return the value with which the variable of a scale was created in the function."""
    function = module.function_of(branch)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            same = [module.text(target) for target in node.targets] == [module.text(scale)]
            if same and _is(node.value, "create_global_var"):
                return next((k.value for k in node.value.keywords if k.arg == "value"), None)
    return None


def _branches(module: Module, node: ast.AST) -> Iterator[ast.If]:
    here = module.enclosing(node, ast.If)
    while here is not None:
        yield here
        here = module.enclosing(here, ast.If)


def _calls(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                yield node


def _is(call: ast.Call, name: str) -> bool:
    function = call.func
    found = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return bool(found == name)


def _minimized(module: Module, body: Sequence[ast.stmt]) -> str:
    found = {module.text(call.func) for call in _calls(body) if _is(call, "minimize")}
    return found.pop() if len(found) == 1 else ""


def decorated(masters: Masters) -> list[Edit]:
    """Return the edits that put a decorated optimizer in the place of the copies."""
    module, branch = masters.module, masters.branch
    first, last = branch.orelse[0], branch.orelse[-1]
    begin, end = branch.body[0], last.end_lineno or last.lineno
    unit = first.col_offset - branch.col_offset
    if begin.lineno == branch.lineno or has_long_text(module, first.lineno, end) or unit <= 0:
        raise CannotError(branch, "its lines cannot be indented anew")
    decorate = f"\n{indent_of(module, begin)}".join(_lines(masters))
    row = next(n for n in range(first.lineno - 1, 0, -1) if module.lines[n - 1].strip() == "else:")
    edits = [
        Edit(
            file=module.source.name,
            line=begin.lineno,
            column=column_at(module, begin.lineno, begin.col_offset),
            end_line=row,
            end_column=len(module.lines[row - 1]) + 1,
            text=decorate,
        )
    ]
    for number in range(row + 1, end + 1):
        if module.lines[number - 1].strip():
            edits.append(
                Edit(
                    file=module.source.name,
                    line=number,
                    column=1,
                    end_line=number,
                    end_column=unit + 1,
                    text="",
                )
            )
    if masters.start is not None:
        outer = indent_of(module, branch)
        after = (
            f"\n{outer}if {module.text(branch.test)}:\n{indent_of(module, begin)}"
            f"{module.text(masters.scale)} = {masters.optimizer}.get_loss_scaling()"
        )
        edits.append(insert(module, end, len(module.lines[end - 1]) + 1, after))
    return edits


def _lines(masters: Masters) -> list[str]:
    """Return the statement that decorates the optimizer."""
    test, *settings = masters.dynamic or ("False",)
    names = ("incr_every_n_steps", "decr_every_n_nan_or_inf", "incr_ratio", "decr_ratio")
    start = masters.module.text(masters.start or masters.scale)
    given = (
        masters.optimizer,
        'level="O1"',
        'dtype="float16"',
        f"init_loss_scaling={start}",
        f"use_dynamic_loss_scaling={test}",
        *(f"{name}={value}" for name, value in zip(names, settings, strict=False)),
    )
    return [
        f"{masters.optimizer} = paddle.static.amp.decorate(",
        *(f"    {argument}," for argument in given),
        ")",
    ]


def float32_everywhere(program: Program, scale: str, *, scaled: bool) -> dict[str, list[Edit]]:
    """Return file to the edits that leave half precision and the scale to the optimizer.

    Args:
        program: the program.
        scale: the text of the scale.
        scaled: whether the place that scales the loss is already known.

    Raises:
        CannotError: the scale of the loss is not found.
    """
    found: dict[str, list[Edit]] = {}
    casts = _casts(program)
    for module in program.modules:
        edits = found.setdefault(module.source.name, [])
        for choice in module.every(ast.IfExp):
            values = {getattr(part, "value", None) for part in (choice.body, choice.orelse)}
            if values == _HALF and "fp16" in module.text(choice.test):
                edits.append(replace_node(module, choice, '"float32"'))
        for branch in module.every(ast.If):
            if branch.orelse or len(branch.body) != 1 or "fp16" not in module.text(branch.test):
                continue
            only = branch.body[0]
            if _scales(module, only, scale):
                scaled = True
                edits.append(drop_lines(module, branch))
            elif any(_is(call, name) for call in _alone(only) for name in casts):
                edits.append(_gone(module, branch))
    if not scaled:
        raise CannotError(program.modules[0].tree.body[0], "the scaled loss was not found")
    return {name: edits for name, edits in found.items() if edits}


def _alone(statement: ast.stmt) -> list[ast.Call]:
    """Return the call that a statement is."""
    whole = statement.value if isinstance(statement, ast.Expr) else None
    return [whole] if isinstance(whole, ast.Call) else []


def _gone(module: Module, branch: ast.If) -> Edit:
    function = module.function_of(branch)
    if function is not None and function.body == [branch]:
        return replace_node(module, branch, "pass")
    try:
        return drop_lines(module, branch)
    except CannotError:
        return replace_node(module, branch, "pass")


def _scales(module: Module, statement: ast.stmt, scale: str) -> bool:
    """Whether a statement multiplies a loss by the scale: `loss *= s`, `loss = loss * s`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Mult):
        target: ast.expr = statement.target
        value = statement.value
    elif (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.BinOp)
        and isinstance(statement.value.op, ast.Mult)
        and module.text(statement.value.left) == module.text(statement.targets[0])
    ):
        target, value = statement.value.left, statement.value.right
    else:
        return False
    same = module.text(value).rpartition(".")[2] == scale.rpartition(".")[2]
    return same and "loss" in module.text(target)


def _casts(program: Program) -> set[str]:
    """Return the functions that overwrite the weights with half-precision numbers."""
    return {
        function.name
        for module in program.modules
        for function in module.functions.values()
        if any(_is(call, "view") for call in _calls(function.body))
        and any(_is(call, "float16") for call in _calls(function.body))
    }
