"""Ways to write the network with layers of many kinds, none of which is another function.

The frameworks' own initialisers and their own running variances differ, which is not training.
"""

from __future__ import annotations

from frameworks.module_programs import Edit, Z, rewrites

PADDED: tuple[Edit, ...] = (
    ("torch", "nn.Conv2d(8, 8, 3, stride=2, padding=1)", "nn.Conv2d(8, 8, 3, stride=2)"),
    ("torch", "self.conv2(x)", "self.conv2(F.pad(x, (1, 1, 1, 1)))"),
    ("paddle", "nn.Conv2D(8, 8, 3, padding=2, dilation=2)", "nn.Conv2D(8, 8, 3, dilation=2)"),
    ("paddle", "self.conv3(x)", "self.conv3(F.pad(x, [2, 2, 2, 2]))"),
)
CUT: tuple[Edit, ...] = (
    ("torch", "nn.Conv2d(8, width, 2)", "nn.Conv2d(8, width, 2, padding=1)"),
    ("torch", "self.conv4(x)", "self.conv4(x)[:, :, 1:-1, 1:-1]"),
)
"""A layer whose output is larger, of which the code takes the part that others have."""
FUNCTIONS: tuple[Edit, ...] = (
    ("torch", "x = F.silu(x)", "x = x * torch.sigmoid(x)"),
    ("torch", "F.hardswish(self.norm1(x))", "F.hardswish(self.norm1(x), inplace=True)"),
    ("torch", "F.relu6(", "F.hardtanh(min_val=0.0, max_val=6.0, input="),
    ("paddle", "F.hardsigmoid(self.gate(x))", "paddle.clip(self.gate(x) / 6 + 0.5, 0.0, 1.0)"),
    ("tensorflow", "ops.hard_sigmoid(self.gate(x))", "ops.relu6(self.gate(x) + 3) / 6"),
)
BIAS: tuple[Edit, ...] = (
    ("torch", "self.mix(x.mean", "F.linear(x.mean"),
    ("torch", "+ t.mean(1))", "+ t.mean(1), self.mix.weight) + self.mix.bias"),
    ("paddle", "self.head(hidden)", "(paddle.matmul(hidden, self.head.weight) + self.head.bias)"),
)
SCALED: tuple[Edit, ...] = (
    ("torch", "self.head(hidden) / TEMPERATURE", "self.head(hidden) * (1 / TEMPERATURE)"),
    ("paddle", "* query.shape[-1] ** -0.5", "/ query.shape[-1] ** 0.5"),
)
POSITIONS: tuple[Edit, ...] = (
    (
        "torch",
        "self.positions(positions)",
        "self.positions.weight[: tokens.shape[1]]",
    ),
    (
        "paddle",
        "paddle.arange(tokens.shape[1])",
        "paddle.arange(1, tokens.shape[1] + 1) - 1",
    ),
)
VARIANCE: tuple[Edit, ...] = (
    (
        "torch",
        "\nclass Attention(nn.Module):",
        '''
class BatchNorm(nn.BatchNorm2d):
    """Keeps the biased variance, as other frameworks do."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalize."""
        before = self.running_var.clone()
        output = super().forward(input)
        if self.training:
            count = input.numel() // input.shape[1]
            kept = (1 - self.momentum) * before
            self.running_var = self.running_var - (self.running_var - kept) / count
        return output


class Attention(nn.Module):''',
    ),
    ("torch", "nn.BatchNorm2d(8", "BatchNorm(8"),
)
LAYER_REWRITES = rewrites(
    ("as they are", Z, ()),
    ("padding by hand", Z, PADDED),
    ("larger and cut", Z, CUT),
    ("gates by formula", Z, FUNCTIONS),
    ("bias apart", Z, BIAS),
    ("factors by hand", Z, SCALED),
    ("positions by slice", Z, POSITIONS),
    ("biased variance", Z, VARIANCE),
)
