"""Diagnostic codes of static graphs of paddle.distributed.fleet."""

from __future__ import annotations

from crosscast.messages.code import Code

FLEET_CODES = (
    Code(
        "CC397",
        "gradient merge counts micro-batches",
        "It divides by their number, if at all, and waits until a window is full. The script "
        "divides in the program and fills short windows with micro-batches that weigh nothing.",
    ),
)
