"""Diagnostic codes of the rows for trainer configurations, shared by all trainers."""

from __future__ import annotations

from crosscast.messages.codes import Code

CODES = (
    Code(
        "CC333",
        "left to your program",
        "The trainer has no setting for this. The program that it configures must implement the "
        "recipe; if a function is emitted with the configuration, call it.",
    ),
    Code(
        "CC334",
        "another half precision",
        "The trainer decides which operations and weights use half precision. See the row.",
    ),
    Code(
        "CC335",
        "another rule of the loss scale",
        "Some rules of the trainer's loss scale cannot be set. See the row.",
    ),
    Code(
        "CC336",
        "losses are divided differently",
        "The trainer averages over the micro-batches. Rows of a short micro-batch, and labels of "
        "a micro-batch with few labels, weigh more than in the recipe.",
    ),
    Code(
        "CC337",
        "short windows are handled differently",
        "The trainer's behavior at the end of an epoch cannot be set. Choose a number of rows "
        "that fills the windows, or write the tail that the trainer uses.",
    ),
    Code(
        "CC338",
        "gradients are clipped differently",
        "The trainer supports one or two ways to clip. See the row.",
    ),
    Code(
        "CC339",
        "no such setting",
        "The trainer does not support this, so nothing is emitted. Change the recipe as "
        "described in the row, or choose another target.",
    ),
    Code(
        "CC344",
        "weight decay follows the trainer's rule",
        "The trainer decides which weights decay, or leaves it to your program.",
    ),
    Code(
        "CC359",
        "another schedule",
        "The trainer's schedules use other formulas. See the row.",
    ),
    Code(
        "CC366",
        "skipped steps are counted differently",
        "Whether a skipped step advances the schedule cannot be set.",
    ),
    Code(
        "CC367",
        "said in another way",
        "Another setting, or code emitted with the configuration, has the same effect.",
    ),
)
