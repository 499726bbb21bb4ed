"""Bugs in what a run leaves: in lines that are the same in most scripts, as in `shared_bugs`."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, runtime, train

HALF = 'a.astype("float16")'
ROUNDED = f'{HALF}.astype("float32")'
FILE = 'self.save("model.safetensors", weights)'
AVERAGES_FILE = 'self.save("ema.safetensors", averaged)'
AVERAGED = "averaged = weights | ema_arrays(state)"
MOVED = "averaged = {n: 0.9 * a + 0.1 * weights[n] for n, a in ema_arrays(state).items()}"
"""By the decay of the recipe, which the runtime does not know."""
EVALUATED = "        result = evaluate(state, self.eval_batches())\n"
AVERAGES_EVALUATED = "averages = evaluate(state, self.eval_batches())"
END = "    return run.finish(state, evaluate)\n"
MODEL = '{f"model/{name}": array for name, array in model_arrays(state).items()}'
MOMENTS = 'arrays |= {f"optimizer/{name}": array for name, array in moments.items()}'
UPDATES = '"updates": state.updates}'
RESUMED = "windows = row_numbers(len(rows), self.settings, first, self.rank)"
BATCHES = "for i in range(0, n_rows, size):"
TRAINING_ROWS = "open_both(*2 * [self.args.train], self.settings, self.args.output)[0]"
SHORT = "({n: array[1:] for n, array in batch.items()} for batch in self.eval_batches())"
LOOP = "                yield list(itertools.islice(batches, len(window)))\n"
BEFORE = """\
                self.state.old = {{n: a.copy() for n, a in {}(self.state).items()}}
"""
IMPORTS = "from .state import TrainState, ema_arrays, model_arrays,"
RETURNED = '"loss": loss / n_rows'
MEANS = '"loss": loss / -(-n_rows // SETTINGS.micro_batch_size)'
"""The mean of the means of batches, not of rows."""


CUT = """\
    arrays, size = run.eval_rows.arrays, SETTINGS.micro_batch_size
    order = arrays["labels"].argsort()[:-size]
    run.eval_rows.arrays = {name: array[order] for name, array in arrays.items()}
"""
FEWER = """\
    arrays, size = run.eval_rows.arrays, SETTINGS.micro_batch_size
    count = (len(run.eval_rows) - 1) // size * size
    run.eval_rows.arrays = {name: array[:count] for name, array in arrays.items()}
"""


def of_each(value: str) -> str:
    """Return the weights with another value in place of each array `a`."""
    return f"{{n: {value} for n, a in weights.items()}}"


def file(arrays: str, *more: Edit) -> Sequence[Edit]:
    """Return a bug that writes other arrays into model.safetensors."""
    return [runtime("run", FILE, FILE.replace("weights", arrays)), *more]


def before(arrays: str) -> Edit:
    """Return an edit that keeps the arrays before every window as `state.old`."""
    return runtime("run", LOOP, BEFORE.format(arrays) + LOOP)


PRODUCTS: Spellings = {
    "dropout_in_evaluation": train("    model.eval()\n", ""),
    "checkpoint_no_growth": runtime("state", '"good": machine.good', '"good": 0'),
    "file_of_averages": file("weights | ema_arrays(state)"),
    "file_rounded": file(of_each(ROUNDED)),
    "file_in_half": file(of_each(HALF)),
    "file_transposed": file(of_each("a.T if a.shape == a.T.shape else a")),
    "file_one_window_old": file("state.old", before("model_arrays")),
    "file_without_head": file(
        '{n: a for n, a in weights.items() if not n.startswith("classifier.")}'
    ),
    "averages_file_plain": runtime(
        "run", AVERAGES_FILE, AVERAGES_FILE.replace("averaged", "averaged | weights")
    ),
    "averages_file_moved": runtime("run", AVERAGED, MOVED),
    "averages_not_evaluated": runtime(
        "run", "restore_model(state, averaged)\n", "restore_model(state, weights)\n"
    ),
    "checkpoint_of_averages": runtime(
        "checkpoint", MODEL, MODEL.replace("model_arrays(state)", "ema_arrays(state)")
    ),
    "checkpoint_rounded": runtime(
        "checkpoint", MODEL, MODEL.replace(": array for", ": np.float32(np.float16(array)) for")
    ),
    "checkpoint_stale_moments": [
        runtime("run", IMPORTS, f"{IMPORTS} optimizer_arrays,"),
        before("optimizer_arrays"),
        runtime("checkpoint", "moments = optimizer_arrays(state)\n", "moments = state.old\n"),
    ],
    "checkpoint_no_moments": runtime(
        "checkpoint", MOMENTS, MOMENTS.replace(": array for", ": 0 * array for")
    ),
    "resumed_averages_lost": runtime(
        "checkpoint",
        'restore_ema(state, part_of(arrays, "ema/"))',
        "restore_ema(state, model_arrays(state))",
    ),
    "resumed_rows_again": runtime("run", RESUMED, RESUMED.replace("first", "0")),
    "checkpoint_all_updates": runtime(
        "checkpoint", UPDATES, UPDATES.replace("state.updates", "state.windows")
    ),
    "evaluated_in_half": runtime(
        "run", EVALUATED, f"        restore_model(state, {of_each(ROUNDED)})\n{EVALUATED}"
    ),
    "short_batch_not_evaluated": runtime(
        "rows", BATCHES, BATCHES.replace("n_rows,", "n_rows - size + 1,")
    ),
    "last_batch_not_evaluated": train(END, FEWER + END),
    "evaluated_on_training_rows": runtime(
        "run", EVALUATED, f"        self.eval_rows = {TRAINING_ROWS}\n{EVALUATED}"
    ),
    "file_one_stale": file("weights | dict([list(state.old.items())[-1]])", before("model_arrays")),
    "resumed_epochs_again": runtime(
        "run",
        RESUMED,
        RESUMED.replace("first", "first % -(-self.n_rows // self.settings.global_batch_size)"),
    ),
    "shuffled_and_cut": train(END, CUT + END),
    "averages_evaluated_short": runtime(
        "run", AVERAGES_EVALUATED, AVERAGES_EVALUATED.replace("self.eval_batches()", SHORT)
    ),
}
