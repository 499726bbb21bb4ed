"""Facts about optimizers that a program makes, whatever the framework."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.pysource.values.value import Choice, Instance, Known, Symbol
from crosscast.readers import words
from crosscast.readers.fact_builder import fact_of
from crosscast.readers.python.conditions import branches
from crosscast.readers.python.library_calls import numeric, target_of, unwrapped, value_of
from crosscast.readers.python.origins import located
from crosscast.readers.python.schedules import Course, course_of
from crosscast.targets.parameter_words import fields_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.call import Call

family_of = partial(words.family_of, relatives=True)
"""Returns the family that the name of a class means; empty if none."""
_WORDS = fields_of("graph classes")
_RATE, _DECAY = "optimizer.learning_rate", "optimizer.weight_decay"
_CONSTANTS = ("betas.0", "betas.1", "eps", "momentum")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An optimizer that a program makes."""

    call: Call
    name: str
    """As the source calls it."""
    family: str
    variable: str
    where: str
    """Function that makes it."""
    coupled: bool = False
    """Whether `weight_decay` is the coupled one."""
    subject: str = ""


def made(call: Call, name: str, family: str, *, coupled: bool = False) -> Made:
    """Return the record of a call that makes an optimizer."""
    module = call.module
    return Made(
        call=call,
        name=name,
        family=family,
        variable=target_of(call.node, module),
        where=f"{module.source.name}:{module.qualname(call.node)}",
        coupled=coupled,
    )


def with_subjects(found: Sequence[Made]) -> list[Made]:
    """Return them with subjects: one a variable, unless it can be one of two families.

    Two families in branches are two optimizers; three and more are a choice.
    """
    groups: dict[tuple[str, str], list[Made]] = {}
    for place, one in enumerate(found):
        key = (one.where, one.variable or str(place))
        if any(_same_block(one, other) for other in groups.get(key, ())):
            key = (one.where, f"{one.variable} {place + 1}")  # made anew, not in another branch
        groups.setdefault(key, []).append(one)
    taken: set[str] = set()
    result: list[Made] = []
    for (where, variable), members in groups.items():
        families = list(dict.fromkeys(one.family for one in members))
        for one in members:
            base = variable if one.variable else "optimizer"
            if len(families) == 2:
                base = f"{base} ({one.name.rpartition('.')[2]})"
            subject = base
            if (base, where) not in {(r.subject, r.where) for r in result} and base in taken:
                subject = f"{base} in {where.rpartition(':')[2] or 'the module'}"
            if len(families) > 2:
                one = replace(one, family="selectable")
            taken.add(subject)
            result.append(replace(one, subject=subject))
    if len({one.subject for one in result}) == 1:
        return [replace(one, subject="") for one in result]
    return result


def _same_block(one: Made, other: Made) -> bool:
    module = one.call.module
    if other.call.module is not module:
        return False
    mine, theirs = (module.statement_of(made.call.node) for made in (one, other))
    if mine is None or theirs is None or mine is theirs:
        return False
    parent = module.parent(mine)
    if parent is not module.parent(theirs):
        return False
    body = getattr(parent, "body", [])
    return (mine in body) == (theirs in body)


def rate_of(call: Call) -> ast.expr | None:
    """Return what an optimizer gets as its learning rate."""
    bound = call.bound()
    found = next((bound[name] for name in _WORDS[_RATE] if name in bound), None)
    if found is None and not call.parameters() and len(call.node.args) == 1:
        first = call.node.args[0]  # the rate comes first wherever the signature is not known
        return None if isinstance(first, ast.Starred) else first
    return found


def facts_of(one: Made, reader: str) -> Iterator[Fact]:
    """Yield what a call that makes an optimizer says about it."""
    call = one.call
    bound = call.bound()
    under = tuple(c.text for c in branches(call.node, call.module))
    span = call.module.span(call.node)
    yield fact_of(
        "optimizer.name", Known(one.family), span, subject=one.subject, under=under, reader=reader
    )
    if one.family == "selectable":
        return
    yield fact_of(
        "optimizer.source_name",
        Known(one.name),
        span,
        subject=one.subject,
        under=under,
        reader=reader,
    )
    for field in _CONSTANTS:
        node = next((bound[n] for n in _WORDS[f"optimizer.{field}"] if n in bound), None)
        yield from number(field, node, one, reader, under)
    decay = next((bound[n] for n in _WORDS[_DECAY] if n in bound), None)
    if not isinstance(decay, ast.Call):
        yield from number("l2" if one.coupled else "weight_decay", decay, one, reader, under)
    for name in _WORDS["optimizer.nesterov"]:
        value = call.argument(name) if name in bound else None
        if isinstance(value, Known) and isinstance(value.value, bool):
            word = Known("yes" if value.value else "no", value.origin, value.flag)
            yield fact_of("optimizer.nesterov", word, span, subject=one.subject, reader=reader)


def number(
    field: str, node: ast.expr | None, one: Made, reader: str, under: tuple[str, ...] = ()
) -> Iterator[Fact]:
    """Yield the fact that a setting of an optimizer has the value of an argument."""
    if node is None:
        return
    module = one.call.module.owner_of(node)
    value = numeric(located(unwrapped(value_of(node, module)), node, module))
    if value is None:
        return
    yield fact_of(
        f"optimizer.{field}",
        value,
        module.span(node),
        subject=one.subject,
        under=under,
        reader=reader,
    )


def schedule_facts(
    one: Made, reader: str, *, stepped: str = "", on_skip: str = ""
) -> Iterator[Fact]:
    """Yield the highest rate and the schedule behind the learning rate of an optimizer.

    Args:
        one: the optimizer.
        reader: name of the reader.
        stepped: what advances the schedule, if the framework does it by itself.
        on_skip: whether it moves on when an update is skipped, if the framework decides.
    """
    node = rate_of(one.call)
    if node is None:
        return
    module = one.call.module.owner_of(node)
    course = course_of(node, module)
    value = value_of(node, module)
    if course is None or not isinstance(value, Instance | Symbol | Choice):
        if isinstance(value, Instance | Symbol):
            pass
        elif course is None or (isinstance(value, Known) and value.value is not None):
            yield from number("learning_rate", node, one, reader)
    if course is None:
        return
    if course.base is not None:
        yield from number("learning_rate", course.base[0], one, reader)
    yield from course_facts(course, reader, module.span(node), stepped=stepped)
    if on_skip:
        yield fact_of("schedule.on_skip", Known(on_skip), module.span(node), reader=reader)


def course_facts(course: Course, reader: str, *places: Span, stepped: str = "") -> Iterator[Fact]:
    """Yield the facts about a schedule."""
    spans = (*course.places, *places)[:6]
    if course.decay:
        yield fact_of("schedule.name", Known(course.decay), *spans, reader=reader)
    word = Known("yes" if course.has_warmup else "no")
    yield fact_of("schedule.has_warmup", word, *spans[:1], reader=reader)
    if course.warmup:
        yield fact_of("schedule.warmup", Known(course.warmup), *spans[:1], reader=reader)
    if stepped:
        yield fact_of("schedule.stepped_per", Known(stepped), *spans[:1], reader=reader)
