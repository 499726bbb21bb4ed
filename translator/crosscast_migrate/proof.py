"""The proof of a migration to another framework: the harness runs the emitted scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.missing_packages import package_missing
from crosscast_migrate.across_frameworks import CrossMigration
from crosscast_migrate.chosen_proof import across_proof

if TYPE_CHECKING:
    from crosscast_parity.compare.migration_proof import Proof

FOLDER = "verification"


def verify(
    across: CrossMigration, root: Path, on_progress: Callable[[Any], None]
) -> dict[str, Any]:
    """Run the scripts of all targets and return the `verification` of `report.json`.

    Args:
        across: the migration.
        root: folder of the migration; comparisons are written below it.
        on_progress: called whenever a run begins or ends.

    Raises:
        DiagnosticError: CC401 if the harness is not installed, CC708 for the folder.
    """
    from crosscast.emit.folders import compile_to_folders

    try:
        from crosscast_parity.compare.migration_proof import prove
    except ModuleNotFoundError as error:
        raise package_missing("the parity harness needs", error) from None
    proofs = []
    for arrival in across.arrived:
        target = arrival.compiled.target
        if not target.runs:
            proofs.append(_proof_without_script(target.name))
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
    return {"targets": [_plain(proof) for proof in proofs], "reading": None}


def _proof_without_script(target: str) -> Proof:
    from crosscast_parity.compare.migration_proof import Proof

    words = "the written files launch a program that is not part of them"
    return Proof(target=target, outcome="cannot be verified here", wording=words)


def _plain(proof: Proof) -> dict[str, Any]:
    outcomes = [proof.outcome, *(stage.outcome for stage in proof.stages)]
    executed = any(outcome != "cannot be verified here" for outcome in outcomes)
    plain = {**asdict(proof), "executed": executed}
    return {**plain, "proof": across_proof(plain).to_json()}


def _corrected(across: CrossMigration) -> Mapping[str, str]:
    """Return the intentionally changed fields, with the mistake of the source."""
    return {
        fate.path: f"{fate.rule}: {fate.message}; {fate.instead}"
        for fate in across.fates
        if fate.path and fate.became in ("changed on purpose", "cannot be kept")
    }


def diagnostics_of(verification: Mapping[str, Any]) -> list[Diagnostic]:
    """Return a diagnostic for every target without a proof or with a failed one."""
    diagnostics = []
    for target in verification["targets"]:
        if target["outcome"] == "cannot be verified here":
            message = f"{target['target']} cannot be verified here: {target['wording']}"
            diagnostics.append(Diagnostic(code="CC976", severity=Severity.WARNING, message=message))
        elif target["outcome"] == "different":
            message = f"{target['target']} differs from the recipe: {target['wording']}"
            diagnostics.append(Diagnostic(code="CC977", message=message))
    return diagnostics
