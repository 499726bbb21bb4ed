"""What a backward pass differentiates."""

from __future__ import annotations

import ast

from crosscast_reading.trainstep.events import Context, Event
from crosscast_reading.trainstep.frames.losses import SCALES


def differentiated(event: Event) -> ast.expr | None:
    """Return the expression that a backward pass differentiates, as it is written."""
    match event.node:
        case ast.Call(args=[first, *_]):
            return first
        case ast.Call(func=ast.Attribute(value=value, attr="backward"), keywords=keywords):
            named = {keyword.arg: keyword.value for keyword in keywords}
            return named.get("loss", value)
        case ast.Call(keywords=keywords):
            named = {keyword.arg: keyword.value for keyword in keywords}
            return named.get("loss", named.get("target"))
    return None


def loss_expression(event: Event) -> ast.expr | None:
    """Return the differentiated expression without the loss scale: `loss`."""
    loss = differentiated(event)
    match loss:
        case ast.Call(func=ast.Attribute(attr=name), args=[inner, *_]) if name in SCALES:
            return inner
    match event.context("scale_loss"):
        case Context(node=ast.Call(args=[inner, *_])):
            return inner
    return loss
