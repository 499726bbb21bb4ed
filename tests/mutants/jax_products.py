"""Bugs in what a run of JAX leaves."""

from __future__ import annotations

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, runtime, train

EVALUATED = "    model.eval()\n"
RIGHT = "jnp.argmax(logits, axis=-1) == labels"
BATCH = "    losses, right = row_losses(model, batch)\n"
RESULT = "    return losses.sum(), jnp.count_nonzero(right)\n"
SHARES = "(sums / n_rows).tolist()"
COUNT = "        count = jnp.asarray(state.updates, jnp.int32)\n"
SIGNATURE = "    model: nnx.Module, batch: dict[str, jax.Array]\n)"
LOGITS = "    logits = model(**inputs).astype(jnp.float32)\n"


def in_type(dtype: str) -> Edit:
    """Return an edit that lets the dense layers of an evaluation compute in another type."""
    return train(
        EVALUATED,
        f"{EVALUATED}    for _, module in nnx.iter_modules(model):\n"
        "        if isinstance(module, nnx.Linear):\n"
        f"            module.dtype = {dtype}\n",
    )


def loss_in(dtype: str) -> tuple[Edit, ...]:
    """Return edits that let the loss of an evaluation be computed in another type."""
    return (
        train(SIGNATURE, SIGNATURE.replace("\n)", ", dtype: Any = jnp.float32\n)")),
        train(LOGITS, LOGITS.replace("jnp.float32", "dtype")),
        train(BATCH, BATCH.replace("batch)", f"batch, {dtype})")),
    )


PRODUCTS: Spellings = {
    "evaluated_in_float32": in_type("jnp.float32"),
    "evaluated_in_other_half": in_type("jnp.bfloat16"),
    "evaluated_loss_in_half": loss_in("jnp.float16"),
    "batches_evaluated_alike": (
        train(RESULT, RESULT.replace("losses.sum()", "losses.mean()")),
        train(SHARES, "(sums / [-(-n_rows // SETTINGS.micro_batch_size), n_rows]).tolist()"),
    ),
    "one_of_two_best": train(
        RIGHT, "(jax.lax.top_k(logits, 2)[1] == labels[:, None]).any(axis=-1)"
    ),
    "least_likely": train(RIGHT, RIGHT.replace("argmax", "argmin")),
    "resumed_steps_lost": runtime("state", COUNT, COUNT.replace("state.updates", "0")),
    "labels_as_booleans": train(
        BATCH, f'    batch = batch | {{"labels": batch["labels"].astype(bool)}}\n{BATCH}'
    ),
    "losses_summed_in_half": train("np.zeros(2), 0", "np.zeros(2, np.float16), 0"),
    "resumed_steps_windows": runtime("state", COUNT, COUNT.replace("updates", "windows")),
    "resumed_step_behind": runtime("state", COUNT, COUNT.replace("updates", "updates - 1")),
}
