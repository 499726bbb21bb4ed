"""Data sets that are arrays and what is done to them: `from_tensor_slices((x, y)).batch(32)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast.emit.render import py_literal
from crosscast_migrate.array_rows import SIGNS, Columns, array_text, cast_of, columns_of
from crosscast_migrate.changed_values import only_source
from crosscast_migrate.copied_code import ForeignError
from crosscast_migrate.models.installed import scripts
from crosscast_migrate.models.uses import functions_of
from crosscast_reading.pysource.names.containers import chase, ends_of
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import is_number
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_migrate.models.tables import PipelineReading
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

_DEEPEST = 16
SEVERAL = "the rows are one of several data sets"
_PARTIAL = (
    "{text} draws from a part of the rows at a time; the new script draws from all of them, unless "
    "the part is as large"
)
_OVER = (
    "{text} stands before the batches, of which one reaches over the end of an epoch: those of "
    "the new script do not"
)
_KEPT = "{text} has the same order in every epoch; the new script has another in each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Arrays, and what is done to their rows."""

    columns: Columns = ()
    parts: int = 0
    """Values of a row, of which one may be several arrays."""
    maps: tuple[tuple[Function | ast.Lambda, Module], ...] = ()
    """Functions that every row goes through."""
    buffer: ast.expr | None = None
    """Of how many rows the next is drawn; None if they are not shuffled."""
    is_batched: bool = False
    repeats: str = ""
    """Text of what repeats the rows before they are batched."""
    notes: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()

    def texts(self) -> list[tuple[str, str]]:
        """Return the arrays as expressions of NumPy, each with its name, which may be empty.

        Raises:
            ForeignError: one, or what is done to it, needs more than NumPy.
        """
        texts = [array_text(each.node, each.module) for each in self.columns]
        for function, module in self.maps:
            texts = _mapped(function, module, texts)
        return [(column.key, text) for column, text in zip(self.columns, texts, strict=True)]


def pipeline_of(node: ast.expr, module: Module) -> Pipeline | None:
    """Return the pipeline of arrays that an expression is; None for anything else.

    Raises:
        ForeignError: something is done to the rows that the new script cannot do.
    """
    readings = [script.pipelines for script in scripts() if script.pipelines is not None]
    pipelines = (_read(node, module, reading, _DEEPEST) for reading in readings)
    return next((pipeline for pipeline in pipelines if pipeline is not None), None)


def _read(node: ast.expr, module: Module, reading: PipelineReading, depth: int) -> Pipeline | None:
    made = [(n, m) for n, m in chase(node, module) if isinstance(n, ast.Call)]
    pipelines = []
    for expression, where in made if depth else ():
        call = where.call(expression)
        if canonical(call.name) in reading.begins or {*map(canonical, call.names)} & reading.begins:
            pipelines.append(_begun(call))
        elif isinstance(expression.func, ast.Attribute):
            inner = _read(expression.func.value, where, reading, depth - 1)
            if inner is not None:
                pipelines.append(_after(inner, call, reading))
    if len(pipelines) > 1 or (pipelines and len(ends_of(node, module)) > 1):
        raise ForeignError(SEVERAL, module.span(node))
    return pipelines[0] if pipelines else None


def _begun(call: Call) -> Pipeline:
    if len(call.node.args) != 1 or call.node.keywords:
        raise ForeignError(f"the rows need {call.module.text(call.node)[:60]}")
    given, where = call.node.args[0], call.module
    source = only_source(given, where)
    if source is not None and isinstance(source[0], ast.Tuple):
        given, where = source
    parts = len(given.elts) if isinstance(given, ast.Tuple) else 1
    return Pipeline(columns=columns_of(given, where), parts=parts)


def _after(inner: Pipeline, call: Call, reading: PipelineReading) -> Pipeline:
    """Return a pipeline with what a method of it does."""
    word, text = call.method, call.module.text(call.node.func).rpartition(".")[2]
    first = next(iter(call.node.args), None)
    named = {keyword.arg: keyword.value for keyword in call.node.keywords}
    shown = f"{text}({', '.join(call.module.text(each) for each in call.node.args)})"[:60]
    if word in reading.same:
        return inner
    if word == reading.stores:
        kept = [_KEPT.format(text=f"shuffle before {shown}")] if inner.buffer is not None else []
        return replace(inner, undone=(*inner.undone, *kept))
    if word == reading.batches and not inner.is_batched:
        undone = [_OVER.format(text=inner.repeats)] if inner.repeats else []
        return replace(inner, is_batched=True, undone=(*inner.undone, *undone))
    if word == reading.shuffles and not inner.is_batched:
        buffer = first if first is not None else named.get(reading.buffer)
        if buffer is None or inner.repeats:
            before = f"{inner.repeats} before " if inner.repeats else ""
            raise ForeignError(f"the rows need {before}{shown}", call.module.span(call.node))
        whole = _counts_rows(buffer, call.module, inner)
        notes = [] if whole else [_PARTIAL.format(text=shown)]
        again = named.get(reading.reshuffles)
        value = evaluate(again, call.module) if again is not None else Known(value=True)
        undone = [] if isinstance(value, Known) and value.value else [_KEPT.format(text=shown)]
        return replace(
            inner,
            buffer=buffer,
            notes=(*inner.notes, *notes),
            undone=(*inner.undone, *undone),
        )
    if word == reading.repeats:
        return inner if inner.is_batched else replace(inner, repeats=shown)
    if word == reading.maps and first is not None:
        functions = [*dict.fromkeys(functions_of(call.module.program, first, call.module))]
        if len(functions) == 1 and len(inner.columns) == inner.parts:
            return replace(inner, maps=(*inner.maps, functions[0]))
    raise ForeignError(f"the rows need {shown}", call.module.span(call.node))


def _counts_rows(node: ast.expr, module: Module, pipeline: Pipeline) -> bool:
    """Whether a number is that of the rows: `len(x)` or `x.shape[0]` of one of the arrays."""
    names = {column.module.text(column.node) for column in pipeline.columns}
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[array]):
            return module.text(array) in names
        case ast.Subscript(value=ast.Attribute(value=array, attr="shape"), slice=ast.Constant(0)):
            return module.text(array) in names
        case ast.Name():
            values = [each for each in chase(node, module) if each[0] is not node]
            return len(values) == 1 and _counts_rows(*values[0], pipeline)
    return False


def _mapped(function: Function | ast.Lambda, module: Module, texts: list[str]) -> list[str]:
    """Return the arrays of rows after a function, which computes every number alike."""
    args = function.args
    names = [each.arg for each in (*args.posonlyargs, *args.args)]
    plain = not (args.vararg or args.kwarg or args.kwonlyargs or args.defaults)
    if not plain or len(names) != len(texts):
        raise _foreign(function, module)
    known = dict(zip(names, texts, strict=True))
    body = function.body if isinstance(function.body, list) else [ast.Return(value=function.body)]
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known[name] = _numbers(value, module, known)
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Return(value=ast.expr() as value) if statement is body[-1]:
                parts = value.elts if isinstance(value, ast.Tuple) else [value]
                if len(parts) == len(texts):
                    return [_numbers(part, module, known) for part in parts]
            case _:
                break
    raise _foreign(function, module)


def _numbers(node: ast.expr, module: Module, known: Mapping[str, str]) -> str:
    """Return an expression that computes every number of an array alike."""
    match node:
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SIGNS:
            sides = [_number(left, module), _number(right, module)]
            if sides.count("") == 1:
                first, second = (
                    number or _numbers(side, module, known)
                    for number, side in zip(sides, (left, right), strict=True)
                )
                return f"({first} {SIGNS[type(operator)]} {second})"
        case ast.Call():
            cast = cast_of(node, module)
            if cast is not None:
                return f"np.asarray({_numbers(cast[0], module, known)}, {cast[1]})"
    raise _foreign(node, module)


def _number(node: ast.expr, module: Module) -> str:
    """Return a number as text; empty for anything else."""
    value = evaluate(node, module)
    return py_literal(value.value) if isinstance(value, Known) and is_number(value.value) else ""


def _foreign(node: ast.AST, module: Module) -> ForeignError:
    return ForeignError(f"the rows need {module.text(node)[:60]}", module.span(node))
