"""Facts about the optimizers of a program in any framework."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import fields_of
from crosscast_reading.facts.fact import Confidence, Fact, unknown
from crosscast_reading.pysource.names.call_sites import is_mentioned
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol
from crosscast_reading.readers import words
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.default_conditions import holds_by_default
from crosscast_reading.readers.python.library_calls import (
    numeric,
    parts_of,
    target_of,
    unwrapped,
    value_of,
    yes_or_no,
)
from crosscast_reading.readers.python.origins import located
from crosscast_reading.readers.python.schedules import Course, course_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call

family_of = partial(words.family_of, relatives=True)
"""Return the optimizer family of a class name; empty if there is none."""
_WORDS = fields_of("graph classes")
_RATE, _DECAY = "optimizer.learning_rate", "optimizer.weight_decay"
_GENERATORS = frozenset({"g", "gen", "generator", "netg", "optimg", "gopt", "optg"})
_DISCRIMINATORS = frozenset({"d", "disc", "discriminator", "critic", "netd", "dis", "optd"})
_CONSTANTS = ("betas.0", "betas.1", "eps", "momentum")
_STARTED = ("__name__ == '__main__'", '__name__ == "__main__"')


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerCall:
    """An optimizer that a program creates."""

    call: Call
    name: str
    """Name in the source."""
    family: str
    variable: str
    where: str
    """Function that creates it."""
    coupled: bool = False
    """Whether `weight_decay` is coupled with the gradient (L2)."""
    subject: str = ""


def optimizer_call(call: Call, name: str, family: str, *, coupled: bool = False) -> OptimizerCall:
    """Return the record of a call that creates an optimizer."""
    module = call.module
    return OptimizerCall(
        call=call,
        name=name,
        family=family,
        variable=target_of(call.node, module),
        where=f"{module.source.name}:{module.qualname(call.node)}",
        coupled=coupled,
    )


def with_subjects(optimizers: Sequence[OptimizerCall]) -> list[OptimizerCall]:
    """Return the calls with subjects: one per variable, or one for each family that it can be."""
    groups: dict[tuple[str, str], list[OptimizerCall]] = {}
    for place, optimizer in enumerate(optimizers):
        entry = _table_of(optimizer)
        key = (optimizer.where, entry or optimizer.variable or str(place))
        if not entry and any(_same_block(optimizer, other) for other in groups.get(key, ())):
            # created again in the same block, not in another branch
            key = (optimizer.where, f"{optimizer.variable} {place + 1}")
        groups.setdefault(key, []).append(optimizer)
    taken: set[str] = set()
    result: list[OptimizerCall] = []
    for (where, variable), members in groups.items():
        families = list(dict.fromkeys(member.family for member in members))
        for optimizer in members:
            base = variable if optimizer.variable else "optimizer"
            if len(families) > 1:
                base = f"{base} ({optimizer.name.rpartition('.')[2]})"
            subject = base
            if (base, where) not in {(r.subject, r.where) for r in result} and base in taken:
                subject = f"{base} in {where.rpartition(':')[2] or 'the module'}"
            taken.add(subject)
            result.append(replace(optimizer, subject=subject))
    if len({optimizer.subject for optimizer in result}) == 1:
        return [replace(optimizer, subject="") for optimizer in result]
    return result


def called(optimizers: Sequence[OptimizerCall]) -> list[OptimizerCall]:
    """Return the optimizers without those of functions of a script that nothing mentions.

    If that leaves none, other files may call these functions, and all of them are returned.
    """
    used = [optimizer for optimizer in optimizers if not _is_idle(optimizer.call)]
    return used or list(optimizers)


def _is_idle(call: Call) -> bool:
    """Whether a call stands in a function of a script whose name nothing mentions."""
    module = call.module
    function = module.function_of(call.node)
    if function is None or module.class_of(call.node) is not None or function.decorator_list:
        return False
    if "__main__" not in module.source.text:
        return False
    return not is_mentioned(function, module.program)


def _table_of(optimizer: OptimizerCall) -> str:
    """Return the table of optimizers to choose from that a call stands in: `{"sgd": SGD(0.1)}`."""
    table = optimizer.call.module.parent(optimizer.call.node)
    return f"table {table.lineno}" if isinstance(table, ast.Dict) else ""


def _same_block(optimizer: OptimizerCall, other: OptimizerCall) -> bool:
    module = optimizer.call.module
    if other.call.module is not module:
        return False
    mine, theirs = (module.statement_of(entry.call.node) for entry in (optimizer, other))
    if mine is None or theirs is None or mine is theirs:
        return False
    parent = module.parent(mine)
    if parent is not module.parent(theirs):
        return False
    body = getattr(parent, "body", [])
    return (mine in body) == (theirs in body)


def rate_of(call: Call) -> ast.expr | None:
    """Return the learning rate argument of an optimizer."""
    bound = call.bound()
    rate = next((bound[name] for name in _WORDS[_RATE] if name in bound), None)
    if rate is None and not call.parameters() and len(call.node.args) == 1:
        first = call.node.args[0]  # the rate comes first if the signature is unknown
        return None if isinstance(first, ast.Starred) else first
    return rate


def facts_of(
    optimizer: OptimizerCall, reader: str, confidence: Confidence = "certain"
) -> Iterator[Fact]:
    """Yield the facts of a call that creates an optimizer; how sure it is that it is made."""
    call = optimizer.call
    bound = call.bound()
    under = tuple(c.text for c in branches(call.node, call.module))
    span = call.module.span(call.node)
    subject, family = optimizer.subject, Known(optimizer.family)
    named = fact_of("optimizer.name", family, span, subject=subject, under=under, reader=reader)
    yield replace(named, confidence=confidence)
    if optimizer.family == "selectable":
        return
    name = Known(optimizer.name)
    yield fact_of("optimizer.source_name", name, span, subject=subject, under=under, reader=reader)
    for field in _CONSTANTS:
        node = next((bound[n] for n in _WORDS[f"optimizer.{field}"] if n in bound), None)
        yield from number(field, node, optimizer, reader, under)
    decay = next((bound[n] for n in _WORDS[_DECAY] if n in bound), None)
    if not isinstance(decay, ast.Call):
        field = "l2" if optimizer.coupled else "weight_decay"
        yield from number(field, decay, optimizer, reader, under)
    for keyword in _WORDS["optimizer.nesterov"]:
        value = call.argument(keyword) if keyword in bound else None
        switch = yes_or_no(value)
        if switch is not None:
            yield fact_of("optimizer.nesterov", switch, span, subject=subject, reader=reader)


def number(
    field: str,
    node: ast.expr | None,
    optimizer: OptimizerCall,
    reader: str,
    under: tuple[str, ...] = (),
) -> Iterator[Fact]:
    """Yield the fact that an optimizer setting has the value of an argument.

    What an unread file has, or a call makes, is open: no default stands in its place.
    """
    if node is None:
        return
    module = optimizer.call.module.owner_of(node)
    given = located(unwrapped(value_of(node, module)), node, module)
    kept = Symbol if field == "learning_rate" else Instance | Symbol
    value = given if isinstance(given, kept) else numeric(given)
    if value is None:
        return
    yield fact_of(
        f"optimizer.{field}",
        value,
        module.span(node),
        subject=optimizer.subject,
        under=under,
        reader=reader,
    )


def only_under(optimizer: OptimizerCall, optimizers: Sequence[OptimizerCall]) -> tuple[str, ...]:
    """Return the conditions of an optimizer with a schedule that is made without one elsewhere."""
    others = [
        other
        for other in optimizers
        if other is not optimizer
        and (other.where, other.variable) == (optimizer.where, optimizer.variable)
    ]
    for other in others:
        node = rate_of(other.call)
        if node is not None and course_of(node, other.call.module.owner_of(node)) is None:
            call = optimizer.call
            return tuple(
                condition.text
                for condition in branches(call.node, call.module)
                if holds_by_default(condition) is not True and condition.text not in _STARTED
            )
    return ()


def schedule_facts(
    optimizer: OptimizerCall,
    reader: str,
    *,
    stepped: str = "",
    on_skip: str = "",
    under: tuple[str, ...] = (),
) -> Iterator[Fact]:
    """Yield the peak rate and the schedule behind the learning rate of an optimizer.

    Args:
        optimizer: the call that creates it.
        reader: name of the reader.
        under: conditions under which it has a schedule.
        stepped: what advances the schedule, if the framework does.
        on_skip: whether it moves on when an update is skipped, if the framework decides.
    """
    node = rate_of(optimizer.call)
    if node is None:
        return
    module = optimizer.call.module.owner_of(node)
    course = course_of(node, module)
    value = value_of(node, module)
    if course is None or not isinstance(value, Instance | Symbol | Choice):
        if isinstance(value, Instance):
            pass
        elif course is None or (isinstance(value, Known) and value.value is not None):
            yield from number("learning_rate", node, optimizer, reader)
    if course is None:
        return
    by_library = isinstance(value, Instance) and ":" not in value.made_by
    if course.base is not None or by_library:
        base = course.base[0] if course.base is not None else None
        told = list(number("learning_rate", base, optimizer, reader))
        yield from told or [
            unknown(
                "optimizer.learning_rate",
                "the highest rate of the schedule was not read",
                module.span(node),
                subject=optimizer.subject,
                reader=reader,
            )
        ]
    yield from course_facts(course, reader, module.span(node), stepped=stepped, under=under)
    if on_skip:
        yield fact_of("schedule.on_skip", Known(on_skip), module.span(node), reader=reader)


def course_facts(
    course: Course, reader: str, *places: Span, stepped: str = "", under: tuple[str, ...] = ()
) -> Iterator[Fact]:
    """Yield the facts about a schedule."""
    spans = (*course.places, *places)[:6]
    if course.decay:
        named = fact_of("schedule.name", Known(course.decay), *spans, under=under, reader=reader)
        spelled = replace(named, confidence="guess", reason="by the spelling of its formula")
        yield named if course.exact else spelled
    for field, end in course.details:
        yield Fact(
            field=f"recipe.schedule.{field}",
            value=end,
            places=spans,
            origin="presence",
            reader=reader,
        )
    word = Known("yes" if course.has_warmup else "no")
    yield fact_of("schedule.has_warmup", word, *spans[:1], reader=reader)
    if course.warmup:
        yield fact_of("schedule.warmup", Known(course.warmup), *spans[:1], reader=reader)
    if course.start is not None:
        yield fact_of("schedule.warmup_start_lr", course.start, *spans[:1], reader=reader)
    if course.form:
        yield fact_of("schedule.warmup_form", Known(course.form), *spans[:1], reader=reader)
    if stepped:
        yield fact_of("schedule.stepped_per", Known(stepped), *spans[:1], reader=reader)


def role(*texts: str) -> str:
    """Return the part that an optimizer trains, from names around it: generator, ...; or empty."""
    for text in texts:
        words = parts_of(text)
        if words & _GENERATORS:
            return "generator"
        if words & _DISCRIMINATORS:
            return "discriminator"
    return ""
