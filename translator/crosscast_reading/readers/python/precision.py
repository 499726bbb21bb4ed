"""Facts about precision from the places where a program requests a half type."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.values.value import Choice, Known, Symbol, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import Condition, branches, reached_by
from crosscast_reading.readers.python.decisions import PRECISION, Decision, decide
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.python.origins import origin

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.module import Module

Mode = Literal["mixed", "full", ""]


_FORMS = (
    ("bfloat16", re.compile("bfloat16|bf16", re.I)),
    ("float16", re.compile("float16|fp16|^(half|o1|o2)$", re.I)),
    ("float32", re.compile("float32|fp32|^(float|single)$", re.I)),
)
"""Types by how their names look; the first that matches counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place that enables half precision (or disables it)."""

    node: ast.AST
    module: Module
    dtypes: tuple[str, ...]
    """Types that it can select; empty for float32 or unknown."""
    decision: Decision
    mode: Mode = "mixed"
    switch: str = ""
    """Text of the argument that enables it."""
    argument: ast.expr | None = None
    """That argument."""
    possible: bool = True
    """Whether it can run as far as constants and the launch command tell."""
    default: str = ""
    """The type with the defaults of flags, where that is known of several; may be float32."""
    around: tuple[Span, ...] = ()
    """The conditions around it, and the calls through which it is reached."""

    @property
    def span(self) -> Span:
        """The place of the argument that enables it, else of the node."""
        place = self.argument or self.node
        return self.module.owner_of(place).span(place)


def site(
    node: ast.AST,
    module: Module,
    dtypes: Sequence[str],
    *,
    switch: ast.expr | None = None,
    chosen: ast.expr | None = None,
    mode: Mode = "mixed",
    default: str = "",
    also: Sequence[Condition] = (),
    wanted: frozenset[str] = PRECISION,
) -> Site:
    """Return the record of a place.

    Args:
        node: the call or assignment.
        module: of it.
        dtypes: what it can select.
        switch: an argument that is true or false: `enable=args.amp`.
        chosen: the argument that names the type; its origin decides.
        mode: float32 weights (`mixed`) or half ones (`full`).
        default: what `chosen` names with the defaults of flags; empty if that is not known.
        also: further conditions, under which `chosen` names the type.
        wanted: words of the conditions that matter.
    """
    conditions = list(dict.fromkeys((*branches(node, module), *also)))
    decision = decide(conditions, switch, module, wanted, unnamed=True)
    if chosen is not None and decision.who == "always":
        who = origin(chosen, module.owner_of(chosen))
        if who != "always":
            by_default = decision.by_default if default or len(dtypes) == 1 else None
            by_default = False if default == "float32" else by_default
            decision = Decision(who, by_default, decision.under)
    shown = module.owner_of(switch).text(switch) if switch is not None else ""
    return Site(
        node=node,
        module=module,
        dtypes=tuple(dtypes),
        decision=decision,
        mode=mode,
        default=default,
        switch=shown,
        around=tuple(c.module.span(c.node) for c in conditions if c.text in decision.under)
        + reached_by(node, module),
        possible=decision.who != "never" and all(test.certain is not False for test in conditions),
        argument=switch,
    )


def types_in(value: Value | None) -> tuple[str, ...]:
    """Return the types that a value names: `mixed_float16`, `tf.bfloat16`, `"bf16"`."""
    words: list[str] = []
    match value:
        case Known(value=str(text)) | Unknown(default=str(text), has_default=True):
            words.append(text)
        case Symbol(name=name):
            words.append(last(name))
        case Choice(options=options):
            dtypes = [dtype for _, option in options for dtype in types_in(option)]
            return tuple(dict.fromkeys(dtypes))
    dtypes = [next((kind for kind, form in _FORMS if form.search(word)), "") for word in words]
    return tuple(filter(None, dtypes))


def precision_facts(
    sites: Sequence[Site], reader: str, beside: Sequence[Site] = (), *, with_default: bool = True
) -> Iterator[Fact]:
    """Yield who decides about half precision, the possible types and the default.

    Args:
        sites: the places that enable it.
        reader: name of the reader.
        beside: places that another reader reports; they count for the default type.
        with_default: whether to yield the type in use by default.
    """
    half = [site for site in sites if set(site.dtypes) & set(HALVES) and site.possible]
    for site in half:
        span = site.span
        under = site.decision.under
        words = tuple(d for d in site.dtypes if d != "float32")
        yield fact_of(
            "precision.enabled",
            Known(site.decision.who),
            span,
            *site.around,
            under=under,
            reader=reader,
        )
        yield fact_of("precision.dtypes", Known(words), span, under=under, reader=reader)
        if site.mode:
            yield fact_of("precision.mode", Known(site.mode), span, under=under, reader=reader)
        flag = site.switch or next(iter(under), "")
        if flag and site.decision.who != "always":
            yield fact_of("precision.flag", Known(flag), span, under=under, reader=reader)
    if not with_default:
        return
    default = default_type([*half, *beside])
    spans = [site.span for site in half]
    if default is not None:
        yield fact_of("precision.compute_dtype", Known(default), *spans, reader=reader)
    elif half and all(_is_switch(site) for site in (*half, *beside)):
        # the default of the switch is in another file; such switches are off unless set
        yield fact_of(
            "precision.compute_dtype", Known("float32"), *spans, reader=reader, confidence="guess"
        )


def _is_switch(site: Site) -> bool:
    """Whether only a flag with a name about precision enables it."""
    return site.decision.who == "flag" and bool(site.decision.under)


def default_type(half: Sequence[Site]) -> str | None:
    """Return the type in use by default; None if unknown."""
    if not half:
        return None
    on = [site for site in half if site.decision.by_default is True]
    if on:
        if any(site.decision.who == "caller" for site in on):
            return None
        types = {d for site in on for d in _by_default(site) if d != "float32"}
        if "float32" in _by_default(on[0]):
            return None
        if types == set(HALVES):
            return "bf16_or_fp16"
        return types.pop()
    if all(site.decision.by_default is False for site in half):
        return "float32"
    return None


def _by_default(site: Site) -> tuple[str, ...]:
    return (site.default,) if site.default else site.dtypes
