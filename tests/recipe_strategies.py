"""Hypothesis strategies for whole recipes: every union, every option, strange but valid strings."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.recipe.policies import POLICIES
from crosscast.targets.backend import Backend, load_backend
from data_strategies import data_sets
from value_strategies import factories, names, rarely, sizes

TARGETS = ("paddle", "tensorflow", "torch")
COMPILED = ("jax", *TARGETS)
"""Those that scripts are emitted for; those of JAX are not read back."""
LAYERS = ("accelerate", "deepspeed", "fabric", "lightning", "paddlenlp", "transformers")
"""Targets that are configurations of somebody else's program."""


def loadable_backends() -> list[Backend]:
    """Return crosscast's backends that load; a test elsewhere requires all of them to."""
    found = []
    for name in (*TARGETS, *LAYERS):
        try:
            found.append(load_backend(name))
        except DiagnosticError:
            continue
    return found


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    """Data of a model: the shipped BERT in any size, or one of the user's factories."""
    if draw(rarely(4)):
        backends = set(COMPILED)
        if draw(rarely(12)):
            backends.remove(draw(st.sampled_from(COMPILED)))
        return {"kind": "custom", "factory": {name: draw(factories) for name in sorted(backends)}}
    heads = draw(st.sampled_from((1, 2, 12)))
    return {
        "kind": "bert",
        "preset": draw(st.sampled_from((None, "tiny", "base"))),
        "layers": draw(st.sampled_from((1, 2, 24))),
        "hidden_size": heads * draw(st.sampled_from((1, 8, 64))),
        "attention_heads": heads,
        "intermediate_size": draw(sizes),
        "vocab_size": draw(st.sampled_from((32, 2048, 10**6))),
        "max_positions": draw(st.sampled_from((32, 512))),
        "type_vocab_size": 2,
        "labels": 3,
        "dropout": draw(st.sampled_from((0.0, 0.1, 0.999))),
        "attention": draw(st.sampled_from(("fused", "explicit"))),
        "layer_norm_eps": draw(st.sampled_from((1e-12, 1e-5))),
        "init_std": draw(st.sampled_from((0.02, 1.0))),
    }


def scales() -> st.SearchStrategy[dict[str, Any]]:
    """Data of a loss scaling for float16."""
    dynamic = st.fixed_dictionaries(
        {
            "mode": st.just("dynamic"),
            "init_scale": st.sampled_from((1.0, 1024.0, 65536.0)),
            "growth_factor": st.sampled_from((2.0, 1.001, 65536.0)),
            "backoff_factor": st.sampled_from((0.5, 0.999, 2.0**-16)),
            "growth_interval": st.sampled_from((1, 3, 2000)),
            "hysteresis": st.integers(1, 3),
            "hysteresis_mode": st.sampled_from(("consecutive", "cumulative")),
            "min_scale": st.sampled_from((1.0, 2.0**-14, 1e-30, None)),
            "max_scale": st.sampled_from((None, 65536.0, 2.0**126)),
        }
    )
    static = st.fixed_dictionaries({"mode": st.just("static"), "scale": st.floats(1e-30, 2.0**126)})
    return dynamic | static | st.just({"mode": "none"})


roles = st.lists(st.sampled_from(("bias", "layer_norm", "embedding")), unique=True).map(tuple)
decays = st.sampled_from((0.0, 0.01, 1.0))


def clippings() -> st.SearchStrategy[dict[str, Any]]:
    """Data of a clipping."""
    limit = st.sampled_from((1e-3, 0.5, 1.0, 1e6)) | st.floats(1e-30, 1e30)
    eps = st.sampled_from((0.0, 1e-6, 1e-3))
    kinds = st.sampled_from(("global_norm", "per_param_norm"))
    by_norm = {"kind": kinds, "max_norm": limit, "eps": eps, "exempt": roles}
    by_value = {"kind": st.just("value"), "max_value": limit, "exempt": roles}
    none = st.just({"kind": "none"})
    return none | st.fixed_dictionaries(by_norm) | st.fixed_dictionaries(by_value)


def groups() -> st.SearchStrategy[tuple[dict[str, Any], ...]]:
    """Data of parameter groups; the patterns meet names in BERT and in the toys of the tests."""
    pattern = st.sampled_from(
        ("*", "*bias*", "*kernel*", "*.weight", "[!b]*", "?able.*", "bert.embeddings.*", "no.such")
    )
    group = st.fixed_dictionaries(
        {
            "parameters": st.lists(pattern, min_size=1, max_size=2).map(tuple),
            "weight_decay": st.none() | decays,
            "rate_factor": st.sampled_from((0.0, 0.5, 1.0, 3.0)),
        }
    )
    return st.lists(group, max_size=2).map(tuple) | st.just(())


@st.composite
def losses(draw: st.DrawFn, model: dict[str, Any], plain: bool, unit: str) -> dict[str, Any]:
    """Data of a loss: mostly the plain cross-entropy, which `plain` asks for."""
    if plain or not draw(rarely(3)):
        return {"kind": "cross_entropy"}
    smoothed = st.fixed_dictionaries(
        {"kind": st.just("cross_entropy"), "label_smoothing": st.sampled_from((0.1, 0.25, 0.999))}
    )
    weighted = st.fixed_dictionaries(
        {
            "kind": st.just("cross_entropy"),
            "class_weights": st.sampled_from(((0.5, 1.0, 2.0), (1e-30, 1.0, 1e30))),
        }
    )
    if model["kind"] == "bert":
        return draw(smoothed | weighted)
    return draw(_own_losses(model, unit))


@st.composite
def _own_losses(draw: st.DrawFn, model: dict[str, Any], unit: str) -> dict[str, Any]:
    """Data of a loss for a model of the user's."""
    targets = st.sampled_from(("labels", "y", "_" * 64))
    if unit == "token" or draw(st.booleans()):
        if draw(st.booleans()):
            functions = {name: draw(factories) for name in model["factory"]}
            counted = {"target": draw(targets)} if unit == "token" else {}
            return {"kind": "custom", "function": functions, **counted}
        smoothing = draw(st.sampled_from((0.0, 0.1)))
        return {"kind": "cross_entropy", "target": draw(targets), "label_smoothing": smoothing}
    return {"kind": draw(st.sampled_from(("mse", "binary_cross_entropy"))), "target": draw(targets)}


@st.composite
def optimizers(draw: st.DrawFn) -> dict[str, Any]:
    """Data of an optimizer."""
    name = draw(st.sampled_from(("sgd", "adam", "adamw", "lamb", "lion", "adafactor")))
    common = {
        "name": name,
        "learning_rate": draw(st.sampled_from((1e-3, 5e-5, 1.0)) | st.floats(1e-8, 10)),
        "weight_decay": draw(decays),
        "no_decay": draw(roles),
        "groups": draw(groups()),
    }
    return common | draw(_own_settings(name))


def _own_settings(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Data that only one optimizer has, or some of them."""
    eps = st.sampled_from((1e-8, 1e-6, 1e-3))
    betas = {"betas": st.sampled_from(((0.9, 0.999), (0.5, 0.6)))}
    corrected: dict[str, Any] = betas | {"eps": eps, "bias_correction": st.booleans()}
    placements = st.sampled_from(("after_correction", "before_correction"))
    placed = corrected | {"eps_placement": placements}
    momentum = {"momentum": st.just(0.9), "nesterov": st.booleans()}
    factored = {
        "beta2_decay": st.sampled_from((-0.8, -0.5)),
        "eps": st.sampled_from(((2.0**-23, 1e-3), (1e-8, 0.1))),
        "clip_threshold": st.sampled_from((1.0, 2.0)),
    }
    if name == "sgd":
        with_momentum = st.fixed_dictionaries(momentum | {"rate_in_momentum": st.booleans()})
        return st.just({"momentum": 0.0}) | with_momentum
    own: dict[str, dict[str, Any]] = {
        "adam": placed,
        "adamw": placed,
        "lamb": corrected | {"always_adapt": st.booleans()},
        "lion": betas,
        "adafactor": factored,
    }
    return st.fixed_dictionaries(own[name])


@st.composite
def rates(draw: st.DrawFn, learning_rate: float) -> dict[str, Any]:
    """Data of a schedule."""
    total = draw(st.sampled_from((1, 7, 2**31 - 1)))
    names = ("constant", "linear", "cosine", "polynomial", "inverse_sqrt")
    name = draw(st.sampled_from(names))
    falls = name not in ("constant", "inverse_sqrt")
    shape: dict[str, Any] = {"power": 1.0, "decay_from": "warmup_end", "end_lr": 0.0}
    if falls:
        shape["decay_from"] = draw(st.sampled_from(("warmup_end", "start")))
        shape["end_lr"] = draw(st.sampled_from((0.0, learning_rate / 7, learning_rate)))
    if name == "polynomial":
        shape["power"] = draw(st.sampled_from((0.5, 1.0, 2.0, 3.0)))
    warmup = max(int(name == "inverse_sqrt"), draw(st.sampled_from((0, 1, total // 2, total))))
    starts = (0.0, learning_rate / 7, learning_rate) if warmup else (0.0,)
    return shape | {
        "name": name,
        "total_steps": total,
        "warmup_steps": warmup,
        "warmup_start_lr": draw(st.sampled_from(starts)),
        "tick": draw(st.sampled_from(("update", "attempt"))),
    }


@st.composite
def precisions(draw: st.DrawFn, bert: bool) -> dict[str, Any]:
    """Data of the number formats."""
    dtype = draw(st.sampled_from(("float32", "float16", "bfloat16")))
    modes = ("none",) if dtype == "float32" else ("mixed", "full")
    drawn: dict[str, Any] = {
        "mode": draw(st.sampled_from(modes)),
        "compute_dtype": dtype,
        "tf32": draw(st.booleans()),
    }
    if bert and dtype != "float32":
        drawn["policy"] = draw(st.sampled_from(sorted(POLICIES)))
        drawn["ops"] = dict(POLICIES[drawn["policy"]])
        if draw(rarely(4)):
            types = st.sampled_from(("half", "float32", "float32_stored_half"))
            classes = ("pointwise", "reductions", "embeddings", "losses")
            drawn["ops"] = {name: draw(types) for name in classes}
            drawn["ops"]["matmul"] = "float32" if draw(rarely(4)) else "half"
            drawn["ops"]["residual"] = draw(st.sampled_from(("half", "float32")))
    return drawn


@st.composite
def accumulations(draw: st.DrawFn, steps: int, full: bool) -> dict[str, Any]:
    """Data of the accumulation."""
    tails = ["flush_renormalized", "drop", "carry"]
    unit = draw(st.sampled_from(("sample", "microbatch", "token")))
    if unit != "token":
        tails.append("flush")
    return {
        "steps": steps,
        "normalize_by": unit,
        "tail": draw(st.sampled_from(tails)),
        "dtype": draw(st.sampled_from(("float32", "compute"))) if full else "float32",
    }


@st.composite
def settings_of(draw: st.DrawFn, backend: Backend) -> dict[str, Any]:
    """Data below `overrides.<backend>`: some of its settings with values it accepts."""
    drawn: dict[str, Any] = {}
    for name, field in backend.overrides.model_fields.items():
        choices = (True, False) if field.annotation is bool else ()
        if get_origin(field.annotation) is Literal:
            choices = get_args(field.annotation)
        if choices and draw(st.booleans()):
            drawn[name] = draw(st.sampled_from(choices))
    return drawn


@st.composite
def launches(draw: st.DrawFn, each: int) -> dict[str, Any]:
    """Data of the section `launch` for so many processes a node; mostly none."""
    if not draw(rarely(6)):
        return {}
    names = st.sampled_from(("gpu", "a,b", "x_1.y-z+w:v", "9" * 128))
    return {
        "scheduler": "slurm",
        "max_requeues": draw(st.sampled_from((0, 3))),
        "time_limit_minutes": draw(st.sampled_from((None, 30, 2**31 - 1))),
        "gpus_per_node": draw(st.sampled_from((None, each, 2**31 - 1))),
        "cpus_per_process": draw(st.sampled_from((None, 1, 64))),
        "memory_mib_per_node": draw(st.sampled_from((None, 1, 10**6))),
        "partition": draw(st.none() | names),
        "account": draw(st.none() | names),
    }


@st.composite
def trackings(draw: st.DrawFn) -> dict[str, Any]:
    """Data of the section `tracking`; mostly none."""
    if not draw(rarely(6)):
        return {}
    titles = st.sampled_from(("a", "two words", "\u56fe\u50cf", 'it\'s "so"', "{{ x }}", "z" * 128))
    fields: dict[str, tuple[str, ...]] = {
        "tensorboard": ("log_dir",),
        "mlflow": ("experiment", "name"),
        "wandb": ("project", "name"),
        "trackio": ("project", "name"),
    }
    used = draw(st.sets(st.sampled_from(sorted(fields))))
    return {name: {field: draw(titles) for field in fields[name]} for name in sorted(used)}


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Any recipe that validates and contradicts nothing."""
    model, optimizer = draw(models()), draw(optimizers())
    bert = model["kind"] == "bert"
    precision = draw(precisions(bert))
    micro, steps = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    nodes, each = 1, 1
    if draw(rarely(30)):
        nodes, each = draw(st.sampled_from(((1, 2), (1, 4), (2, 1), (3, 2))))
    processes = nodes * each
    parallel = processes > 1 or draw(st.booleans())
    named = draw(st.sets(st.sampled_from([backend.name for backend in loadable_backends()])))
    half = precision["compute_dtype"] == "float16"
    accumulation = draw(accumulations(steps, precision["mode"] == "full"))
    plain = precision.get("ops", {}).get("losses", "float32") != "float32"
    return Recipe.model_validate(
        {
            "version": 2,
            "name": draw(names),
            "seed": draw(st.sampled_from((0, 1234, 2**31 - 1))),
            "model": model,
            "data": draw(data_sets(model, accumulation["normalize_by"] == "token")),
            "loss": draw(losses(model, plain, accumulation["normalize_by"])),
            "batch": {"micro_batch_size": micro, "global_batch_size": micro * steps * processes},
            "precision": precision,
            "loss_scaling": draw(scales()) if half else {"mode": "none"},
            "accumulation": accumulation,
            "clipping": draw(clippings()),
            "optimizer": optimizer,
            "schedule": draw(rates(optimizer["learning_rate"])),
            "ema": {"decay": draw(st.sampled_from((None, None, 0.0, 0.5, 0.999)))},
            "activation_checkpointing": bert and draw(rarely(8)),
            "distributed": {
                "strategy": "data_parallel" if parallel else "none",
                "nodes": nodes,
                "processes_per_node": each,
            },
            "launch": draw(launches(each)),
            "tracking": draw(trackings()),
            "overrides": {name: draw(settings_of(load_backend(name))) for name in sorted(named)},
        }
    )
