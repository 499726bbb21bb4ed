"""Checks of one program alone, against itself or its recipe."""

from __future__ import annotations

from crosscast_parity.checks.kinds import Kind
from crosscast_parity.checks.type_kinds import NO_GRADIENTS, TYPES

GATE = (
    Kind(
        "gate",
        "traces",
        "every row of the trace of two runs, bit for bit; TensorFlow's loss and norm within limits",
        "repeated",
        "trace",
        by_type={"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2},
        unit="relative; equal but for TensorFlow",
        basis="some of many equal runs of TensorFlow in one process: 5e-7 measured",
    ),
    Kind(
        "gate",
        "weights",
        "the final weights of two runs, bit for bit but for TensorFlow",
        "repeated",
        "files",
        by_type=dict.fromkeys(("float32", "float16", "bfloat16"), 0.05),
        unit="of what the run moved them; equal but for TensorFlow",
        basis="as the traces; of a resumed run, L1d compares the files",
        untested="a file of weights cannot be read",
    ),
)

MACHINE = (
    Kind(
        "L0b",
        "scale",
        "the loss scale of every window with the recipe's, given the overflows of the run",
        "every run",
        "trace",
        limit=1e-6,
        unit="relative",
        basis="exact for powers of two; other factors are rounded to float32",
    ),
    Kind("L0b", "updates", "the number of updates so far", "every run", "trace", basis="equality"),
    Kind(
        "L0b",
        "learning rate",
        "the rate of every window with the recipe's schedule",
        "every run",
        "trace",
        limit=2e-6,
        unit="relative",
        basis="frameworks may hold the rate in float32: 1.4e-7 measured",
    ),
    Kind(
        "L0b",
        "skip decision",
        "a window is skipped if, with a loss scale, its gradient norm is not finite",
        "every run",
        "trace",
        basis="equality",
    ),
    Kind(
        "L0b",
        "micro-batches of a window",
        "how many there are, with what the recipe makes of the rows",
        "every run",
        "trace",
        basis="equality",
    ),
    Kind(
        "L0b",
        "rows of a window",
        "how many there are, with what the recipe makes of the rows",
        "every run",
        "trace",
        basis="equality",
    ),
    Kind(
        "L0b",
        "poisoned windows skipped",
        "every window with an injected overflow is skipped",
        "faults",
        "functions",
        basis="equality",
    ),
    Kind(
        "L0b",
        "planned faults",
        "nothing: names the faults that met no micro-batch",
        "faults",
        limit=None,
        untested="a planned fault met no micro-batch",
    ),
    Kind(
        "L0b",
        "trace of the toy",
        "counts, scale, rate and the scaler's counters of every window with the reference"
        " interpreter",
        "toy",
        "compiled",
        basis="equality",
        untested="the framework has no toy, or the program cannot be given one",
    ),
    Kind(
        "L0b",
        "recipes",
        "fields in which two recipes differ, with those that a run of the comparison keeps",
        "recipes",
        "trace",
        limit=None,
    ),
)

REPLAY = (
    Kind(
        "L1b",
        "loss factor",
        "what backward began with, divided by the loss, with division and scale of the recipe",
        "recorded",
        limit=1e-5,
        unit="relative",
        basis="3e-8 measured",
        untested="rows or labels of a micro-batch could not be counted; every window was skipped",
    ),
    Kind(
        "L1b",
        "window loss",
        "the loss in the trace with those that the micro-batches had, as they went into backward",
        "recorded",
        limit=1e-5,
        unit="relative",
        basis="a sum of float32 numbers; rounded once to float16 up to 5e-4",
        untested="the losses of micro-batches were not observed; every window was skipped",
    ),
    Kind(
        "L1b",
        "gradient norm",
        "the norm in the trace with that of the recorded gradients",
        "recorded",
        limit=1e-5,
        unit="relative, times √(weights / 100 000) from there on, and one rounding of a half sum",
        basis="4.4e-7 measured; PyTorch's norm of 14 million weights 2.9e-5 of 1.2e-4",
        untested="no norm was finite",
    ),
    Kind(
        "L1b",
        "applied gradients",
        "what the optimizer was given with the recorded gradients: summed, unscaled, clipped;"
        " which windows are skipped",
        "recorded",
        limit=1e-5,
        unit="of a tensor, as for the norm",
        basis="4.4e-7 measured; sums rounded to float16 from 1e-4 on",
        untested=NO_GRADIENTS,
    ),
    Kind(
        "L1b",
        "update",
        "every weight after a window with the recipe's step in float64; weights do not move"
        " between windows or in skipped ones",
        "recorded",
        limit=1e-4,
        unit="of a tensor's own step, without 2 ulp of each weight",
        basis="6.7e-6 measured; beta2 of 0.9999 for 0.999 moves 2.4e-4",
        untested="no update was recorded with its gradients, or all are lost in rounding",
    ),
    Kind(
        "L1b",
        "update of every tensor",
        "nothing: says that the update of some tensor could be off unseen",
        "recorded",
        limit=None,
        untested="float32, or a sum in half, rounds off more than 1 % of a tensor's step",
    ),
    Kind(
        "L1b",
        "update of later windows",
        "nothing: says that no update after a gap in the recorded windows is replayed",
        "recorded",
        limit=None,
        untested="a script does not tell the moments of its optimizer",
    ),
    Kind(
        "L1b",
        "average",
        "averaged weights after every window with the decay of those before and the weights",
        "recorded",
        limit=1e-3,
        unit="of a tensor's own change",
        basis="0 measured",
        untested="no averages were recorded, or they move too little",
    ),
    Kind(
        "L1b",
        "tensors of the toy",
        "loss, norm, weights, moments and averages of every window with one step of the reference"
        " interpreter",
        "toy",
        "compiled",
        limit=None,
        unit="the rounding of one float32 step",
        basis="computed for each window from the interpreter in float32 and float64",
        untested="the framework has no toy, or the program cannot be given one",
    ),
)

FILES = (
    Kind(
        "L1d",
        "weights file",
        "`model.safetensors` with the weights after the last window, bit for bit",
        "recorded",
        basis="equality",
    ),
    Kind(
        "L1d",
        "averages file",
        "`ema.safetensors` with the averages after the last window, bit for bit",
        "recorded",
        basis="equality",
    ),
    Kind(
        "L1d",
        "checkpoint",
        "whether it is there and can be read",
        "checkpoint",
        "emitted",
    ),
    Kind(
        "L1d",
        "checkpoint weights",
        "weights in the checkpoint with those in `model.safetensors`, bit for bit",
        "checkpoint",
        "emitted",
        basis="equality",
    ),
    Kind(
        "L1d",
        "checkpoint averages",
        "averages in the checkpoint with those in `ema.safetensors`, bit for bit",
        "checkpoint",
        "emitted",
        basis="equality",
    ),
    Kind(
        "L1d",
        "checkpoint counters",
        "windows, updates, scale and its counters, and overflows in a row at the lowest scale, with"
        " the recipe's state machine",
        "checkpoint",
        "emitted",
        basis="equality; the scale as at L0b",
    ),
    Kind(
        "L1d",
        "checkpoint moments",
        "moments in the checkpoint with those that the recorded gradients make in float64",
        "checkpoint",
        "emitted",
        limit=1e-4,
        unit="of a tensor",
        basis="1.3e-5 measured",
        untested=NO_GRADIENTS,
    ),
    Kind(
        "L1d",
        "status counters",
        "windows and updates in `status.json` with those of the trace",
        "every run",
        "trace",
        basis="equality",
        untested="it tells none",
    ),
    Kind(
        "L1d",
        "restored state",
        "weights, moments, averages and counters before the first window after a resume with those"
        " at the end of the window before, bit for bit; then the counters of the next checkpoint",
        "resumed",
        "emitted",
        basis="equality",
        untested="the script does not tell its state",
    ),
    Kind(
        "L1d",
        "resume",
        "trace and files of a run that was resumed with those of one that was not, bit for bit; of"
        " TensorFlow within the limits of the gate, tensor by tensor where gradients are above"
        " rounding",
        "repeated",
        "emitted",
        limit=1.0,
        unit="limits of the gate, moments as the loss; equal but for TensorFlow",
        basis="of that 0.005 measured; float16 of TensorFlow and PyTorch, which round more: 0.66",
        untested="the program does not repeat itself (gate)",
    ),
    *(
        Kind(
            "L1d",
            f"{of} {what}",
            f"the {what} that the run reports of its {whose} with that of a NumPy BERT in float64",
            "every run",
            "files",
            limit=1.0,
            unit="20 times what the recipe's type moves a row on average",
            basis="0.17 measured",
            untested="the run reports none, it is too large to compute, or it is not finite",
        )
        for of, whose in (("evaluation", "weights"), ("evaluation of averages", "averages"))
        for what in ("loss", "accuracy")
    ),
    *(
        Kind(
            "L1d",
            f"{of} metric",
            f"each of your metrics that the run reports of its {whose} with your function, called"
            " by another process",
            "every run",
            "files",
            limit=1.0,
            unit="20 times what the recipe's type moves a row on average",
            basis="as the loss",
            untested="the model is the shipped BERT, or it is not finite",
        )
        for of, whose in (("evaluation", "weights"), ("evaluation of averages", "averages"))
    ),
)

OWN = (*GATE, *MACHINE, *TYPES, *REPLAY, *FILES)
