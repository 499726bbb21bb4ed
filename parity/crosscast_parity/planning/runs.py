"""Which runs a comparison needs: stages, and for every contestant the runs of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crosscast.plan.operations import Dtype
from crosscast.recipe.document import BertModel, Recipe
from crosscast.recipe.predicates import fused_attention
from crosscast.targets.backend import find_target
from crosscast.targets.capability import Verdict, judge
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.inside.inject import Fault
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.recorded_windows import recorded_windows, resume_window
from crosscast_parity.recipes.derived import at_stress_scale, in_dropout, in_float32, is_half

Part = Literal["gate", "start", "faults", "trajectory", "toy"]
"""What can be left out of a stage: `start` is the recorded runs of a few windows. `toy` stands
alone: its scripts train the toy instead of the recipe's model and rows."""

RECORDED = 4
"""Windows of the short runs of a small model, all of which are recorded."""
RECORDED_LARGE = 2
RECORDED_LATE = 8
"""Windows that are recorded of a long run of a small model; of a large one, the last."""
LONG = ("faults", "main")
"""Names of the long runs."""
AFTER_FAULTS = 6
EVALUATED = 2
"""Windows before the evaluation with dropout: the averages are then no longer the weights."""
STEPS = "steps"
"""Name of the run in which a script trains the toy."""
UNKNOWN = 1.0
"""Rate of dropout of a custom model, which may have any."""
LARGE = 2_000_000
"""Weights from which fewer windows are recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A comparison at one size, seed and precision of the recipe.

    `derive`: makes the stage's recipe from a contestant's. `windows`: of the plain runs.
    `variants`: whether other recipes may be compiled from it, as float32 is. `seed`: set in stages
    that are the pairs of L3. `stress`: whether the recipe is one that makes every feature active.
    """

    name: str
    parts: frozenset[Part]
    windows: int
    derive: Callable[[Recipe], Recipe]
    recorded: int = RECORDED
    twins: int = 3
    variants: bool = True
    seed: int | None = None
    stress: bool = False

    @property
    def toy(self) -> bool:
        """Whether scripts train the toy in it."""
        return "toy" in self.parts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One training of one contestant.

    `variant`: which of its scripts. `weights`: path of the initial weights. `record`: the windows
    that are observed, in their order. `autocast`: whether that of the script has an effect.
    `repeat`: tells apart runs that are made twice on purpose. `resume`: after how many windows it
    ends and is resumed, 0 for never. `brief`: whether two windows are an epoch. `checkpoint`:
    whether its last one is kept. `alone`: it draws its own masks, so it is compared with its own
    files only. `toy`: whether the toy is trained, which all `inputs` are then.
    """

    contestant: str
    stage: str
    name: str
    variant: str
    recipe: Recipe
    inputs: Inputs
    weights: Path
    windows: int
    faults: tuple[Fault, ...] = ()
    record: tuple[int, ...] = ()
    manifest: bool = False
    autocast: bool = True
    repeat: int = 0
    resume: int = 0
    brief: bool = False
    checkpoint: bool = False
    alone: bool = False
    toy: bool = False

    @property
    def trained(self) -> Path:
        """The rows it trains on."""
        return self.inputs.brief if self.brief else self.inputs.train

    @property
    def evaluated(self) -> Path:
        """The rows of its evaluation: few where that is of no interest.

        Those of runs from other weights than initial ones end with a short batch, and differ in
        their losses. Of custom models they are evaluated again.
        """
        stressed = self.name == "gate" or self.name.endswith("stress")  # `gate` repeats one
        if self.alone or (stressed and not isinstance(self.recipe.model, BertModel)):
            return self.inputs.held
        return self.inputs.eval if self.name == "main" else self.inputs.few

    @property
    def twin(self) -> bool:
        """Whether it is one of the reference that measures noise: perturbed, or in float32."""
        return self.name.startswith("twin-")

    @property
    def starts(self) -> bool:
        """Whether it is a short run whose windows are recorded: from known weights, one by one."""
        return bool(self.record) and not self.repeat and self.name not in LONG

    @property
    def dtype(self) -> Dtype:
        """The type of matmuls."""
        return self.recipe.precision.compute_dtype if self.autocast else "float32"

    @property
    def masks(self) -> int | None:
        """Seed of the masks that dropout is given; None to leave it alone, or if there is none."""
        model = self.recipe.model
        rate = model.dropout if isinstance(model, BertModel) else UNKNOWN
        return None if self.toy or self.alone or not rate else self.recipe.seed

    @property
    def id(self) -> tuple[str, str, str]:
        """What names it in the whole comparison."""
        return (self.contestant, self.stage, self.name)


VARIANTS: Mapping[str, Callable[[Recipe], Recipe]] = {
    "main": lambda recipe: recipe,
    "float32": in_float32,
    "stress": at_stress_scale,
    "dropout": in_dropout,
}
"""What a contestant's scripts are compiled from: the recipe of the stage, and some made from it."""


def recipe_variants(recipe: Recipe, stage: Stage) -> dict[str, Recipe]:
    """Return the recipes that a contestant's scripts are compiled from, by name of the variant."""
    names = ["main"]
    if stage.variants and is_half(recipe):
        names += ["float32", *(["stress"] if "start" in stage.parts else [])]
    if stage.variants and "gate" in stage.parts and isinstance(recipe.model, BertModel):
        names.append("dropout")
    return {name: VARIANTS[name](recipe) for name in names}


def plain_runs(
    contestant: Contestant,
    recipe: Recipe,
    stage: Stage,
    inputs: Inputs,
    faults: tuple[Fault, ...],
    *,
    emulated: bool,
) -> list[RunSpec]:
    """Return the runs that every contestant of a stage makes; the long ones last.

    Args:
        contestant: who makes them.
        recipe: that of the stage.
        stage: what is looked at.
        inputs: rows and weights.
        faults: overflows to inject.
        emulated: whether half precision is, so that it can be switched off.
    """
    return list(_runs(contestant, recipe, stage, inputs, faults, emulated))


def _runs(
    contestant: Contestant,
    recipe: Recipe,
    stage: Stage,
    inputs: Inputs,
    faults: tuple[Fault, ...],
    emulated: bool,
) -> Iterator[RunSpec]:
    variants = recipe_variants(recipe, stage)
    half = is_half(recipe)
    resumed = resumed_runs(recipe, stage)

    def run(name: str, variant: str, weights: Path, windows: int, **more: object) -> RunSpec:
        return RunSpec(
            contestant=contestant.name,
            stage=stage.name,
            name=name,
            variant=variant,
            recipe=variants[variant],
            inputs=inputs,
            weights=weights,
            windows=windows,
            brief=name in resumed,
            **more,  # type: ignore[arg-type]
        )

    exact = "float32" if "float32" in variants else "main"
    recorded = {"record": tuple(range(stage.recorded)), "manifest": True}
    stressed = "stress" if "stress" in variants else "main"
    half_runs = half and not contestant.own
    gated = contestant.emitted and "gate" in stage.parts
    if "start" in stage.parts:
        prefix = "float32" if exact == "float32" or not half else "half"
        yield run(f"{prefix}-initial", exact, inputs.weights, stage.recorded, **recorded)
        kept = {"checkpoint": gated and not half}
        yield run(f"{prefix}-stress", exact, inputs.stress, stage.recorded, **recorded, **kept)
        if prefix == "half" and emulated:
            # What cannot be compiled in float32 is compared there (L1a) with its autocast off.
            exactly = {**recorded, "autocast": False}
            yield run("exact-initial", exact, inputs.weights, stage.recorded, **exactly)
            yield run("exact-stress", exact, inputs.stress, stage.recorded, **exactly)
        if half_runs and prefix == "float32":
            kept = {"checkpoint": gated}
            yield run("half-stress", stressed, inputs.stress, stage.recorded, **recorded, **kept)
        if "gate" in stage.parts:
            again: dict[str, Any] = {"repeat": 1}
            if gated:
                last = stage.recorded - 1
                again |= {"resume": last, "record": (last,), "checkpoint": True}
            yield run("gate", stressed, inputs.stress, stage.recorded, **again)
        if gated and "dropout" in variants:
            dropped = has_dropout(contestant.target, variants["dropout"])
            variant = "dropout" if dropped else exact
            yield run("evaluation", variant, inputs.stress, EVALUATED, alone=True)
    if "faults" in stage.parts and faults:
        length = max(fault.window for fault in faults) + 1 + AFTER_FAULTS
        most = RECORDED_LATE if stage.recorded >= RECORDED else 0
        resume = resume_window(variants["main"], length, faults) if gated else 0
        record = recorded_windows(
            variants["main"], length, faults, most, moments=contestant.emitted, resume=resume
        )
        late = {"faults": faults, "record": record, "checkpoint": gated, "resume": resume}
        yield run("faults", "main", inputs.weights, length, **late)
    if stage.toy:
        yield run(STEPS, "main", inputs.weights, stage.windows, toy=True)
    if "trajectory" in stage.parts:
        # Of paired seeds only the ends are compared.
        most = 0 if stage.seed is not None else RECORDED_LATE if stage.recorded >= RECORDED else 1
        record = recorded_windows(
            variants["main"], stage.windows, (), most, moments=contestant.emitted
        )
        yield run("main", "main", inputs.weights, stage.windows, record=record)


def has_dropout(target: str, recipe: Recipe) -> bool:
    """Whether a target has the dropout of a recipe."""
    judgements = judge(recipe, find_target(target).rows)
    verdicts = [j.row.verdict for j in judgements if j.path == "model.dropout"]
    return Verdict.UNSUPPORTED not in verdicts


def fuses_attention(target: str, recipe: Recipe) -> bool:
    """Whether a target computes attention in one operation, as a recipe says."""
    judgements = judge(recipe, find_target(target).rows)
    verdicts = {j.row.verdict for j in judgements if j.path == "model.attention"}
    return fused_attention(recipe) and verdicts == {Verdict.EXACT}


def repeated_by_gate(recipe: Recipe) -> str:
    """Return the name of the run that `gate` repeats."""
    return "half-stress" if is_half(recipe) else "float32-stress"


def twin_runs(
    contestant: Contestant, recipe: Recipe, stage: Stage, inputs: Inputs
) -> list[RunSpec]:
    """Return the perturbed runs of the reference, and its own float32 run if it is half."""
    variants = recipe_variants(recipe, stage)
    chosen = list(_rounded_otherwise(recipe, stage, inputs))
    if "trajectory" in stage.parts:
        twins = enumerate(inputs.twins, start=1)
        chosen += [(f"twin-{n}", "main", path, {}) for n, path in twins]
        if "float32" in variants:
            chosen.append(("twin-float32", "float32", inputs.weights, {}))
    return [
        RunSpec(
            contestant=contestant.name,
            stage=stage.name,
            name=name,
            variant=variant,
            recipe=variants[variant],
            inputs=inputs,
            weights=weights,
            **{"windows": stage.windows, **more},
        )
        for name, variant, weights, more in chosen
    ]


EXACT = "float32-stress"
"""Name of the run that tells what half precision rounds in a short run of the same program."""
STRESSED = (EXACT, "half-stress")
"""Names of the recorded runs from other weights than initial ones, the more exact one first."""


def rounded_otherwise(name: str) -> str:
    """Return the name of the run that differs from a short one by more than rounding."""
    return EXACT if name == "half-stress" else f"twin-of-{name}"


def _rounded_otherwise(
    recipe: Recipe, stage: Stage, inputs: Inputs
) -> Iterator[tuple[str, str, Path, dict[str, Any]]]:
    """Yield name, variant, weights and more of these runs, which only a custom model needs.

    They are in float32 and begin with shifted weights.
    """
    if "start" not in stage.parts or not inputs.shifted:
        return
    half = is_half(recipe)
    for name, path in zip(("float32-initial", EXACT), inputs.shifted, strict=True):
        more = {
            "windows": stage.recorded,
            "record": tuple(range(stage.recorded)),
            "brief": name in resumed_runs(recipe, stage),
        }
        yield rounded_otherwise(name), "float32" if half else "main", path, more


def resumed_runs(recipe: Recipe, stage: Stage) -> set[str]:
    """Return the short runs whose epochs are brief: the resume is within the second one.

    With a custom model also the one that tells what half precision rounds in them.
    """
    if "gate" not in stage.parts or stage.recorded < RECORDED:  # two windows are too few
        return set()
    compared = {EXACT} if not isinstance(recipe.model, BertModel) else set()
    return {"gate", repeated_by_gate(recipe), *compared}


def is_judged_first(spec: RunSpec) -> bool:
    """Whether a run is needed for the first finding: one of the short ones, or for the gate.

    They take a few windows, and what they show needs no run that is longer.
    """
    return bool(spec.starts or spec.repeat)


def in_sessions(
    specs: Sequence[RunSpec], costs: Sequence[float], parts: int
) -> list[list[RunSpec]]:
    """Deal runs of one contestant to a number of processes so that none has much more work."""
    bins: list[tuple[float, list[RunSpec]]] = [(0.0, []) for _ in range(max(1, parts))]
    for spec, size in sorted(zip(specs, costs, strict=True), key=lambda p: -p[1]):
        lightest = min(range(len(bins)), key=lambda i: bins[i][0])
        total, runs = bins[lightest]
        bins[lightest] = (total + size, [*runs, spec])
    order = {spec.id: place for place, spec in enumerate(specs)}
    return [sorted(runs, key=lambda s: order[s.id]) for _, runs in bins if runs]
