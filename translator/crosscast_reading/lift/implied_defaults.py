"""Library defaults for values that a source does not set, from the tables by version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosscast.targets.defaults import Defaults, version_number
from crosscast.targets.framework import Framework
from crosscast.targets.parameter_words import optimizer_words, scaling_words
from crosscast_reading.lift.frameworks import UNSAID, framework_of
from crosscast_reading.lift.library_defaults import TRAINERS, Found, find
from crosscast_reading.lift.optimizers import BETAS, NOT_IN_SOURCE
from crosscast_reading.lift.precedence import words
from crosscast_reading.lift.recipe_draft import Draft
from crosscast_reading.lift.step_sections import Look

_SCALERS = {
    "torch.amp": "torch.amp.GradScaler",
    "torch.cuda.amp": "torch.cuda.amp.GradScaler",
    "accelerate": "torch.amp.GradScaler",
    "hf_trainer": "torch.amp.GradScaler",
    "lightning": "torch.amp.GradScaler",
    "lightning_fabric": "torch.amp.GradScaler",
    "apex_amp": "apex.amp.initialize",
    "deepspeed": "deepspeed fp16",
    "megatron": "megatron flags",
    "keras_mp": "keras.optimizers.LossScaleOptimizer",
    "keras_mp_experimental": "tf_keras.mixed_precision.LossScaleOptimizer",
    "tf_contrib_mp": "tensorflow.contrib.mixed_precision.ExponentialUpdateLossScaleManager",
    "tf_graph_rewrite": "tensorflow.compat.v1.mixed_precision.DynamicLossScale",
    "paddle_dygraph_amp": "paddle.amp.GradScaler",
    "paddle_static_decorate": "paddle.static.amp.decorate",
    "paddle_fleet": "paddle.distributed.fleet.DistributedStrategy.amp_configs",
    "jax_dynamic_scale": "flax.training.dynamic_scale.DynamicScale",
}
"""Interface through which precision is asked for to the API that scales the loss."""
_WHOLE = frozenset({"loss_scaling.growth_interval", "loss_scaling.hysteresis"})
_LOWEST = "loss_scaling.min_scale"
"""None says something here: without a lowest scale a recipe has that of 1."""
_KNOWN = {
    "sgd": ("momentum", "nesterov", "weight_decay", "rate_in_momentum"),
    "adam": ("betas", "eps", "weight_decay", "eps_placement"),
    "adamw": ("betas", "eps", "weight_decay", "eps_placement"),
    "lamb": ("betas", "eps", "weight_decay", "always_adapt"),
    "lion": ("betas", "weight_decay"),
    "adafactor": ("beta2_decay", "weight_decay"),
}
"""Fields of each optimizer of a recipe that have defaults somewhere."""
_BIAS_CORRECTED = {"bias_correction": True, "eps_placement": "after_correction"}
_FORMULAS: Mapping[str, Mapping[str, Any]] = {
    "sgd": {"momentum": 0.0, "nesterov": False, "rate_in_momentum": False},
    "adam": _BIAS_CORRECTED,
    "adamw": _BIAS_CORRECTED,
    "lamb": {"bias_correction": True},
}
"""What the optimizers of libraries do where their tables have no other value."""
_APEX = "apex"
_CLIPS_INSIDE = "apex.optimizers.FusedLAMB"
"""Its step clips and adds nothing to the norm; that of FP16_Optimizer adds what PyTorch does."""
_OF_FLUID = "paddle.fluid.optimizer."
_CLIP_OF_FLUID = "paddle.fluid.clip.GradientClipByGlobalNorm"
_CORRECTED_SINCE = "2.0"
"""Release of Paddle since which its Adam adds epsilon after the correction; `fluid` is older."""


def imply(look: Look, name: str, draft: Draft, versions: Mapping[str, str]) -> None:
    """Fill what no source speaks of from the tables of defaults.

    Args:
        look: finds facts.
        name: of the optimizer as the source calls it.
        draft: filled with what the sources say.
        versions: package to version.
    """
    apis = apis_of(look)
    fact = look("framework")
    framework = framework_of(str(fact.value) if fact is not None else UNSAID)
    for api in apis:
        if draft.library.label and api in TRAINERS and (defaults := find(TRAINERS[api], versions)):
            _library(*defaults, draft)
    if draft.value("loss_scaling.mode") == "dynamic":
        _scaling(_scalers(look, apis), draft, versions)
    _optimizer(framework, name, draft, versions)
    clips = not draft.is_assumed("clipping.kind") and draft.value("clipping.kind")
    if clips in ("global_norm", "per_param_norm"):
        clip, stated = framework.clip if framework is not None else "", look("clipping.kind")
        if stated is not None and stated.reader == _APEX and "lamb" in name.lower():
            clip = _CLIPS_INSIDE
        defaults = find(clip, versions)
        if defaults is None and framework is not None and framework.module == "paddle":
            defaults = find(_CLIP_OF_FLUID, versions)
        if defaults and "clipping.eps" in defaults[0].fixed:
            draft.default("clipping.eps", defaults[0].fixed["clipping.eps"], defaults[1])


def apis_of(look: Look) -> tuple[str, ...]:
    """Return the interfaces that the sources use."""
    fact = look("api")
    return tuple(str(w) for w in words(fact.value)) if fact is not None and fact.known else ()


def _scalers(look: Look, apis: Iterable[str]) -> Iterator[str]:
    """Yield the APIs that may scale the loss, the one that does first."""
    named, parallel = look("loss_scaling.api"), look("parallel.kind")
    if named is not None and named.known:
        yield str(named.value)
    kinds = words(parallel.value) if parallel is not None and parallel.known else ()
    if "deepspeed" in apis or any(str(kind).startswith("deepspeed") for kind in kinds):
        yield _SCALERS["deepspeed"]  # its engine scales, whatever library starts it
    for api in apis:
        if api in _SCALERS:
            yield _SCALERS[api]


def _scaling(apis: Iterable[str], draft: Draft, versions: Mapping[str, str]) -> None:
    """Fill the settings of a dynamic scale from the API that scales; it has no others."""
    for api in apis:
        defaults = find(api, versions)
        if defaults is None:
            continue
        entry, whose = defaults
        for path, value in _scaling_values(entry):
            draft.default(path, value, whose)
        draft.default("loss_scaling.max_scale", None, whose)
        if (draft.value("loss_scaling.hysteresis") or 1) > 1:
            draft.default("loss_scaling.hysteresis_mode", "consecutive", whose)
        return


def _scaling_values(entry: Defaults) -> Iterator[tuple[str, Any]]:
    words = scaling_words(entry.package)
    for name, value in entry.arguments.items():
        path = words.get(name.replace("-", "_"), "loss_scaling.scale")
        if path == _LOWEST and value is None:
            yield path, value
        elif path != "loss_scaling.scale" and value is not None:
            yield path, value if path in _WHOLE else float(value)  # type: ignore[arg-type]
    if "initial_scale_power" in entry.arguments:
        yield "loss_scaling.init_scale", 2.0 ** int(entry.arguments["initial_scale_power"])  # type: ignore[arg-type]
    for path, value in entry.fixed.items():
        if path == _LOWEST or (path.startswith("loss_scaling.") and value is not None):
            yield path, value


def _optimizer(
    framework: Framework | None, name: str, draft: Draft, versions: Mapping[str, str]
) -> None:
    """Fill the settings that the call of a library's optimizer leaves out."""
    if draft.is_assumed("optimizer.name"):
        return
    kind = str(draft.value("optimizer.name"))
    if name.startswith(_OF_FLUID) and kind in ("adam", "adamw"):
        _epsilon_of_fluid(draft, versions)
    defaults = _row(framework, name, versions)
    if defaults is None:
        if not name and draft.library.label:
            _formula(kind, draft, draft.library)
        return
    entry, whose = defaults
    values = dict(_optimizer_values(entry))
    for field, value in values.items():
        if field in _KNOWN[kind] or field == "learning_rate":
            filled = draft.fields.get(f"optimizer.{field}")
            if field == "learning_rate" and filled is not None and filled.how == "assumed":
                if filled.note == "not in the source":
                    del draft.fields["optimizer.learning_rate"]
                else:
                    continue
            if field == "betas":
                _other_beta(value, whose, draft)
            draft.default(f"optimizer.{field}", value, whose)
    _formula(kind, draft, whose)


def _epsilon_of_fluid(draft: Draft, versions: Mapping[str, str]) -> None:
    """Fill where the Adam of `fluid` adds epsilon, which depends on the release."""
    version = versions.get("paddle", "") or versions.get("paddlepaddle", "")
    path, before = "optimizer.eps_placement", "before_correction"
    if not version:
        note = f"since Paddle {_CORRECTED_SINCE} after_correction: name yours, --version paddle=V"
        draft.stand_in(path, before, note)
    else:
        late = version_number(version) >= version_number(_CORRECTED_SINCE)
        value = "after_correction" if late else before
        draft.default(path, value, Found(f"default of paddle {version}", certain=True))


_BY_NAME = {
    **{"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "lion": "Lion"},
    **{"adafactor": "Adafactor", "lamb": "Lamb"},
}
"""Names that `compile` of Keras takes, and the classes that it creates."""


def _row(
    framework: Framework | None, name: str, versions: Mapping[str, str]
) -> tuple[Defaults, Found] | None:
    """Return the defaults of an optimizer, if it is the framework's own and not a namesake."""
    forms = framework.optimizers if framework is not None else ()
    head, _, _ = name.partition(".")
    if ":" in name:
        return None
    if "." in name and head not in _heads(framework):
        return find(name, versions)  # of a library that has a table of its own
    if name.startswith(_OF_FLUID) and (defaults := find(name.removesuffix("Optimizer"), versions)):
        return defaults
    last = _BY_NAME.get(name, name.rpartition(".")[2])
    return next((f for form in forms if (f := find(form.format(last), versions))), None)


def _heads(framework: Framework | None) -> frozenset[str]:
    """Return the packages whose optimizers a framework's table is about."""
    if framework is None:
        return frozenset()
    forms = {form.partition(".")[0] for form in framework.optimizers}
    return frozenset({framework.module, *forms, f"tf_{framework.module}"})


def _formula(kind: str, draft: Draft, whose: Found) -> None:
    """Fill what the formula of a library's optimizer has that no argument changes."""
    for field, value in _FORMULAS.get(kind, {}).items():
        draft.default(f"optimizer.{field}", value, whose)


def _other_beta(defaults: Sequence[float], whose: Found, draft: Draft) -> None:
    """Fill the decay that a call omits if it sets only one of two."""
    filled = draft.fields.get("optimizer.betas")
    for index, name in enumerate(BETAS):
        if filled is not None and filled.note == f"{name} {NOT_IN_SOURCE}":
            both = [*filled.value]
            both[index] = float(defaults[index])
            note = f"{name}: {whose.label}"
            whole = replace(filled, value=both, how="read", confidence="certain", note=note)
            draft.fields["optimizer.betas"] = whole


def _optimizer_values(entry: Defaults) -> Iterator[tuple[str, Any]]:
    words = optimizer_words(entry.package)
    decays = []
    for name, value in entry.arguments.items():
        field = words.get(name, "").removeprefix("optimizer.")
        if field == "weight_decay":
            yield field, float(value or 0.0)  # type: ignore[arg-type]
        elif field in ("nesterov", "always_adapt"):
            yield field, bool(value)
        elif field == "betas":
            yield field, list(value)  # type: ignore[arg-type]
        elif field.startswith("betas."):
            decays.append(value)
        elif field and isinstance(value, int | float):
            yield field, float(value)
    if decays:
        yield "betas", decays
    for path, value in entry.fixed.items():
        if path.startswith("optimizer."):
            yield path.removeprefix("optimizer."), value


def _library(entry: Defaults, whose: Found, draft: Draft) -> None:
    """Fill what a library that runs the step decides."""
    steps = draft.value("accumulation.steps")
    for path, value in entry.fixed.items():
        if path != "accumulation.tail" or (steps or 1) > 1:
            draft.default(path, value, whose)
    arguments = entry.arguments
    if "per_device_train_batch_size" in arguments:
        _replace(draft, "batch.micro_batch_size", arguments["per_device_train_batch_size"], whose)
        _replace(draft, "optimizer.learning_rate", arguments["learning_rate"], whose)
        _replace(draft, "seed", arguments["seed"], whose)


def _replace(draft: Draft, path: str, value: Any, whose: Found) -> None:
    """Fill a field that no source sets, even if it is filled with a placeholder."""
    filled = draft.fields.get(path)
    if filled is not None and filled.how == "assumed" and filled.note == "not in the source":
        del draft.fields[path]
    draft.default(path, value, whose)
