"""Bugs in what a run leaves: in lines that are the same in the scripts of every framework."""

from __future__ import annotations

from crosscast_parity.self_test.mutation import Mutation
from mutants.spelling import train, written

HALF = "a.astype(np.float16)"
FILE = 'save_arrays(args.output / "model.safetensors", model_arrays(state))'
AVERAGES_FILE = 'save_arrays(args.output / "ema.safetensors", averaged)'
AVERAGED = "averaged = weights | ema_arrays(state)"
TRAIN = "            row = train_window(state, micro_batches, micro_batch_loss)\n"
END = "    return evaluate(state, eval_rows) |"
MODEL = '{f"model/{name}": array for name, array in model_arrays(state).items()}'
MOMENTS = 'arrays |= {f"optimizer/{name}": a for name, a in optimizer_arrays(state).items()}'
UPDATES = '"updates": state.updates, "rows"'
BATCHES = "for i in range(0, n_rows, MICRO_BATCH_SIZE):"
BEFORE = "            state.old = {{n: a.copy() for n, a in {}(state).items()}}\n"
MEANS = "-(-n_rows // MICRO_BATCH_SIZE)"
"""Number of batches of an evaluation."""


CUT = """\
    order = np.random.default_rng(SEED).permutation(len(eval_rows["labels"]))
    order = order[:-MICRO_BATCH_SIZE]
    eval_rows = {name: array[order] for name, array in eval_rows.items()}
"""
FEWER = """\
    count = (len(eval_rows["labels"]) - 1) // MICRO_BATCH_SIZE * MICRO_BATCH_SIZE
    eval_rows = {name: array[:count] for name, array in eval_rows.items()}
"""


def of_each(value: str) -> str:
    """Return the weights with another value in place of each array `a`."""
    return f"{{n: {value} for n, a in model_arrays(state).items()}}"


def file(name: str, arrays: str, *more: tuple[str, str]) -> Mutation:
    """Return a bug that writes other arrays into model.safetensors."""
    edits = [train(FILE, FILE.replace("model_arrays(state)", arrays))]
    return written(name, [*edits, *(train(old, new) for old, new in more)])


PRODUCTS: tuple[Mutation, ...] = (
    file("file_of_averages", "model_arrays(state) | ema_arrays(state)"),
    file("file_rounded", of_each(f"{HALF}.astype(np.float32)")),
    file("file_in_half", of_each(HALF)),
    file("file_transposed", of_each("a.T if a.shape == a.T.shape else a")),
    file("file_one_window_old", "state.old", (TRAIN, BEFORE.format("model_arrays") + TRAIN)),
    file(
        "file_without_head",
        '{n: a for n, a in model_arrays(state).items() if not n.startswith("classifier.")}',
    ),
    written(
        "averages_file_plain",
        train(AVERAGES_FILE, AVERAGES_FILE.replace("averaged", "averaged | weights")),
    ),
    written(
        "averages_file_moved",
        train(
            AVERAGED,
            "averaged = {n: EMA_DECAY * a + (1.0 - EMA_DECAY) * weights[n]"
            " for n, a in ema_arrays(state).items()}",
        ),
    ),
    written(
        "averages_not_evaluated",
        train("restore_model(state, averaged)\n", "restore_model(state, weights)\n"),
    ),
    written(
        "checkpoint_of_averages",
        train(MODEL, MODEL.replace("model_arrays(state)", "ema_arrays(state)")),
    ),
    written(
        "checkpoint_rounded",
        train(MODEL, MODEL.replace(": array for", ": np.float32(np.float16(array)) for")),
    ),
    written(
        "checkpoint_stale_moments",
        [
            train(TRAIN, BEFORE.format("optimizer_arrays") + TRAIN),
            train(MOMENTS, MOMENTS.replace("optimizer_arrays(state)", "state.old")),
        ],
    ),
    written("checkpoint_no_moments", train(MOMENTS, MOMENTS.replace(": a for", ": 0 * a for"))),
    written(
        "resumed_averages_lost",
        train("restore_ema(state, averages)", "restore_ema(state, model_arrays(state))"),
    ),
    written(
        "resumed_rows_again",
        train("windows = batches(train_rows, state.windows)", "windows = batches(train_rows)"),
    ),
    written(
        "checkpoint_all_updates",
        train(UPDATES, UPDATES.replace("state.updates", "state.windows")),
    ),
    written(
        "evaluated_in_half",
        train(END, f"    restore_model(state, {of_each(f'{HALF}.astype(np.float32)')})\n{END}"),
    ),
    written(
        "short_batch_not_evaluated",
        train(BATCHES, BATCHES.replace("n_rows,", "n_rows - MICRO_BATCH_SIZE + 1,")),
    ),
    written("last_batch_not_evaluated", train(END, FEWER + END)),
    written("evaluated_on_training_rows", train(END, END.replace("eval_rows", "train_rows"))),
    file(
        "file_one_stale",
        "model_arrays(state) | dict([list(state.old.items())[-1]])",
        (TRAIN, BEFORE.format("model_arrays") + TRAIN),
    ),
    written(
        "resumed_epochs_again",
        train(
            "windows = batches(train_rows, state.windows)",
            "windows = batches(train_rows, state.windows % -(-n_rows // GLOBAL_BATCH_SIZE))",
        ),
    ),
    written("shuffled_and_cut", train(END, CUT + END)),
    written(
        "averages_evaluated_short",
        train(
            "result = evaluate(state, rows)\n",
            "result = evaluate(state, {name: array[:-1] for name, array in rows.items()})\n",
        ),
    ),
)
