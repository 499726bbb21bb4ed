"""Reads the forward pass of a model, statement by statement, and what it keeps in which type."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.precision_words import MixedPrecision
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import dotted_text, keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.tensors.expressions import tensor_of
from crosscast_reading.trainstep.tensors.layers import Layer, elements, layers_of
from crosscast_reading.trainstep.tensors.scope import ForwardScope, Reader
from crosscast_reading.trainstep.tensors.tensor import NOTHING, Tensor, agreed

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_DEPTH = 14
_MOST_CALLS = 1500
"""Runs of functions in one program, each of which is read once for every kind of arguments."""


class Forward(Reader):
    """Reads the forward passes of one program."""

    def __init__(self, program: Program, table: MixedPrecision) -> None:
        super().__init__(program, table)
        self._known: dict[object, Tensor] = {}
        self._running: list[object] = []

    def call(
        self,
        module: Module,
        function: Function,
        given: Sequence[Tensor],
        named: dict[str, Tensor],
        half: bool,
    ) -> Tensor:
        """Return the result of a function; nothing for one that calls itself."""
        key = (function, tuple(given), tuple(sorted(named.items(), key=_name)), half)
        if key in self._known:
            return self._known[key]
        if function in self._running or len(self._running) > _DEPTH:
            return NOTHING
        if len(self._known) >= _MOST_CALLS:
            return NOTHING
        self._running.append(function)
        half = self._decorated(function, module, half)
        scope = ForwardScope(module, half, tensors=_bound(function, module, given, named))
        self._block(function.body, scope)
        self._running.pop()
        returned = scope.returned[0] if scope.returned else NOTHING
        for other in scope.returned[1:]:
            returned = agreed(returned, other)
        kept = [mark for each in scope.returned for mark in each.marked("weights")]
        self.findings.given_away.update(mark.place for mark in kept)
        self._known[key] = returned
        return returned

    def _decorated(self, function: Function, module: Module, half: bool) -> bool:
        for decorator in function.decorator_list:
            half = self._within(decorator, module, half)
        return half

    def _within(self, entered: ast.expr, module: Module, half: bool) -> bool:
        """Return whether mixed precision is on within a context."""
        node = entered.func if isinstance(entered, ast.Call) else entered
        names = [name for name in module.resolve_all(node) if name]
        if not any(re.fullmatch(self.table.regions, name) for name in names):
            return half
        switch = None
        if isinstance(entered, ast.Call):
            bound = module.call(entered).bound()
            switch = bound.get("enabled", bound.get("enable", keyword(entered, "enabled")))
        if switch is None:
            return True
        match evaluate(switch, module.owner_of(switch)):
            case Known(value=bool(value)):
                return value
        return False

    # ---- statements

    def _block(self, statements: Sequence[ast.stmt], scope: ForwardScope) -> None:
        for statement in statements:
            if scope.ended:
                return
            self._statement(statement, scope)

    def _statement(self, statement: ast.stmt, scope: ForwardScope) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                tensor = tensor_of(value, scope, self)
                for target in targets:
                    self._assign(target, tensor, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, tensor_of(value, scope, self), scope)
            case ast.AugAssign(target=target, value=value):
                self._augment(statement, target, value, scope)
            case ast.Return(value=value):
                scope.returned.append(tensor_of(value, scope, self))
                scope.ended = True
            case ast.Raise() | ast.Continue() | ast.Break():
                scope.ended = True
            case ast.Expr(value=value):
                tensor_of(value, scope, self)
            case ast.If(test=test, body=body, orelse=other):
                self._branches(test, body, other, scope)
            case ast.For(target=target, iter=over, body=body):
                self._loop(target, over, body, scope)
            case ast.While(body=body):
                self._loop(None, None, body, scope)
            case ast.With(items=items, body=body):
                before = scope.half
                for item in items:
                    scope.half = self._within(item.context_expr, scope.module, scope.half)
                self._block(body, scope)
                scope.half = before
            case ast.Try(body=body, orelse=other, finalbody=last):
                self._block([*body, *other, *last], scope)

    def _assign(self, target: ast.expr, tensor: Tensor, scope: ForwardScope) -> None:
        match target:
            case ast.Name() | ast.Attribute():
                name = dotted_text(target)
                scope.tensors[name] = tensor
                scope.layers.pop(name, None)
                if isinstance(target, ast.Attribute):
                    self.findings.given_away.update(m.place for m in tensor.marked("weights"))
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for number, item in enumerate(items):
                    whole = len(tensor.parts) == len(items)
                    self._assign(item, tensor.parts[number] if whole else tensor.whole, scope)

    def _augment(
        self, statement: ast.AugAssign, target: ast.expr, value: ast.expr, scope: ForwardScope
    ) -> None:
        """`x += y` changes `x` in place, which keeps its type."""
        sides = ast.BinOp(left=_read(target), op=statement.op, right=value)
        ast.copy_location(sides, statement)
        before = tensor_of(sides.left, scope, self)
        after = tensor_of(sides, scope, self)
        kept = {(mark.cause, mark.place) for mark in before.marks}
        marks = frozenset(mark for mark in after.marks if (mark.cause, mark.place) in kept)
        moves = before.moves or after.moves
        self._assign(target, Tensor(moves=moves, half=before.half, marks=marks), scope)

    def _branches(
        self, test: ast.expr, body: list[ast.stmt], other: list[ast.stmt], scope: ForwardScope
    ) -> None:
        match evaluate(test, scope.module):
            case Known(value=bool(value)):
                self._block(body if value else other, scope)
                return
        tensor_of(test, scope, self)
        ends = []
        before = scope.tensors
        for branch in (body, other):
            scope.tensors, scope.ended = dict(before), False
            self._block(branch, scope)
            if not scope.ended:
                ends.append(scope.tensors)
        scope.ended = not ends
        scope.tensors = ends[0] if ends else before
        if len(ends) > 1:
            names = ends[0].keys() & ends[1].keys()
            scope.tensors = {name: agreed(ends[0][name], ends[1][name]) for name in names}

    def _loop(
        self,
        target: ast.expr | None,
        over: ast.expr | None,
        body: list[ast.stmt],
        scope: ForwardScope,
    ) -> None:
        """Read the body twice: the second time with what the first round left."""
        tensor = tensor_of(over, scope, self)
        if target is not None and over is not None:
            self._assign(target, tensor.whole, scope)
            self._iterate(target, over, scope)
        for _ in range(2):
            self._block(body, scope)
            scope.ended = False

    def _iterate(self, target: ast.expr, over: ast.expr, scope: ForwardScope) -> None:
        """Bind the variables of a loop over layers."""
        match target, over:
            case ast.Tuple(elts=[_, inner]), ast.Call(
                func=ast.Name(id="enumerate"), args=[rows, *_]
            ):
                self._iterate(inner, rows, scope)
                return
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=given):
                for each, rows in zip(targets, given, strict=False):
                    self._iterate(each, rows, scope)
                return
        items: list[Layer | list[Layer]] = []
        for layer in layers_of(_list(over), scope.module):
            items += elements(layer, self.table)
        match target:
            case ast.Name(id=name):
                scope.layers[name] = [item for item in items if isinstance(item, Layer)]
            case ast.Tuple(elts=targets):
                groups = [item for item in items if isinstance(item, list)]
                for number, each in enumerate(targets):
                    if isinstance(each, ast.Name):
                        scope.layers[each.id] = [g[number] for g in groups if number < len(g)]


def _name(item: tuple[str, Tensor]) -> str:
    return item[0]


def _list(node: ast.expr) -> ast.expr:
    """Return the list of `self.layers[:n]`."""
    match node:
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return inner
    return node


def _read(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.Name(id=name, ctx=ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value=value, attr=attr, ctx=ast.Load())
    return target


def _bound(
    function: Function, module: Module, given: Sequence[Tensor], named: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the tensors that the parameters of a function are."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    static = any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list
    )
    if names and isinstance(module.parent(function), ast.ClassDef) and not static:
        names = names[1:]
    bound = dict(zip(names, given, strict=False))
    bound.update(named)
    return bound
