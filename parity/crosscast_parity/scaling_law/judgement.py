"""The reference runs of a target, and the comparison of other shapes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from safetensors.numpy import load_file

from crosscast.plan.operations import Dtype
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.scaling_law.causes import likely_cause
from crosscast_parity.scaling_law.comparison import Case, compare
from crosscast_parity.scaling_law.envelope import Run, Tolerance, measure_tolerance
from crosscast_parity.scaling_law.recipes import Subject
from crosscast_parity.scaling_law.report import ShapeReport
from crosscast_parity.scaling_law.runs import ShapeRun
from crosscast_parity.scaling_law.scenes import Scene
from crosscast_parity.scaling_law.shapes import Shape


class Judge:
    """Holds runs against the first shape of their scene, within what rounding does to that."""

    def __init__(
        self,
        subject: Subject,
        inputs: Inputs,
        alone: Mapping[str, ShapeRun],
        scenes: Sequence[Scene],
    ) -> None:
        """Measure the envelope of every scene.

        Args:
            subject: what is run.
            inputs: the weights that runs began with.
            alone: runs of one process by `scene-shape`, `scene-twin-N` and `scene-float32`. A
                scene without perturbed runs is measured by the plain one.
            scenes: the plain one first; what it measured of tensors holds in the others too.
        """
        self._subject = subject
        self._inputs = inputs
        self._alone = alone
        self._tolerances: dict[str, Tolerance] = {}
        for scene in scenes:
            own = f"{scene.name}-twin-1" in alone
            self._tolerances[scene.name] = (
                self._measured(scene) if own else next(iter(self._tolerances.values()))
            )

    @property
    def horizon(self) -> int:
        """Windows of a plain run before rounding alone parts it from itself."""
        return next(iter(self._tolerances.values())).scalars.horizon

    def _first(self, scene: Scene) -> ShapeRun:
        return self._alone[f"{scene.name}-{self._subject.shapes[0].name}"]

    def _reference(self, scene: Scene) -> Run:
        return Run(self._first(scene).ranks[0], load_file(self._inputs.weights))

    def _measured(self, scene: Scene) -> Tolerance:
        reference = self._reference(scene)
        twins = [
            Run(self._alone[f"{scene.name}-twin-{number}"].ranks[0], load_file(path))
            for number, path in enumerate(self._inputs.twins, start=1)
        ]
        kin = [self._alone[key] for key in (f"{scene.name}-float32",) if key in self._alone]
        dtype: Dtype = self._subject.recipe.precision.compute_dtype
        return measure_tolerance(
            reference,
            twins,
            [Run(shape_run.ranks[0], reference.start) for shape_run in kin],
            self._subject.windows,
            dtype,
            next(iter(self._tolerances.values()), None),
        )

    def report(self, scene: Scene, shape: Shape, shape_run: ShapeRun) -> ShapeReport:
        """Compare a run of a scene in another shape with the first one."""
        case = Case(
            subject=self._subject,
            scene=scene,
            shape=shape,
            shape_run=shape_run,
            reference=self._reference(scene),
            expected=self._first(scene),
            tolerance=self._tolerances[scene.name],
        )
        checks = compare(case)
        return ShapeReport(
            scene=scene.name,
            shape=shape,
            outcome=shape_run.outcome,
            checks=checks,
            cause=likely_cause(case, checks),
        )
