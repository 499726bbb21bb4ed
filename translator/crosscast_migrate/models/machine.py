"""Computes the constructor and the forward pass of a model, as far as they are certain.

Nothing of the source is run: the domain is plain values, layers of the tables, and values of the
forward pass, which have no content but perhaps a shape. Whatever else the model depends on ends
the reading.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from crosscast_migrate.models import calls, known_models
from crosscast_migrate.models.buffers import state_of
from crosscast_migrate.models.constants import COMPARES, computed
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import (
    Constant,
    Dim,
    LayerObject,
    Library,
    ModuleObject,
    Opaque,
    SequenceObject,
    Sizes,
    Stacked,
    Tensor,
    Training,
    Weight,
    Zeros,
)
from crosscast_migrate.models.program_objects import ProgramObjects
from crosscast_migrate.models.tensor_calls import (
    arithmetic_of,
    assign_part,
    compared,
    part_of_constant,
    part_of_tensor,
    size_of,
)
from crosscast_reading.pysource.machine import functions
from crosscast_reading.pysource.machine.frames import Closure, Variables

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_WITHOUT_CONTENT = (Tensor, Constant, Dim, Sizes, Training, Zeros, Stacked)
_BUILT_IN = frozenset({"isinstance", "getattr", "hasattr", "print", "super", "setattr", "dict"})
_UNTRAINED = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


class ModelMachine(ProgramObjects):
    """Computes with layers and with values of a forward pass."""

    # ---- what is not known

    def unknown(self, node: ast.AST, place: Variables, reason: str = "") -> Opaque:
        """Return something that is not known."""
        return self.opaque(node, place.module)

    def blank(self, node: ast.AST, frame: Variables, *, is_changed: bool = False) -> Opaque:
        """Return the content of a name whose value is not known."""
        return replace(self.opaque(node, frame.module), is_changed=is_changed)

    def certain(self, node: ast.expr, frame: Variables) -> Any:
        """Return the value of an expression.

        Raises:
            UnreadableError: it is not known.
        """
        return _known(self.value(node, frame))

    def decided(self, test: ast.expr, frame: Variables) -> bool:
        """Return whether a condition holds; raises like `certain`."""
        answer = self.truth_of(self.certain(test, frame))
        if answer is None:
            text, span = frame.module.text(test)[:60], frame.module.span(test)
            raise UnreadableError(f"a condition is known only when it runs: {text}", span)
        return answer

    def exhausted(self, node: ast.AST, module: Module, *, is_deep: bool = False) -> NoReturn:
        """Raise the error of a model that takes too long to read."""
        if is_deep:
            raise UnreadableError("functions call each other too deeply")
        raise UnreadableError("the model takes too long to read", module.span(node))

    def uncallable(self, closure: Closure, reason: str) -> NoReturn:
        """Raise the error of a call that its function does not allow."""
        raise UnreadableError(reason, closure.module.span(closure.node))

    def refused(self, statement: ast.stmt, frame: Variables) -> None:
        """Raise the error of a statement that is not computed."""
        if not isinstance(statement, ast.Global):
            what = type(statement).__name__.lower()
            span = frame.module.span(statement)
            raise UnreadableError(f"a statement ({what}) that is not read", span)

    def missing(self, parameter: ast.arg, closure: Closure, names: dict[str, Any]) -> None:
        """Say that a parameter is not known."""
        names[parameter.arg] = Opaque(parameter.arg, closure.module.span(parameter))

    def no_entry(self, node: ast.Subscript, frame: Variables) -> NoReturn:
        """Raise the error of an entry that is not there."""
        text = frame.module.text(node)[:60]
        raise UnreadableError(f"{text} is not known", frame.module.span(node))

    def lose(self, held: Any, node: ast.AST, frame: Variables) -> None:
        """Note that something was changed to something that is not known."""
        super().lose(held, node, frame)
        here: Variables | None = frame
        while here is not None:
            for owner in here.names.values():
                for name, value in owner.attributes.items() if _is_module(owner) else ():
                    if value is held:
                        owner.attributes[name] = self.blank(node, frame, is_changed=True)
            here = here.parent

    # ---- values

    def is_unknown(self, value: Any) -> bool:
        """Whether a value has no content that operators could be computed with."""
        return isinstance(value, (Opaque, *_WITHOUT_CONTENT))

    def exists(self, value: Any) -> bool:
        """Whether a value without content is surely not None."""
        return isinstance(value, _WITHOUT_CONTENT)

    def truth_of(self, value: Any) -> bool | None:
        """Return whether a value counts as true; None if that is not known."""
        is_open = isinstance(value, (Opaque, functions.Array, *_WITHOUT_CONTENT))
        return None if is_open else bool(value)

    def items(self, value: Any, node: ast.expr, place: Variables) -> list[Any]:
        """Return the items that a loop runs over."""
        match _known(value):
            case SequenceObject(parts=parts):
                return [part for _, part in parts]
            case list() | tuple() | str() | dict():
                return list(value)
            case Tensor() | Training():
                raise UnreadableError("a loop over a value of the model", place.module.span(node))
        raise UnreadableError("a loop over something that is not known", place.module.span(node))

    def entries(self, value: Any) -> Mapping[Any, Any] | None:
        """Return a dictionary that another one takes over."""
        return super().entries(_known(value))

    def is_key(self, part: Any) -> bool:
        """Whether something may be the key of a dictionary."""
        return not isinstance(_known(part), list | dict | set)

    def key(self, node: ast.expr, frame: Variables) -> Any:
        """Return the value of what stands in brackets."""
        return _known(super().key(node, frame))

    def applied(
        self, node: ast.AST, values: Sequence[Any], compute: Callable[..., object], place: Variables
    ) -> Any:
        """Return an operation on values."""
        match node, values:
            case ast.UnaryOp(op=ast.USub()), [Tensor()]:
                return self.graph.apply("scale", values, {"scale": -1.0, "offset": 0.0})
            case ast.UnaryOp(op=ast.Invert()), [Tensor(number=n)] if n in self.graph.truths:
                return self.graph.apply("not", values, {})
            case ast.UnaryOp(op=ast.Invert()), [Constant(kind="bool") as held]:
                return computed("not", [held], {}, place.module.span(node))
            case ast.UnaryOp(op=ast.USub()), [Constant() as held]:
                return computed("scale", [held], {"scale": -1, "offset": 0}, None)
        return super().applied(node, values, compute, place)

    def combined(
        self, node: ast.BinOp | ast.AugAssign, left: Any, right: Any, frame: Variables
    ) -> Any:
        """Return `left op right`."""
        if isinstance(left, Tensor | Constant) or isinstance(right, Tensor | Constant):
            return arithmetic_of(self, type(node.op), left, right, frame.module.span(node))
        return super().combined(node, left, right, frame)

    def compared(
        self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any, place: Variables
    ) -> Any:
        """Return the value of `left op right`."""
        sides = (left, right)
        if type(op) in COMPARES and any(isinstance(side, Tensor | Constant) for side in sides):
            return compared(self, type(op), left, right, place.module.span(node))
        return super().compared(node, op, left, right, place)

    def augmented(self, node: ast.AugAssign, left: Any, right: Any, frame: Variables) -> Any:
        """Return the value that `left op= right` assigns."""
        value = super().augmented(node, left, right, frame)
        if isinstance(left, Tensor) and self.tables.adds_in_place:
            self.graph.overwrite(left)
        return value

    def name(self, node: ast.Name, place: Variables) -> Any:
        """Return the value of a name."""
        names = place.find(node.id)
        if names is not None:
            value = names[node.id]
            if not isinstance(value, Opaque) or value.is_changed or value.is_cause:
                return value
            elsewhere = self.outside(node, place.module)
            return value if isinstance(elsewhere, Opaque) else elsewhere
        if node.id in _BUILT_IN or functions.function_named(node.id) is not None:
            return Library(node.id)
        return self.outside(node, place.module)

    def attribute(self, node: ast.Attribute, place: Variables) -> Any:
        """Return the value of an attribute."""
        base = self.value(node.value, place)
        if isinstance(base, Opaque) and base.is_cause:
            return base
        if not isinstance(base, Opaque | Library):
            return self.attribute_of(base, node.attr, node, place.module)
        value = self.outside(node, place.module)
        if isinstance(value, Opaque) and isinstance(base, Library):
            return self.attribute_of(base, node.attr, node, place.module)
        return value

    def entry_of(self, base: Any, node: ast.Subscript, frame: Variables) -> Any:
        """Return an entry of a value, a shape or a container of layers."""
        if isinstance(base, Opaque):
            return base if base.is_cause else self.outside(node, frame.module)
        if isinstance(base, Tensor):
            return part_of_tensor(self, base, node, frame)
        if isinstance(base, Constant):
            return part_of_constant(self, base, node, frame)
        if isinstance(base, Stacked):
            return state_of(self, base, node, frame)
        key = self.key(node.slice, frame)
        if isinstance(base, Sizes):
            return size_of(self, base.tensor, key, node, frame.module)
        if not isinstance(base, SequenceObject):
            return self.no_entry(node, frame)
        if isinstance(key, slice):
            return SequenceObject(base.parts[key], base.is_model)
        parts = dict(base.parts) if isinstance(key, str) else [part for _, part in base.parts]
        try:
            return parts[key]
        except (TypeError, LookupError):
            return self.no_entry(node, frame)

    def call(self, node: ast.Call, place: Variables) -> Any:
        """Return the value of a call."""
        return calls.of_call(self, node, place)

    def unfolded_names(self, node: ast.expr, frame: Variables) -> Mapping[str, Any]:
        """Return the arguments that `**node` stands for."""
        value = self.value(node, frame)
        if not isinstance(value, dict):
            span = frame.module.span(node)
            raise UnreadableError("** of something that is not known", span)
        return value

    # ---- statements

    def with_block(self, statement: ast.With, frame: Variables) -> None:
        """Run the body of a `with` statement."""
        before = len(self.graph.steps)
        super().with_block(statement, frame)
        if len(self.graph.steps) > before:
            for item in statement.items:
                _with_gradients(item.context_expr, frame.module)

    def unpacked(self, value: Any, count: int, target: ast.expr, frame: Variables) -> Sequence[Any]:
        """Return the parts of a shape, or of something that is not known."""
        if isinstance(value, Stacked) and len(value.parts) == count:
            return value.parts
        if isinstance(value, Sizes):
            if not value.tensor.is_turned:
                self.graph.learn(value.tensor, (None,) * count)
            places = range(count)
            return [size_of(self, value.tensor, axis, target, frame.module) for axis in places]
        if isinstance(value, Opaque):
            return [value] * count
        raise UnreadableError("cannot be unpacked", frame.module.span(target))

    def assign_attribute(self, target: ast.Attribute, value: Any, frame: Variables) -> None:
        """Assign a value to an attribute of the model."""
        held = self.value(target.value, frame)
        if isinstance(held, ModuleObject):
            held.attributes[target.attr] = value
            if isinstance(value, Constant):
                value.name = value.name or target.attr
        elif isinstance(held, LayerObject) and held.reading is known_models.READING:
            span = frame.module.span(target)
            known_models.with_head(self.graph.source, held, target.attr, value, span)
        else:
            self._unchanged(held, target, frame)

    def assign_entry(self, target: ast.Subscript, value: Any, frame: Variables) -> None:
        """Assign a value to an entry of a list or dictionary."""
        held = self.value(target.value, frame)
        if isinstance(held, Constant):
            assign_part(self, held, target, value, frame)
            return
        if not isinstance(held, list | dict):
            self._unchanged(held, target, frame)
            return
        try:
            held[self.key(target.slice, frame)] = value
        except (TypeError, ValueError, LookupError):
            raise UnreadableError("no such entry", frame.module.span(target)) from None

    def _unchanged(self, held: Any, target: ast.expr, frame: Variables) -> None:
        if isinstance(held, LayerObject | SequenceObject | Weight | Tensor | ModuleObject):
            text = frame.module.text(target)[:60]
            raise UnreadableError(f"{text} is assigned to", frame.module.span(target))

    def run_function(
        self, closure: Closure, given: Sequence[Any], named: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the result of a function of the program."""
        before = len(self.graph.steps)
        value = super().run_function(closure, given, named)
        if len(self.graph.steps) > before:
            for decorator in getattr(closure.node, "decorator_list", ()):
                _with_gradients(decorator, closure.module)
        return value


def _known(value: Any) -> Any:
    """Return a value; raises an error for one that is not known."""
    if isinstance(value, Opaque):
        raise UnreadableError(value.text, value.span)
    return value


def _is_module(value: Any) -> bool:
    return isinstance(value, ModuleObject)


def _with_gradients(context: ast.expr, module: Module) -> None:
    """Raise an error if a context or decorator leaves a part of the forward pass untrained."""
    called = context.func if isinstance(context, ast.Call) else context
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if name in _UNTRAINED:
        text = module.text(context)[:60]
        raise UnreadableError(f"a part under {text} is not trained", module.span(context))
