"""Codes of what the rows of configurations say; all layers share them."""

from __future__ import annotations

from crosscast.messages.codes import Code

CODES = (
    Code(
        "CC333",
        "left to your program",
        "The layer has no setting for it. The program that it configures must do what the recipe "
        "says; where a function is emitted beside the configuration, call that.",
    ),
    Code(
        "CC334",
        "another half precision",
        "The layer chooses by itself which operations and weights are half. See the row.",
    ),
    Code(
        "CC335",
        "another rule of the loss scale",
        "The layer's loss scale has rules that cannot be set. See the row.",
    ),
    Code(
        "CC336",
        "losses are divided otherwise",
        "The layer takes the mean of the micro-batches. Rows of a short micro-batch, and labels of "
        "one that has few, weigh more than in the recipe.",
    ),
    Code(
        "CC337",
        "short windows are treated otherwise",
        "What a layer makes of the end of an epoch cannot be set. Choose rows that fill the "
        "windows, or write the tail that the layer has.",
    ),
    Code(
        "CC338",
        "gradients are clipped otherwise",
        "The layer has one way to clip, or two. See the row.",
    ),
    Code(
        "CC339",
        "no such setting",
        "The layer cannot say it, so nothing is emitted. Change the recipe as the row tells, or "
        "choose another target.",
    ),
    Code(
        "CC344",
        "decay by the layer's own rule",
        "The layer decides by itself which weights decay, or leaves it to your program.",
    ),
    Code(
        "CC359",
        "another schedule",
        "The layer's schedules are its own formulas. See the row.",
    ),
    Code(
        "CC366",
        "skipped steps count otherwise",
        "Whether a step that was skipped moves the schedule cannot be set.",
    ),
    Code(
        "CC367",
        "said in another way",
        "Another setting, or code that is emitted beside the configuration, means the same.",
    ),
)
