"""Find the statements to run under autocast: forward pass and loss, never the backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.edits.layout import block_of, has_long_text, is_alone
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.uses import Site, Stops

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.events import TrainingStep

_LIGHT = frozenset(
    {
        *("to", "cuda", "cpu", "size", "view", "item", "long", "int", "float", "bool", "detach"),
        *("squeeze", "unsqueeze", "contiguous", "type", "next", "items", "keys", "values", "get"),
        *("append", "update", "extend", "format", "tuple", "list", "dict", "len", "range", "zip"),
        *("enumerate", "isinstance", "hasattr", "getattr", "str", "print", "map", "train", "eval"),
        *("zero_grad", "clone", "numel", "permute", "transpose", "reshape", "set", "sorted", "min"),
        *("max", "copy", "requires_grad_", "fill_", "resize_", "copy_", "info", "set_postfix"),
        *("debug", "time", "split", "pop", "tolist", "numpy", "pin_memory", "sum", "mean"),
    }
)
"""Calls that only move or rearrange data."""
_DEPTH = 3
_GROWING = frozenset({"append", "extend", "update", "insert", "add_", "add"})
_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Statements of one block that run under autocast: from `first` to `last`, both included."""

    module: Module
    block: list[ast.stmt]
    first: int
    last: int
    site: Site

    @property
    def statements(self) -> list[ast.stmt]:
        """The statements, in order."""
        return self.block[self.first : self.last + 1]


@dataclass(slots=True)
class _Found:
    """Statements of one block that the loss depends on."""

    block: list[ast.stmt]
    places: list[int]
    forward: int | None
    computing: int | None


def regions_of(
    sites: Iterable[Site], steps: Iterable[TrainingStep], models: Iterable[str], stops: Stops
) -> list[Region]:
    """Return the statements to run under autocast; regions of one block are merged.

    Args:
        sites: the scaled losses.
        steps: the training steps of the program, with their forward passes.
        models: expressions of the models in the program, such as `self.net`.
        stops: receives the reasons why the loop cannot be migrated.
    """
    forwards = {id(event.node) for step in steps for event in step.of("forward")}
    names = {name.rpartition(".")[2] for name in models}
    found: list[Region] = []
    for site in sites:
        own = list(_of_site(site, forwards))
        if not any(_has_forward(region, forwards, names) for region in own):
            stops.add(
                site.module,
                site.call.node,
                f"the forward pass that computes {site.module.text(site.loss)} is not in this "
                "function, so it cannot be wrapped in autocast",
                "compute the loss next to amp.scale_loss, or wrap the call of the model in "
                'torch.amp.autocast("cuda", dtype=torch.float16) by hand',
            )
        found += own
    joined = _joined(found)
    for region in joined:
        _check(region, stops)
    return joined


def _has_forward(region: Region, forwards: set[int], models: set[str]) -> bool:
    """Whether the model runs in a region, directly, in a callee, or as an argument of a call."""
    return any(
        _runs(region.module.call(node), forwards, models, 0)
        for statement in region.statements
        for node in walk(statement)
        if isinstance(node, ast.Call)
    )


def _runs(call: Call, forwards: set[int], models: set[str], depth: int) -> bool:
    if id(call.node) in forwards or any(
        _word(argument) in models for argument in _arguments(call.node)
    ):
        return True
    program = call.module.program
    found = program.function(call) if depth < _DEPTH else None
    return found is not None and any(
        _runs(found[0].call(node), forwards, models, depth + 1)
        for node in walk(found[1])
        if isinstance(node, ast.Call)
    )


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [call.func, *call.args, *(keyword.value for keyword in call.keywords)]


def _word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _of_site(site: Site, forwards: set[int]) -> Iterator[Region]:
    module = site.module
    needed = _loads(site.loss, module)
    blocks: list[_Found] = []
    here: ast.stmt = site.node
    while True:
        block = block_of(module, here)
        examined = _search(block, block.index(here), needed, forwards, module)
        if examined.places:
            blocks.append(examined)
        parent = module.parent(here)
        while parent is not None and not isinstance(parent, ast.stmt | ast.Module):
            parent = module.parent(parent)  # the handler of an exception
        if isinstance(parent, _LOOPS) or not isinstance(parent, ast.stmt):
            break
        here = parent
    known = [number for number, found in enumerate(blocks) if found.forward is not None]
    for number, found in enumerate(blocks):
        outer = bool(known) and number >= max(known)
        first = found.forward if outer else _least(found.forward, found.computing)
        if known and number > max(known):
            continue
        if first is not None:
            yield Region(module, found.block, first, max(found.places), site)


def _least(first: int | None, other: int | None) -> int | None:
    found = [place for place in (first, other) if place is not None]
    return min(found) if found else None


def _search(
    block: list[ast.stmt], end: int, needed: set[str], forwards: set[int], module: Module
) -> _Found:
    """Search a block backwards for statements that define names in `needed`, which is extended."""
    found = _Found(block, [], None, None)
    for place in range(end - 1, -1, -1):
        statement = block[place]
        if ends_region(statement):
            if found.computing is not None or found.forward is not None:
                break
            continue
        if not _assigns(statement, needed, module):
            continue
        needed |= _loads(statement, module)
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
            continue
        found.places.append(place)
        calls = [node for node in walk(statement) if isinstance(node, ast.Call)]
        if any(id(call) in forwards for call in calls):
            found.forward = place
        if any(_computes(call) for call in calls):
            found.computing = place
    if found.computing is None and found.forward is None:
        found.places = []
    return found


def ends_region(statement: ast.stmt) -> bool:
    """Whether a statement must not run under autocast: a backward pass or an optimizer step."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("backward", "scale_loss"))
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "step"
        )
        or isinstance(node, ast.Yield | ast.YieldFrom)
        for node in walk(statement)
    )


def _assigns(statement: ast.stmt, needed: set[str], module: Module) -> bool:
    """Whether a statement assigns one of the needed names."""
    for node in walk(statement):
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            if isinstance(node.ctx, ast.Store) and _target(node, module) in needed:
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            grows = node.func.attr in _GROWING
            if grows and _target(node.func.value, module) in needed:
                return True
    return False


def _target(node: ast.expr, module: Module) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return module.text(node)


def _loads(node: ast.AST, module: Module) -> set[str]:
    found: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Name) and part.id not in ("self", "cls"):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(module.text(part))
    return found


def _computes(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "call")
    return name not in _LIGHT


def _joined(regions: list[Region]) -> list[Region]:
    """Merge regions of one block that no statement that ends a region separates."""
    joined: list[Region] = []
    for region in sorted(regions, key=lambda r: (r.block[0].lineno, r.first)):
        before = next((r for r in joined if r.block is region.block), None)
        if before is not None:
            between = region.block[before.last + 1 : region.first]
            if region.first <= before.last or not any(map(ends_region, between)):
                joined.remove(before)
                last = max(before.last, region.last)
                region = Region(region.module, region.block, before.first, last, before.site)
        joined.append(region)
    return [region for region in joined if not any(_within(region, other) for other in joined)]


def _within(inner: Region, other: Region) -> bool:
    """Whether a region is inside a statement of another one."""
    if inner is other or inner.block is other.block:
        return False
    first, last = other.statements[0], other.statements[-1]
    return first.lineno <= inner.statements[0].lineno <= (last.end_lineno or last.lineno)


def _check(region: Region, stops: Stops) -> None:
    module, statements = region.module, region.statements
    first, last = statements[0], statements[-1]
    if any(ends_region(statement) for statement in statements):
        stops.add(
            module,
            first,
            "there is a backward pass or a step between the forward pass and the loss",
            "wrap the forward passes in autocast by hand and keep the backward passes outside",
        )
    elif not all(is_alone(module, statement) for statement in statements):
        message = "several statements share a line that must be indented"
        stops.add(module, first, message, "put each statement on its own line")
    elif has_long_text(module, first.lineno, last.end_lineno or last.lineno):
        message = "there is a multi-line string between the forward pass and the loss"
        stops.add(module, first, message, "move it out of the loop: indentation would change it")
