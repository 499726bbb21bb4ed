"""Rules for fields that cannot be checked in NumPy: the comparisons that exercise them.

A table. A field stands here if no variation of it changes counts, the loss-scale machine, the
replayed arithmetic or the types of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Step
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.evidence.recorded_run import RecordedRun
from crosscast_parity.recordings.roles import roles_of

Needs = Literal["nothing", "gradients", "initial gradients", "half types", "dropout", "never"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One field, or all below a path that ends in a dot.

    `level` sees it if what it `needs` was done; `seen` says how. `unseen`: why it was not seen.
    """

    path: str
    level: str
    needs: Needs
    seen: str
    unseen: str

    def judge(self, recipe: Recipe, runs: Sequence[RecordedRun]) -> tuple[str, str]:
        """Return the level that sees the field, empty for none, and the wording."""
        exercised = any(_NEEDS[self.needs](recipe, run) for run in runs)
        if exercised:
            return self.level, f"{self.level}: {self.seen}"
        return "", f"because {self.unseen}"


def _gradients(recipe: Recipe, run: RecordedRun) -> bool:
    exact = run.recipe.precision.compute_dtype == "float32"
    return run.compared and run.short and run.observation is not None and exact


_NEEDS: dict[Needs, Callable[[Recipe, RecordedRun], bool]] = {
    "nothing": lambda recipe, run: True,
    "never": lambda recipe, run: False,
    "gradients": _gradients,
    "initial gradients": lambda recipe, run: _gradients(recipe, run) and run.weights == "initial",
    "half types": lambda recipe, run: (
        run.short
        and run.observation is not None
        and run.recipe.precision.compute_dtype != "float32"
    ),
    "dropout": lambda recipe, run: (
        _gradients(recipe, run)
        and getattr(recipe.model, "dropout", None) == getattr(run.recipe.model, "dropout", None)
    ),
}

_NO_GRADIENTS = "gradients were not compared in float32"
_SIZES = "weights of other sizes do not load"
_GIVEN = "every program gets the same rows, whatever the field says"
_WEIGHTS = "every program starts from the same given weights"
_METRICS = "they are reported and compared, but change no training"
_READERS = "it changes who reads the rows, but no number"
_MEMORY = "it changes memory use, but no number"
_BY_DESIGN = (_GIVEN, _WEIGHTS, _METRICS, _READERS, _MEMORY)
"""Why fields are not exercised by any comparison, and need not be."""
_ORDER = "a different order of the rows changes the gradient in the first windows"


def _size(name: str) -> Rule:
    return Rule(f"model.{name}", "gate", "nothing", _SIZES, "")


RULES = (
    *map(_size, ("kind", "layers", "hidden_size", "intermediate_size", "vocab_size")),
    *map(_size, ("max_positions", "type_vocab_size", "labels")),
    Rule(
        "model.factory.",
        "L1a",
        "gradients",
        "a different model changes the gradient",
        _NO_GRADIENTS,
    ),
    Rule(
        "model.attention_heads",
        "L1a",
        "gradients",
        "a different number of heads changes the gradient",
        _NO_GRADIENTS,
    ),
    Rule(
        "model.layer_norm_eps",
        "L1a",
        "initial gradients",
        "from BERT's initial weights, whose variances are small, a different epsilon gives another"
        " gradient",
        "gradients were not compared in float32 from BERT's initial weights, where it shows",
    ),
    Rule(
        "model.dropout",
        "L1a",
        "dropout",
        "every program gets the same masks, so another rate gives different gradients",
        "not every program can be given the same masks, so dropout was off",
    ),
    Rule("model.attention", "", "never", "", _MEMORY),
    Rule("model.init_std", "", "never", "", _WEIGHTS),
    Rule("loss.target", "", "never", "", _GIVEN),
    Rule("loss.", "L1a", "gradients", "a different loss changes the gradient", _NO_GRADIENTS),
    Rule("metrics.", "", "never", "", _METRICS),
    Rule("data.source", "", "never", "", _GIVEN),
    Rule("data.train", "", "never", "", _GIVEN),
    Rule("data.eval", "", "never", "", _GIVEN),
    Rule("data.sequence_length", "", "never", "", _GIVEN),
    Rule("data.eval_rows", "", "never", "", _GIVEN),
    Rule("data.pad_to_multiple_of", "", "never", "", _GIVEN),
    Rule("data.pad_values.", "", "never", "", _GIVEN),
    Rule("data.size", "", "never", "", _GIVEN),
    Rule("data.workers", "", "never", "", _READERS),
    Rule("data.shuffle", "L1a", "gradients", _ORDER, _NO_GRADIENTS),
    Rule("seed", "L1a", "gradients", _ORDER, _NO_GRADIENTS),
    Rule(
        "precision.param_dtype",
        "L0d",
        "half types",
        "weights rounded to half lie on its grid",
        "nothing is computed in half precision",
    ),
    Rule("precision.tf32", "", "never", "", "only GPUs have TensorFloat-32"),
    Rule("activation_checkpointing", "", "never", "", _MEMORY),
    Rule("distributed.", "", "never", "", "the harness runs one process for each program"),
    Rule("overrides.", "", "never", "", "it is a setting of one backend and is not compared"),
    Rule(
        "batch.global_batch_size",
        "L0b",
        "nothing",
        "it is counted in every window",
        "",
    ),
)


@dataclass(frozen=True, slots=True)
class Absent:
    """A field without effect while `holds`, because its feature is not used."""

    path: str
    holds: Callable[[Recipe], bool]
    wording: str


def _no_decay(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    return not optimizer.weight_decay and not any(g.weight_decay for g in optimizer.groups)


def _all_decay(recipe: Recipe) -> bool:
    step = canonical_plan(recipe).find(Step)
    if step is None or not isinstance(recipe.model, BertModel):
        return False  # the names of the weights are not known
    roles = roles_of(bert_shapes(recipe.model))
    settings = (settings_of(step, name, own) for name, own in roles.items())
    return all(decay or not rate_factor for decay, rate_factor in settings)


def _exact(recipe: Recipe) -> bool:
    return recipe.precision.mode == "none"


def _computes_exactly(recipe: Recipe) -> bool:
    mixed = recipe.precision.mode == "mixed"
    return mixed and set(recipe.precision.ops.model_dump().values()) == {"float32"}


def _one_micro_batch(recipe: Recipe) -> bool:
    return recipe.accumulation.steps == 1


def _constant_rate(recipe: Recipe) -> bool:
    return recipe.schedule.name == "constant" and not recipe.schedule.warmup_steps


ABSENT = (
    Absent("ema.decay", lambda r: r.ema.decay is None, "the recipe keeps no average"),
    Absent("optimizer.groups", lambda r: not r.optimizer.groups, "the recipe has no such groups"),
    Absent("optimizer.no_decay", _no_decay, "the recipe has no decay"),
    Absent(
        "loss_scaling.max_scale",
        lambda r: getattr(r.loss_scaling, "max_scale", None) is None,
        "the recipe has no highest scale",
    ),
    Absent(
        "schedule.power", lambda r: r.schedule.name != "polynomial", "only polynomials have one"
    ),
    Absent(
        "loss_scaling.hysteresis_mode",
        lambda r: getattr(r.loss_scaling, "hysteresis", 1) == 1,
        "one overflow causes a back-off, however overflows are counted",
    ),
    Absent(
        "optimizer.eps_placement",
        lambda r: not getattr(r.optimizer, "bias_correction", True),
        "without bias correction both places are the same",
    ),
    Absent("optimizer.always_adapt", _all_decay, "all weights decay, so all are adapted anyway"),
    Absent("precision.compute_dtype", _computes_exactly, "all operations are float32"),
    Absent("precision.ops.", _exact, "everything is float32"),
    Absent("precision.param_dtype", _exact, "everything is float32"),
    Absent("accumulation.dtype", _exact, "everything is float32"),
    Absent("accumulation.dtype", _one_micro_batch, "a window is one micro-batch"),
    Absent("accumulation.normalize_by", _one_micro_batch, "a window is one micro-batch"),
    Absent(
        "accumulation.normalize_by",
        lambda r: r.accumulation.tail in ("drop", "carry"),
        "all windows are full, and both mean the same",
    ),
    Absent("optimizer.rate_in_momentum", _constant_rate, "the rate does not change"),
    Absent("schedule.tick", _constant_rate, "the rate does not change"),
    Absent("schedule.decay_from", lambda r: not r.schedule.warmup_steps, "there is no warm-up"),
    Absent(
        "schedule.warmup_start_lr", lambda r: not r.schedule.warmup_steps, "there is no warm-up"
    ),
    Absent("schedule.tick", lambda r: not r.scaling_on, "nothing is skipped without loss scaling"),
    Absent("precision.tf32", lambda r: not r.precision.tf32, "the recipe does not allow it"),
    Absent(
        "activation_checkpointing",
        lambda r: not r.activation_checkpointing,
        "the recipe has none",
    ),
    Absent("distributed.", lambda r: r.processes == 1, "the recipe has one process"),
)

EXPLANATIONS = {
    "optimizer.no_decay": "there is no decay, or no visible one",
    "clipping.kind": "no gradient is large enough for some kinds, or clipping acts on none",
    "clipping.max_norm": "it exceeded the norm of no gradient, or of every gradient",
    "clipping.max_value": "no gradient was larger than it",
    "clipping.eps": "it is far below the norms",
    "schedule.tick": "no window was skipped",
    "schedule.end_lr": "the run ends before the rate is that low",
    "schedule.decay_from": "there is no warm-up, or the run ends with it",
    "loss_scaling.growth_factor": "the scale did not grow",
    "loss_scaling.growth_interval": "there were never that many clean windows in a row",
    "loss_scaling.backoff_factor": "the scale did not back off",
    "loss_scaling.hysteresis": "no window overflowed",
    "loss_scaling.hysteresis_mode": "no overflows occurred for which the two differ",
    "loss_scaling.min_scale": "the scale did not fall that low",
    "loss_scaling.max_scale": "the scale did not grow that high",
    "accumulation.normalize_by": "all micro-batches of a window had as many rows",
    "accumulation.tail": "no window was short",
    "precision.ops.embeddings": "a lookup may stay in float32 under half",
}
"""Likely reasons, for the field's owner to look at."""


def absent(recipe: Recipe, path: str) -> str:
    """Return why a field has no effect in this recipe; empty if it has one."""
    return next((a.wording for a in ABSENT if _covers(a.path, path) and a.holds(recipe)), "")


def rule_for(path: str) -> Rule | None:
    """Return the rule that decides about a field; None if variations do."""
    return next((rule for rule in RULES if _covers(rule.path, path)), None)


def by_design(path: str) -> bool:
    """Return whether no comparison exercises a field, because it cannot make programs differ."""
    rule = rule_for(path)
    return rule is not None and rule.unseen in _BY_DESIGN


def _covers(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith(".") and path.startswith(pattern))
