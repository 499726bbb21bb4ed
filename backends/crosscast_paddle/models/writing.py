"""How models are written with Paddle."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.network import Settings
from crosscast_migrate.models.rows import ARITHMETIC, calls
from crosscast_migrate.models.tables import LossWriting, ModelWriting


def _average(settings: Settings) -> Mapping[str, str]:
    return {"exclusive": str(not settings["counts_padding"])}


def _maximum(settings: Settings) -> Mapping[str, str]:
    """Return the method that takes a maximum, along one axis after the other.

    Paddle 3.3 computes garbage as the derivative of a maximum along several axes of a tensor with
    five or more.
    """
    axes, keepdims = tuple(settings["axis"]), settings["keepdims"]
    if len(axes) == 1:
        return {"most": f".amax({axes[0]}, {keepdims})"}
    taken = "".join(f".amax({axis}, True)" for axis in axes)
    return {"most": taken if keepdims else f"{taken}.squeeze({axes})"}


def _of_image(settings: Settings) -> Mapping[str, str]:
    axes, keepdims = tuple(range(2, settings["rank"] + 2)), settings["keepdims"]
    if settings["rank"] < 3:
        return {"most": f"{{0}}.amax(axis={axes}, keepdim={keepdims})"}
    pool = "F.adaptive_max_pool3d({0}, 1)"
    return {"most": pool if keepdims else f"paddle.flatten({pool}, 1)"}


def _recurrent(settings: Settings) -> Mapping[str, str]:
    """Return the class, or that of a cell: layers of Paddle need the gradients of two biases."""
    both = settings["bias"] and settings["state_bias"]
    name = {"lstm": "LSTM", "gru": "GRU", "rnn": "SimpleRNN"}[settings["cell"]]
    return {
        "cell": name if both else f"{name}Cell",
        "input_bias": "" if settings["bias"] else "False",
        "state_bias": "" if settings["state_bias"] else "False",
        "applied": "" if both else "self.{layer} = nn.RNN(self.{layer})",
    }


WRITING = ModelWriting(
    imports=("import paddle", "from paddle import nn", "from paddle.nn import functional as F"),
    base="nn.Layer",
    signature="def forward(self, {inputs}) -> paddle.Tensor:",
    parameter="{name}: paddle.Tensor",
    layers=calls(
        linear="nn.Linear({inputs}, {units}, weight_attr={weight}, bias_attr={b})",
        conv="nn.Conv{rank}D({inputs}, {filters}, {kernel}, stride={stride}|1, "
        "padding={padding}|0, dilation={dilation}|1, groups={groups}|1, weight_attr={weight}, "
        "bias_attr={b})",
        batch_norm="nn.BatchNorm{norm_rank}D({features}, momentum={keep}|0.9, "
        "epsilon={eps}|1e-05, weight_attr={weight_or_affine}|True, "
        "bias_attr={bias_or_shift}|True)",
        layer_norm="nn.LayerNorm({shape}, epsilon={eps}|1e-05, "
        "weight_attr={weight_or_affine}|True, bias_attr={bias_or_shift}|True)",
        embedding="nn.Embedding({count}, {width}, padding_idx={padding_index}|None, "
        "weight_attr={weight})",
        dropout="nn.Dropout({rate})",
        recurrent="nn.{cell}({inputs}, {units}, bias_ih_attr={input_bias}, "
        "bias_hh_attr={state_bias})",
    ),
    built={"recurrent": "{applied}"},
    constant='self.register_buffer("{name}", paddle.to_tensor({numbers}), persistable=False)',
    several="tuple[paddle.Tensor, ...]",
    operations={
        **ARITHMETIC,
        "relu": "F.relu({0})",
        "relu6": "F.relu6({0})",
        "leaky_relu": "F.leaky_relu({0}, {slope})",
        "elu": "F.elu({0}, {alpha})",
        "selu": "F.selu({0})",
        "silu": "F.silu({0})",
        "softplus": "F.softplus({0})",
        "gelu": "F.gelu({0}, approximate={tanh})",
        "sigmoid": "F.sigmoid({0})",
        "tanh": "paddle.tanh({0})",
        "softmax": "F.softmax({0}, axis={axis})",
        "log_softmax": "F.log_softmax({0}, axis={axis})",
        "exp": "paddle.exp({0})",
        "sin": "paddle.sin({0})",
        "cos": "paddle.cos({0})",
        "log": "paddle.log({0})",
        "number": '{0}.astype("float32")',
        "fill": "paddle.where({1}, paddle.full_like({0}, {value}), {0})",
        "choose": "paddle.where({0}, {1}, {2})",
        "swap": "{0}.swapaxes({first}, {second})",
        "causal": 'paddle.ones([{0}.shape[-2], {1}.shape[-2]]).tril().astype("bool")',
        "positions": "paddle.arange({0}.shape[{axis}])",
        "constant": "self.{name}",
        "expand_rows": "{0}.expand([{1}.shape[0], *{0}.shape[1:]])",
        "recurrent": "self.{layer}({0})[0]",
        "recurrent_backward": "self.{layer}({0}.flip(1))[0].flip(1)",
        "abs": "paddle.abs({0})",
        "sign": "paddle.sign({0})",
        "sqrt": "paddle.sqrt({0})",
        "flatten": "paddle.flatten({0}, {start}, {end})",
        "reshape": "{0}.reshape({shape})",
        "permute": "{0}.transpose({axes})",
        "unsqueeze": "{0}.unsqueeze({axis})",
        "squeeze": "{0}.squeeze({axis})",
        "mean": "{0}.mean(axis={axis}, keepdim={keepdims})",
        "sum": "{0}.sum(axis={axis}, keepdim={keepdims})",
        "max": "{0}{most}",
        "concat": "paddle.concat([{all}], axis={axis})",
        "stack": "paddle.stack([{all}], axis={axis})",
        "matmul": "paddle.matmul({0}, {1})",
        "max_pool": "F.max_pool{rank}d({0}, {kernel}, stride={stride}, padding={padding})",
        "avg_pool": "F.avg_pool{rank}d({0}, {kernel}, stride={stride}, padding={padding}, "
        "exclusive={exclusive})",
        "adaptive_avg": "F.adaptive_avg_pool{rank}d({0}, {size})",
        "adaptive_max": "F.adaptive_max_pool{rank}d({0}, {size})",
        "global_avg": "{0}.mean(axis={image}, keepdim={keepdims})",
        "global_max": "{most}",
        "zero_pad": "F.pad({0}, {flat_pairs}, value={value})",
    },
    values={
        "recurrent": _recurrent,
        "avg_pool": _average,
        "max": _maximum,
        "global_max": _of_image,
    },
    initials={
        "uniform": "nn.initializer.Uniform(-{n}, {n})",
        "normal": "nn.initializer.Normal(std={n})",
        "truncated_normal": "nn.initializer.TruncatedNormal(std={n})",
        "constant": "nn.initializer.Constant({n})",
    },
    no_bias="False",
    loss=LossWriting(
        imported="from paddle.nn import functional as F",
        signature="def own_losses(model, batch):",
        outputs='model(**inputs).astype("float32")',
        targets='batch["labels"].astype("float32")',
        elements={
            "l1": ('F.l1_loss(outputs, targets, reduction="none")',),
            "smooth_l1": ('F.smooth_l1_loss(outputs, targets, reduction="none")',),
            "one_hot": ("-targets * F.log_softmax(outputs, axis=-1)",),
        },
        kinds={
            "cross_entropy": (
                'F.cross_entropy(outputs, targets.astype("int64"), reduction="none")',
            ),
            "mse": ("(outputs - targets) ** 2",),
            "binary_cross_entropy": (
                'F.binary_cross_entropy_with_logits(outputs, targets, reduction="none")',
            ),
        },
        in_float='{0}.astype("float32")',
        rows="losses.reshape([len(losses), -1]).{total}(1)",
    ),
)
