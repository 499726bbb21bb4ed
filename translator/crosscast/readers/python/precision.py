"""Facts about precision from the places where a program asks for a type below float32."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast.facts.fact import Fact
from crosscast.facts.vocabulary import HALVES
from crosscast.pysource.evaluation.choices import certain_truth
from crosscast.pysource.names.containers import chase
from crosscast.pysource.values.value import Choice, Known, Symbol, Unknown, Value
from crosscast.readers.fact_builder import fact_of
from crosscast.readers.python.conditions import Condition, branches, reached_by
from crosscast.readers.python.decisions import Decision, decide
from crosscast.readers.python.library_calls import last
from crosscast.readers.python.origins import origin

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.module import Module

Mode = Literal["mixed", "full", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place that asks for half precision (or takes it back)."""

    node: ast.AST
    module: Module
    dtypes: tuple[str, ...]
    """Types that it can select; empty: float32 or nothing known."""
    decision: Decision
    mode: Mode = "mixed"
    switch: str = ""
    """Text of the argument that switches it."""
    argument: ast.expr | None = None
    """That argument."""
    possible: bool = True
    """Whether neither constants nor the launch command rule it out."""
    around: tuple[Span, ...] = ()
    """The conditions it stands under, and the calls through which it is reached."""

    @property
    def span(self) -> Span:
        """The place: of the argument that switches it, if there is one."""
        return self.module.span(self.argument or self.node)


def site(
    node: ast.AST,
    module: Module,
    dtypes: Sequence[str],
    *,
    switch: ast.expr | None = None,
    chosen: ast.expr | None = None,
    mode: Mode = "mixed",
) -> Site:
    """Return the record of a place.

    Args:
        node: the call or assignment.
        module: of it.
        dtypes: what it can select.
        switch: an argument that is true or false: `enable=args.amp`.
        chosen: the argument that names the type; whoever gives it decides.
        mode: float32 weights (`mixed`) or half ones (`full`).
    """
    found = branches(node, module)
    decision = decide(found, switch, module, unnamed=True)
    if chosen is not None and decision.who == "always":
        who = origin(chosen, module.owner_of(chosen))
        if who != "always":
            usual = None if len(dtypes) != 1 else decision.usual
            decision = Decision(who, usual, decision.under)
    shown = module.owner_of(switch).text(switch) if switch is not None else ""
    return Site(
        node=node,
        module=module,
        dtypes=tuple(dtypes),
        decision=decision,
        mode=mode,
        switch=shown,
        around=tuple(c.module.span(c.node) for c in found if c.text in decision.under)
        + reached_by(node, module),
        possible=decision.who != "never" and _is_possible(found, switch, module),
        argument=switch if switch is not None and module.owner_of(switch) is module else None,
    )


def _is_possible(found: Sequence[Condition], switch: ast.expr | None, module: Module) -> bool:
    if switch is not None and certain_truth(switch, module.owner_of(switch)) is False:
        return False
    return all(one.certain is not False for one in found)


def types_in(value: Value | None) -> tuple[str, ...]:
    """Return the types that a value names: `mixed_float16`, `tf.bfloat16`, `"bf16"`."""
    words: list[str] = []
    match value:
        case Known(value=str(text)) | Unknown(default=str(text), has_default=True):
            words.append(text)
        case Symbol(name=name):
            words.append(last(name))
        case Choice(options=options):
            found = [one for _, option in options for one in types_in(option)]
            return tuple(dict.fromkeys(found))
    found = []
    for word in words:
        small = word.lower()
        if "bfloat16" in small or "bf16" in small:
            found.append("bfloat16")
        elif "float16" in small or "fp16" in small or small in ("half", "o1", "o2"):
            found.append("float16")
        elif "float32" in small or "fp32" in small or small in ("float", "single"):
            found.append("float32")
    return tuple(found)


def types_behind(node: ast.expr, module: Module) -> tuple[str, ...]:
    """Return the types that any text behind the name of a policy means."""
    found: list[str] = []
    for one, where in chase(node, module):
        inner = one
        if isinstance(one, ast.Call) and last(where.call(one).name) in ("Policy", "DTypePolicy"):
            inner = where.call(one).bound().get("name") or next(iter(one.args), one)
        for text, _where in chase(inner, where):
            if isinstance(text, ast.Constant):
                found += types_in(Known(text.value))
    return tuple(dict.fromkeys(found))


def precision_facts(
    sites: Sequence[Site], reader: str, beside: Sequence[Site] = (), *, told: bool = True
) -> Iterator[Fact]:
    """Yield who decides about half precision, which types there are, and what is usual.

    Args:
        sites: the places that ask for it.
        reader: name of the reader.
        beside: places of which another reader tells: together they say what is usual.
        told: whether to tell what is usual.
    """
    half = [one for one in sites if set(one.dtypes) & set(HALVES) and one.possible]
    for one in half:
        span = one.span
        under = one.decision.under
        words = tuple(d for d in one.dtypes if d != "float32")
        yield fact_of(
            "precision.enabled",
            Known(one.decision.who),
            span,
            *one.around,
            under=under,
            reader=reader,
        )
        yield fact_of("precision.dtypes", Known(words), span, under=under, reader=reader)
        if one.mode:
            yield fact_of("precision.mode", Known(one.mode), span, under=under, reader=reader)
        flag = one.switch or next(iter(under), "")
        if flag and one.decision.who != "always":
            yield fact_of("precision.flag", Known(flag), span, under=under, reader=reader)
    if not told:
        return
    usual = usual_type([*half, *beside])
    spans = [one.span for one in half]
    if usual is not None:
        yield fact_of("precision.compute_dtype", Known(usual), *spans, reader=reader)
    elif half and all(_is_switch(one) for one in (*half, *beside)):
        # a switch whose default is in another file: they are off unless somebody says otherwise
        yield fact_of(
            "precision.compute_dtype", Known("float32"), *spans, reader=reader, confidence="guess"
        )


def _is_switch(one: Site) -> bool:
    """Whether only a flag named for precision, of which nothing else is known, switches it."""
    decision = one.decision
    return decision.who == "flag" and decision.usual is None and bool(decision.under)


def usual_type(half: Sequence[Site]) -> str | None:
    """Return what runs with the defaults as written; None if it cannot be told."""
    if not half:
        return None
    on = [one for one in half if one.decision.usual is True]
    if on:
        if any(one.decision.who == "caller" for one in on):
            return None
        types = {d for one in on for d in one.dtypes if d != "float32"}
        if "float32" in on[0].dtypes:
            return None
        if types == set(HALVES):
            return "bf16_or_fp16"
        return types.pop()
    if all(one.decision.usual is False for one in half):
        return "float32"
    return None
