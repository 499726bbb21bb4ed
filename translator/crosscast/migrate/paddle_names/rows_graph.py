"""Rows: programs, executors, places, parameters and data of static graphs."""

from __future__ import annotations

from crosscast.migrate.paddle_names.row import Row

_ATTR = {"input": "x", "param_attr": "weight_attr", "act": "activation"}

ROWS = (
    Row(old=("layers.fc",), mode="static", new="paddle.static.nn.fc", renamed=_ATTR),
    Row(old=("data",), new="paddle.static.data"),
)
