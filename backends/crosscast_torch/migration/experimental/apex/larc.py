"""LARC of apex, which torch has not, as a class that is written into the program."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_migrate.written_code import definitions

if TYPE_CHECKING:
    from crosscast_reading.edits.layout import Draft
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_torch.migration.experimental.apex.moved_names import Name

NAME = "LARC"
NOTE = (
    "LARC is now a class of the program, with the arithmetic of apex. GradScaler unscales the "
    "gradients before it calls LARC.step, as apex did."
)


def wrong(name: Name) -> Refusal | None:
    """Return why LARC cannot be written into a module."""
    module = name.module
    homes = {(statement.module, alias.asname) for statement, alias in name.imports}
    others = [
        other
        for other in module.program.modules
        if other is not module and any(NAME in row for row in other.lines)
    ]
    if homes != {("apex.parallel.LARC", None)} or others:
        return Refusal(
            span=module.span(name.uses[0]),
            message="LARC has another name here, or several modules use it; torch has none",
            hint="import it in one module only: from apex.parallel.LARC import LARC",
        )
    return None


def write(name: Name, draft: Draft, torch: str) -> None:
    """Define LARC before the first statement of a module that is no import.

    Args:
        name: the imported name.
        draft: of its module.
        torch: the name of torch there.
    """
    text = definitions("torch/larc.py")[NAME].text
    lines = text.replace("torch.n", f"{torch}.n").splitlines()
    draft.before(_first(name.module), "", *lines, "", "")
    for use in name.uses:
        draft.replace(use, NAME)


def _first(module: Module) -> ast.stmt:
    """Return the first statement behind the imports that begin a module."""
    body = module.tree.body
    last = 0
    for number, statement in enumerate(body):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            break
        inner = statement.body if isinstance(statement, ast.Try | ast.If) else [statement]
        if any(isinstance(each, ast.Import | ast.ImportFrom) for each in inner):
            last = number
    return body[last + 1]
