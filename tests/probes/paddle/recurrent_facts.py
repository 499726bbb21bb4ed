"""Recurrent layers of Paddle with one bias, as JSON: the error of a frozen one, and a cell."""

from __future__ import annotations

import json

import paddle
from paddle import nn

x = paddle.randn([2, 3, 4])
frozen = paddle.ParamAttr(initializer=nn.initializer.Constant(0.0), trainable=False)
layer = nn.GRU(4, 5, bias_hh_attr=frozen)
error = ""
try:
    layer(x)[0].sum().backward()
except ValueError as raised:
    error = str(raised)
applied = nn.RNN(nn.GRUCell(4, 5, bias_hh_attr=False))
applied(x)[0].sum().backward()
cell = applied.cell
facts = {
    "error": error,
    "gradient": cell.bias_ih.grad is not None,
    "kept": [bool(cell.bias_hh.stop_gradient), float(abs(cell.bias_hh).max())],
}
print(json.dumps(facts))
