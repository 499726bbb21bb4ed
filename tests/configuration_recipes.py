"""Hypothesis strategy for recipes that configurations of layers can express, or nearly so."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from crosscast.recipe.document import Recipe
from recipe_strategies import LAYERS

TARGETS = (*LAYERS, "transformers@arguments-4")
_PLAIN_SCALES = st.just({"mode": "dynamic"}) | st.fixed_dictionaries(
    {
        "mode": st.just("dynamic"),
        "init_scale": st.sampled_from((256.0, 65536.0, 2.0**20)),
        "growth_interval": st.sampled_from((100, 2000)),
        "hysteresis": st.integers(1, 2),
        "hysteresis_mode": st.sampled_from(("consecutive", "cumulative")),
        "min_scale": st.sampled_from((1.0, 8.0, None)),
    }
)
_ROLES = ("bias", "layer_norm")


@st.composite
def _optimizers(draw: st.DrawFn, layer: str) -> dict[str, Any]:
    names = {
        "paddlenlp": ("adamw",),
        "deepspeed": ("adamw", "adam", "sgd", "lion"),
        "transformers": ("adamw", "sgd"),
    }.get(layer, ("adamw", "adam", "sgd", "lamb", "lion", "adafactor"))
    name = draw(st.sampled_from(names))
    decay = draw(st.sampled_from((0.0, 0.01, 0.3)))
    free = layer in ("accelerate", "fabric", "lightning", "deepspeed")
    spared: tuple[str, ...] = draw(st.sampled_from(((), _ROLES, ("bias",)))) if free else _ROLES
    drawn: dict[str, Any] = {
        "name": name,
        "learning_rate": draw(st.sampled_from((1e-3, 5e-5, 0.25))),
        "weight_decay": decay,
        "no_decay": spared,
    }
    if name in ("adamw", "adam", "lamb"):
        drawn |= {"betas": draw(st.sampled_from(((0.9, 0.999), (0.8, 0.95))))}
        drawn |= {"eps": draw(st.sampled_from((1e-8, 1e-6)))}
    if name == "sgd":
        drawn["momentum"] = draw(st.sampled_from((0.0, 0.9)))
        drawn["nesterov"] = drawn["momentum"] > 0 and draw(st.booleans())
    if free and draw(st.booleans()):
        drawn["groups"] = ({"parameters": ("*embeddings*",), "rate_factor": 0.5},)
    return drawn


@st.composite
def _schedules(draw: st.DrawFn, layer: str, rate: float) -> dict[str, Any]:
    names = ["constant", "linear", "cosine"]
    if layer != "deepspeed":
        names.append("polynomial")
    if layer not in ("deepspeed", "paddlenlp"):
        names.append("inverse_sqrt")
    name = draw(st.sampled_from(names))
    drawn: dict[str, Any] = {
        "name": name,
        "total_steps": 1000,
        "warmup_steps": draw(st.sampled_from((3, 100))) if name == "inverse_sqrt" else 0,
        "tick": draw(st.sampled_from(("update", "attempt"))),
    }
    if name != "inverse_sqrt":
        drawn["warmup_steps"] = draw(st.sampled_from((0, 10, 100)))
    if name in ("linear", "cosine", "polynomial") and layer not in ("deepspeed", "paddlenlp"):
        drawn["end_lr"] = draw(st.sampled_from((0.0, rate / 10)))
    if drawn["warmup_steps"] and layer not in ("transformers", "paddlenlp"):
        drawn["warmup_start_lr"] = draw(st.sampled_from((0.0, rate / 10)))
        if layer == "deepspeed" and name == "linear":
            drawn["end_lr"] = drawn["warmup_start_lr"]
    if name == "polynomial":
        drawn["power"] = draw(st.sampled_from((1.0, 2.0)))
    return drawn


@st.composite
def configurable_recipes(draw: st.DrawFn, target: str) -> Recipe:
    """Recipes, few of which a layer refuses."""
    layer = target.partition("@")[0]
    dtype = draw(st.sampled_from(("float32", "float16", "bfloat16")))
    modes = ("mixed", "full") if layer in ("deepspeed", "paddlenlp") else ("mixed",)
    micro, steps = draw(st.sampled_from((1, 4))), draw(st.sampled_from((1, 3)))
    processes = draw(st.sampled_from((1, 1, 2)))
    optimizer = draw(_optimizers(layer))
    clips = ["none", "global_norm"]
    if layer in ("accelerate", "fabric", "lightning"):
        clips.append("value")
    clip = draw(st.sampled_from(clips))
    limits = {"global_norm": {"max_norm": 0.5}, "value": {"max_value": 0.5}, "none": {}}
    return Recipe.model_validate(
        {
            "version": 2,
            "name": "drawn",
            "seed": draw(st.sampled_from((0, 42, 1234))),
            "model": {"kind": "custom", "factory": {"torch": "mine:build"}},
            "data": {"source": "npz", "train": "a.npz", "eval": "b.npz", "sequence_length": 32,
                     "shuffle": draw(st.booleans())},
            "batch": {"micro_batch_size": micro, "global_batch_size": micro * steps * processes},
            "precision": {
                "mode": "none" if dtype == "float32" else draw(st.sampled_from(modes)),
                "compute_dtype": dtype,
                "tf32": draw(st.booleans()),
            },
            "loss_scaling": draw(_PLAIN_SCALES) if dtype == "float16" else {"mode": "none"},
            "accumulation": {
                "steps": steps,
                "normalize_by": draw(st.sampled_from(("sample", "microbatch", "token"))),
                "tail": draw(st.sampled_from(("carry", "drop", "flush_renormalized"))),
            },
            "clipping": {"kind": clip, **limits[clip]},
            "optimizer": optimizer,
            "schedule": draw(_schedules(layer, optimizer["learning_rate"])),
            "distributed": {
                "strategy": "data_parallel" if processes > 1 else "none",
                "processes_per_node": processes,
            },
        }
    )  # fmt: skip
