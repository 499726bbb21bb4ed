"""What tests of migrations across frameworks share: programs of `across_programs`, changed."""

from __future__ import annotations

from dataclasses import replace

from across_programs import PROGRAMS
from crosscast_migrate.across_frameworks import CrossMigration

_BY_NAME = {program.name: program for program in PROGRAMS}


def moved(name: str, *changes: tuple[str, str]) -> CrossMigration:
    """Return what becomes of a program after changes, of which none may do nothing."""
    program = _BY_NAME[name]
    for old, new in changes:
        assert old in program.text
        program = replace(program, text=program.text.replace(old, new))
    return program.migrated(["jax" if program.framework == "torch" else "torch"])


def reasons(across: CrossMigration, path: str) -> str:
    """Return what is said of a field of the recipe."""
    return " ".join(d.message for d in across.diagnostics if d.path == path)
