"""What a migration leaves to the user, as diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast_migrate.carried_model import OwnModelText
from crosscast_migrate.own_model import FACTORY, FILE
from crosscast_migrate.own_rows import CarriedRows
from crosscast_reading.lift.annotated_yaml import scalar
from crosscast_reading.lift.recipe_draft import Filled

OWN = ("model.", "data.")
"""Sections that the user must fill in unless the source uses the shipped model."""
OTHERWISE = frozenset({"CC936", "CC937", "CC938"})
"""Diagnostics about what the new script does otherwise."""
TO_DECIDE = OTHERWISE | {"CC935"}
"""Diagnostics about what a person decides before the new script is used."""


def to_fill_in(
    fields: Mapping[str, Filled],
    own_models: Mapping[str, OwnModelText],
    rows: CarriedRows | None,
) -> list[Diagnostic]:
    """Return a diagnostic for every missing field; one each for the model and the data."""
    unsaid = {path: filled for path, filled in fields.items() if filled.how == "assumed"}
    diagnostics = []
    if any(filled.value == FACTORY for filled in unsaid.values()):
        why = next((own.reason for own in own_models.values() if own.reason), "")
        message = f"the model is not migrated: write build_model() in {FILE} next to each train.py"
        message += f" ({why})" if why else ""
        diagnostics.append(
            _missing(
                "model",
                message,
                "for a BERT model: --set model.kind=bert --set model.preset=base",
            )
        )
    elif any(path.startswith("model.") for path in unsaid):
        names = ", ".join(path for path in unsaid if path.startswith("model."))
        diagnostics.append(
            _missing("model", f"the source does not define {names}", "set it with --set")
        )
    if any(path.startswith("data.") for path in unsaid if path != "data.shuffle"):
        own = fields["model.kind"].value == "custom"
        how = "save an array for each input and the labels" if own else "write it"
        how += " with numpy.savez" if own else " with `crosscast data`"
        message = f"the data is not migrated: {how}"
        message += f" ({rows.reason})" if rows is not None and rows.reason else ""
        diagnostics.append(_missing("data", message, "or set the file: --set data.train=FILE"))
    for path, filled in unsaid.items():
        if not path.startswith(OWN):
            why = f" ({filled.note})" if filled.note else ""
            message = f"not defined by the source; {scalar(filled.value)} is a placeholder{why}"
            place = filled.places[0] if filled.places else None
            diagnostics.append(_missing(path, message, f"set it: --set {path}=VALUE", place))
    return diagnostics


def undone(rows: CarriedRows | None) -> list[Diagnostic]:
    """Return a diagnostic for everything that the rows of the source get in the loop alone."""
    if rows is None:
        return []
    return [
        Diagnostic(
            code="CC935", severity=Severity.WARNING, path="data", span=rows.place, message=message
        )
        for message in rows.undone
    ]


def _missing(path: str, message: str, hint: str, span: Span | None = None) -> Diagnostic:
    return Diagnostic(
        code="CC972",
        severity=Severity.WARNING,
        path=path,
        span=span,
        message=message,
        hint=hint,
    )
