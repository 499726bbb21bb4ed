"""CM107: torch.cuda.amp with a substitute for PyTorch before 1.6, to torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.layout import Draft, every_edit, is_alone
from crosscast_reading.pysource.syntax.nodes import dotted_text, walk
from crosscast_torch.migration.experimental.apex.imports import remove_aliases
from crosscast_torch.migration.experimental.apex.uses import Stops
from crosscast_torch.migration.experimental.torch_name import torch_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.sources.subject import Subject

_HOME = "torch.cuda.amp"
_NEW = {
    "autocast": 'amp.autocast("cuda", dtype={torch}.float16',
    "GradScaler": 'amp.GradScaler("cuda"',
}
_HINT = (
    'write torch.amp.autocast("cuda", dtype=torch.float16) and torch.amp.GradScaler("cuda"), and '
    "remove the substitute"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Replace imports of torch.cuda.amp with a substitute of the program where they fail."""
    for module in subject.program.modules:
        for node in module.every(ast.Try):
            if names := _names(module, node):
                yield _migrated(module, node, names)


def substituted(module: Module) -> bool:
    """Whether a module has its own substitutes for names of torch.cuda.amp."""
    return any(_names(module, node) for node in module.every(ast.Try))


def _names(module: Module, node: ast.Try) -> dict[str, str]:
    """Return local name to name of torch.cuda.amp, of a `try` that substitutes all of them."""
    found: dict[str, str] = {}
    for statement in node.body:
        match statement:
            case ast.ImportFrom(module=home, names=names) if home == _HOME:
                found |= {alias.asname or alias.name: alias.name for alias in names}
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Attribute() as value) if (
                dotted_text(value).startswith(f"{_HOME}.")
            ):
                found[local] = value.attr
            case _:
                return {}
    made = {
        other.name
        for handler in node.handlers
        for other in handler.body
        if isinstance(other, ast.ClassDef | ast.FunctionDef)
    }
    top = module.parent(node) is module.tree and not node.finalbody
    return found if found and set(found) <= made and top else {}


@dataclass(frozen=True, slots=True)
class _Uses:
    """What a module uses of the names. `source`: the `try`, or the import from its module."""

    module: Module
    names: dict[str, str]
    source: ast.Try | ast.ImportFrom

    def calls(self) -> list[tuple[ast.Name, ast.AST | None]]:
        """Return the names that are used, each with the node around it."""
        inside = {id(part) for part in walk(self.source)}
        return [
            (use, self.module.parent(use))
            for use in self.module.every(ast.Name)
            if use.id in self.names and id(use) not in inside
        ]


def _migrated(module: Module, node: ast.Try, names: dict[str, str]) -> Outcome:
    places = [_Uses(module, names, node), *_importers(module, names)]
    wrong = next(filter(None, map(_wrong, places)), "") or _wrong_star(places)
    if wrong:
        return Refusal(
            span=module.span(node),
            message=f"{', '.join(names)} of torch.cuda.amp with a substitute: {wrong}",
            hint=_HINT,
        )
    return Change(
        span=module.span(node),
        message="torch.cuda.amp with a substitute for PyTorch before 1.6 becomes torch.amp",
        edits=every_edit(map(_draft, places)),
        note="torch.amp.GradScaler needs PyTorch 2.3.",
    )


def _importers(module: Module, names: dict[str, str]) -> Iterator[_Uses]:
    """Yield the modules that import the names from the one with the substitutes."""
    for importer in module.program.modules:
        for other in importer.every(ast.ImportFrom) if importer is not module else ():
            if module.program.find_module(other.module or "", importer) is not module:
                continue
            taken = {a.asname or a.name: names[a.name] for a in other.names if a.name in names}
            if taken:
                yield _Uses(importer, taken, other)


def _draft(uses: _Uses) -> Draft:
    module, draft = uses.module, Draft(uses.module)
    calls = uses.calls()
    torch = torch_in(draft) if calls else ""
    for use, call in calls:
        assert isinstance(call, ast.Call)
        given = [*call.args, *call.keywords]
        texts = [module.text(argument) for argument in given]
        if uses.names[use.id] == "autocast" and call.args:
            texts[0] = f"enabled={texts[0]}"
        head = f"{torch}.{_NEW[uses.names[use.id]].format(torch=torch)}"
        draft.replace(call, ", ".join((head, *texts)) + ")")
    if isinstance(uses.source, ast.ImportFrom):
        taken = [a for a in uses.source.names if (a.asname or a.name) in uses.names]
        remove_aliases(draft, uses.source, taken, Stops())
    else:
        draft.remove(uses.source)
    return draft


def _wrong(uses: _Uses) -> str:
    """Return why the uses in a module cannot be replaced; empty if they can."""
    if other := [name for name in uses.names.values() if name not in _NEW]:
        return f"{other[0]} has another place in torch.amp"
    source = uses.source
    if (isinstance(source, ast.Try) and source.orelse) or not is_alone(uses.module, source):
        return "the `try` or the import does more"
    for use, call in uses.calls():
        if not isinstance(call, ast.Call) or call.func is not use:
            return f"{use.id} is used as a value"
        if any(isinstance(part, ast.Starred) for part in call.args) or len(call.args) > 1:
            return "not all arguments are named"
        if any(keyword.arg in (None, "dtype") for keyword in call.keywords):
            return "not all arguments are certain"
    return ""


def _wrong_star(places: Sequence[_Uses]) -> str:
    """Return why the names may be used where they are not imported by name; empty if not."""
    homes = [uses.module for uses in places]
    names = {name for uses in places for name in uses.names}
    program = homes[0].program
    for importer in program.modules:
        for other in importer.every(ast.ImportFrom):
            home = program.find_module(other.module or "", importer)
            if home not in homes or importer in homes:
                continue
            words = {alias.name for alias in other.names}
            uses = any(use.id in names for use in importer.every(ast.Name))
            if words & names or ("*" in words and uses):
                return "another file imports it from an importer"
    return ""


_OLD = """\
import torch

try:
    from torch.cuda.amp import GradScaler, autocast
except ImportError:
    # PyTorch before 1.6
    class GradScaler:
        def __init__(self, enabled):
            pass

    class autocast:
        def __init__(self, enabled):
            pass

scaler = GradScaler(enabled=args.half)
with autocast(args.half):
    loss = model(inputs)
"""
_MIGRATED = """\
import torch

# PyTorch before 1.6

scaler = torch.amp.GradScaler("cuda", enabled=args.half)
with torch.amp.autocast("cuda", dtype=torch.float16, enabled=args.half):
    loss = model(inputs)
"""
_FLAG = """\
try:
    from torch.cuda.amp import autocast
    HAS_AMP = True
except ImportError:
    HAS_AMP = False
"""
_VALUE = _OLD + "train(autocast)\n"

CODEMOD = Codemod(
    code="CM107",
    name="torch-cuda-amp-fallback",
    api="torch.amp",
    title="torch.cuda.amp with a substitute for PyTorch before 1.6 becomes torch.amp",
    hints=("torch.cuda.amp",),
    examples=(
        Example(before=_OLD, after=_MIGRATED),
        Example(before=_FLAG, after=_FLAG),
        Example(before=_VALUE, after=_VALUE, refused="autocast is used as a value"),
    ),
    run=run,
)
