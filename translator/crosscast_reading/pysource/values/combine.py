"""Operations on values of which some are not known, or one of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from crosscast_reading.facts.fact import Origin
from crosscast_reading.pysource.values.budget import MAX_SIZE, NoValueError
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

MAX_OPTIONS = 8


def plain(value: Value) -> object:
    """Return the content of a known value; any other as it is."""
    return value.value if isinstance(value, Known) else value


def settled(value: Value) -> Value:
    """Return the option that holds with the defaults of flags, if they decide a choice."""
    match value:
        case Choice(options=((_, first), *_), decided=True):
            return first
        case Choice(options=((_, Known(flag=flag) as first), *_)) if flag:
            return first
    return value


def operand(value: Value) -> tuple[bool, object]:
    """Return whether there is something to compute with, and what: a default counts."""
    if isinstance(value, Known):
        return True, value.value
    if isinstance(value, Unknown) and value.has_default:
        return True, value.default
    return False, None


def same(values: Sequence[Value]) -> bool:
    """Whether all values are one and the same."""
    first = values[0]
    if isinstance(first, Known):
        return all(
            isinstance(v, Known) and type(v.value) is type(first.value) and v.value == first.value
            for v in values
        )
    return all(v == first for v in values)


def one_of(options: Sequence[tuple[str, Value]]) -> Value:
    """Return the choice among options, each with its condition; their value if all have one."""
    return options[0][1] if same([value for _, value in options]) else Choice(tuple(options))


def names_of(values: Sequence[Value]) -> tuple[str, ...]:
    """Return the flags and attributes behind values."""
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value, Known) and value.flag:
            names[value.flag] = None
        elif isinstance(value, Unknown):
            for name in value.names or ((value.text,) if value.origin == "flag" else ()):
                names[name] = None
        elif isinstance(value, Choice):
            for name in names_of([value_of_option for _, value_of_option in value.options]):
                names[name] = None
    return tuple(names)


def derived(text: str, values: Sequence[Value], compute: Callable[..., object]) -> Value:
    """Return the result of an operation on values none of which is a choice."""
    names = names_of(values)
    operands = [operand(v) for v in values]
    if all(known for known, _ in operands):
        try:
            result = compute(*(_no_parts(content) for _, content in operands))
        except (NoValueError, TypeError):
            return Unknown(text[:200], "it cannot be computed here", "derived", names=names)
        if all(isinstance(v, Known) for v in values):
            return Known(result, _origin(values), names[0] if len(names) == 1 else "")
        return Unknown(
            text[:200], _why(values), "derived", default=result, has_default=True, names=names
        )
    return Unknown(text[:200], _why(values), "derived", names=names)


def spread(text: str, values: Sequence[Value], compute: Callable[..., object]) -> Value:
    """Return the result of an operation, for every option of the choices among its operands."""
    if not any(isinstance(v, Choice) for v in values):
        return derived(text, values, compute)
    options = [v.options if isinstance(v, Choice) else (("", v),) for v in values]
    total = 1
    for option in options:
        total *= len(option)
    if total > MAX_OPTIONS:
        return Unknown(text[:200], "it depends on conditions", names=names_of(values))
    outcomes: list[tuple[str, Value]] = []
    decided = all(v.decided for v in values if isinstance(v, Choice))
    for combination in product(*options):
        conditions = tuple(dict.fromkeys(c for c, _ in combination if c))
        if any(f"not {c}" in conditions or f"not ({c})" in conditions for c in conditions):
            decided = decided and bool(outcomes)
            continue
        result = derived(text, [v for _, v in combination], compute)
        outcomes.append((" and ".join(conditions), result))
    if not outcomes:
        return Unknown(text[:200], "it depends on conditions", names=names_of(values))
    if same([v for _, v in outcomes]):
        return outcomes[0][1]
    return Choice(tuple(outcomes), decided)


def _no_parts(content: object) -> object:
    """Refuse to compute with what holds unknown parts, or very many."""
    waiting, seen = [content], 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, Symbol | Unknown | Choice | Instance):
            raise NoValueError
        if isinstance(part, list | tuple | set):
            seen += len(part)
            if seen > MAX_SIZE:
                raise NoValueError
            waiting.extend(part)
    return content


def _origin(values: Sequence[Value]) -> Origin:
    origins = {v.origin for v in values if isinstance(v, Known)}
    return "literal" if origins <= {"literal"} else "derived"


def _why(values: Sequence[Value]) -> str:
    for value in values:
        if isinstance(value, Unknown):
            return f"{value.text}: {value.reason}" if value.text else value.reason
    for value in values:
        if isinstance(value, Instance):
            return f"the result of a call of {value.made_by}"
        if isinstance(value, Symbol):
            return f"{value.name} is a name of a library"
    return "it cannot be computed here"
