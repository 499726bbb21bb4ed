"""Bugs in what a run of PyTorch leaves."""

from __future__ import annotations

from mutants.shared_products import MEANS, RETURNED
from mutants.spelling import Spellings, runtime, train

RIGHT = "totals[1] += (logits.argmax(-1) == labels).sum()"
LOSS = 'totals[0] += nn.functional.cross_entropy(logits, labels, reduction="sum")'
MEAN = LOSS.replace("sum", "mean")
EVALUATE = "def evaluate("
HALF = """\
        with torch.autocast(device.type, dtype=torch.float16):
            logits = model(**batch).float()
"""
STEPS = "torch.tensor(float(state.updates))"

PRODUCTS: Spellings = {
    "checkpoint_no_growth": runtime("state", '"good": saved["_growth_tracker"]', '"good": 0'),
    "evaluated_by_bfloat16": train(
        EVALUATE, f'@torch.autocast("cpu", dtype=torch.bfloat16)\n{EVALUATE}'
    ),
    "evaluated_in_float32": train(HALF, HALF.replace("dtype=torch.float16", "enabled=False")),
    "evaluated_in_other_half": train(HALF, HALF.replace("float16", "bfloat16")),
    "evaluated_loss_in_half": train(HALF, HALF.replace(".float()", "")),
    "batches_evaluated_alike": [train(LOSS, MEAN), train(RETURNED, MEANS)],
    "one_of_two_best": train(
        RIGHT, "totals[1] += (logits.topk(2).indices == labels[:, None]).sum()"
    ),
    "least_likely": train(RIGHT, RIGHT.replace("argmax", "argmin")),
    "resumed_growth_lost": runtime(
        "state", '["_growth_tracker"] = counters["good"]', '["_growth_tracker"] = 0'
    ),
    "resumed_steps_lost": runtime(
        "state", "torch.tensor(float(state.updates))", "torch.tensor(0.0)"
    ),
    "labels_as_booleans": train(
        'labels = batch.pop("labels").long()', 'labels = batch.pop("labels").bool().long()'
    ),
    "losses_summed_in_half": train(
        "torch.zeros(2, dtype=torch.float64", "torch.zeros(2, dtype=torch.float16"
    ),
    "resumed_steps_windows": runtime("state", STEPS, STEPS.replace("updates", "windows")),
    "resumed_step_behind": runtime("state", STEPS, STEPS.replace("updates", "updates - 1")),
}
