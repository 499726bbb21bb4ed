"""Bugs in lines that are the same in the scripts of every framework."""

from __future__ import annotations

from crosscast_parity.self_test.mutation import Mutation
from mutants.spelling import model, runtime, train, written

RATE = "lr = learning_rate(state.updates)"
PROGRESS = "progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))"
SHUFFLED = "np.random.default_rng([seed, epoch]).permutation(n_rows)"
ORDER = "order = epoch_order(n_rows, epoch,"
TAILS = "per_epoch, rest = divmod(n_rows, size)"


def constant(name: str, bug: str, before: str) -> Mutation:
    """Return a bug that puts an expression before the value of a constant of train.py."""
    return written(bug, train(f"\n{name} = ", f"\n{name} = {before}"))


SHARED: tuple[Mutation, ...] = (
    # Accumulation and data.
    written(
        "last_micro_dropped",
        train("for batch in micro_batches:", "for batch in micro_batches[:-1] or micro_batches:"),
    ),
    written("tail_dropped", runtime("rows", TAILS, "per_epoch, rest = n_rows // size, 0")),
    written("order_shift", runtime("rows", "itertools.count(start)", "itertools.count(start + 1)")),
    written("no_shuffle", runtime("rows", SHUFFLED, "np.arange(n_rows)")),
    written("epoch_not_reshuffled", runtime("rows", ORDER, ORDER.replace("epoch,", "0,"))),
    written("unseeded_order", runtime("rows", "default_rng([seed, epoch])", "default_rng()")),
    written(
        "token_dropped", train("inputs = {name: tensor for", "inputs = {name: tensor[:, :-8] for")
    ),
    written(
        "head_not_loaded",
        runtime(
            "checkpoint",
            'if n.startswith("classifier.") and n not in arrays]',
            'if n.startswith("classifier.")]',
        ),
    ),
    # Loss scaling.
    constant("GROWTH_INTERVAL", "interval_off_by_one", "1 + "),
    constant("GROWTH_INTERVAL", "scale_never_grows", "10**6 * "),
    constant("GROWTH_FACTOR", "growth_x4", "2 * "),
    constant("BACKOFF_FACTOR", "backoff_quarter", "0.5 * "),
    constant("INIT_SCALE", "scale_init_x2", "2 * "),
    written("sched_on_skip", train(RATE, "lr = learning_rate(state.windows)")),
    # Optimizer and clipping.
    written("eps_1e-6", train("\nEPS = 1e-08\n", "\nEPS = 1e-06\n")),
    written("eps_1e-7", train("\nEPS = 1e-08\n", "\nEPS = 1e-07\n")),
    written("beta1_0.95", train("\nBETAS = (0.9, ", "\nBETAS = (0.95, ")),
    written("beta2_0.98", train("\nBETAS = (0.9, 0.999)", "\nBETAS = (0.9, 0.98)")),
    constant("MAX_NORM", "clip_x2", "2 * "),
    constant("MAX_NORM", "no_clip", 'float("inf")  # '),
    # Schedule.
    constant("WARMUP_STEPS", "warmup_off_by_one", "1 + "),
    constant("WARMUP_STEPS", "no_warmup", "0 * "),
    written(
        "warmup_starts_one",
        train(
            "LEARNING_RATE * position / WARMUP_STEPS",
            "LEARNING_RATE * (position + 1) / WARMUP_STEPS",
        ),
    ),
    written(
        "warmup_in_micro", train(RATE, "lr = learning_rate(state.updates * len(micro_batches))")
    ),
    written(
        "cosine_decay",
        train(
            "remaining = 1.0 - progress",
            "remaining = 0.5 * (1.0 + (1j ** (2.0 * progress)).real)",
        ),
    ),
    constant("TOTAL_STEPS", "decay_to_total_x2", "2 * "),
    written("power_2", train("remaining = 1.0 - progress", "remaining = (1.0 - progress) ** 2")),
    constant("END_LEARNING_RATE", "end_lr", "0.1 * LEARNING_RATE + "),
    written("decay_from_start", train(PROGRESS, "progress = min(1.0, position / TOTAL_STEPS)")),
    written(
        "lr_times_steps",
        train(RATE, "lr = SETTINGS.accumulation_steps * learning_rate(state.updates)"),
    ),
    # Model.
    written("ln_eps_1e-3", model("LAYER_NORM_EPS = 1e-12", "LAYER_NORM_EPS = 1e-3")),
    written("ln_eps_1e-5", model("LAYER_NORM_EPS = 1e-12", "LAYER_NORM_EPS = 1e-5")),
    written("scale_sqrt_hidden", model("/ HEAD_SIZE**0.5", "/ HIDDEN_SIZE**0.5")),
    written(
        "token_types_ignored",
        model(
            "self.token_type_embeddings(token_type_ids)",
            "self.token_type_embeddings(token_type_ids * 0)",
        ),
    ),
    written(
        "embeddings_scaled",
        model(
            "self.word_embeddings(input_ids) +",
            "self.word_embeddings(input_ids) * HIDDEN_SIZE**0.5 +",
        ),
    ),
    written(
        "qk_swapped",
        model("(self.query, self.key, self.value)", "(self.key, self.query, self.value)"),
    ),
)
