"""Who decides whether a piece of a program runs: nobody, a flag, a configuration, the caller."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.pysource.choices import certain_truth
from crosscast.pysource.containers import definitions
from crosscast.pysource.evaluate import evaluate, truth
from crosscast.pysource.nodes import walk
from crosscast.pysource.values import Choice, Known, Symbol, Unknown
from crosscast.readers.python.origins import Who, by_name_of_flag, leaves, located, origin

if TYPE_CHECKING:
    from crosscast.diagnostics import Span
    from crosscast.pysource.module import Function, Module

__all__ = [
    "PRECISION",
    "Condition",
    "Decision",
    "by_name_of_flag",
    "conditions",
    "decide",
    "is_possible",
    "leaves",
    "located",
    "origin",
    "reached_by",
]
PRECISION = re.compile(
    r"\bamp|amp\b|_amp|fp16|bf16|float16|half|mixed|mxp|precision|dtype|autocast|scale", re.I
)
"""Words of conditions that are about precision."""
_OTHER = re.compile(
    r"train|eval|mode\b|gpu|cuda|cpu|rank|world|nproc|device|main|__name__|restore|resume|exist"
    r"|verbose|profil|debug|isinstance|version|hasattr|tpu|horovod|hvd|strategy|is None",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition around a node, and whether it must hold."""

    node: ast.expr
    holds: bool
    module: Module

    @property
    def text(self) -> str:
        """As facts write it."""
        text = self.module.text(self.node)[:200]
        if self.holds:
            return text
        simple = isinstance(self.node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        return f"not {text}" if simple else f"not ({text})"

    @property
    def usual(self) -> bool | None:
        """Whether it is met with the defaults of flags; None: not known."""
        found = by_name_of_flag(self.node, self.module)
        if found is None:
            found = truth(self.node, self.module)
        return None if found is None else found == self.holds

    @property
    def certain(self) -> bool | None:
        """Whether constants and the launch command alone say that it is met, or that it is not."""
        found = certain_truth(self.node, self.module)
        return None if found is None else found == self.holds

    @property
    def default(self) -> bool | None:
        """Whether it is met with the defaults of flags, those of functions not counted."""
        value = evaluate(self.node, self.module)
        if not isinstance(value, Known) or isinstance(value.value, Symbol | Unknown | Choice):
            return None
        return bool(value.value) == self.holds


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decides, and what happens if nobody says anything."""

    who: Who
    usual: bool | None
    """Whether it happens with the defaults as written."""
    under: tuple[str, ...] = ()
    possible: bool = True
    """False: constants or the launch command rule it out."""


def reached_by(node: ast.AST, module: Module, depth: int = 0) -> tuple[Span, ...]:
    """Return the places of the calls through which the function around a node is reached."""
    program, function = module.program, module.function_of(node)
    if program is None or function is None or depth > 2:
        return ()
    sites = program.call_sites(module, function)
    if not 1 <= len(sites) <= 4:
        return ()
    first = sites[0]
    spans = [one.module.span(one.node) for one in sites]
    return (*spans, *reached_by(first.node, first.module, depth + 1))


def is_possible(node: ast.AST, module: Module) -> bool:
    """Whether neither constants nor the launch command rule out that a node runs."""
    return all(one.certain is not False for one in conditions(node, module))


def conditions(node: ast.AST, module: Module, depth: int = 0) -> list[Condition]:
    """Return the conditions that a node stands under, outermost first.

    Those around the only call of the function that it stands in are among them.
    """
    found: list[Condition] = []
    child: ast.AST = node
    here = module.parent(node)
    function: Function | None = None
    while here is not None:
        if isinstance(here, ast.If | ast.IfExp) and child is not here.test:
            body = here.body if isinstance(here.body, list) else [here.body]
            found.append(Condition(here.test, child in body, module))
        found += _left_before(child, here, module)
        if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
            function = here
            break
        child, here = here, module.parent(here)
    program = module.program
    if function is not None and program is not None and depth < 3:
        sites = program.call_sites(module, function)
        if len(sites) == 1:
            found += reversed(conditions(sites[0].node, sites[0].module, depth + 1))
    return list(reversed(found))


def _left_before(child: ast.AST, here: ast.AST, module: Module) -> Iterator[Condition]:
    """Yield the conditions under which a block is left before a statement of it."""
    body = getattr(here, "body", None)
    if not isinstance(body, list) or child not in body:
        return
    for before in reversed(body[: body.index(child)]):
        if isinstance(before, ast.If) and not before.orelse:
            end = before.body[-1]
            if isinstance(end, ast.Return) and PRECISION.search(module.text(before.test)):
                yield Condition(before.test, False, module)


def decide(
    found: Sequence[Condition],
    switch: ast.expr | None,
    module: Module,
    wanted: re.Pattern[str] = PRECISION,
) -> Decision:
    """Return who decides about something under conditions, which may have a switch of its own.

    Args:
        found: the conditions around it.
        switch: what an argument such as `enable=` gets.
        module: of the switch.
        wanted: words of the conditions that matter.
    """
    mine = [one for one in found if _matters(one, wanted)]
    usual: bool | None = True
    who: list[Who] = []
    for one in mine:
        by = origin(one.node, one.module)
        if by != "always":
            who.append(by)
            if one.usual is False:
                usual = False
            elif one.usual is None and usual:
                usual = None
    under = [one.text for one in mine]
    if switch is not None and not isinstance(switch, ast.Constant):
        place = module.owner_of(switch)
        by = origin(switch, place)
        if by != "always":
            who.append(by)
            said = by_name_of_flag(switch, place)
            said = truth(switch, place) if said is None else said
            if said is False:
                usual = False
            elif said is None and usual:
                usual = None
            under.append(place.text(switch)[:200])
        elif truth(switch, place) is False:
            usual = False
    order: tuple[Who, ...] = ("flag", "config", "caller")
    best: Who = next((w for w in order if w in who), "always")
    possible = all(one.certain is not False for one in found)
    if switch is not None and certain_truth(switch, module.owner_of(switch)) is False:
        possible = False
    return Decision(best, usual, tuple(dict.fromkeys(under)), possible)


def _matters(one: Condition, wanted: re.Pattern[str]) -> bool:
    text = one.module.text(one.node)
    if wanted.search(text):
        return True
    if any(wanted.search(text) for text in _behind(one.node, one.module)):
        return True
    return not _OTHER.search(text) and origin(one.node, one.module) in ("flag", "config")


def _behind(node: ast.expr, module: Module) -> Iterator[str]:
    for name in walk(node):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load):
            for one in definitions(name, module):
                if one.kind == "assign" and one.value is not None:
                    yield one.module.text(one.value)
