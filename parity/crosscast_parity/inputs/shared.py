"""What all runs share: the batches and the weights, drawn once, outside every framework."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crosscast.data.npz import ARRAYS, UNLABELLED, Dataset, read_arrays
from crosscast.data.synthetic import Split, nli_synthetic
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import BertModel, Recipe, SyntheticData
from crosscast.recipe.predicates import by_tokens
from crosscast_parity.inputs.stored import stored_rows
from crosscast_parity.inputs.weights import bert_weights, perturb, save
from crosscast_parity.recipes.derived import bert_of, weights_of
from crosscast_parity.recipes.window_rows import brief_rows

FEW_ROWS = 8
SPLITS: tuple[Split, Split] = ("train", "eval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files that the runs read: rows, weights as BERT starts, weights under stress (see
    `bert_weights`), and one perturbed set of the first for every twin.

    `brief`: rows of `train` for an epoch of two windows. `few`: some rows of `eval`, for runs whose
    evaluation is of no interest. `held`: some whose last micro-batch is short. `shifted`: of a
    custom model the weights, and those under stress, moved by more than frameworks round. `count`:
    of the model's weights; 0 of the toy, whose number is known.
    """

    train: Path
    brief: Path
    eval: Path
    few: Path
    held: Path
    weights: Path
    stress: Path
    twins: tuple[Path, ...] = ()
    shifted: tuple[Path, ...] = ()
    count: int = 0

    def of(self, framework: str) -> Inputs:
        """Return the inputs for a framework, whose custom model has names of its own."""

        def own(path: Path) -> Path:
            return path.parents[1] / framework / path.name

        return replace(
            self,
            weights=own(self.weights),
            stress=own(self.stress),
            twins=tuple(map(own, self.twins)),
            shifted=tuple(map(own, self.shifted)),
        )

    @classmethod
    def of_toy(cls, path: Path) -> Inputs:
        """Return the inputs of a run that trains the toy: weights and rows are in one file."""
        return cls(
            train=path, brief=path, eval=path, few=path, held=path, weights=path, stress=path
        )


def write_inputs(recipe: Recipe, folder: Path, twins: int) -> Inputs:
    """Write batches and weights for a recipe below `folder`.

    Synthetic rows are drawn from the recipe's seed. Paths are relative to the working directory;
    npz files are used where they are if they are int32.

    Raises:
        DiagnosticError: CC601 to CC605 for rows that a run would refuse.
    """
    model = bert_of(recipe)
    folder.mkdir(parents=True, exist_ok=True)
    train, evaluation = _data(recipe, model, folder)
    weights = bert_weights(model, recipe.seed, model.init_std)
    stress = bert_weights(model, recipe.seed, model.init_std, "stress")
    paths = (
        folder / "weights.safetensors",
        folder / "stress.safetensors",
        *(folder / f"twin-{n}.safetensors" for n in range(1, twins + 1)),
    )
    save(paths[0], weights)
    save(paths[1], stress)
    for number, path in enumerate(paths[2:]):
        save(path, perturb(weights, seed=recipe.seed + 1 + number))
    rows = Dataset.load(evaluation)
    few, held = shares_of_eval(recipe)
    return Inputs(
        train=train,
        brief=_first(Dataset.load(train), brief_rows(recipe), folder / "brief.npz"),
        eval=evaluation,
        few=_first(rows, few, folder / "few.npz"),
        held=_first(rows, held, folder / "held.npz"),
        weights=paths[0],
        stress=paths[1],
        twins=paths[2:],
        count=weights_of(recipe),
    )


def shares_of_eval(recipe: Recipe) -> tuple[int, int]:
    """Return how many rows of `eval` are `few`, and how many are `held`."""
    micro = recipe.batch.micro_batch_size
    return FEW_ROWS, 2 * micro + -(-micro // 2)


def _first(rows: Dataset, count: int, path: Path) -> Path:
    first = {name: array[:count] for name, array in rows.arrays().items()}
    Dataset(**first).save(path, force=True)
    return path


def _data(recipe: Recipe, model: BertModel, folder: Path) -> tuple[Path, Path]:
    if isinstance(recipe.data, SyntheticData):
        return _synthetic(recipe, recipe.data, model, folder)
    train, evaluation = (
        _checked(stored_rows(recipe, split, folder / "rows"), recipe, folder / f"{split}.npz")
        for split in SPLITS
    )
    return train, evaluation


def _checked(path: Path, recipe: Recipe, copy: Path) -> Path:
    """Return a file of the user's, or a copy of its rows as int32, which contestants may expect.

    A bad file is one message here, not a failure in every run.
    """
    arrays = read_arrays(path, ARRAYS)
    dataset = Dataset.of(arrays, str(path))
    if not by_tokens(recipe) and UNLABELLED in dataset.labels:
        message = f"{path}: labels has {UNLABELLED}, which needs accumulation.normalize_by: token"
        raise DiagnosticError(Diagnostic(code="CC605", message=message))
    if all(array.dtype == np.int32 for array in arrays.values()):
        return path
    dataset.save(copy, force=True)
    return copy


def _synthetic(
    recipe: Recipe, data: SyntheticData, model: BertModel, folder: Path
) -> tuple[Path, Path]:
    rows = {"train": data.train_rows, "eval": data.eval_rows}
    for split in SPLITS:
        dataset = nli_synthetic(
            rows[split], data.sequence_length, model.vocab_size, recipe.seed, split=split
        )
        dataset.save(folder / f"{split}.npz", force=True)
    return folder / "train.npz", folder / "eval.npz"
