"""Bugs in what a run of TensorFlow leaves."""

from __future__ import annotations

from mutants.shared_products import MEANS, RETURNED
from mutants.spelling import Spellings, runtime, train

COUNT = "    loss = correct = n_rows = 0\n"
POLICY = """\
    for layer in state.model._flatten_layers():
        if layer.compute_dtype == "float16":
            layer.dtype_policy = "{}"
"""
RIGHT = "tf.argmax(logits, axis=-1) == labels"
LOSS = "loss += float(batch_loss)"
LABELS = '    labels = tf.cast(batch["labels"], tf.int64)\n'
STEPS = "state.optimizer.iterations.assign(state.updates)"

PRODUCTS: Spellings = {
    "evaluated_in_float32": train(COUNT, POLICY.format("float32") + COUNT),
    "evaluated_in_other_half": train(COUNT, POLICY.format("mixed_bfloat16") + COUNT),
    "batches_evaluated_alike": [
        train(LOSS, f'{LOSS} / len(batch["labels"])'),
        train(RETURNED, MEANS),
    ],
    "dropout_in_evaluation": train("batch, training=False)", "batch, training=True)"),
    "one_of_two_best": train(RIGHT, "tf.math.in_top_k(labels, logits, 2)"),
    "least_likely": train(RIGHT, RIGHT.replace("argmax", "argmin")),
    "resumed_steps_lost": runtime(
        "state",
        "state.optimizer.iterations.assign(state.updates)",
        "state.optimizer.iterations.assign(0)",
    ),
    "labels_as_booleans": train(
        LABELS,
        f"{LABELS}    if not training:\n"
        "        labels = tf.cast(tf.cast(labels, tf.bool), tf.int64)\n",
    ),
    "losses_summed_in_half": train(LOSS, "loss = float(np.float16(loss + float(batch_loss)))"),
    "resumed_steps_windows": runtime("state", STEPS, STEPS.replace("updates", "windows")),
    "resumed_step_behind": runtime("state", STEPS, STEPS.replace("updates", "updates - 1")),
}
