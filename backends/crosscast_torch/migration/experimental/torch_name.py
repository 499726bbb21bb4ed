"""The name of torch in a module."""

from __future__ import annotations

import ast

from crosscast_reading.edits.layout import Draft


def torch_in(draft: Draft) -> str:
    """Return the name of torch in a module, which is imported if necessary."""
    module = draft.module
    for statement in module.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "torch" or (alias.name.startswith("torch.") and not alias.asname):
                    return alias.asname or "torch"
    first = next(
        statement
        for statement in module.tree.body
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
    )
    draft.before(first, "import torch")
    return "torch"
