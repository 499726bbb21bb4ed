"""Who decides whether a piece of a PyTorch program runs, and whether it runs by default."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.pysource.containers import chase, definitions
from crosscast.pysource.dead import leaves_block
from crosscast.pysource.evaluate import truth
from crosscast.pysource.nodes import walk
from crosscast.pysource.values import Known
from crosscast.readers.python.switches import Condition, by_name_of_flag
from crosscast.readers.torch.made import is_made
from crosscast.readers.torch.origin import flag_behind, origin
from crosscast.readers.torch.told import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crosscast.pysource.calls import Call
    from crosscast.pysource.module import Function, Module

PRECISION = frozenset(
    {
        *("amp", "fp16", "half", "bf16", "float16", "bfloat16", "precision", "mixed", "apex"),
        *("autocast", "scaler", "gradscaler", "fp8", "dtype", "ptdtype", "o0", "o1", "o2"),
        *("mp", "mixprec", "autocaster", "level", "f16"),
    }
)
"""Words of conditions that are about precision."""
_DEVICE = re.compile(r"cuda|gpu|device|is_available|torch\.version|\bcpu\b", re.I)
_DEPTH = 4
_SHORT = 120


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decides about something, and what happens if nobody says anything."""

    who: str
    """always, never, flag, config or caller."""
    usual: bool | None
    """Whether it happens with the defaults as written; None: that is not known."""
    under: tuple[str, ...] = ()
    flag: str = ""
    """The condition that decides, as text."""


def around(node: ast.AST, module: Module, depth: int = 0) -> list[Condition]:
    """Return the conditions that a node stands under, innermost first.

    Those that all calls of its function stand under are among them.
    """
    found: list[Condition] = []
    child: ast.AST = node
    here = module.parent(node)
    function: Function | None = None
    while here is not None:
        found += _of_parent(child, here, module)
        if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
            function = here
            break
        child, here = here, module.parent(here)
    if function is not None and depth < _DEPTH:
        found += _of_callers(module, function, depth)
    return found


def _of_parent(child: ast.AST, here: ast.AST, module: Module) -> Iterator[Condition]:
    if isinstance(here, ast.If | ast.IfExp) and child is not here.test:
        body = here.body if isinstance(here.body, list) else [here.body]
        yield Condition(here.test, child in body, module)
    elif isinstance(here, ast.BoolOp) and child in here.values:
        for before in here.values[: here.values.index(child)]:
            yield Condition(before, isinstance(here.op, ast.And), module)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(here, name, None)
        if not isinstance(block, list) or child not in block:
            continue
        for before in reversed(block[: block.index(child)]):
            if isinstance(before, ast.If) and leaves_block(before.body) and not before.orelse:
                yield Condition(before.test, False, module)


def _of_callers(module: Module, function: Function, depth: int) -> list[Condition]:
    program = module.program
    if program is None:
        return []
    sites = [
        site
        for site in program.call_sites(module, function)
        if site.module.function_of(site.node) is not function
    ]
    if not sites or len(sites) > 8:
        return []
    each = [around(site.node, site.module, depth + 1) for site in sites]
    shared = set.intersection(*({one.text for one in found} for found in each))
    return [one for one in each[0] if one.text in shared]


def conditions_of(call: Call) -> list[Condition]:
    """Return the conditions of a call, those of the name that it is called by among them."""
    found = around(call.node, call.module)
    for name, module in chase(call.node.func, call.module):
        if not isinstance(name, ast.Name | ast.Attribute):
            continue
        others = list(definitions(name, module))
        for one in others:
            value = one.value if one.kind == "assign" else None
            if isinstance(value, ast.IfExp):
                found += _of_arm(value, call.names, one.module)
            elif len(others) > 1 and value is not None and one.module.resolve(value) in call.names:
                found += around(one.node, one.module)
    return found


def _of_arm(value: ast.IfExp, names: Iterable[str], module: Module) -> Iterator[Condition]:
    """Yield the test of `autocast if half else nullcontext` that a call of it stands under."""
    wanted = set(names)
    for arm in (value.body, value.orelse):
        if module.resolve(arm) in wanted:
            yield Condition(value.test, arm is value.body, module)


def is_about(condition: Condition, wanted: frozenset[str]) -> bool:
    """Whether a condition is about some words, itself or through what its names are assigned."""
    if parts_of(condition.module.text(condition.node)) & wanted:
        return True
    return any(parts_of(text) & wanted for text in _behind(condition))


def _behind(condition: Condition) -> Iterator[str]:
    for name in walk(condition.node):
        for one in definitions(name, condition.module) if isinstance(name, ast.Name) else ():
            if one.kind == "assign" and one.value is not None:
                text = one.module.text(one.value)
                if not isinstance(one.value, ast.Call) or len(text) < _SHORT:
                    yield text


def decide(
    found: Iterable[Condition],
    switch: ast.expr | None,
    module: Module,
    wanted: frozenset[str] = PRECISION,
) -> Decision:
    """Return who decides about something.

    Args:
        found: the conditions around it.
        switch: what an argument such as `enabled=` gets.
        module: of the switch.
        wanted: words of the conditions that matter.
    """
    tests = [one for one in found if is_about(one, wanted)]
    if switch is not None:
        tests.insert(0, Condition(switch, True, module.owner_of(switch)))
    usual: bool | None = True
    who: list[str] = []
    flag = ""
    for one in tests:
        by = origin(one.node, one.module)
        if by != "always" and _only_device(one.node, one.module):
            by = "always"
        met = usually(one.node, one.module)
        met = None if met is None else met == one.holds
        if by == "always":
            if met is False:
                return Decision("never", False, (one.text,), one.text)
            continue
        who.append(by)
        if not flag or (by == "flag" and "flag" not in who[:-1]):
            flag = one.text if one.holds else one.module.text(one.node)
        if met is False:
            usual = False
        elif met is None and usual:
            usual = None
    best = next((w for w in ("flag", "config", "caller") if w in who), "always")
    return Decision(best, usual, tuple(dict.fromkeys(one.text for one in tests)), flag)


def _only_device(node: ast.expr, module: Module) -> bool:
    text = module.text(node)
    return bool(_DEVICE.search(text)) and not parts_of(text) & PRECISION


def usually(node: ast.expr, module: Module, depth: int = 0) -> bool | None:
    """Return what a condition is with the defaults of flags, on a machine with a GPU.

    Args:
        node: the condition.
        module: of the condition.
        depth: through how many names that are set under conditions the question came here.
    """
    if isinstance(node, ast.BoolOp):
        parts = [usually(one, module, depth) for one in node.values]
        decisive = isinstance(node.op, ast.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = usually(node.operand, module, depth)
        return None if inner is None else not inner
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        made = is_made(node, module)
        if made is not None:
            return made
        compared = _compared(node, module)
        if compared is not None:
            return compared
    found = by_name_of_flag(node, module)
    if found is None:
        flag = flag_behind(node, module)
        value = (flag.given or flag.default) if flag is not None else None
        found = bool(value.value) if isinstance(value, Known) else None
    if found is None:
        found = _by_assignment(node, module, depth)
    if found is None:
        found = truth(node, module)
    if found is None and _DEVICE.search(module.text(node)):
        text = module.text(node)
        if isinstance(node, ast.Compare) and re.search(r"[=i][=s] *['\"](cuda|gpu)", text):
            return True
        if "is_available" in text and isinstance(node, ast.Call):
            return True
    return found


def _by_assignment(node: ast.expr, module: Module, depth: int) -> bool | None:
    """Return whether a name gets a value under the defaults of flags: `mode == "native"`."""
    if depth >= _DEPTH:  # `if not done: done = True` asks for itself
        return None
    name: ast.expr = node
    wanted: object = None
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = node.comparators[0]
        if not isinstance(node.ops[0], ast.Eq) or not isinstance(other, ast.Constant):
            return None
        name, wanted = node.left, other.value
    found = list(definitions(name, module)) if isinstance(name, ast.Name) else []
    values = [one.value for one in found if one.kind == "assign"]
    if len(values) < 2 or not all(isinstance(value, ast.Constant) for value in values):
        return None
    met: set[bool | None] = set()
    for one in found:
        value = one.value.value if isinstance(one.value, ast.Constant) else None
        if (value == wanted) if wanted is not None else bool(value):
            tests = around(one.node, one.module, depth=9)
            pairs = [(usually(t.node, t.module, depth + 1), t.holds) for t in tests]
            ruled_out = any(test is not None and test != hold for test, hold in pairs)
            met.add(False if ruled_out else None)
    return False if met == {False} else None


def _compared(node: ast.Compare, module: Module) -> bool | None:
    """Return whether a setting that a flag fills equals a constant."""
    flag = flag_behind(node.left, module)
    other = node.comparators[0]
    if flag is None or not isinstance(other, ast.Constant):
        return None
    value = flag.given or flag.default
    if not isinstance(value, Known) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return None
    return (value.value == other.value) is isinstance(node.ops[0], ast.Eq)
