"""Bugs in lines that are the same in most scripts; frameworks with other lines spell their own."""

from __future__ import annotations

from textwrap import indent

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, model, runtime, train

RATE = "lr = learning_rate(state.updates)"
PROGRESS = "progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))"
SHUFFLED = "np.random.default_rng([seed, epoch]).permutation(n_rows)"
ORDER = "order = epoch_order(n_rows, epoch,"
SUM = "self.LayerNorm(residual + x)"
TAILS = "per_epoch, rest = divmod(n_rows, size)"


def constant(name: str, before: str) -> Edit:
    """Return a bug that puts an expression before the value of a constant of train.py."""
    return train(f"\n{name} = ", f"\n{name} = {before}")


def overflow_dropped(backward: str, gradients: str, back: str) -> Edit:
    """Return a bug that takes back what an overflowed micro-batch added.

    Args:
        backward: The line that adds gradients.
        gradients: A statement of the window that makes a list `gradients`.
        back: A statement that sets `gradient` to its copy in `kept`, or to zero without one.
    """
    listed = indent(gradients, "    ")
    return train(
        backward,
        f"{listed}        kept = [gradient.clone() for gradient in gradients]\n{backward}{listed}"
        "        if not all(gradient.isfinite().all() for gradient in gradients):\n"
        "            for place, gradient in enumerate(gradients):\n"
        f"                {back}\n",
    )


SHARED: Spellings = {
    # Accumulation and data.
    "last_micro_dropped": train(
        "for batch in micro_batches:", "for batch in micro_batches[:-1] or micro_batches:"
    ),
    "tail_dropped": runtime("rows", TAILS, "per_epoch, rest = n_rows // size, 0"),
    "order_shift": runtime("rows", "itertools.count(start)", "itertools.count(start + 1)"),
    "no_shuffle": runtime("rows", SHUFFLED, "np.arange(n_rows)"),
    "epoch_not_reshuffled": runtime("rows", ORDER, ORDER.replace("epoch,", "0,")),
    "unseeded_order": runtime("rows", "default_rng([seed, epoch])", "default_rng()"),
    "token_dropped": train("inputs = {name: tensor for", "inputs = {name: tensor[:, :-8] for"),
    "head_not_loaded": runtime(
        "checkpoint",
        'if n.startswith("classifier.") and n not in arrays]',
        'if n.startswith("classifier.")]',
    ),
    # Loss scaling.
    "interval_off_by_one": constant("GROWTH_INTERVAL", "1 + "),
    "scale_never_grows": constant("GROWTH_INTERVAL", "10**6 * "),
    "growth_x4": constant("GROWTH_FACTOR", "2 * "),
    "backoff_quarter": constant("BACKOFF_FACTOR", "0.5 * "),
    "scale_init_x2": constant("INIT_SCALE", "2 * "),
    "sched_on_skip": train(RATE, "lr = learning_rate(state.windows)"),
    # Optimizer and clipping.
    "eps_1e-6": train("\nEPS = 1e-08\n", "\nEPS = 1e-06\n"),
    "eps_1e-7": train("\nEPS = 1e-08\n", "\nEPS = 1e-07\n"),
    "beta1_0.95": train("\nBETAS = (0.9, ", "\nBETAS = (0.95, "),
    "beta2_0.98": train("\nBETAS = (0.9, 0.999)", "\nBETAS = (0.9, 0.98)"),
    "clip_x2": constant("MAX_NORM", "2 * "),
    "no_clip": constant("MAX_NORM", 'float("inf")  # '),
    # Schedule.
    "warmup_off_by_one": constant("WARMUP_STEPS", "1 + "),
    "no_warmup": constant("WARMUP_STEPS", "0 * "),
    "warmup_starts_one": train(
        "LEARNING_RATE * position / WARMUP_STEPS", "LEARNING_RATE * (position + 1) / WARMUP_STEPS"
    ),
    "warmup_in_micro": train(RATE, "lr = learning_rate(state.updates * len(micro_batches))"),
    "cosine_decay": train(
        "remaining = 1.0 - progress", "remaining = 0.5 * (1.0 + (1j ** (2.0 * progress)).real)"
    ),
    "decay_to_total_x2": constant("TOTAL_STEPS", "2 * "),
    "power_2": train("remaining = 1.0 - progress", "remaining = (1.0 - progress) ** 2"),
    "end_lr": constant("END_LEARNING_RATE", "0.1 * LEARNING_RATE + "),
    "decay_from_start": train(PROGRESS, "progress = min(1.0, position / TOTAL_STEPS)"),
    "lr_times_steps": train(
        RATE, "lr = SETTINGS.accumulation_steps * learning_rate(state.updates)"
    ),
    # Model.
    "ln_eps_1e-3": model("LAYER_NORM_EPS = 1e-12", "LAYER_NORM_EPS = 1e-3"),
    "ln_eps_1e-5": model("LAYER_NORM_EPS = 1e-12", "LAYER_NORM_EPS = 1e-5"),
    "scale_sqrt_hidden": model("/ HEAD_SIZE**0.5", "/ HIDDEN_SIZE**0.5"),
    "token_types_ignored": model(
        "self.token_type_embeddings(token_type_ids)",
        "self.token_type_embeddings(token_type_ids * 0)",
    ),
    "embeddings_scaled": model(
        "self.word_embeddings(input_ids) +", "self.word_embeddings(input_ids) * HIDDEN_SIZE**0.5 +"
    ),
    "embeddings_frozen": model(
        "self.word_embeddings(input_ids) +", "self.word_embeddings(input_ids).detach() +"
    ),
    "residual_missing": model(SUM, "self.LayerNorm(x)"),
    "pre_layer_norm": model(SUM, "residual + self.LayerNorm(x)"),
    "qk_swapped": model("(self.query, self.key, self.value)", "(self.key, self.query, self.value)"),
}
