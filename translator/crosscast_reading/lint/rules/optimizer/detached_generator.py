"""CL520: an optimizer steps for a model whose outputs are detached from the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from crosscast_reading.lint.answers.gradient_paths import CUT, model_of
from crosscast_reading.lint.answers.loop import compatible, eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep

_GROWS = frozenset({"append", "extend", "insert"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find updates between whose clearing and step only detached outputs of the model are used."""
    for step in eager_steps(subject):
        if step.loop is None or step.windowed:
            continue
        for event in step.inside("step"):
            model = model_of(event)
            clears = [e for e in step.inside("zero_grad") if e.subject in (event.subject, model)]
            before = [e for e in clears if e.order < event.order and compatible(e, event)]
            if model and before and len(clears) == 1:
                yield from _cut_off(step, model, before[0], event)


def _cut_off(step: TrainingStep, model: str, clear: Event, event: Event) -> Iterator[Finding]:
    """Find an update of a model that none of the losses before it depends on."""
    module = step.module
    assert step.loop is not None
    loop = step.loop.node
    losses = [e for e in step.inside("backward") if clear.order < e.order < event.order]
    written = {*walk(loop)}
    if any(e.node not in written for e in (clear, event, *losses)):
        return  # in a function that the loop calls
    first, last = clear.span.line, event.span.line
    between = [n for n in written if first < getattr(n, "lineno", 0) < last]
    if not losses or any(_may_use(node, model, module) for node in between):
        return
    flow = _Flow(module, model, event.node)
    for statement in (n for n in _in_order(loop) if n.lineno < last):
        flow.pass_by(statement, inside=statement.lineno > first)
        differentiates = any(e.span.line == statement.lineno for e in losses)
        if differentiates and flow.depends(statement):
            return
    if flow.cuts:
        yield Finding(
            span=event.span,
            message=f"no gradient reaches {model}: what it returns is detached from the loss, and "
            f"{event.subject} changes nothing",
            hint=f"compute this loss from what {model} returns, without detach()",
            related=(module.span(flow.cuts[0]), losses[-1].span),
        )


def _in_order(loop: ast.AST) -> list[ast.stmt]:
    """Return the statements in a loop that have no others inside, as they are written."""
    simple = [n for n in walk(loop) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    return sorted(simple, key=lambda node: (node.lineno, node.col_offset))


def _may_use(node: ast.AST, model: str, module: Module) -> bool:
    """Whether something may run the model or its loss unseen: a method, or the model itself."""
    if isinstance(node, ast.Name | ast.Attribute) and module.text(node) == model:
        return True
    if not isinstance(node, ast.Call) or not model.startswith("self."):
        return False
    called = node.func
    own = isinstance(called, ast.Attribute) and module.text(called.value) == "self"
    owner = module.class_of(node)
    return (
        own
        and owner is not None
        and any(
            isinstance(each, ast.FunctionDef) and module.text(called) == f"self.{each.name}"
            for each in owner.body
        )
    )


@dataclass
class _Flow:
    """What carries gradients of a model at a point of a loop."""

    module: Module
    model: str
    end: ast.AST
    carriers: set[str] = field(default_factory=set)
    cuts: list[ast.AST] = field(default_factory=list)
    """Where something that carries gradients is detached, in the part that is looked at."""

    def pass_by(self, node: ast.stmt, *, inside: bool) -> None:
        """Take the effect of a statement on what carries gradients."""
        if inside:
            self.cuts += [n for n in ast.walk(node) if self._is_cut(n)]
        match node:
            case ast.Assign(targets=targets, value=value):
                self._set(targets, value, node)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._set([target], value, node)
            case ast.AugAssign(target=target, value=value):
                if self.depends(value):
                    self.carriers |= self._names(target)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=args)):
                if method in _GROWS and any(map(self.depends, args)):
                    self.carriers |= self._names(owner)

    def depends(self, node: ast.AST) -> bool:
        """Whether gradients of something flow into the model."""
        if isinstance(node, ast.Attribute) and node.attr in CUT:
            return False
        if isinstance(node, ast.Name | ast.Attribute) and self.module.text(node) in self.carriers:
            return True
        if isinstance(node, ast.Call) and self._is_model(self.module.text(node.func)):
            return True
        return any(map(self.depends, ast.iter_child_nodes(node)))

    def _is_model(self, called: str) -> bool:
        return called == self.model or called.startswith(f"{self.model}.")

    def _set(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        names = {name for target in targets for name in self._names(target)}
        if self.depends(value):
            self.carriers |= names
        elif self._is_sure(node):
            self.carriers -= names

    def _is_sure(self, node: ast.stmt) -> bool:
        """Whether the statement runs wherever the end is reached: it is in a block around it."""
        around, parent = self.module.parent(node), self.module.parent(self.end)
        while parent is not None:
            if parent is around:
                return True
            parent = self.module.parent(parent)
        return False

    def _names(self, target: ast.expr) -> set[str]:
        if isinstance(target, ast.Tuple | ast.List):
            return {name for each in target.elts for name in self._names(each)}
        while isinstance(target, ast.Subscript | ast.Starred):
            target = target.value
        return {self.module.text(target)}

    def _is_cut(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="detach" | "detach_")):
                return self.depends(value)
        return False


RULE = Rule("CL520", check, hints=("detach",))
