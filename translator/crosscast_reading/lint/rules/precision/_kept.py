"""What float32 activations cost, in words, and the model of the examples."""

from __future__ import annotations

import ast
import math

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.tensors.layers import layers_of
from crosscast_reading.trainstep.tensors.tensor import Place

FORMULA = "4 bytes instead of 2 for each of rows x tokens x hidden numbers"
_SHAPES = ("normalized_shape", "hidden_size", "dim")


def extra_bytes(place: Place, subject: Subject) -> str:
    """Return the cost of a normalization in float32 in words, as far as its size is known."""
    width = _width(place)
    if width is None:
        return ""
    rows = _rows(subject)
    if rows is None:
        return f"{2 * width} bytes more for each token"
    return f"{2 * width * rows} bytes more for each token of {rows} rows"


def _width(place: Place) -> int | None:
    """Return over how many numbers a normalization runs; None if that is not known."""
    node = place.node
    if not isinstance(node, ast.Call):
        return None
    sizes = [
        size
        for layer in layers_of(node.func, place.module)
        for size in _sizes(layer.call, layer.module)
    ]
    sizes = sizes or _sizes(node, place.module, first=1)
    return sizes[0] if sizes and len(set(sizes)) == 1 else None


def _sizes(call: ast.Call, module: Module, first: int = 0) -> list[int]:
    named = {k.arg: k.value for k in call.keywords}
    given = next((named[word] for word in _SHAPES if word in named), None)
    if given is None and len(call.args) > first:
        given = call.args[first]
    if given is None:
        return []
    parts = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
    sizes = []
    for part in parts:
        match evaluate(part, module):
            case Known(value=int(size)) if size > 1:
                sizes.append(size)
            case _:
                return []
    return [math.prod(sizes)]


def _rows(subject: Subject) -> int | None:
    """Return the rows of a micro-batch if every fact says the same."""
    values = {
        fact.value.value if isinstance(fact.value, Known) else None
        for fact in subject.profile
        if fact.field == "batch.micro_batch_size"
    }
    rows = values.pop() if len(values) == 1 else None
    return rows if isinstance(rows, int) and rows > 0 else None


MODEL = """\
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        rows, tokens, width = x.shape
        qkv = self.qkv(x).view(rows, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(rows, tokens, width))


class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            weight, bias = self.weight.to(x.dtype), self.bias.to(x.dtype)
            return F.layer_norm(x, self.normalized_shape, weight, bias, self.eps)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1 = LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.norm2 = LayerNorm(width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(64, 768)
        self.blocks = nn.ModuleList([Block(768, 12) for _ in range(12)])
        self.head = nn.Linear(768, 10)

    def forward(self, x):
        x = self.start(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])


model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(inputs.cuda()), targets.cuda())
    loss.backward()
    optimizer.step()
"""
"""A transformer that keeps its activations in half."""
