"""How models are written with Flax NNX."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.network import Settings, UnreadableError
from crosscast_migrate.models.rows import ARITHMETIC, calls
from crosscast_migrate.models.tables import LossWriting, ModelWriting


def _window(settings: Settings) -> Mapping[str, str]:
    """Return the sizes of a window that moves over an image: Flax takes tuples."""
    return {
        "kernel": repr(tuple(settings["kernel"])),
        "strides": repr(tuple(settings["stride"])),
        "padding": _padding(settings["padding"]),
    }


def _padding(padding: str | tuple[tuple[int, int], ...]) -> str:
    """Return `padding=` of a layer, which is "SAME" by default and must always be said."""
    if isinstance(padding, str):
        return f'"{padding.upper()}"'
    sizes = {size for pair in padding for size in pair}
    return '"VALID"' if sizes == {0} else repr(padding)


def _convolution(settings: Settings) -> Mapping[str, str]:
    values = dict(_window(settings))
    sizes = {size for pair in settings["padding"] for size in pair}
    if not isinstance(settings["padding"], str) and len(sizes) == 1 and sizes != {0}:
        values["padding"] = repr(sizes.pop())
    return values


def _average(settings: Settings) -> Mapping[str, str]:
    values = dict(_window(settings))
    counts = settings["counts_padding"] or values["padding"] == '"VALID"'
    return {**values, "counted": "" if counts else ", count_include_pad=False"}


def _batch_norm(settings: Settings) -> Mapping[str, str]:
    """Return `axis=` in the form that may be left out, where the number of axes is known."""
    rank = settings["rank"]
    return {"axis": "-1"} if rank and settings["axis"] == rank + 1 else {}


def _layer_norm(settings: Settings) -> Mapping[str, str]:
    if len(settings["shape"]) > 1:
        raise UnreadableError("Flax NNX has no weights for a normalization over several axes")
    return {}


def _flatten(settings: Settings) -> Mapping[str, str]:
    """Return the sizes that stay before and behind the axes that are joined."""
    start, end = settings["start"], settings["end"]
    before = "{0}.shape[0]" if start == 1 else f"*{{0}}.shape[:{start}]"
    return {"before": before, "behind": "" if end == -1 else f", *{{0}}.shape[{end + 1}:]"}


_UNIFORM = '''def uniform(bound: float) -> jax.nn.initializers.Initializer:
    """Numbers from -bound to bound; nnx.initializers.uniform begins at 0."""

    def draw(
        key: jax.Array, shape: tuple[int, ...], dtype: jnp.dtype = jnp.float32
    ) -> jax.Array:
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return draw'''

_CELL = '''def {name}(gates: jax.Array, state: nnx.Linear, *, backward: bool) -> jax.Array:
    """The outputs of {article}; `gates`: inputs, projected; `state` projects a state."""

{step}

    start = jnp.zeros((gates.shape[0], gates.shape[-1] // {count}), gates.dtype)
    begun = {begun}
    _, outputs = jax.lax.scan(step, begun, gates.swapaxes(0, 1), reverse=backward)
    return outputs.swapaxes(0, 1)'''
_LSTM = """    def step(carry: tuple[jax.Array, jax.Array], x: jax.Array):
        hidden, cell = carry
        enter, forget, new, leave = jnp.split(x + state(hidden), 4, -1)
        cell = nnx.sigmoid(forget) * cell + nnx.sigmoid(enter) * jnp.tanh(new)
        hidden = nnx.sigmoid(leave) * jnp.tanh(cell)
        return (hidden, cell), hidden"""
_GRU = """    def step(hidden: jax.Array, x: jax.Array):
        x_reset, x_update, x_new = jnp.split(x, 3, -1)
        reset, update, new = jnp.split(state(hidden), 3, -1)
        update = nnx.sigmoid(x_update + update)
        new = jnp.tanh(x_new + nnx.sigmoid(x_reset + reset) * new)
        hidden = (1 - update) * new + update * hidden
        return hidden, hidden"""
_RNN = """    def step(hidden: jax.Array, x: jax.Array):
        hidden = jnp.tanh(x + state(hidden))
        return hidden, hidden"""
_CELLS = {
    name: _CELL.format(name=name, article=article, step=step, count=count, begun=begun)
    for name, article, step, count, begun in (
        ("lstm", "an LSTM", _LSTM, 4, "(start, start)"),
        ("gru", "a GRU", _GRU, 3, "start"),
        ("recurrence", "an RNN", _RNN, 1, "start"),
    )
}

WRITING = ModelWriting(
    imports=("import jax", "import jax.numpy as jnp", "from flax import nnx"),
    helpers={"uniform": _UNIFORM, **_CELLS},
    cells={"lstm": "lstm", "gru": "gru", "rnn": "recurrence"},
    several="tuple[jax.Array, ...]",
    base="nnx.Module",
    constructor=("def __init__(self, rngs: nnx.Rngs) -> None:",),
    factory="rngs: nnx.Rngs",
    created="{name}(rngs)",
    signature="def __call__(self, {inputs}) -> jax.Array:",
    parameter="{name}: jax.Array",
    layers=calls(
        linear="nnx.Linear({inputs}, {units}, use_bias={bias}|True, kernel_init={weight}, "
        "bias_init={b}, rngs=rngs)",
        conv="nnx.Conv({inputs}, {filters}, {kernel}, strides={stride}|1, padding={padding}, "
        "kernel_dilation={dilation}|1, feature_group_count={groups}|1, use_bias={bias}|True, "
        "kernel_init={weight}, bias_init={b}, rngs=rngs)",
        batch_norm="nnx.BatchNorm({features}, axis={axis}|-1, momentum={keep}|0.99, "
        "epsilon={eps}|1e-05, use_bias={affine}|True, use_scale={affine}|True, bias_init={b}, "
        "scale_init={weight}, use_fast_variance=False, rngs=rngs)",
        layer_norm="nnx.LayerNorm({shape}, epsilon={eps}|1e-06, use_bias={shift}|True, "
        "use_scale={affine}|True, bias_init={b}, scale_init={weight}, use_fast_variance=False, "
        "rngs=rngs)",
        embedding="nnx.Embed({count}, {width}, embedding_init={weight}, rngs=rngs)",
        dropout="nnx.Dropout({rate}, rngs=rngs)",
    ),
    operations={
        **ARITHMETIC,
        "relu": "nnx.relu({0})",
        "relu6": "nnx.relu6({0})",
        # At 0 the derivatives of nnx.leaky_relu and jnp.abs are 1, as in no other framework.
        "leaky_relu": "jnp.where({0} > 0, {0}, {0} * {slope})",
        "elu": "nnx.elu({0}, {alpha})",
        "selu": "nnx.selu({0})",
        "silu": "nnx.silu({0})",
        "softplus": "nnx.softplus({0})",
        "gelu": "nnx.gelu({0}, approximate={tanh})",
        "sigmoid": "nnx.sigmoid({0})",
        "tanh": "nnx.tanh({0})",
        "softmax": "nnx.softmax({0}, {axis})",
        "log_softmax": "nnx.log_softmax({0}, {axis})",
        "exp": "jnp.exp({0})",
        "sin": "jnp.sin({0})",
        "cos": "jnp.cos({0})",
        "log": "jnp.log({0})",
        "number": "{0}.astype(jnp.float32)",
        "fill": "jnp.where({1}, {value}, {0})",
        "choose": "jnp.where({0}, {1}, {2})",
        "swap": "{0}.swapaxes({first}, {second})",
        "causal": "jnp.tril(jnp.ones(({0}.shape[-2], {1}.shape[-2]), bool))",
        "positions": "jnp.arange({0}.shape[{axis}])",
        "constant": "jnp.asarray({numbers})",
        "expand_rows": "jnp.broadcast_to({0}, ({1}.shape[0], *{0}.shape[1:]))",
        "abs": "{0} * jnp.sign({0})",
        "sign": "jnp.sign({0})",
        "sqrt": "jnp.sqrt({0})",
        "flatten": "{0}.reshape({before}, -1{behind})",
        "reshape": "{0}.reshape({shape})",
        "permute": "{0}.transpose({axes})",
        "unsqueeze": "jnp.expand_dims({0}, {axis})",
        "squeeze": "{0}.squeeze({axis})",
        "mean": "{0}.mean({axis}, keepdims={keepdims})",
        "sum": "{0}.sum({axis}, keepdims={keepdims})",
        "max": "{0}.max({axis}, keepdims={keepdims})",
        "concat": "jnp.concatenate([{all}], axis={axis})",
        "stack": "jnp.stack([{all}], axis={axis})",
        "matmul": "{0} @ {1}",
        "max_pool": "nnx.max_pool({0}, {kernel}, {strides}, {padding})",
        "avg_pool": "nnx.avg_pool({0}, {kernel}, {strides}, {padding}{counted})",
        "global_avg": "{0}.mean({image}, keepdims={keepdims})",
        "global_max": "{0}.max({image}, keepdims={keepdims})",
        "zero_pad": "jnp.pad({0}, {all_pairs}, constant_values={value})",
    },
    values={
        "conv": _convolution,
        "max_pool": _window,
        "avg_pool": _average,
        "batch_norm": _batch_norm,
        "layer_norm": _layer_norm,
        "flatten": _flatten,
    },
    initials={
        "uniform": "uniform({n})",
        "normal": "nnx.initializers.normal({n})",
        "truncated_normal": "nnx.initializers.truncated_normal({n})",
        "constant": "nnx.initializers.constant({n})",
    },
    pads=frozenset({"even", "same", "uneven"}),
    loss=LossWriting(
        imported="import jax.numpy as jnp\nfrom flax import nnx",
        signature="def own_losses(model, batch):",
        outputs="model(**inputs).astype(jnp.float32)",
        targets='batch["labels"].astype(jnp.float32)',
        elements={
            # jnp.abs has a derivative at 0, that of an error of nothing: 1.
            "l1": ("errors = outputs - targets", "errors * jnp.sign(errors)"),
            "smooth_l1": (
                "size = jnp.abs(outputs - targets)",
                "jnp.where(size < 1.0, 0.5 * size * size, size - 0.5)",
            ),
            "one_hot": ("-targets * nnx.log_softmax(outputs)",),
        },
        kinds={
            "cross_entropy": ("optax.softmax_cross_entropy_with_integer_labels(outputs, targets)",),
            "mse": ("(outputs - targets) ** 2",),
            "binary_cross_entropy": ("optax.sigmoid_binary_cross_entropy(outputs, targets)",),
        },
        imports_of=dict.fromkeys(("cross_entropy", "binary_cross_entropy"), ("import optax",)),
        in_float="{0}.astype(jnp.float32)",
        rows="losses.reshape(len(losses), -1).{total}(1)",
    ),
)
