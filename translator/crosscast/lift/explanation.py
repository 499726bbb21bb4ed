"""`crosscast explain` of a program: its training step beside the neutral one."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from crosscast.messages.console import (
    EXIT_FINDINGS,
    EXIT_OK,
    print_diagnostics,
    print_json,
    print_table,
)
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.sources.files import CONFIG, Text, read_text

_VERSION = re.compile(r"""^[\s{]*["']?version["']?\s*:""", re.MULTILINE)
"""The first field of every recipe."""
_PROGRAMS = (".py", ".pyw", ".ipynb", ".sh", ".bash", ".sbatch", ".slurm")


def is_program(path: str) -> bool:
    """Whether a path names a program or its configuration rather than a recipe."""
    suffix = PurePath(path).suffix.lower()
    return suffix in _PROGRAMS or (suffix in CONFIG and _is_foreign(path))


def _is_foreign(path: str) -> bool:
    """Whether a JSON or YAML file is that of another tool."""
    from crosscast.readers.recipe_yaml import READER
    from crosscast.readers.registry import text_readers

    found = read_text(Path(path))
    if not isinstance(found, Text) or _VERSION.search(found.source.text):
        return False
    return any(
        reader.sniff(found.source) for reader in text_readers() if reader.name != READER.name
    )


def explain_program(path: str, *, json: bool) -> int:
    """Print the training steps of a program beside the Plan of its recipe.

    Raises:
        DiagnosticError: CC0xx if the file cannot be read, CC915 if nothing trains there.
    """
    from crosscast.lift.analysis import analyse
    from crosscast.lift.batch import groups_of, read_sources
    from crosscast.lift.drafting import is_unread, lift
    from crosscast.lift.plan_comparison import COLUMNS, beside
    from crosscast.plan.canonical import canonical_plan

    sources, problems = read_sources([path])
    if not sources:
        raise DiagnosticError(*problems)
    groups = groups_of(sources, [path])
    own = [group for group in groups if any(source.name == path for source in group)]
    lifted = lift(analyse((own or groups or [tuple(sources)])[0]))
    steps = lifted.analysis.subject.steps
    if lifted.recipe is None or not steps:
        message = f"{path}: no training loop that could be set beside a plan"
        hint = "a library may run the loop; `crosscast lift` says what was read"
        if is_unread(lifted.diagnostics) and not lifted.fields:
            hint = ""
        raise DiagnosticError(
            *lifted.diagnostics, Diagnostic(code="CC915", message=message, hint=hint)
        )
    plan = canonical_plan(lifted.recipe)
    tables = [(step, list(beside(step, plan, lifted.fields))) for step in steps]
    if json:
        shown = [
            {
                "function": step.function,
                "rows": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
            }
            for step, rows in tables
        ]
        print_json({"plan": plan.to_json(), "steps": shown})
        return EXIT_OK
    for index, (step, rows) in enumerate(tables):
        print(f"{'' if not index else chr(10)}== {step.function or 'module level'}")
        print_table(COLUMNS, rows, long=("how",))
    print_diagnostics(lifted.diagnostics)
    return EXIT_FINDINGS if any(d.severity == "error" for d in lifted.diagnostics) else EXIT_OK
