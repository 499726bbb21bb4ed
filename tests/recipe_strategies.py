"""Hypothesis strategies for whole recipes: every union, every option, strange but valid strings."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st

from crosscast.diagnostics import DiagnosticError
from crosscast.recipe import Recipe
from crosscast.target import Backend, backend_names, load_backend

TARGETS = ("paddle", "tensorflow", "torch")

STRANGE_PATHS = (
    *("it's", 'a"b', "a\"b'c", "\\", "\\N{DASH}", "a\\", "'''", '"""', "é", "\U0001f600", "%s %d"),
    *("$(touch x)", "`touch x`", "${HOME}", "$HOME", "a;b", "a&b", "a|b", "> x", "*", "~", "-rf"),
    *("{{ view }}", "{% raw %}", "{# x #}", "{x}", "{", "}}", "../..", "/etc/x", "C:\\x", "a//b"),
    *("null", "true", "no", "1e5", "1_000", "0x1f", "017", ".5", "2001-01-01", "=", "<<", "1:30"),
    *(
        "# x",
        "a: b",
        "a #b",
        "- x",
        "? x",
        "!t",
        "&a",
        "*a",
        "|",
        "@x",
        "%x",
        "[",
        "x,",
        "a:",
        ":a",
    ),
    *(" lead", "trail ", " ", "two  spaces", "word " * 40, "\u00a0", "\u3000"),
    "x" * 255,
)
_VALID = st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))
paths = st.sampled_from(STRANGE_PATHS) | st.text(_VALID, min_size=1, max_size=40)
names = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
factories = st.sampled_from(
    (
        *("my.models:build_model", "m:main", "models.net:torch", "a:np", "_:_", "match.case:type"),
        f"{'package.' * 12}module:{'function_' * 10}make",
    )
)
sizes = st.sampled_from((1, 2, 3, 32, 2**31 - 1))


def loadable_backends() -> list[Backend]:
    """Return the installed backends that load; a test elsewhere requires all of them to."""
    found = []
    for name in backend_names():
        try:
            found.append(load_backend(name))
        except DiagnosticError:
            continue
    return found


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    """Data of a model: the shipped BERT in any size, or one of the user's factories."""
    if not draw(st.booleans()):
        backends = draw(st.sets(st.sampled_from(TARGETS), min_size=2))
        return {"kind": "custom", "factory": {name: draw(factories) for name in sorted(backends)}}
    heads = draw(st.sampled_from((1, 2, 12)))
    return {
        "kind": "bert",
        "preset": draw(st.sampled_from((None, "tiny", "base"))),
        "layers": draw(st.sampled_from((1, 2, 24))),
        "hidden_size": heads * draw(st.sampled_from((1, 8, 64))),
        "attention_heads": heads,
        "intermediate_size": draw(sizes),
        "vocab_size": draw(sizes),
        "max_positions": draw(st.sampled_from((32, 512))),
        "type_vocab_size": 2,
        "labels": 3,
        "dropout": draw(st.sampled_from((0.0, 0.1, 0.999))),
        "layer_norm_eps": draw(st.sampled_from((1e-12, 1e-5))),
        "init_std": draw(st.sampled_from((0.02, 1.0))),
    }


@st.composite
def data_sets(draw: st.DrawFn, synthetic: bool) -> dict[str, Any]:
    """Data of a data set."""
    if synthetic and draw(st.booleans()):
        rows, length = draw(sizes), draw(st.integers(8, 32))
        data: dict[str, Any] = {"source": "synthetic", "train_rows": rows, "eval_rows": rows}
    else:
        length = draw(st.integers(1, 32))
        data = {"source": "npz", "train": draw(paths), "eval": draw(paths)}
    return data | {"sequence_length": length, "shuffle": draw(st.booleans())}


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
            "min_scale": st.sampled_from((1.0, 2.0**-14, 1e-30)),
            "max_scale": st.sampled_from((None, 65536.0, 2.0**126)),
        }
    )
    static = st.fixed_dictionaries({"mode": st.just("static"), "scale": st.floats(1e-30, 2.0**126)})
    return dynamic | static | st.just({"mode": "none"})


def clippings() -> st.SearchStrategy[dict[str, Any]]:
    """Data of a clipping."""
    limit = st.sampled_from((1e-3, 0.5, 1.0, 1e6)) | st.floats(1e-30, 1e30)
    eps = st.sampled_from((0.0, 1e-6, 1e-3))
    by_norm = {"kind": st.just("global_norm"), "max_norm": limit, "eps": eps}
    by_value = {"kind": st.just("value"), "max_value": limit}
    none = st.just({"kind": "none"})
    return none | st.fixed_dictionaries(by_norm) | st.fixed_dictionaries(by_value)


@st.composite
def optimizers(draw: st.DrawFn) -> dict[str, Any]:
    """Data of an optimizer."""
    roles = draw(st.lists(st.sampled_from(("bias", "layer_norm", "embedding")), unique=True))
    common = {
        "name": draw(st.sampled_from(("sgd", "adam", "adamw"))),
        "learning_rate": draw(st.sampled_from((1e-3, 5e-5, 1.0)) | st.floats(1e-8, 10)),
        "weight_decay": draw(st.sampled_from((0.0, 0.01, 1.0))),
        "no_decay": tuple(roles),
    }
    if common["name"] == "sgd":
        momentum = draw(st.sampled_from((0.0, 0.9)))
        return common | {
            "momentum": momentum,
            "nesterov": momentum > 0 and draw(st.booleans()),
        }
    return common | {
        "betas": draw(st.sampled_from(((0.9, 0.999), (0.5, 0.6)))),
        "eps": draw(st.sampled_from((1e-8, 1e-6, 1e-3))),
    }


@st.composite
def rates(draw: st.DrawFn, learning_rate: float) -> dict[str, Any]:
    """Data of a schedule."""
    total = draw(st.sampled_from((1, 7, 2**31 - 1)))
    name = draw(st.sampled_from(("constant", "linear", "cosine")))
    ends = (0.0,) if name == "constant" else (0.0, learning_rate / 7, learning_rate)
    return {
        "name": name,
        "total_steps": total,
        "warmup_steps": draw(st.sampled_from((0, 1, total // 2, total))),
        "end_lr": draw(st.sampled_from(ends)),
        "tick": draw(st.sampled_from(("update", "attempt"))),
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
def recipes(draw: st.DrawFn) -> Recipe:
    """Any recipe that validates and contradicts nothing."""
    model, optimizer = draw(models()), draw(optimizers())
    dtype = draw(st.sampled_from(("float32", "float16", "bfloat16")))
    micro, steps, processes = (draw(st.integers(1, high)) for high in (4, 3, 4))
    parallel = processes > 1 or draw(st.booleans())
    named = draw(st.sets(st.sampled_from([one.name for one in loadable_backends()])))
    return Recipe.model_validate(
        {
            "version": 1,
            "name": draw(names),
            "seed": draw(st.sampled_from((0, 1234, 2**31 - 1))),
            "model": model,
            "data": draw(data_sets(synthetic=model["kind"] == "bert")),
            "batch": {
                "micro_batch_size": micro,
                "global_batch_size": micro * steps * processes,
            },
            "precision": {
                "mode": "none" if dtype == "float32" else "mixed",
                "compute_dtype": dtype,
                "tf32": draw(st.booleans()),
            },
            "loss_scaling": draw(scales()) if dtype == "float16" else {"mode": "none"},
            "accumulation": {
                "steps": steps,
                "normalize_by": draw(st.sampled_from(("sample", "microbatch"))),
                "tail": draw(st.sampled_from(("flush_renormalized", "flush", "drop", "carry"))),
            },
            "clipping": draw(clippings()),
            "optimizer": optimizer,
            "schedule": draw(rates(optimizer["learning_rate"])),
            "distributed": {
                "strategy": "data_parallel" if parallel else "none",
                "processes_per_node": processes,
            },
            "overrides": {name: draw(settings_of(load_backend(name))) for name in sorted(named)},
        }
    )
