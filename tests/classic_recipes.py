"""Hypothesis strategy for recipes that the classic Paddle scripts can express, or nearly so."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from crosscast.recipe.document import Recipe
from value_strategies import names, paths, sizes

RULE = {"growth_interval": 1000, "hysteresis": 2, "growth_factor": 2.0, "backoff_factor": 0.8}
"""The only rule of the loss scale that `models-bert` has."""


@st.composite
def _models(draw: st.DrawFn, script: str) -> dict[str, Any]:
    heads = draw(st.sampled_from((1, 2, 12)))
    width = heads * draw(st.sampled_from((8, 64)))
    return {
        "kind": "bert",
        "layers": draw(st.sampled_from((1, 2, 24))),
        "hidden_size": width,
        "attention_heads": heads,
        "intermediate_size": 4 * width,
        "vocab_size": draw(st.sampled_from((32, 30522, 10**6))),
        "max_positions": draw(st.sampled_from((32, 512))),
        "type_vocab_size": draw(st.integers(2, 4)),
        "labels": draw(st.sampled_from((2, 3, 17) if script == "ernie" else (2, 3))),
        "dropout": 0.1,
        "layer_norm_eps": 1e-5,
        "attention": "explicit",
        "init_std": draw(st.sampled_from((0.02, 1.0))),
    }


@st.composite
def _scales(draw: st.DrawFn, script: str) -> dict[str, Any]:
    modes = ("none", "static") if script == "lark" else ("none", "static", "dynamic")
    mode = draw(st.sampled_from(modes))
    if mode == "none":
        return {"mode": "none"}
    if mode == "static":
        highest = 65504.0 if script == "lark" else 2.0**126
        return {"mode": "static", "scale": draw(st.floats(1.0, highest, width=32))}
    rule = RULE | {"min_scale": 1.0, "mode": "dynamic"}
    if script == "ernie":
        rule |= {
            "growth_interval": draw(st.integers(1, 3000)),
            "hysteresis": draw(st.integers(1, 4)),
            "growth_factor": draw(st.sampled_from((2.0, 1.001, 65536.0))),
            "backoff_factor": draw(st.sampled_from((0.5, 0.999, 2.0**-16))),
        }
    return rule | {"init_scale": draw(st.sampled_from((1.0, 65536.0, 102400.0)))}


@st.composite
def _rates(draw: st.DrawFn) -> dict[str, Any]:
    total = draw(st.sampled_from((1, 7, 1000)) | st.integers(1, 2**31 - 1))
    warmup = draw(st.sampled_from((1, total)) | st.integers(1, total))
    common = {"total_steps": total, "tick": "attempt"}
    falling = {"warmup_steps": warmup, "decay_from": "start", "end_lr": 0.0}
    shape = draw(
        st.sampled_from(
            (
                {"name": "constant", "warmup_steps": 0},
                {"name": "inverse_sqrt", "warmup_steps": warmup},
                {"name": "linear", **falling},
                {"name": "polynomial", "power": 1.0, **falling},
            )
        )
    )
    return common | shape


@st.composite
def classic_recipes(draw: st.DrawFn, script: str) -> Recipe:
    """Any recipe that a script accepts: with what is fixed there as it is, all else drawn."""
    model = draw(_models(script))
    half = draw(st.booleans())
    processes, micro = draw(st.sampled_from((1, 1, 2, 8))), draw(st.integers(1, 64))
    scaling = draw(_scales(script)) if half else {"mode": "none"}
    scaled = script == "lark" and scaling["mode"] == "static"
    length = draw(st.integers(9, 32))
    data: dict[str, Any] = {"source": "npz", "train": draw(paths), "eval": draw(paths)}
    if model["labels"] == 3 and draw(st.booleans()):
        data = {"source": "synthetic", "train_rows": draw(sizes), "eval_rows": draw(sizes)}
    decay = draw(st.sampled_from((0.0, 0.01, 1.0)))
    optimizer: dict[str, Any] = {
        "name": draw(st.sampled_from(("adamw", "adamw", "adam"))) if not decay else "adamw",
        "learning_rate": draw(st.sampled_from((1e-3, 5e-5)) | st.floats(1e-8, 10)),
        "weight_decay": decay,
        "no_decay": tuple(draw(st.permutations(("bias", "layer_norm")))),
        "eps_placement": draw(st.sampled_from(("before_correction", "after_correction"))),
    }
    precision: dict[str, Any] = {"mode": "none", "tf32": draw(st.booleans())}
    if half:
        mode = draw(st.sampled_from(("mixed", "full")))
        precision |= {"mode": mode, "compute_dtype": "float16"}
    tails = ("carry", "drop", "flush", "flush_renormalized")
    return Recipe.model_validate(
        {
            "version": 2,
            "name": draw(names),
            "seed": draw(st.sampled_from((0, 1234, 2**31 - 1))),
            "model": model,
            "data": data
            | {"sequence_length": length, "shuffle": script == "ernie" or draw(st.booleans())},
            "batch": {"micro_batch_size": micro, "global_batch_size": micro * processes},
            "precision": precision,
            "loss_scaling": scaling,
            "accumulation": {
                "steps": 1,
                "tail": draw(st.sampled_from(tails)),
                "normalize_by": draw(st.sampled_from(("sample", "microbatch"))),
            },
            "clipping": {
                "kind": "global_norm",
                "max_norm": max(1.0, scaling["scale"]) if scaled else 1.0,
                "eps": draw(st.sampled_from((0.0, 1e-7))),
            },
            "optimizer": optimizer,
            "schedule": draw(_rates()),
            "distributed": {
                "strategy": "data_parallel" if processes > 1 else "none",
                "processes_per_node": processes,
            },
        }
    )
