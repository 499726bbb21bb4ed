"""Library defaults for values that a source does not set, from the tables by version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from crosscast.lift.frameworks import UNSAID, framework_of
from crosscast.lift.optimizers import BETAS, NOT_IN_SOURCE
from crosscast.lift.precedence import words
from crosscast.lift.recipe_draft import Draft
from crosscast.lift.step_sections import Look
from crosscast.targets.defaults import Defaults, find_defaults
from crosscast.targets.framework import Framework
from crosscast.targets.parameter_words import optimizer_words, scaling_words

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
_FORMS = {
    "tensorflow.keras.mixed_precision.LossScaleOptimizer": "built",
    "tf_keras.mixed_precision.LossScaleOptimizer": "built",
    "paddle.static.amp.decorate": "COMMON",
    "paddle.distributed.fleet.DistributedStrategy.amp_configs": "keys",
}
_LIBRARIES = {
    "accelerate": "accelerate.Accelerator",
    "lightning": "lightning.pytorch.Trainer",
    "hf_trainer": "transformers.TrainingArguments",
    "deepspeed": "deepspeed.initialize",
}
"""Interfaces that run the whole training step."""
_WHOLE = frozenset({"loss_scaling.growth_interval", "loss_scaling.hysteresis"})
_LOWEST = "loss_scaling.min_scale"
"""None says something here: without a lowest scale a recipe has that of 1."""
_DISTRIBUTIONS = {"paddle": "paddlepaddle", "tf_keras": "tf-keras"}
"""Packages whose distribution has another name."""
_KNOWN = {
    "sgd": ("momentum", "nesterov", "weight_decay", "rate_in_momentum"),
    "adam": ("betas", "eps", "weight_decay", "eps_placement"),
    "adamw": ("betas", "eps", "weight_decay", "eps_placement"),
    "lamb": ("betas", "eps", "weight_decay", "always_adapt"),
    "lion": ("betas", "weight_decay"),
    "adafactor": ("beta2_decay", "weight_decay"),
}
"""Fields of each optimizer of a recipe that have defaults somewhere."""


@cache
def tables() -> tuple[Defaults, ...]:
    """Return the tables of all backends and of the libraries."""
    from crosscast.targets.backend import backend_names, load_backend
    from crosscast.targets.library_defaults import LIBRARY_DEFAULTS

    return (
        *(row for name in backend_names() for row in load_backend(name).defaults),
        *LIBRARY_DEFAULTS,
    )


def find(api: str, versions: Mapping[str, str]) -> tuple[Defaults, str] | None:
    """Return the defaults of an API and their label: `default of torch 2.13.0`.

    Args:
        api: name, with the form of an overload in brackets where it is not the usual one.
        versions: package to version.
    """
    api, _, form = api.removesuffix(")").partition(" (")
    form = form or _FORMS.get(api, "")
    rows = [row for row in tables() if (row.api, row.form) == (api, form)]
    package = rows[0].package if rows else ""
    version = versions.get(package, "") or versions.get(_DISTRIBUTIONS.get(package, ""), "")
    entry = find_defaults(rows, api, version, form)
    if entry is None and len(rows) == 1 and rows[0].until:
        # The API is gone from newer versions: a source that names it means one that has it.
        (entry,) = rows
        return entry, f"default of {package} before {entry.until}"
    if entry is None:
        return None
    shown = version or (entry.measured[0] if entry.measured else "")
    return entry, f"default of {entry.package} {shown}".rstrip()


def imply(look: Look, name: str, draft: Draft, versions: Mapping[str, str]) -> None:
    """Fill what no source speaks of from the tables of defaults.

    Args:
        look: finds facts.
        name: of the optimizer as the source calls it.
        draft: filled with what the sources say.
        versions: package to version.
    """
    apis = _apis(look)
    fact = look("framework")
    framework = framework_of(str(fact.value) if fact is not None else UNSAID)
    for api in apis:
        if api in _LIBRARIES and (found := find(_LIBRARIES[api], versions)):
            _library(*found, draft)
    if draft.value("loss_scaling.mode") == "dynamic":
        _scaling(_scalers(look, apis), draft, versions)
    _optimizer(framework, name, draft, versions)
    if draft.value("clipping.kind") in ("global_norm", "per_param_norm"):
        found = find(framework.clip if framework is not None else "", versions)
        if found and "clipping.eps" in found[0].fixed:
            draft.default("clipping.eps", found[0].fixed["clipping.eps"], found[1])


def _apis(look: Look) -> tuple[str, ...]:
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
    for api in apis:
        found = find(api, versions)
        if found is None:
            continue
        entry, note = found
        for path, value in _scaling_values(entry):
            draft.default(path, value, note)
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
    if draft.fields["optimizer.name"].how == "stand_in":
        return
    kind = str(draft.value("optimizer.name"))
    last = name.replace(":", ".").rsplit(".", 1)[-1]
    forms = framework.optimizers if framework is not None else ()
    found = next(
        (f for form in forms if (f := find(form.format(last), versions))),
        None,
    )
    if found is None:
        return
    entry, note = found
    values = dict(_optimizer_values(entry))
    for field, value in values.items():
        if field in _KNOWN[kind] or field == "learning_rate":
            filled = draft.fields.get(f"optimizer.{field}")
            if field == "learning_rate" and filled is not None and filled.how == "stand_in":
                if filled.note == "not in the source":
                    del draft.fields["optimizer.learning_rate"]
                else:
                    continue
            if field == "betas":
                _other_beta(value, note, draft)
            draft.default(f"optimizer.{field}", value, note)


def _other_beta(defaults: Sequence[float], note: str, draft: Draft) -> None:
    """Fill the decay that a call omits if it sets only one of two."""
    filled = draft.fields.get("optimizer.betas")
    for index, name in enumerate(BETAS):
        if filled is not None and filled.note == f"{name} {NOT_IN_SOURCE}":
            both = [*filled.value]
            both[index] = float(defaults[index])
            whole = replace(filled, value=both, how="source", note=f"{name}: {note}")
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


def _library(entry: Defaults, note: str, draft: Draft) -> None:
    """Fill what a library that runs the step decides."""
    steps = draft.value("accumulation.steps")
    for path, value in entry.fixed.items():
        if path != "accumulation.tail" or (steps or 1) > 1:
            draft.default(path, value, note)
    arguments = entry.arguments
    if "per_device_train_batch_size" in arguments:
        _replace(draft, "batch.micro_batch_size", arguments["per_device_train_batch_size"], note)
        _replace(draft, "optimizer.learning_rate", arguments["learning_rate"], note)
        _replace(draft, "seed", arguments["seed"], note)


def _replace(draft: Draft, path: str, value: Any, note: str) -> None:
    """Fill a field that no source sets with a stand-in."""
    filled = draft.fields.get(path)
    if filled is not None and filled.how == "stand_in" and filled.note == "not in the source":
        del draft.fields[path]
    draft.default(path, value, note)
