"""What stock JAX, Flax and optax do, as JSON. Run as a program; the tests beside it read it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from crosscast_jax.inside.transformations import hands_on, term_of
from probes.fact import Fact, main

INF = float("inf")


def numbers(tree: Any) -> Any:
    """Return the leaves of a tree as numbers, in words where they are not finite."""
    return [repr(float(leaf)) for leaf in jax.tree.leaves(tree)]


def multi_steps(guard: bool) -> list[str]:
    """Return the weight after every micro-batch of 3 windows; the first begins with inf."""
    inner = optax.apply_if_finite(optax.sgd(1.0), 5) if guard else optax.sgd(1.0)
    optimizer = optax.MultiSteps(inner, 2)
    weight = jnp.ones(())
    state = optimizer.init(weight)
    seen = []
    for gradient in (INF, 1.0, 1.0, 1.0, 1.0, 1.0):
        updates, state = optimizer.update(jnp.asarray(gradient), state, weight)
        weight = optax.apply_updates(weight, updates)
        seen.append(repr(float(weight)))
    return seen


def patience() -> list[str]:
    """Return the weight after updates that are not finite, of which 2 in a row are refused."""
    optimizer = optax.apply_if_finite(optax.sgd(1.0), 2)
    weight = jnp.ones(())
    state = optimizer.init(weight)
    seen = []
    for _ in range(4):
        updates, state = optimizer.update(jnp.asarray(jnp.nan), state, weight)
        weight = optax.apply_updates(weight, updates)
        seen.append(repr(float(weight)))
    return seen


def counted(*transformations: optax.GradientTransformation) -> list[str]:
    """Return the second moment of Adam after every micro-batch, beside apply_every(2)."""
    optimizer = optax.chain(*transformations)
    weight = jnp.ones(())
    state = optimizer.init(weight)
    seen = []
    for _ in range(4):
        _, state = optimizer.update(jnp.ones(()), state, weight)
        seen.append(f"{float(optax.tree.get(state, 'nu')):.2g}")
    return seen


def clipped(norm: float, limit: float) -> float:
    """Return the factor by which clip_by_global_norm multiplies."""
    gradient = jnp.asarray([norm], jnp.float32)
    result, _ = optax.clip_by_global_norm(limit).update(gradient, optax.EmptyState())
    return float(result[0] / gradient[0])


def clipped_half() -> list[float]:
    """Return float16 gradients of a norm beyond float16, clipped to 1."""
    gradients = jnp.full(4, 40000.0, jnp.float16)
    result, _ = optax.clip_by_global_norm(1.0).update(gradients, optax.EmptyState())
    return [float(x) for x in result]


def correction(beta: float, count: int) -> float:
    """Return the error of the corrected moment of a constant gradient of 1, relative."""
    moments = jnp.asarray(1.0 - beta**count, jnp.float32)
    corrected = optax.tree.bias_correction(moments, beta, jnp.asarray(count, jnp.int32))
    return float(corrected) - 1.0


def factored(rows: int, columns: int) -> list[list[int]]:
    """Return the shapes of the moments of Adafactor for a matrix."""
    state = optax.scale_by_factored_rms().init(jnp.zeros((rows, columns)))
    return [list(leaf.shape) for leaf in (state.v_row, state.v_col, state.v)]


def momentum(rates: tuple[float, ...]) -> float:
    """Return the weight after steps with these rates and gradients of 1; momentum is 0.5."""
    weight, state = jnp.zeros(()), None
    optimizer = optax.trace(0.5)
    state = optimizer.init(weight)
    for rate in rates:
        update, state = optimizer.update(jnp.ones(()), state)
        weight = weight - rate * update
    return float(weight)


def defaults(function: Any, *names: str) -> dict[str, Any]:
    """Return default values of arguments."""
    parameters = inspect.signature(function).parameters
    return {name: parameters[name].default for name in names}


def layer(make: Any, weights: str, given: str) -> str:
    """Return the type of what a layer returns, for types of its weights and of what it gets."""
    module = make(nnx.Rngs(0))
    graph, state = nnx.split(module)
    state = jax.tree.map(
        lambda x: x.astype(weights) if jnp.issubdtype(x.dtype, jnp.floating) else x, state
    )
    return str(nnx.merge(graph, state)(jnp.ones((2, 4), given)).dtype)


def layers() -> dict[str, list[str]]:
    """Return types of layers: weights and input in half, input alone, with a type of their own."""
    half = "bfloat16"
    makers: dict[str, Any] = {
        "linear": lambda **more: lambda rngs: nnx.Linear(4, 4, rngs=rngs, **more),
        "layer_norm": lambda **more: lambda rngs: nnx.LayerNorm(4, rngs=rngs, **more),
    }
    return {
        name: [
            layer(make(), half, half),
            layer(make(), "float32", half),
            layer(make(dtype=jnp.bfloat16), "float32", "float32"),
        ]
        for name, make in makers.items()
    }


def norm_rounds() -> float:
    """Return the largest error of a half LayerNorm against float32 rounded once, in half steps."""
    x = jnp.asarray(np.random.default_rng(0).normal(3.0, 5.0, (64, 96)), jnp.bfloat16)
    make = {"use_fast_variance": False, "epsilon": 1e-12}
    half = nnx.LayerNorm(96, dtype=jnp.bfloat16, rngs=nnx.Rngs(0), **make)(x)
    exact = nnx.LayerNorm(96, rngs=nnx.Rngs(0), **make)(x.astype(jnp.float32))
    return float(
        jnp.abs(half.astype(jnp.float32) - exact.astype(jnp.bfloat16).astype(jnp.float32)).max()
    )


def attention_keeps(again: bool) -> list[list[int]]:
    """Return the shapes that the backward pass of an attention keeps, of four axes."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)

    function = jax.checkpoint(attend) if again else attend
    x = jnp.ones((2, 7, 3, 5))
    _, backward = jax.vjp(function, x, x, x)
    shapes = {tuple(leaf.shape) for leaf in jax.tree.leaves(backward)}
    return [list(shape) for shape in sorted(shapes)]


def reseeded_masks() -> bool:
    """Tell whether two dropout layers draw other masks after nnx.reseed."""

    class Two(nnx.Module):  # type: ignore[misc]
        def __init__(self, rngs: Any) -> None:
            self.first, self.second = nnx.Dropout(0.5, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

    model = Two(nnx.Rngs(0))
    nnx.reseed(model, default=jax.random.key(1))
    x = jnp.ones(64)
    return not bool((model.first(x) == model.second(x)).all())


def statistics() -> list[float]:
    """Return the running mean and variance after the rows 0 and 4, of a layer that keeps nothing
    of what it had before."""
    layer = nnx.BatchNorm(1, momentum=0.0, rngs=nnx.Rngs(0))
    layer(jnp.array([[0.0], [4.0]]))
    return [float(value[0]) for value in (layer.mean, layer.var)]


def told_terms() -> dict[str, Any]:
    """Return what is read of transformations with settings of their own."""
    weights = {"a": jnp.ones(2), "b": jnp.ones(2)}
    made = {
        "adam": optax.scale_by_adam(0.8, 0.98, 1e-6),
        "nadam": optax.scale_by_adam(nesterov=True),
        "momentum": optax.trace(0.7, nesterov=True),
        "lion": optax.scale_by_lion(0.8, 0.98),
        "decay": optax.add_decayed_weights(0.02),
        "decays": optax.add_decayed_weights(lambda count: 0.02),
        "trust ratio": optax.scale_by_trust_ratio(),
        "clip by global_norm": optax.clip_by_global_norm(0.3),
        "clip by value": optax.clip(0.4),
        "rate": optax.scale_by_learning_rate(0.5),
        "rates": optax.scale_by_learning_rate(lambda count: 0.5 + count),
        "zero": optax.set_to_zero(),
        "other": optax.scale_by_rms(),
    }
    terms = {name: term_of(tx.update, tx.init(weights)) for name, tx in made.items()}
    return {
        name: [term.kind, {key: float(value) for key, value in term.settings.items()}]
        for name, term in terms.items()
    }


def handing_on() -> list[bool]:
    """Return whether transformations that only call others are known to."""
    adam = optax.adam(0.1)
    made = [
        adam,
        optax.named_chain(("a", adam)),
        optax.masked(adam, {"a": True}),
        optax.partition({"x": adam}, {"a": "x"}),
        optax.inject_hyperparams(optax.adam)(learning_rate=0.1),
        optax.MultiSteps(adam, 2),
        optax.identity(),
        optax.with_extra_args_support(optax.sgd(0.1)),
    ]
    return [hands_on(tx.update) for tx in made]


LAYERS = (
    *("BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm"),
    *("Conv", "ConvTranspose", "Einsum", "Embed", "Linear", "LinearGeneral"),
    *("GRUCell", "LSTMCell", "MultiHeadAttention", "OptimizedLSTMCell"),
)
"""Layers whose types emitted scripts set."""
OPTIONS = (
    "jax_default_matmul_precision",
    "jax_enable_preemption_service",
    "jax_enable_recoverability",
    "jax_platforms",
)
"""What emitted scripts give to `jax.config.update`."""


def takes(argument: str) -> list[str]:
    """Return the layers that have an argument."""
    present = [name for name in LAYERS if hasattr(nnx, name)]
    return [
        name
        for name in present
        if argument in inspect.signature(getattr(nnx, name).__init__).parameters
    ]


def imports_of_writer() -> list[str]:
    """Return the packages that flax.metrics.tensorboard imports."""
    spec = importlib.util.find_spec("flax.metrics.tensorboard")
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [getattr(node, "module", None) or node.names[0].name for node in imports]
    return sorted({name.partition(".")[0] for name in names})


def draws() -> dict[str, Any]:
    """Return what a key gives: bits of it, of one folded into it, and a mask."""
    key = jax.random.key(0)
    return {
        "bits": jax.random.bits(key, (4,)).tolist(),
        "folded": jax.random.bits(jax.random.fold_in(key, 1), (2,)).tolist(),
        "mask": jax.random.bernoulli(key, 0.5, (8,)).tolist(),
    }


JAX = {
    "gelu": Fact("default of gelu", lambda: defaults(jax.nn.gelu, "approximate")),
    "kept": Fact(
        "shapes that attention keeps", lambda: [attention_keeps(a) for a in (False, True)]
    ),
    "draws": Fact("random bits and a mask from a key of 0", draws),
    "options": Fact(
        "options that emitted scripts set", lambda: [n for n in OPTIONS if n in jax.config.values]
    ),
}
OPTAX = {
    "terms": Fact("settings in the closures of transformations", told_terms),
    "handing on": Fact("transformations that only call others", handing_on),
    "every_behind": Fact(
        "second moment of Adam before apply_every(2)",
        lambda: counted(optax.adam(0.1, b2=0.5), optax.apply_every(2)),
    ),
    "every_before": Fact(
        "second moment of Adam behind apply_every(2)",
        lambda: counted(optax.apply_every(2), optax.adam(0.1, b2=0.5)),
    ),
    "multi_steps": Fact("weight under MultiSteps, inf first", lambda: multi_steps(False)),
    "guarded": Fact("the same with apply_if_finite inside", lambda: multi_steps(True)),
    "patience": Fact("weight under apply_if_finite(2) and nan", patience),
    "clip": Fact("factors of clip_by_global_norm", lambda: [clipped(5.0, 1.0), clipped(0.5, 1.0)]),
    "clip_half": Fact("clip_by_global_norm of float16 beyond its range", clipped_half),
    "correction": Fact(
        "errors of optax.tree.bias_correction", lambda: [correction(0.999, n) for n in (1, 2, 1000)]
    ),
    "adam": Fact("arguments of adam", lambda: sorted(inspect.signature(optax.adam).parameters)),
    "factored": Fact("moments of Adafactor", lambda: [factored(64, 64), factored(128, 256)]),
    "momentum": Fact("momentum and a changed rate", lambda: momentum((1.0, 0.1))),
    "decay": Fact("default decay of adamw", lambda: defaults(optax.adamw, "weight_decay")),
    "scaling": Fact(
        "names with scale and loss", lambda: [n for n in dir(optax) if "loss_scal" in n]
    ),
}
FLAX = {
    "layers": Fact("types of layers", layers),
    "norm": Fact("error of a half LayerNorm", norm_rounds),
    "statistics": Fact("statistics of the rows 0 and 4", statistics),
    "axis": Fact(
        "default axis of statistics",
        lambda: inspect.signature(nnx.BatchNorm.__init__).parameters["axis_name"].default,
    ),
    "masks": Fact("masks of two layers after reseed differ", reseeded_masks),
    "eps": Fact(
        "defaults of LayerNorm",
        lambda: defaults(nnx.LayerNorm.__init__, "epsilon", "use_fast_variance"),
    ),
    "events": Fact("what its writer for TensorBoard imports", imports_of_writer),
    "promotes": Fact("layers that take promote_dtype", lambda: takes("promote_dtype")),
    "accessors": Fact(
        "methods of a variable",
        lambda: [n for n in ("get_value", "set_value") if hasattr(nnx.Variable, n)],
    ),
}

if __name__ == "__main__":
    main({"jax": JAX, "optax": OPTAX, "flax": FLAX})
