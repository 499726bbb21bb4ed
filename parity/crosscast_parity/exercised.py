"""Hold what the reference's runs recorded against other recipes: which fields were exercised."""

from __future__ import annotations

from crosscast_parity.evidence import Sighting
from crosscast_parity.exercise import exercise
from crosscast_parity.gathered import Made, StageResult
from crosscast_parity.planning import VARIANTS
from crosscast_parity.records import FieldExercise
from crosscast_parity.variations import shown_path


def sightings(result: StageResult, contestant: str) -> list[Sighting]:
    """Return what the runs of a program in a stage have shown, the perturbed ones left out."""
    return [
        _sighting(result, made)
        for made in result.all_of(contestant)
        if made.run.outcome.complete and not made.spec.repeat
    ]


def _sighting(result: StageResult, made: Made) -> Sighting:
    return Sighting(
        run=f"{made.spec.stage}/{made.spec.name}",
        recipe=made.spec.recipe,
        rows=made.run.rows,
        observation=result.observation(made) if made.spec.record else None,
        train_rows=result.train_rows(made),
        weights="stress" if made.spec.name.endswith("stress") else "bert",
        emulated=made.run.execution == "emulated",
        derive=VARIANTS[made.spec.variant],
    )


def fields_exercised(result: StageResult, contestant: str) -> tuple[FieldExercise, ...]:
    """Return for every field that the recipe uses whether a wrong value would have been seen."""
    found = exercise(result.recipes[contestant], sightings(result, contestant))
    return tuple(
        FieldExercise(
            field=shown_path(one.path), exercised=one.status == "exercised", why=one.wording
        )
        for one in found
        if one.status != "not used"
    )
