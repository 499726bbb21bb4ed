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
    ),
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
    values={"gelu": _gelu, "layer_norm": _layer_norm},
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
        rows="losses.reshape([len(losses), -1]).{total}(1)",
    ),
)
