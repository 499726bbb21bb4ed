"""Bugs written as edits of emitted files: what to replace, and where.

A bug may be spelled differently in the variants of a script (float32 or half precision, with or
without loss scaling), and in some variants it cannot exist at all. A mutation therefore has one or
more forms, each a set of exact replacements; the first form that fits a script is the one used, a
script that no form fits stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.targets.harness import Edit
from crosscast_parity.checks.kinds import Level

Form = tuple[Edit, ...]
MARKED = ("train.py", "model.py")
"""Files that tell of which variant a script is: a model may name its types itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A bug with the edits that bring it into the emitted files of one framework.

    `name`: of the bug, the same in every framework. `field`: recipe path that it violates, empty if
    it is not one field. `forms`: its spellings, best first. `needs`: a text without which train.py
    and model.py are a variant that the bug is not about, or several of which they have one.
    `expected`: levels that catch it.
    """

    name: str
    title: str
    field: str
    expected: tuple[Level, ...]
    forms: tuple[Form, ...]
    needs: str | tuple[str, ...] = ""

    def mutate(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the texts of the files that change, by name; none where no form fits.

        Raises:
            DiagnosticError: CC734 if a form fits in part: the emitted text has changed.
        """
        needed = (self.needs,) if isinstance(self.needs, str) else self.needs
        if not any(text in texts.get(name, "") for text in needed for name in MARKED):
            return {}
        for form in self.forms:
            if all(edit.fits(texts) for edit in form):
                return _edited(form, texts)
        for edit in (edit for form in self.forms for edit in form):
            if count := edit.count(texts):
                raise _misfit(self.name, edit, count)
        return {}


def apply(mutation: Mutation, folder: Path) -> bool:
    """Edit the files of a script in place; return whether the bug is in them now.

    Raises:
        DiagnosticError: CC734 if the edits fit in part; nothing was written then.
    """
    changed = mutation.mutate(texts_of(folder))
    for name, text in changed.items():
        (folder / name).write_text(text)
    return bool(changed)


def texts_of(folder: Path) -> dict[str, str]:
    """Return the texts of a script's Python files by their paths in its folder."""
    paths = sorted(folder.rglob("*.py"))
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def _edited(form: Form, texts: Mapping[str, str]) -> dict[str, str]:
    changed: dict[str, str] = {}
    for edit in form:
        text = changed.get(edit.file, texts[edit.file])
        changed[edit.file] = text.replace(edit.old, edit.new)
    return changed


def _misfit(name: str, edit: Edit, count: int) -> DiagnosticError:
    message = f"{name}: {edit.file} holds {edit.old!r} {count} times, not {edit.times}"
    return DiagnosticError(
        Diagnostic(
            code="CC734",
            message=message,
            hint="the emitted text has changed: update the edits of this bug",
        )
    )
