"""Rewrites one apex loop for torch.amp: all its edits in all files."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from crosscast_migrate.conditions import as_bool
from crosscast_reading.edits.layout import Draft, indent_of, unit_of
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.forward import Region
from crosscast_torch.migration.experimental.apex.imports import remove_imports
from crosscast_torch.migration.experimental.apex.scaled_steps import Step, branch_of
from crosscast_torch.migration.experimental.apex.scaler_creation import Start
from crosscast_torch.migration.experimental.apex.scaler_paths import ScalerPaths
from crosscast_torch.migration.experimental.apex.uses import (
    REGISTERED,
    Site,
    Stops,
    Test,
    Uses,
    ifs_around,
)
from crosscast_torch.migration.experimental.torch_name import torch_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module


WIDTH = 100
"""Columns of a line before it is broken."""


@dataclass(slots=True)
class Loop:
    """A completely analyzed loop that uses apex."""

    uses: Uses
    start: Start
    regions: Sequence[Region]
    steps: Sequence[Step]
    paths: ScalerPaths
    stops: Stops
    drafts: dict[Module, Draft] = field(default_factory=dict)

    @property
    def states(self) -> list[tuple[Module, ast.AST]]:
        """The calls that save or load the state of the scaler."""
        calls = [*self.uses.of("state_dict"), *self.uses.of("load_state_dict")]
        return [(call.module, call.node) for call in calls]

    def draft(self, module: Module) -> Draft:
        """Return the draft of a module."""
        return self.drafts.setdefault(module, Draft(module))

    def scaler(self, module: Module, node: ast.AST) -> str:
        """Return the expression of the scaler at a node."""
        return self.paths.name_in(module, module.function_of(node))


def write(loop: Loop) -> dict[Module, Draft]:
    """Return the drafts of all modules of a loop with apex.amp."""
    write_loop(loop)
    for word in ("master_params", "state_dict", "load_state_dict"):
        for call in loop.uses.of(word):
            _call(loop, call, word)
    for call in loop.uses.of(REGISTERED):
        loop.draft(call.module).remove(cast(ast.stmt, call.module.statement_of(call.node)))
    for module in loop.uses.modules():
        calls = (call for calls in loop.uses.calls.values() for call in calls)
        consumed = {id(call.node.func) for call in calls if call.module is module}
        remove_imports(loop.draft(module), consumed, loop.stops)
    return loop.drafts


def write_loop(loop: Loop) -> None:
    """Write the scaler, autocast, the backward passes and the steps into the drafts."""
    _start(loop)
    for region in loop.regions:
        _autocast(loop, region)
    for site in loop.uses.sites:
        _backward(loop, site)
    for step in loop.steps:
        _step(loop, step)


def _start(loop: Loop) -> None:
    _create_scaler(loop, loop.start)
    for edit in loop.paths.edits:
        module = next(m for m in loop.paths.program.modules if m.source.name == edit.file)
        loop.draft(module).edits.append(edit)


def _create_scaler(loop: Loop, start: Start) -> None:
    """Rewrite one branch that initializes apex."""
    draft = loop.draft(start.module)
    lines = list(start.kept)
    if not start.off:
        if start.refuses and start.by_flag:
            unit = unit_of(start.module, start.statement)
            lines.append(f'if {start.level} == "O3":')
            lines.append(f'{unit}raise ValueError("torch.amp has no level O3")')
        torch = torch_in(draft)
        given = ('"cuda"', *start.scaler)
        lines += _broken(f"{loop.paths.made} = {torch}.amp.GradScaler", given, start)
        _define_scaler(loop, draft)
    if lines:
        joint = f"\n{indent_of(start.module, start.statement)}"
        draft.replace(start.statement, joint.join(lines))
    else:
        draft.remove(start.statement)


def _broken(head: str, given: Sequence[str], start: Start) -> list[str]:
    """Return a call in one line, or with a line for every argument if that is too long."""
    line = f"{head}({', '.join(given)})"
    if len(indent_of(start.module, start.statement)) + len(line) <= WIDTH:
        return [line]
    unit = unit_of(start.module, start.statement)
    return [f"{head}(", *(f"{unit}{argument}," for argument in given), ")"]


def _define_scaler(loop: Loop, draft: Draft) -> None:
    """Define the scaler before a condition, if it is used outside of it.

    It is disabled if its state is read there, None if it is only passed on.
    """
    start, module = loop.start, loop.start.module
    handed = [place.node for place in loop.paths.handed if place.module is module]
    states = [node for home, node in loop.states if home is module]
    outermost: ast.If | None = None
    here = module.parent(start.statement)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If):
            if any(inner is node for node in (*handed, *states) for inner in walk(here)):
                break
            outermost = here
        here = module.parent(here)
    if outermost is None:
        return
    texts = _tests_around(module, start.statement)
    if any(not _tests_around(home, node) & texts for home, node in loop.states):
        disabled = f'{torch_in(draft)}.amp.GradScaler("cuda", enabled=False)'
        draft.before(outermost, f"{loop.paths.made} = {disabled}")
    elif loop.paths.handed:
        draft.before(outermost, f"{loop.paths.made} = None")


def _tests_around(module: Module, node: ast.AST) -> set[str]:
    """Return the conditions under which a node is evaluated, as text."""
    found = {module.text(branch.test) for branch in ifs_around(module, node)}
    choice = module.enclosing(node, ast.IfExp)
    return found | {module.text(choice.test)} if choice is not None else found


def _autocast(loop: Loop, region: Region) -> None:
    start, site, module = loop.start, region.site, region.module
    if start.off:
        return
    draft = loop.draft(module)
    first = region.statements[0]
    enabled: list[str] = []
    if site.test is not None and branch_of(module, first, site.test) is None:
        enabled.append(_condition(site.test, module))
    if start.enabled:
        enabled.append(f"{loop.scaler(module, first)}.is_enabled()")
    torch = torch_in(draft)
    more = f", enabled={' and '.join(enabled)}" if enabled else ""
    head = f'with {torch}.amp.autocast("cuda", dtype={torch}.float16{more}):'
    draft.enclose(first, region.statements[-1], head)


def _condition(test: Test, module: Module) -> str:
    if test.holds:
        return as_bool(test.node.test, module)
    inner = _negated(test)
    return as_bool(inner, module) if inner is not None else f"not {_atom(test)}"


def _negated(test: Test) -> ast.expr | None:
    """Return `half` of `not half`."""
    node = test.node.test
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return node.operand if is_not and isinstance(node, ast.UnaryOp) else None


def _atom(test: Test) -> str:
    simple = isinstance(test.node.test, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return test.text if simple else f"({test.text})"


def _backward(loop: Loop, site: Site) -> None:
    module = site.module
    loss = module.text(site.loss)
    given = ", ".join(module.text(keyword) for keyword in site.backward.keywords)
    if loop.start.off:
        atom = isinstance(site.loss, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        scaled = loss if atom else f"({loss})"
    else:
        scaled = f"{loop.scaler(module, site.node)}.scale({loss})"
    text = f"{scaled}.backward({given})"
    if not site.rest:
        loop.draft(module).replace(site.node, text)
        return
    loop.draft(module).unwrap(site.node, text, site.rest)


def _step(loop: Loop, step: Step) -> None:
    if loop.start.off:
        return
    module, draft = step.module, loop.draft(step.module)
    scaler = loop.scaler(module, step.node)
    unit = unit_of(module, step.node)
    lines = [f"{scaler}.step({step.optimizer})"]
    if step.last:
        lines.append(f"{scaler}.update()")
    if step.test is None:
        draft.replace(step.node, lines[0])
        if len(lines) > 1:
            draft.after(step.node, *lines[1:])
    else:
        text = [f"if {_plain(step.test, module)}:", *(unit + line for line in lines), "else:"]
        text.append(unit + module.text(step.node))
        draft.replace(step.node, f"\n{indent_of(module, step.node)}".join(text))
    for statement, bound in step.clips:
        scale = f"{loop.scaler(module, statement)}.get_scale()"
        draft.replace(bound, f"{_factor(bound, module)} * {scale}")
    for statement, inside in step.unscale:
        line = f"{scaler}.unscale_({step.optimizer})"
        test = _test_of(loop, step)
        if inside or test is None:
            draft.before(statement, line)
        else:
            draft.before(
                statement, f"if {_plain(test, module)}:", unit_of(module, statement) + line
            )


def _factor(node: ast.expr, module: Module) -> str:
    simple = isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return module.text(node) if simple else f"({module.text(node)})"


def _weights(module: Module, call: Call) -> str:
    """Return the weights of the optimizer in `amp.master_params(optimizer)`, as text."""
    optimizer = module.text(call.node.args[0] if call.node.args else call.bound()["optimizer"])
    return f'[p for group in {optimizer}.param_groups for p in group["params"]]'


def _test_of(loop: Loop, step: Step) -> Test | None:
    found = [s for s in loop.uses.sites if step.optimizer in s.optimizers]
    return next((s.test for s in found if s.module is step.module), None)


def _plain(test: Test, module: Module) -> str:
    if test.holds:
        return test.text
    inner = _negated(test)
    return module.text(inner) if inner is not None else f"not {_atom(test)}"


def _call(loop: Loop, call: Call, word: str) -> None:
    module, draft = call.module, loop.draft(call.module)
    if word == "master_params":
        draft.replace(call.node, _weights(module, call))
    else:
        draft.replace(call.node.func, f"{loop.scaler(module, call.node)}.{word}")
