"""What all runs share: the batches and the weights, drawn once, outside every framework."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosscast.data.npz import Dataset
from crosscast.data.synthetic import Split, nli_synthetic
from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe import BertModel, NpzData, Recipe, SyntheticData
from crosscast_parity.weights import bert_weights, perturb, save

SPLITS: tuple[Split, Split] = ("train", "eval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files that the runs read. `twins`: one perturbed set of weights per twin."""

    train: Path
    eval: Path
    weights: Path
    twins: tuple[Path, ...]


def refuse_incomparable(recipe: Recipe) -> BertModel:
    """Return the model section of a recipe whose runs can be compared step by step.

    Raises:
        DiagnosticError: CC703 for dropout, CC704 for a model or launch the harness cannot run.
    """
    model = recipe.model
    if not isinstance(model, BertModel):
        raise _refuse(
            "CC704",
            "model.kind",
            "the harness cannot give a custom model the same weights in every framework",
            "compare the recipe with model.kind: bert",
        )
    if model.dropout > 0:
        raise _refuse(
            "CC703",
            "model.dropout",
            f"dropout is {model.dropout:g}; every framework draws other masks, so runs cannot be"
            " compared step by step",
            "set model.dropout: 0.0",
        )
    if recipe.processes > 1:
        raise _refuse(
            "CC704",
            "distributed.processes_per_node",
            f"the harness runs one process per target, the recipe asks for {recipe.processes}",
            "set distributed.strategy: none and keep batch.global_batch_size",
        )
    return model


def _refuse(code: str, path: str, message: str, hint: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic(code=code, path=path, message=message, hint=hint))


def write_inputs(recipe: Recipe, folder: Path, twins: int) -> Inputs:
    """Write batches and weights for a recipe below `folder`.

    Synthetic rows are drawn from the recipe's seed; npz rows are used where they are, relative to
    the working directory.
    """
    model = refuse_incomparable(recipe)
    train, evaluation = _data(recipe, model, folder)
    weights = bert_weights(model, recipe.seed, model.init_std)
    paths = (
        folder / "weights.safetensors",
        *(folder / f"twin-{n}.safetensors" for n in range(twins)),
    )
    save(paths[0], weights)
    for number, path in enumerate(paths[1:]):
        save(path, perturb(weights, seed=recipe.seed + 1 + number))
    return Inputs(train=train, eval=evaluation, weights=paths[0], twins=paths[1:])


def _data(recipe: Recipe, model: BertModel, folder: Path) -> tuple[Path, Path]:
    if isinstance(recipe.data, NpzData):
        paths = (Path(recipe.data.train).absolute(), Path(recipe.data.eval).absolute())
        for path in paths:
            Dataset.load(path)  # a bad file is one message here, not a failure in every run
        return paths
    return _synthetic(recipe, recipe.data, model, folder)


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
