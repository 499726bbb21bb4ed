"""Numbers that a constructor computes of nothing: tables of positions, masks, statistics.

They are kept as expressions of NumPy, whatever library the source computes them with, and written
into the new model as a function. Only their shapes are computed here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from crosscast.emit.render import py_literal
from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Constant, Library, Opaque
from crosscast_migrate.models.shapes import inferred
from crosscast_migrate.models.slices import Part, parts_text, shape_of_parts
from crosscast_reading.pysource.machine.functions import Array

Kind = Literal["float32", "int64", "bool"]
_LARGEST = 16_000_000
_LITERALS = frozenset({"tensor", "as_tensor", "to_tensor", "constant", "array", "asarray"})
_FILLED = {"zeros": 0.0, "ones": 1.0, "full": None}
_TRIANGLES = frozenset({"triu", "tril"})
_MAKERS = frozenset({"arange", "eye", *_FILLED, *_TRIANGLES, *_LITERALS})
_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
COMPARES: Mapping[type[ast.AST], str] = {
    kind: word for kind, word in _OPERATORS.items() if issubclass(kind, ast.cmpop)
}
_PLAIN: Mapping[str, str] = {
    "unsqueeze": "np.expand_dims({0}, {axis})",
    "squeeze": "np.squeeze({0}, {axis})",
    "permute": "np.transpose({0}, {axes})",
    "concat": "np.concatenate([{all}], {axis})",
    "stack": "np.stack([{all}], {axis})",
}
"""Operations that keep the type."""
_NUMPY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "expand_dims": ("unsqueeze", ("axis",)),
    "squeeze": ("squeeze", ("axis",)),
    "transpose": ("permute", ("axes",)),
    "concatenate": ("concat", ("axis",)),
    "stack": ("stack", ("axis",)),
}
"""Functions of NumPy to the operation, and their arguments behind the arrays."""
_FLOAT = frozenset({"exp", "sin", "cos", "sqrt", "log", "tanh"})
_OF_PAIRS = {"add": ast.Add, "subtract": ast.Sub, "multiply": ast.Mult, "divide": ast.Div}


def made(word: str, given: Sequence[Any], named: Mapping[str, Any]) -> Constant | Opaque | None:
    """Return the numbers that a function makes; None for another function or other arguments."""
    if word not in _MAKERS:
        return None
    named = {n: v for n, v in named.items() if n not in ("device", "requires_grad", "name")}
    values = [*given]
    given_kind = named.pop("dtype", None)
    if given_kind is None and values and isinstance(values[-1], Library):
        given_kind = values.pop()
    kind = _kind(given_kind)
    if kind is None and given_kind is not None:
        return Opaque("numbers of a type that is not carried", None, is_cause=True)
    if word in _TRIANGLES:
        return _triangle(word, values, named)
    if word in _LITERALS:
        return _literal(values, kind) if not named else None
    if word == "arange":
        return _range(values, named, kind)
    if word == "eye":
        count = values[0] if len(values) == 1 else None
        if not isinstance(count, int) or named or count**2 > _LARGEST:
            return None
        return Constant(f"np.eye({count}, dtype=np.float32)", (count, count), "float32")
    return _filled(word, values, named, kind)


def _kind(value: Any) -> Kind | None:
    word = value.name.rpartition(".")[2] if isinstance(value, Library) else value
    match word:
        case "float32" | "float" | "float64" | "double" | "float_":
            return "float32"
        case "int64" | "long" | "int32" | "int":
            return "int64"
        case "bool" | "bool_":
            return "bool"
    return None


def _filled(
    word: str, values: list[Any], named: dict[str, Any], kind: Kind | None
) -> Constant | None:
    number = _FILLED[word]
    if word == "full":
        number = named.pop("fill_value", values.pop() if len(values) == 2 else None)
    shape = named.pop("shape", named.pop("size", values[0] if len(values) == 1 else values))
    sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    known = all(isinstance(size, int) and not isinstance(size, bool) for size in sizes)
    if named or not known or not isinstance(number, int | float) or math.prod(sizes) > _LARGEST:
        return None
    kind = kind or "float32"
    kept = word if word != "full" else f"full:{py_literal(number)}"
    function, _, value = kept.partition(":")
    arguments = f"{py_literal(sizes)}, {value}, {_type(kind)}" if value else None
    text = f"np.{function}({arguments or f'{py_literal(sizes)}, {_type(kind)}'})"
    return Constant(text, sizes, kind)


def _type(kind: Kind) -> str:
    return "bool" if kind == "bool" else f"np.{kind}"


def _range(values: list[Any], named: dict[str, Any], kind: Kind | None) -> Constant | None:
    if not values:
        values = [named.pop(word) for word in ("start", "end", "stop", "step") if word in named]
    elif "step" in named:
        values = [*([0] if len(values) == 1 else []), *values, named.pop("step")]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    if not 1 <= len(values) <= 3 or not numbers or named:
        return None
    start, stop, step = (0, values[0], 1) if len(values) == 1 else (*values, 1)[:3]
    count = math.ceil((stop - start) / step) if step else -1
    if not 0 <= count <= _LARGEST:
        return None
    kind = kind or ("int64" if all(isinstance(v, int) for v in values) else "float32")
    shown = ", ".join(map(py_literal, values))
    return Constant(f"np.arange({shown}, dtype={_type(kind)})", (count,), kind)


def _literal(values: list[Any], kind: Kind | None) -> Constant | None:
    if len(values) != 1:
        return None
    if isinstance(values[0], Constant):
        return typed(values[0], kind or values[0].kind)
    content = values[0]
    numbers = list(content) if isinstance(content, list | tuple) else None
    if numbers is None or not all(isinstance(n, int | float) for n in numbers):
        return None
    if kind is None:
        types = {type(n) for n in numbers}
        kind = "float32" if float in types or not types else "int64" if int in types else "bool"
    text = py_literal(tuple(numbers)) if len(numbers) != 1 else f"({py_literal(numbers[0])},)"
    return Constant(f"np.array({text}, {_type(kind)})", (len(numbers),), kind)


def as_constant(value: Any) -> Constant | None:
    """Return an array of numbers as a constant; None for anything else."""
    return _literal([value], None) if isinstance(value, Constant | Array) else None


def _triangle(word: str, values: list[Any], named: dict[str, Any]) -> Constant | None:
    shift = named.pop("diagonal", named.pop("k", values[1] if len(values) == 2 else 0))
    held = values[0] if values else None
    if not isinstance(held, Constant) or named or not isinstance(shift, int):
        return None
    text = f"np.{word}({held.text}, {shift})" if shift else f"np.{word}({held.text})"
    return Constant(text, held.shape, held.kind, held.before)


def combined(op: type[ast.AST], left: Any, right: Any, span: Span | None) -> Constant:
    """Return `left op right` of constants and numbers.

    Raises:
        UnreadableError: the operator, or one of the two, is not carried.
    """
    sign = _OPERATORS.get(op)
    held = [side for side in (left, right) if isinstance(side, Constant)]
    numbers = [side for side in (left, right) if isinstance(side, int | float)]
    if sign is None or len(held) + len(numbers) < 2:
        raise UnreadableError("this arithmetic is not carried", span)
    kinds = {side.kind for side in held}
    is_float = "float32" in kinds or any(isinstance(n, float) for n in numbers) or op is ast.Div
    texts = [
        (_float(side) if is_float else side.text)
        if isinstance(side, Constant)
        else (py_literal(side) if side >= 0 else f"({py_literal(side)})")
        for side in (left, right)
    ]
    kind: Kind = "bool" if op in COMPARES else ("float32" if is_float else "int64")
    shapes = [side.shape if isinstance(side, Constant) else (1,) for side in (left, right)]
    shape = inferred("add", {}, shapes, "first")
    if shape is None or op is ast.MatMult:
        raise UnreadableError("this arithmetic is not carried", span)
    return Constant(f"({texts[0]} {sign} {texts[1]})", _sizes(shape), kind, _before(held, span))


def _float(held: Constant) -> str:
    return held.text if held.kind == "float32" else f"{held.text}.astype(np.float32)"


def _sizes(shape: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(size for size in shape if size is not None)


def _before(held: Sequence[Constant], span: Span | None) -> tuple[str, ...]:
    """Return the statements before an expression of constants, of which one may have some."""
    statements = list(dict.fromkeys(each.before for each in held if each.before))
    if len(statements) > 1:
        raise UnreadableError("constants that are made step by step are computed with", span)
    return statements[0] if statements else ()


def computed(
    kind: str, inputs: Sequence[Constant], settings: Mapping[str, Any], span: Span | None
) -> Constant:
    """Return the result of an operation on constants.

    Raises:
        UnreadableError: the operation is not among those of constants.
    """
    first, before = inputs[0], _before(inputs, span)
    if kind in _OF_PAIRS and len(inputs) == 2:
        return combined(_OF_PAIRS[kind], inputs[0], inputs[1], span)
    if kind == "scale":
        scaled = combined(ast.Mult, first, settings["scale"], span)
        return combined(ast.Add, scaled, settings["offset"], span)
    if kind in _FLOAT:
        return Constant(f"np.{kind}({_float(first)})", first.shape, "float32", before)
    if kind == "not":
        return Constant(f"(~{first.text})", first.shape, "bool", before)
    if kind == "reshape":
        shape = _reshaped(first, settings["shape"], span)
        return Constant(f"{first.text}.reshape({py_literal(shape)})", shape, first.kind, before)
    if kind == "swap":
        axes = list(range(len(first.shape)))
        one, two = settings["first"] % len(axes), settings["second"] % len(axes)
        axes[one], axes[two] = axes[two], axes[one]
        kind, settings = "permute", {"axes": tuple(axes)}
    template = _PLAIN.get(kind)
    shape_found = inferred(kind, settings, [each.shape for each in inputs], "first")
    if template is None or shape_found is None or len({each.kind for each in inputs}) > 1:
        raise UnreadableError(f"{kind} of numbers without weights is not carried", span)
    texts = [each.text for each in inputs]
    shown = {name: py_literal(value) for name, value in settings.items()}
    text = template.format(*texts, all=", ".join(texts), **shown)
    return Constant(text, _sizes(shape_found), first.kind, before)


def _reshaped(held: Constant, shape: Any, span: Span | None) -> tuple[int, ...]:
    sizes = list(shape) if isinstance(shape, list | tuple) else []
    if not sizes or not all(isinstance(size, int) for size in sizes) or sizes.count(-1) > 1:
        raise UnreadableError("a shape that is not known", span)
    if -1 in sizes:
        others = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = math.prod(held.shape) // max(others, 1)
    return tuple(sizes)


def of_numpy(word: str, given: Sequence[Any], named: Mapping[str, Any]) -> Constant | None:
    """Return the result of a function of NumPy on constants; None for another function."""
    kind, arguments = _NUMPY.get(word, (word if word in _FLOAT else "", ()))
    values = [*given[:1]] if isinstance(given[0], Constant) else list(given[0])
    settings = dict(zip(arguments, given[1:], strict=False)) | dict(named)
    if not kind or not all(isinstance(each, Constant) for each in values):
        return None
    return computed(kind, values, settings, None) if settings.keys() == set(arguments) else None


def typed(held: Constant, kind: Kind) -> Constant:
    """Return constants as numbers of another type."""
    if held.kind == kind:
        return held
    return Constant(f"{held.text}.astype({_type(kind)})", held.shape, kind, held.before)


def with_type(held: Constant, name: str, words: Sequence[Any]) -> Constant:
    """Return constants that a method converts, where it converts: `x.float()`, `x.to(bool)`."""
    kinds = [kind for word in (name, *words) if (kind := _kind(word)) is not None]
    return typed(held, kinds[0]) if kinds else held


def sliced(held: Constant, parts: Sequence[Part]) -> Constant:
    """Return a part of constants."""
    shape = _sizes(shape_of_parts(held.shape, parts))
    return Constant(f"{held.text}[{parts_text(parts)}]", shape, held.kind, held.before)


def assigned(held: Constant, parts: Sequence[Part], value: Any, span: Span | None) -> None:
    """Assign to a part of constants, which are changed.

    Raises:
        UnreadableError: it is not known what is assigned.
    """
    if isinstance(value, Opaque):
        raise UnreadableError(value.text, value.span)
    if isinstance(value, Constant) and not value.before:
        text = value.text
    elif isinstance(value, int | float):
        text = py_literal(value)
    else:
        raise UnreadableError("what is assigned to a part of constants is not carried", span)
    begun = held.before or (f"value = {held.text}",)
    if held.before and held.text != "value":
        raise UnreadableError("constants are changed after they were computed with", span)
    held.before, held.text = (*begun, f"value[{parts_text(parts)}] = {text}"), "value"
