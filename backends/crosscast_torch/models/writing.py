"""How models are written with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.network import Settings, UnreadableError
from crosscast_migrate.models.rows import ARITHMETIC, calls
from crosscast_migrate.models.tables import LossWriting, ModelWriting


def _gelu(settings: Settings) -> Mapping[str, str]:
    return {"approximate": '"tanh"' if settings["tanh"] else '"none"'}


def _layer_norm(settings: Settings) -> Mapping[str, str]:
    if settings["shift"] and not settings["affine"]:
        raise UnreadableError("PyTorch has no normalization with a bias and no weight")
    # Without weights there is no bias to be left out.
    return {} if settings["affine"] else {"shift": "True"}


def _recurrent(settings: Settings) -> Mapping[str, str]:
    """Return the class, and the statement that keeps the second bias at zero for a single one."""
    both = settings["bias"], settings["state_bias"]
    extra = "hh" if settings["bias"] else "ih"
    bias = f"self.{{layer}}.bias_{extra}_l0"
    return {
        "cell": {"lstm": "LSTM", "gru": "GRU", "rnn": "RNN"}[settings["cell"]],
        "bias": str(any(both)),
        "frozen": f"nn.init.zeros_({bias}).requires_grad_(False)" if any(both) != all(both) else "",
    }


WRITING = ModelWriting(
    imports=(
        "import torch",
        "import torchvision",
        "from torch import nn",
        "from torch.nn import functional as F",
    ),
    base="nn.Module",
    signature="def forward(self, {inputs}) -> torch.Tensor:",
    parameter="{name}: torch.Tensor",
    layers=calls(
        linear="nn.Linear({inputs}, {units}, bias={bias}|True)",
        conv="nn.Conv{rank}d({inputs}, {filters}, {kernel}, stride={stride}|1, "
        "padding={padding}|0, dilation={dilation}|1, groups={groups}|1, bias={bias}|True)",
        batch_norm="nn.BatchNorm{norm_rank}d({features}, eps={eps}|1e-05, momentum={new}|0.1, "
        "affine={affine}|True)",
        layer_norm="nn.LayerNorm({shape}, eps={eps}|1e-05, elementwise_affine={affine}|True, "
        "bias={shift}|True)",
        embedding="nn.Embedding({count}, {width}, padding_idx={padding_index}|None)",
        dropout="nn.Dropout({rate})",
        recurrent="nn.{cell}({inputs}, {units}, bias={bias}|True, batch_first=True)",
    ),
    built={"recurrent": "{frozen}"},
    constant='self.register_buffer("{name}", torch.from_numpy({numbers}), persistent=False)',
    several="tuple[torch.Tensor, ...]",
    operations={
        **ARITHMETIC,
        "relu": "F.relu({0})",
        "relu6": "F.relu6({0})",
        "leaky_relu": "F.leaky_relu({0}, {slope})",
        "elu": "F.elu({0}, {alpha})",
        "selu": "F.selu({0})",
        "silu": "F.silu({0})",
        "softplus": "F.softplus({0})",
        "gelu": "F.gelu({0}, approximate={approximate})",
        "sigmoid": "torch.sigmoid({0})",
        "tanh": "torch.tanh({0})",
        "softmax": "F.softmax({0}, dim={axis})",
        "log_softmax": "F.log_softmax({0}, dim={axis})",
        "exp": "torch.exp({0})",
        "sin": "torch.sin({0})",
        "cos": "torch.cos({0})",
        "log": "torch.log({0})",
        "number": "{0}.float()",
        "fill": "{0}.masked_fill({1}, {value})",
        "choose": "torch.where({0}, {1}, {2})",
        "swap": "{0}.transpose({first}, {second})",
        "attend": "F.scaled_dot_product_attention({0}, {1}, {2}{masked}{scaled})",
        "causal": "torch.ones({0}.shape[-2], {1}.shape[-2], device={0}.device).tril().bool()",
        "positions": "torch.arange({0}.shape[{axis}], device={0}.device)",
        "constant": "self.{name}",
        "expand_rows": "{0}.expand({1}.shape[0], *{0}.shape[1:])",
        "recurrent": "self.{layer}({0})[0]",
        "recurrent_backward": "self.{layer}({0}.flip(1))[0].flip(1)",
        "abs": "torch.abs({0})",
        "sign": "torch.sign({0})",
        "sqrt": "torch.sqrt({0})",
        "flatten": "torch.flatten({0}, {start}, {end})",
        "reshape": "{0}.reshape({shape})",
        "permute": "{0}.permute({axes})",
        "unsqueeze": "{0}.unsqueeze({axis})",
        "squeeze": "{0}.squeeze({axis})",
        "mean": "{0}.mean({axis}, keepdim={keepdims})",
        "sum": "{0}.sum({axis}, keepdim={keepdims})",
        "max": "{0}.amax({axis}, keepdim={keepdims})",
        "concat": "torch.cat([{all}], dim={axis})",
        "stack": "torch.stack([{all}], dim={axis})",
        "matmul": "torch.matmul({0}, {1})",
        "max_pool": "F.max_pool{rank}d({0}, {kernel}, stride={stride}, padding={padding})",
        "avg_pool": "F.avg_pool{rank}d({0}, {kernel}, stride={stride}, padding={padding}, "
        "count_include_pad={counts_padding})",
        "adaptive_avg": "F.adaptive_avg_pool{rank}d({0}, {size})",
        "adaptive_max": "F.adaptive_max_pool{rank}d({0}, {size})",
        "global_avg": "{0}.mean({image}, keepdim={keepdims})",
        "global_max": "{0}.amax({image}, keepdim={keepdims})",
        "zero_pad": "F.pad({0}, {flat_pairs}, value={value})",
    },
    values={"gelu": _gelu, "layer_norm": _layer_norm, "recurrent": _recurrent},
    initials={
        "uniform": "nn.init.uniform_({w}, -{n}, {n})",
        "normal": "nn.init.normal_({w}, std={n})",
        "truncated_normal": "nn.init.trunc_normal_({w}, std={n}, a=-{twice}, b={twice})",
        "constant": "nn.init.constant_({w}, {n})",
    },
    fills=True,
    pads_half=True,
    loss=LossWriting(
        imported="from torch.nn import functional as F",
        signature="def own_losses(model, batch):",
        outputs="model(**inputs).float()",
        targets='batch["labels"].float()',
        elements={
            "l1": ('F.l1_loss(outputs, targets, reduction="none")',),
            "smooth_l1": ('F.smooth_l1_loss(outputs, targets, reduction="none")',),
            "one_hot": ("-targets * F.log_softmax(outputs, dim=-1)",),
        },
        kinds={
            "cross_entropy": ('F.cross_entropy(outputs, targets.long(), reduction="none")',),
            "mse": ("(outputs - targets) ** 2",),
            "binary_cross_entropy": (
                'F.binary_cross_entropy_with_logits(outputs, targets, reduction="none")',
            ),
        },
        in_float="{0}.float()",
        rows="losses.reshape([len(losses), -1]).{total}(1)",
    ),
)
