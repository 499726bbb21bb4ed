"""What of a migration in place cannot be read, and why it finds nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, Severity, failure
from crosscast.messages.source import STDIN, Source
from crosscast.targets.source_support import migration_apis
from crosscast_migrate.codemod import Codemod
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_reading.pysource.syntax.notebook import cells_as_source, is_notebook
from crosscast_reading.pysource.syntax.parse import parse_source
from crosscast_reading.sources.files import (
    MAX_BYTES,
    PYTHON,
    find_files,
    kind_of,
    path_of,
    read_text,
)
from crosscast_reading.sources.prefilter import has_word

_LISTED = 3
_CORRECT = "convert Python 2 to Python 3 first, and correct what does not parse"


@dataclass(slots=True)
class Programs:
    """The Python files among sources: what those that could be read import."""

    imported: dict[str, set[str]] = field(default_factory=dict)
    """File to the top-level modules that it imports."""
    unread: dict[str, Diagnostic] = field(default_factory=dict)
    """File to why it could not be read."""

    def importing(self, modules: Sequence[str]) -> list[str]:
        """Return the files that import any of some modules."""
        return [name for name, imported in self.imported.items() if imported & set(modules)]


def programs_of(sources: Sequence[Source]) -> Programs:
    """Read the Python files among sources."""
    programs = Programs()
    for source in sources:
        if kind_of(source) != "python":
            continue
        tree, problem = _tree(source)
        if tree is not None:
            programs.imported[source.name] = set(_imports(tree))
        elif problem is not None:
            programs.unread[source.name] = problem
    return programs


def _tree(source: Source) -> tuple[ast.Module | None, Diagnostic | None]:
    if is_notebook(source.name):
        cells, problem = cells_as_source(source)
        return (None, problem) if cells is None else parse_source(cells)
    return parse_source(source)


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def unread_programs(
    sources: Sequence[Source], named: Sequence[str], codemods: Sequence[Codemod]
) -> dict[str, Diagnostic]:
    """Return file to why it cannot be read, of the Python files that matter.

    Args:
        sources: all files that are text.
        named: files and folders that the user named; a named file matters.
        codemods: a file with words of theirs matters, too.
    """
    words = tuple(word for codemod in codemods for word in codemod.hints)
    names = {str(path_of(name)) for name in named}
    wanted = [s for s in sources if s.name in names or has_word(s.text, words)]
    texts = {source.name for source in sources}
    return programs_of(wanted).unread | _unread_texts(named, names | texts, words)


def _unread_texts(
    paths: Sequence[str], known: set[str], words: tuple[str, ...]
) -> dict[str, Diagnostic]:
    """Return file to why it is no text, of Python files in folders that contain some words."""
    problems: dict[str, Diagnostic] = {}
    for path in find_files([path for path in paths if path != STDIN])[0]:
        if path.suffix in PYTHON and str(path) not in known:
            problem = read_text(path)
            if isinstance(problem, Diagnostic) and has_word(_raw(path), words):
                problems[str(path)] = replace(problem, severity=Severity.WARNING)
    return problems


def _raw(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES).decode("latin-1")
    except OSError:
        return ""


def places_by_api(sources: Sequence[Source], apis: Iterable[str]) -> dict[str, int]:
    """Return API to the number of places that a migration to it would change or refuse."""
    codemods = {api: [each for each in codemods_to(api) if not each.names_only] for api in apis}
    migrations = {api: migrate_in_place(sources, chosen) for api, chosen in codemods.items()}
    return {api: len(there.changes) + len(there.refusals) for api, there in migrations.items()}


def fitting_api(sources: Sequence[Source]) -> str:
    """Return the API whose migration finds something in programs.

    Where none does, it is the first for which there is a program.

    Raises:
        DiagnosticError: CC970 if there are several, or no program for any; CC971 if no file can
            be read.
    """
    counts = {
        api: count for api, count in places_by_api(sources, migration_apis()).items() if count
    }
    if len(counts) > 1:
        listed = ", ".join(f"{api} ({_places(count)})" for api, count in counts.items())
        raise failure("CC970", f"the old APIs here belong to {listed}", "choose with --to")
    programs = programs_of(sources)
    fits = [
        *counts,
        *(name for name, api in migration_apis().items() if programs.importing(api.modules)),
    ]
    if not programs.imported and programs.unread:
        message = f"nothing to migrate: {_listed(list(programs.unread))} cannot be read"
        raise failure("CC971", message, _CORRECT)
    if not fits:
        message = "nothing here imports a framework: name the program, and with --to what to "
        raise failure("CC970", message + "migrate it to")
    return fits[0]


def _places(count: int) -> str:
    return f"{count} place{'s' * (count != 1)}"


def already_there(programs: Programs, api: str) -> str:
    """Say that the programs use an API already; "" if none of them is for its framework."""
    names = programs.importing(migration_apis()[api].modules)
    if not names:
        return ""
    use = "uses" if len(names) == 1 else "use"
    return f"nothing to change: {_listed(names)} {use} none of the old APIs that {api} replaces"


def nothing_for(programs: Programs, api: str, others: Mapping[str, int]) -> Diagnostic:
    """Return the error of sources that hold no program for an API.

    Args:
        programs: the Python files among the sources.
        api: the API that was asked for.
        others: API to the number of places that a migration to it would change or refuse.
    """
    fits = next((other for other, count in others.items() if count), None)
    if fits is not None:
        count = others[fits]
        message = f"nothing to migrate to {api}: the old APIs here belong to {fits} "
        message += f"({_places(count)})"
        return _error(message, f"use --to {fits}")
    if not programs.imported and programs.unread:
        files = _listed(list(programs.unread))
        message = f"nothing to migrate to {api}: {files} cannot be read"
        return _error(message, _CORRECT)
    for other, there in migration_apis().items():
        names = programs.importing(there.modules)
        if names:
            message = f"nothing to migrate to {api}: {_listed(names)} is for another framework"
            return _error(message, f"use --to {other}")
    if not programs.imported:
        return _error(f"nothing to migrate to {api}: no Python file", "name the program")
    message = f"nothing to migrate to {api}: nothing here imports "
    message += " or ".join(migration_apis()[api].modules)
    return _error(message, "name the program that trains, with the modules that it uses")


def _error(message: str, hint: str) -> Diagnostic:
    return Diagnostic(code="CC971", message=message, hint=hint)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
