"""CL901: torch.cuda.amp and torch.cpu.amp, deprecated in favor of torch.amp."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from crosscast.edits.edit import Edit
from crosscast.edits.node_edits import insert, insert_before, opening, replace_node
from crosscast.lint.outdated_apis import older, spans, used
from crosscast.lint.rule import Finding, Rule
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.syntax.nodes import dotted_text, walk
from crosscast.sources.subject import Subject

_PLACES = ("torch.cuda.amp", "torch.cpu.amp")
_KEYWORDS = {"autocast": ("enabled", "dtype", "cache_enabled"), "GradScaler": ()}
"""Names of positional arguments with other positions in torch.amp; those of GradScaler only move by
one position."""
_ASKS = re.compile(r"version|available|hasattr|getattr|has_|can_", re.I)
_AUTOCAST = "torch.cuda.amp.autocast"
_OLD = {f"{place}.{name}" for place in _PLACES for name in _KEYWORDS}


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls of the old classes, with one finding per module and class."""
    program = subject.program
    if older(program, "torch", "2.4"):
        return
    repairs: dict[str, tuple[Edit, ...]] = {}
    for module, name, places in (*used(subject, _OLD.__contains__), *_valued(program)):
        place, _, what = name.rpartition(".")
        device = place.split(".")[1]
        if _has_new(module, what):
            continue
        file = module.source.name
        if file not in repairs:
            repairs[file] = _repair(module)
        yield Finding(
            span=module.span(places[0]),
            message=f"{name} is deprecated since PyTorch 2.4",
            hint=f'write torch.amp.{what}("{device}", ...)'
            + (", with the other arguments as keywords" if what == "autocast" else ""),
            related=spans(module, places),
            edits=repairs[file],
        )


def _valued(program: Program) -> Iterator[tuple[Module, str, list[ast.expr]]]:
    """Yield the modules that never call autocast by its name, but through a variable."""
    for module in program.modules:
        values = [value for node in module.every(ast.ImportFrom) for value in _values(module, node)]
        if values and not any(set(call.names) == {_AUTOCAST} for call in module.calls):
            yield module, _AUTOCAST, list(values)


def _has_new(module: Module, what: str) -> bool:
    """Whether the module itself chooses between the old and the new class."""
    return any(f"torch.amp.{what}" in call.names for call in module.calls)


def _repair(module: Module) -> tuple[Edit, ...]:
    """Return the edits for a whole module, or none if something in it is not certain."""
    calls = [call.node for call in module.calls if call.names and set(call.names) <= _OLD]
    edits: list[Edit] = []
    known = {id(node.func) for node in calls}
    for node in calls:
        changed = _call_edits(module, node)
        if changed is None:
            return ()
        edits += changed
    imported: set[str] = set()
    for statement in module.nodes:
        if isinstance(statement, ast.Import | ast.ImportFrom) and _names_old(statement):
            for value in _values(module, statement):
                edits.append(replace_node(module, value, f'(lambda: {value.id}("cuda"))'))
                known.add(id(value))
            edit = _import_edit(module, statement, known)
            if edit is None:
                return ()
            edits.append(edit)
            imported.update(alias.asname or alias.name for alias in statement.names)
    written = [dotted_text(node.func) for node in calls]
    if not all(name.startswith(_PLACES) or name.partition(".")[0] in imported for name in written):
        return ()  # reached through a name that something else than an import made
    return tuple(edits)


def _call_edits(module: Module, node: ast.Call) -> list[Edit] | None:
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        return None
    if any(keyword.arg in (None, "device", "device_type") for keyword in node.keywords):
        return None
    place = opening(module, node)
    name = module.call(node).name
    device, what = name.split(".")[1], name.rpartition(".")[2]
    keywords: Sequence[str] = _KEYWORDS[what]
    if place is None:
        return None
    more = ", " if node.args or node.keywords else ""
    if more and not module.lines[place[0] - 1][place[1] - 1 :].strip():
        more = ","  # the arguments begin in the next line
    edits = [insert(module, *place, f'"{device}"{more}')]
    first = node.args[0] if node.args else None
    for argument, keyword in zip(node.args, keywords, strict=False):
        named = insert_before(module, argument, f"{keyword}=")
        if argument is first and (named.line, named.column) == place:
            edits[0] = insert(module, *place, f'"{device}"{more}{keyword}=')
        else:
            edits.append(named)
    written = dotted_text(node.func)
    if written.startswith(_PLACES):
        edits.append(replace_node(module, node.func, f"torch.amp.{what}"))
    return edits


def _names_old(statement: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(statement, ast.Import):
        return any(alias.name.startswith(_PLACES) and alias.asname for alias in statement.names)
    if statement.module in ("torch.cuda", "torch.cpu"):
        return any(alias.name == "amp" for alias in statement.names)
    has_old = any(alias.name == "*" or alias.name in _KEYWORDS for alias in statement.names)
    return has_old and (statement.module or "").startswith(_PLACES)


def _import_edit(
    module: Module, statement: ast.Import | ast.ImportFrom, known: set[int]
) -> Edit | None:
    """Return the edit of an import whose names are only used in fixed calls."""
    if _is_chosen(module, statement):
        return None
    match statement:
        case ast.ImportFrom(module="torch.cuda.amp" | "torch.cpu.amp", names=names):
            if any(alias.name not in _KEYWORDS for alias in names):
                return None
            locals_ = [alias.asname or alias.name for alias in names]
            if not all(_only_called(module, local, known, 0) for local in locals_):
                return None
            return _module_edit(module, statement)
        case ast.Import(names=[ast.alias("torch.cuda.amp" | "torch.cpu.amp", str() as local)]):
            new = f"import torch.amp as {local}"
        case ast.ImportFrom(module="torch.cuda" | "torch.cpu", names=[ast.alias(asname=None)]):
            local, new = "amp", "from torch import amp"
        case ast.ImportFrom(
            module="torch.cuda" | "torch.cpu", names=[ast.alias(asname=str(local))]
        ):
            new = f"from torch import amp as {local}"
        case _:
            return None
    return replace_node(module, statement, new) if _only_called(module, local, known, 1) else None


def _is_chosen(module: Module, statement: ast.stmt) -> bool:
    """Whether the program handles a failing import, or checks the availability before."""
    here = module.parent(statement)
    while here is not None:
        if isinstance(here, ast.Try | ast.TryStar | ast.ExceptHandler):
            return True
        if isinstance(here, ast.If) and _ASKS.search(module.text(here.test)):
            return True
        here = module.parent(here)
    return False


def _values(module: Module, statement: ast.stmt) -> Iterator[ast.Name]:
    """Yield the uses of `autocast` as a value that is only called, without arguments.

    `context = autocast if half else nothing`, and later `with context():`.
    """
    if not isinstance(statement, ast.ImportFrom) or statement.module != "torch.cuda.amp":
        return
    local = {alias.asname or alias.name for alias in statement.names if alias.name == "autocast"}
    for node in module.every(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp(body=body, orelse=other)):
                chosen = [part for part in (body, other) if isinstance(part, ast.Name)]
            case _:
                continue
        home = module.function_of(node)
        uses = [part for part in walk(home or module.tree) if isinstance(part, ast.Name)]
        uses = [part for part in uses if part.id == name and isinstance(part.ctx, ast.Load)]
        if all(_is_plain_call(module.parent(use), use) for use in uses):
            yield from (part for part in chosen if part.id in local)


def _is_plain_call(node: ast.AST | None, use: ast.Name) -> bool:
    """Whether a node calls a name without arguments."""
    return isinstance(node, ast.Call) and node.func is use and not (node.args or node.keywords)


def _module_edit(module: Module, statement: ast.ImportFrom) -> Edit | None:
    """Return the edit of `torch.cuda.amp` in `from torch.cuda.amp import ...`."""
    row = module.lines[statement.lineno - 1]
    start = row.find(statement.module or "", statement.col_offset)
    if start < 0:
        return None
    return Edit(
        file=module.source.name,
        line=statement.lineno,
        column=start + 1,
        end_line=statement.lineno,
        end_column=start + 1 + len(statement.module or ""),
        text="torch.amp",
    )


def _only_called(module: Module, local: str, known: set[int], depth: int) -> bool:
    """Whether a name is bound once and only used in known calls.

    Args:
        module: the module to search.
        local: the name.
        known: ids of the called expressions of known calls.
        depth: number of attributes between the name and the called expression.
    """
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id == local:
            used_in: ast.AST | None = node
            for _ in range(depth):
                used_in = module.parent(used_in) if used_in is not None else None
            if id(used_in) not in known:
                return False
    return True


_REST = """\
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
_MODEL = """\
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

RULE = Rule(
    code="CL901",
    name="torch-cuda-amp",
    topic="outdated",
    severity=Severity.NOTE,
    title="torch.cuda.amp is deprecated",
    why="Since PyTorch 2.4, every use of torch.cuda.amp and torch.cpu.amp prints a "
    "FutureWarning. The order of the parameters of autocast has changed: in "
    "torch.amp.autocast the first is the device and the second the dtype, so "
    '`autocast(False)` becomes `autocast("cuda", enabled=False)`. Passed by position, False '
    "would be taken for a dtype.",
    wrong=f"""\
import torch
from torch.cuda.amp import GradScaler, autocast

{_MODEL}scaler = GradScaler(init_scale=1024)
for inputs, targets in loader:
    optimizer.zero_grad()
    with autocast(True):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
{_REST}""",
    right=f"""\
import torch
from torch.amp import GradScaler, autocast

{_MODEL}scaler = GradScaler("cuda", init_scale=1024)
for inputs, targets in loader:
    optimizer.zero_grad()
    with autocast("cuda", enabled=True):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
{_REST}""",
    check=check,
    hints=("torch.cuda", "torch.cpu", "cuda.amp"),
    fixable=True,
    sources=("FutureWarning of PyTorch 2.4 to 2.13", "torch/cuda/amp/autocast_mode.py"),
)
