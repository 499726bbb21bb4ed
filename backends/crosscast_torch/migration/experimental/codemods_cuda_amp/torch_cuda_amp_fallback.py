"""CM107: torch.cuda.amp with a substitute for PyTorch before 1.6, to torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.layout import Draft, is_alone
from crosscast_reading.pysource.syntax.nodes import dotted_text, walk
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


def _migrated(module: Module, node: ast.Try, names: dict[str, str]) -> Outcome:
    inside = {id(part) for part in walk(node)}
    uses = [use for use in module.every(ast.Name) if use.id in names and id(use) not in inside]
    calls = [(use, module.parent(use)) for use in uses]
    wrong = _wrong(module, node, names, calls)
    if wrong:
        return Refusal(
            span=module.span(node),
            message=f"{', '.join(names)} of torch.cuda.amp with a substitute: {wrong}",
            hint=_HINT,
        )
    draft = Draft(module)
    torch = torch_in(draft)
    for use, call in calls:
        assert isinstance(call, ast.Call)
        given = [*call.args, *call.keywords]
        texts = [module.text(argument) for argument in given]
        if names[use.id] == "autocast" and call.args:
            texts[0] = f"enabled={texts[0]}"
        head = f"{torch}.{_NEW[names[use.id]].format(torch=torch)}"
        draft.replace(call, ", ".join((head, *texts)) + ")")
    draft.remove(node)
    return Change(
        span=module.span(node),
        message="torch.cuda.amp with a substitute for PyTorch before 1.6 becomes torch.amp",
        edits=tuple(draft.finish()),
        note="torch.amp.GradScaler needs PyTorch 2.3.",
    )


def _wrong(
    module: Module,
    node: ast.Try,
    names: dict[str, str],
    calls: list[tuple[ast.Name, ast.AST | None]],
) -> str:
    """Return why the uses cannot be replaced; empty if they can."""
    if other := [name for name in names.values() if name not in _NEW]:
        return f"{other[0]} has another place in torch.amp"
    if node.orelse or not is_alone(module, node):
        return "the `try` does more than to import"
    if any(
        alias.name in names
        for importer in module.program.modules
        if importer is not module
        for other in importer.every(ast.ImportFrom)
        if module.program.find_module(other.module or "", importer) is module
        for alias in other.names
    ):
        return "another file imports it from here"
    for use, call in calls:
        if not isinstance(call, ast.Call) or call.func is not use:
            return f"{use.id} is used as a value"
        if any(isinstance(part, ast.Starred) for part in call.args) or len(call.args) > 1:
            return "not all arguments are named"
        if any(keyword.arg in (None, "dtype") for keyword in call.keywords):
            return "not all arguments are certain"
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
