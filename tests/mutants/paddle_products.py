"""Bugs in what a run of Paddle leaves."""

from __future__ import annotations

from mutants.shared_products import MEANS, RETURNED
from mutants.spelling import Spellings, runtime, train

LABELS = 'labels = batch.pop("labels").astype("int64")'
HALF = """\
        with paddle.amp.auto_cast(state.amp, dtype="float16", level="O1"):
            logits = model(**batch).astype("float32")
"""
RIGHT = "correct += (logits.argmax(-1) == labels).sum()"
LOSS = 'loss += F.cross_entropy(logits, labels, reduction="sum").astype("float64")'
MEAN = LOSS.replace("sum", "mean")
STEPS = "beta_power(beta, state.updates)"

PRODUCTS: Spellings = {
    "evaluated_in_float32": train(HALF, HALF.replace("state.amp", "False")),
    "evaluated_in_other_half": train(HALF, HALF.replace("float16", "bfloat16")),
    "batches_evaluated_alike": [train(LOSS, MEAN), train(RETURNED, MEANS)],
    "one_of_two_best": train(RIGHT, "correct += (logits.topk(2)[1] == labels.unsqueeze(1)).sum()"),
    "least_likely": train(RIGHT, RIGHT.replace("argmax", "argmin")),
    "resumed_steps_lost": runtime(
        "state", "beta_power(beta, state.updates)", "beta_power(beta, 0)"
    ),
    "labels_as_booleans": train(LABELS, f'{LABELS[:-16]}.astype("bool").astype("int64")'),
    "losses_summed_in_half": train(
        LOSS, f'loss = (loss + {LOSS[8:]}).astype("float16").astype("float64")'
    ),
    "resumed_steps_windows": runtime("state", STEPS, STEPS.replace("updates", "windows")),
    "resumed_step_behind": runtime("state", STEPS, STEPS.replace("updates", "updates - 1")),
}
