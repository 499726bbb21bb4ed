"""What the objects of a framework say of themselves: the settings that a program really uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast_parity.reading.clips import changes_gradients, clip_of, observed
from crosscast_parity.reading.evidence import Evidence, most_common
from crosscast_parity.side_by_side.recording import RecordedAttempt
from crosscast_parity.side_by_side.shown_fields import LIMIT_OF

OPTIMIZERS = {
    "Adam": "adam",
    "AdamW": "adamw",
    "FusedAdam": "adamw",
    "SGD": "sgd",
    "FusedSGD": "sgd",
    "Momentum": "sgd",
    "Lamb": "lamb",
    "LAMB": "lamb",
    "FusedLAMB": "lamb",
    "Lion": "lion",
    "Adafactor": "adafactor",
}
"""Classes of optimizers, of the frameworks and of libraries, and their names in a recipe."""
UNLIKE = ("amsgrad", "maximize", "centered")
"""Settings of an optimizer that no recipe has."""
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "sgd": ("momentum", "nesterov"),
    "adam": ("betas", "eps", "bias_correction"),
    "adamw": ("betas", "eps", "bias_correction"),
    "lamb": ("betas", "eps", "bias_correction"),
    "lion": ("betas",),
}
SCALER = ("growth_factor", "backoff_factor", "growth_interval", "hysteresis")
HALF = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The value of a field, and who says it."""

    path: str
    value: Any
    why: str


def statements(evidence: Evidence, recipe: Recipe) -> dict[str, Statement]:
    """Return the statements of a run about fields of a recipe, by path."""
    by_path: dict[str, Statement] = {}
    if not evidence.recording.attempts:
        return by_path
    sections = (_optimizer, _clipping, _counts, _scaling, _precision, _loss, _rows)
    for section in sections:
        for path, value, why in section(evidence, recipe):
            by_path[path] = Statement(path=path, value=value, why=why)
    return by_path


Entry = tuple[str, Any, str]


def _last(evidence: Evidence) -> RecordedAttempt:
    updates = evidence.recording.updates or evidence.recording.attempts
    return updates[0]


def family_of(evidence: Evidence) -> str:
    """Return the recipe's name of the optimizer; empty if its class is not known."""
    attempt = _last(evidence)
    settings = attempt.settings[0]
    name = OPTIMIZERS.get(attempt.cls, "")
    if any(settings.get(setting) for setting in UNLIKE):
        return ""
    if name == "sgd" and settings.get("decoupled_weight_decay") and settings.get("weight_decay"):
        return ""
    if name in ("adam", "adamw"):
        decoupled = settings.get("decoupled_weight_decay", settings.get("adam_w_mode"))
        if decoupled is not None and (decoupled or name == "adam" or "adam_w_mode" in settings):
            return "adamw" if decoupled else "adam"
    return name


def _optimizer(evidence: Evidence, recipe: Recipe) -> Iterator[Entry]:
    attempt, family = _last(evidence), family_of(evidence)
    if not family or evidence.optimizers > 1:
        return
    reason = f"the optimizer is {attempt.cls}"
    own, decays = recipe.optimizer.name, _decays(attempt)
    same = {own, family} <= {"adam", "adamw"} and not decays and not recipe.optimizer.weight_decay
    yield "optimizer.name", own if same else family, reason
    for name in SETTINGS.get(family, ()):
        values = attempt.setting(name)
        if name == "bias_correction" and not values:
            values = attempt.setting("correct_bias")
        if values and all(value == values[0] for value in values) and values[0] is not None:
            yield f"optimizer.{name}", values[0], f"{reason} with {name} {_value_text(values[0])}"
    if not evidence.parameters:
        values = attempt.setting("weight_decay")
        if values and len(set(values)) == 1 and values[0] is not None:
            yield "optimizer.weight_decay", float(values[0]), f"{reason} with decay {values[0]:g}"


def _decays(attempt: RecordedAttempt) -> bool:
    return any(settings.get("weight_decay") for settings in attempt.settings)


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _clipping(evidence: Evidence, recipe: Recipe) -> Iterator[Entry]:
    updates = evidence.recording.updates
    clippings = {tuple((clip.kind, clip.limit) for clip in attempt.clips) for attempt in updates}
    if len(clippings) != 1:
        return
    clips = [clip for clip in clippings.pop() if clip[1] < float("inf")]
    if not clips:
        if recipe.clipping.kind == "none":
            yield from _clipped_by_hand(evidence)
        return
    if len(clips) == 1:
        kind, limit = clips[0]
        why = f"every update is clipped: {kind} {limit:g}"
        yield "clipping.kind", kind, why
        yield LIMIT_OF.get(kind, "clipping.max_norm"), limit, why


def _clipped_by_hand(evidence: Evidence) -> Iterator[Entry]:
    """What the gradients show that reach the optimizer, where no function of a framework clips."""
    if evidence.facts.get("clips_unseen"):
        return  # nor is it known whether the program itself does
    windows = observed(evidence)
    if not windows or not changes_gradients(windows):
        yield "clipping.kind", "none", "no function of the framework clips the gradients"
        return
    clip = clip_of(windows)
    if clip is None:
        return  # something else changes them
    many = f"{clip.windows} of {len(windows)} recorded updates"
    why = f"the program limits its gradients itself, in {many}: {clip.kind} {clip.limit:g}"
    yield "clipping.kind", clip.kind, why
    yield LIMIT_OF.get(clip.kind, "clipping.max_norm"), clip.limit, why


def _counts(evidence: Evidence, recipe: Recipe) -> Iterator[Entry]:
    attempts = evidence.recording.attempts
    steps = most_common(max(1, len(a.micro) or a.backwards) for a in attempts)
    yield "accumulation.steps", steps, f"{steps} backward passes before an update"
    sizes = [part["rows"] for attempt in attempts for part in attempt.micro]
    if sizes and all(sizes):
        size = most_common(sizes)
        yield "batch.micro_batch_size", size, f"{size} rows in a forward pass"


def _scaling(evidence: Evidence, recipe: Recipe) -> Iterator[Entry]:
    scaler = evidence.facts.get("scaler")
    if not evidence.recording.scaled:
        if recipe.loss_scaling.mode == "none":
            yield "loss_scaling.mode", "none", "no scaler makes a step"
        return
    first = next(a.scale for a in evidence.recording.attempts if a.scale is not None)
    if scaler is None:
        return
    mode = "dynamic" if scaler.get("dynamic", True) else "static"
    yield "loss_scaling.mode", mode, "a scaler makes every step"
    if mode == "static":
        yield "loss_scaling.scale", first, f"the scale is {first:g}"
        return
    yield "loss_scaling.init_scale", first, f"the scale is {first:g} at the first update"
    for name in SCALER:
        if scaler.get(name) is not None:
            yield f"loss_scaling.{name}", scaler[name], f"the scaler has {scaler[name]:g}"


def _precision(evidence: Evidence, recipe: Recipe) -> Iterator[Entry]:
    """Half precision, where it shows; without a GPU a program may leave it out."""
    autocasts = [name for name in evidence.facts.get("autocasts", ()) if name in HALF]
    weights = [name for name in evidence.facts.get("weights", ()) if name in HALF]
    types = [name for name in evidence.recording.types if name in HALF]
    dtypes = autocasts or types
    mode = evidence.facts.get("mode")  # of a stand-in, which keeps its weights in float32
    if mode == "full":
        yield "precision.mode", mode, "the level of amp has half weights"
        yield "precision.compute_dtype", "float16", "the level of amp has half weights"
    elif weights:
        yield "precision.mode", "full", f"weights are {weights[0]}"
        yield "precision.compute_dtype", weights[0], f"weights are {weights[0]}"
    elif len(dtypes) == 1:
        why = (
            f"it asks for autocast to {dtypes[0]}" if autocasts else f"modules compute {dtypes[0]}"
        )
        yield "precision.mode", "mixed", why
        yield "precision.compute_dtype", dtypes[0], why
    elif not dtypes and recipe.precision.mode == "none" and evidence.recording.types:
        why = "modules compute in float32, and it asks for no autocast"
        yield "precision.mode", "none", why
        yield "precision.compute_dtype", "float32", why


def _loss(evidence: Evidence, recipe: Recipe) -> Iterator[Entry]:
    parts = [part for attempt in evidence.recording.attempts for part in attempt.micro]
    losses = [[loss for loss in part["losses"] if _reached(loss)] for part in parts]
    if not losses or any(len(of_backward) != 1 for of_backward in losses):
        return
    kinds = {of_backward[0]["kind"] for of_backward in losses}
    if len(kinds) != 1:
        return
    kind, first = kinds.pop(), losses[0][0]
    why = f"every backward pass begins with one loss: {kind}"
    yield "loss.kind", kind, why
    if kind == "cross_entropy":
        smoothing, weights = first.get("smoothing"), first.get("weights")
        if smoothing is not None:
            yield "loss.label_smoothing", smoothing, f"{kind} with label smoothing {smoothing:g}"
        if weights is not None and weights != [-1.0]:
            yield "loss.class_weights", tuple(weights), f"{kind} with {len(weights)} class weights"


def _reached(loss: Mapping[str, Any]) -> bool:
    """Whether a backward pass reached a loss, as far as that was noted."""
    return loss["factor"] is not None or bool(loss.get("used"))


def _rows(evidence: Evidence, recipe: Recipe) -> Iterator[Entry]:
    if "seed" in evidence.facts:
        seed = evidence.facts["seed"]
        yield "seed", seed, f"the seed is set to {seed}"
    if "shuffle" in evidence.facts:
        shuffled = evidence.facts["shuffle"]
        why = "the loader of rows shuffles them" if shuffled else "rows are loaded in their order"
        yield "data.shuffle", shuffled, why
