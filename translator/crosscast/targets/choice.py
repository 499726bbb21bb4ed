"""Choose rows and verdicts: by verdict and by field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

Only = Literal["below-exact", "exact", "adapted", "approximate", "unsupported"]


def is_chosen(verdict: str, only: str | None) -> bool:
    """Whether a verdict is what was asked for; anything is without a question."""
    if only == "below-exact":
        return verdict != "exact"
    return only is None or verdict == only


def is_about(path: str, fields: Sequence[str], *, above: bool = False) -> bool:
    """Whether a path is one of the fields or below it; any is without fields.

    Args:
        path: of a verdict or of a row.
        fields: fields and sections.
        above: whether a section that holds the field is about it too: its row decides for a field
            without one.
    """
    return not fields or any(
        path == field or path.startswith(f"{field}.") or (above and field.startswith(f"{path}."))
        for field in fields
    )


def check_fields(fields: Sequence[str], rows: Iterable[str] = ()) -> None:
    """Refuse what is neither a field nor a section of a recipe.

    Args:
        fields: what was asked for.
        rows: paths of rows, which are known too.

    Raises:
        DiagnosticError: CC028, with the field that was probably meant.
    """
    from crosscast.recipe.schema import all_fields

    known = {*all_fields(), *rows}
    known |= {path.rpartition(".")[0] for path in known} - {""}
    wrong = [field for field in fields if field not in known]
    if wrong:
        raise DiagnosticError(*(_unknown(field, sorted(known)) for field in wrong))


def _unknown(field: str, known: Sequence[str]) -> Diagnostic:
    from crosscast.recipe.suggestions import suggest, suggest_field

    names = {path.rpartition(".")[2]: path for path in reversed(known)}
    near = suggest(field, known) or suggest_field(tuple(field.split(".")), {})
    if not near and (name := suggest(field.rpartition(".")[2], names)):
        near = names[name]
    return Diagnostic(
        code="CC028",
        message=f"--field {field}: not a field of a recipe",
        hint=f"did you mean {near}?" if near else "`crosscast show RECIPE` prints every field",
    )


def chosen_words(only: str | None, fields: Sequence[str]) -> str:
    """Return the selection in words; empty for everything."""
    parts = [f"of {', '.join(fields)}"] if fields else []
    parts += [f"only {only.replace('-', ' ')}"] if only else []
    return ", ".join(parts)
