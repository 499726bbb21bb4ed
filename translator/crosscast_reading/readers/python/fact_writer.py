"""Shared parts of readers of Python programs: fact writer, names of types, training calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeGuard
from weakref import WeakKeyDictionary

from crosscast_reading.facts.fact import Confidence, Fact, Origin, PlainValue
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.combine import settled
from crosscast_reading.pysource.values.value import Choice, Known, Symbol, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.frameworks import framework_of
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.words import TYPES

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_LEARNING = frozenset(
    {
        *("backward", "manual_backward", "fit", "train_batch", "zero_grad", "clip_grad_norm_"),
        *("NativeScaler", "NativeScalerWithGradNormCount"),
    }
)
_TRAINS: WeakKeyDictionary[Program, bool] = WeakKeyDictionary()


@dataclass(slots=True)
class FactWriter:
    """Collects the facts that a reader finds in a program."""

    reader: str
    facts: list[Fact] = field(default_factory=list)

    def say(
        self,
        name: str,
        value: PlainValue,
        *places: Span,
        subject: str = "",
        under: Iterable[str] = (),
        origin: Origin = "presence",
        confidence: Confidence = "certain",
        expression: str = "",
        reason: str = "",
    ) -> None:
        """Record that a field has a value; `reason` says why it is only a guess."""
        self.facts.append(
            Fact(
                field=name,
                value=value,
                places=places,
                subject=subject,
                under=tuple(under),
                origin=origin,
                confidence=confidence,
                expression=expression,
                reason=reason,
                reader=self.reader,
            )
        )

    def value(
        self, name: str, value: Value, *places: Span, subject: str = "", **more: object
    ) -> None:
        """Record that a field has the value of an expression."""
        fact = fact_of(name, value, *places, subject=subject, reader=self.reader)
        self.facts.append(replace(fact, **more))  # type: ignore[arg-type]

    def number(
        self, name: str, value: Value | None, *places: Span, subject: str = "", **more: object
    ) -> None:
        """Record a number; a value that is certainly no number (None, text) adds nothing."""
        if value is None:
            return
        value = settled(value)
        if isinstance(value, Symbol):
            value = Unknown(value.name, f"{value.name} is in another file", "config")
        if isinstance(value, Known) and not is_number(value.value):
            return
        if isinstance(value, Unknown) and value.has_default and not is_number(value.default):
            value = replace(value, default=None, has_default=False)
        self.value(name, value, *places, subject=subject, **more)

    def unknown(self, name: str, reason: str, *places: Span, expression: str = "") -> None:
        """Record that a field is determined here, but its value is unknown."""
        self.facts.append(
            Fact(
                field=name,
                known=False,
                reason=reason,
                expression=expression,
                places=places,
                confidence="likely",
                reader=self.reader,
            )
        )


def flag_of(value: Value | None) -> str:
    """Return the flag that gives a known value, empty if none does."""
    return value.flag if isinstance(value, Known) else ""


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def content(value: Value | None) -> object:
    """Return the content or default of a value; None if unknown."""
    match settled(value) if value is not None else None:
        case Known(value=plain):
            return plain
        case Unknown(default=plain, has_default=True):
            return plain
        case Symbol(name=name):
            return last(name)
    return None


def word_of_type(value: object) -> str:
    """Return the word of a recipe for a type, `fp8` for those; empty for any other name."""
    if isinstance(value, Symbol):
        value = last(value.name)
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    return TYPES.get(text.rpartition(".")[2].partition("-")[0], "")


def types_of(node: ast.expr, module: Module) -> tuple[tuple[str, ...], str]:
    """Return the types that an expression can be, and the default type (or empty)."""
    module = module.owner_of(node)
    value = evaluate(node, module)
    dtypes: dict[str, None] = {}
    default = ""
    if isinstance(value, Choice):
        words = [word_of_type(_inner(option)) for _, option in value.options]
        dtypes.update(dict.fromkeys(filter(None, words)))
        device = any("is_bf16_supported" in condition for condition, _ in value.options)
        default = "bf16_or_fp16" if device else words[0] if _by_flag(value) else ""
    else:
        default = word_of_type(_inner(value))
        if default:
            dtypes[default] = None
    for dtype in _mentioned(node, module, 0):
        dtypes.setdefault(dtype)
    if not default and len(dtypes) == 1:
        default = next(iter(dtypes))
    if set(dtypes) >= set(HALVES) and "is_bf16_supported" in _behind(node, module):
        default = "bf16_or_fp16"
    return tuple(dtypes), default


def _inner(value: Value) -> object:
    if isinstance(value, Symbol):
        return value
    return content(value)


def _by_flag(value: Choice) -> bool:
    return any(re.search(r"\b(args?|opts?|flags|options|cfg|config|hparams)\b", c, re.I)
               for c, _ in value.options)  # fmt: skip


def _mentioned(node: ast.AST, module: Module, depth: int) -> Iterator[str]:
    """Yield the types named in an expression and in the values of its names."""
    for inner in walk(node):
        if isinstance(inner, ast.Attribute | ast.Name):
            for name in module.resolve_all(inner):
                if name.startswith("torch.") and (word := word_of_type(last(name))):
                    yield word
            flag = module.program.flags.get(getattr(inner, "attr", ""))
            if flag is not None:
                yield from filter(None, map(word_of_type, flag.choices))
        if isinstance(inner, ast.Name) and depth < 3:
            for binding in definitions(inner, module):
                match binding:
                    case Binding(kind="assign", value=ast.expr() as value, path=()):
                        yield from _mentioned(value, binding.module, depth + 1)


def _behind(node: ast.AST, module: Module, depth: int = 0) -> str:
    texts = [module.text(node)]
    for inner in walk(node) if depth < 3 else ():
        for b in definitions(inner, module) if isinstance(inner, ast.Name) else ():
            match b:
                case Binding(kind="assign", value=ast.expr() as value):
                    texts.append(_behind(value, b.module, depth + 1))
                    texts.append(_function_text(value, b.module) if b.path else "")
    return " ".join(texts)


def _function_text(node: ast.expr, module: Module) -> str:
    """Return the function of the program that a call runs, as text; empty if there is none."""
    function = module.program.function(module.call(node)) if isinstance(node, ast.Call) else None
    return function[0].text(function[1]) if function is not None else ""


def trains(program: Program) -> bool:
    """Whether any file of a program computes gradients with PyTorch or a library around it."""
    known = _TRAINS.get(program)
    if known is None:
        known = any(_learns(call) for module in program.modules for call in module.calls)
        known = _TRAINS[program] = known and framework_of(program) in ("", "pytorch")
    return known


def _learns(call: Call) -> bool:
    function = call.node.func
    if isinstance(function, ast.Attribute):
        word = function.attr
        if word == "grad":
            return call.name == "torch.autograd.grad"
    else:
        word = function.id if isinstance(function, ast.Name) else ""
    return word in _LEARNING or word.endswith(("Trainer", "GradScaler", "NativeScaler"))


def place_of(call: Call) -> Span:
    """Return the place of a call."""
    return call.module.span(call.node)
