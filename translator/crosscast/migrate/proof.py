"""The proof at the end of a migration across frameworks: the harness runs what was emitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.missing_packages import parity_missing
from crosscast.migrate.across_frameworks import Across

if TYPE_CHECKING:
    from crosscast_parity.compare.migration_proof import Proof

FOLDER = "verification"


def verify(across: Across, root: Path, on_progress: Callable[[Any], None]) -> dict[str, Any]:
    """Run the scripts of all targets and return what `report.json` has as `verification`.

    Args:
        across: the migration.
        root: its folder; the comparisons go below it.
        on_progress: called whenever a run begins or ends.

    Raises:
        DiagnosticError: CC401 if the harness is not installed, CC708 for the folder.
    """
    from crosscast.emit.folders import compile_to_folders

    try:
        from crosscast_parity.compare.migration_proof import prove
    except ModuleNotFoundError as error:
        raise parity_missing("the parity harness needs", error) from None
    proofs = []
    for one in across.arrived:
        target = one.compiled.target
        if not target.runs:
            proofs.append(_nothing_to_run(target.name))
            continue
        proofs.append(
            prove(
                across.recipe,
                target.name,
                root / FOLDER / target.folder,
                compile_to=compile_to_folders,
                corrected=_corrected(across),
                unknown=across.fill_in,
                on_progress=on_progress,
            )
        )
    return {"targets": [_plain(one) for one in proofs]}


def _nothing_to_run(target: str) -> Proof:
    from crosscast_parity.compare.migration_proof import Proof

    words = "what is written starts a program that is not part of it"
    return Proof(target=target, outcome="cannot be verified here", wording=words)


def _plain(proof: Proof) -> dict[str, Any]:
    said = [proof.outcome, *(stage.outcome for stage in proof.stages)]
    executed = any(one != "cannot be verified here" for one in said)
    return {**asdict(proof), "executed": executed}


def _corrected(across: Across) -> Mapping[str, str]:
    """Return the fields that are others on purpose, with the mistake of the source."""
    return {
        one.path: f"{one.rule}: {one.message}; {one.instead}"
        for one in across.fates
        if one.path and one.became in ("changed on purpose", "cannot be kept")
    }


def diagnostics_of(verification: Mapping[str, Any]) -> list[Diagnostic]:
    """Return what a user must know of a proof: that there is none, or that it failed."""
    found = []
    for one in verification["targets"]:
        if one["outcome"] == "cannot be verified here":
            message = f"{one['target']} cannot be verified here: {one['wording']}"
            found.append(Diagnostic(code="CC976", severity=Severity.WARNING, message=message))
        elif one["outcome"] == "different":
            message = f"{one['target']} does not do what the recipe says: {one['wording']}"
            found.append(Diagnostic(code="CC977", message=message))
    return found
