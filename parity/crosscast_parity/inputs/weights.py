"""Model weights for parity runs: drawn here with NumPy, so every framework starts from the same.

Weights are a dictionary from canonical Hugging Face BERT name to a float32 array in canonical
layout (dense kernels are (out, in)). They travel between processes as safetensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.output import new_file_mode
from crosscast.recipe.bert_shapes import ModelSizes, bert_shapes
from crosscast_parity.recordings.left_files import FLOATS

Weights = dict[str, np.ndarray]
Style = Literal["bert", "stress"]

_STRESS_EMBEDDING_STD = 0.5
_STRESS_SPREAD = 0.2


def bert_weights(
    spec: ModelSizes, seed: int, init_std: float = 0.02, style: Style = "bert"
) -> Weights:
    """Draw weights for a BERT classifier.

    `bert`: kernels and embeddings N(0, init_std), biases 0, LayerNorm 1 and 0. `stress` (ignores
    `init_std`): embeddings N(0, 0.5), kernels N(0, 1/sqrt(fan in)), LayerNorm weights
    N(1, 0.2), all biases N(0, 0.2). Activations are near 1 then, which makes a wrong GELU or a
    missing bias visible; the small variances of `bert` show a wrong LayerNorm epsilon.
    """
    rng = np.random.default_rng(seed)
    weights: Weights = {}
    for name, shape in bert_shapes(spec).items():
        mean, std = (
            _bert_moments(name, init_std) if style == "bert" else _stress_moments(name, shape)
        )
        weights[name] = (mean + std * rng.standard_normal(shape)).astype(np.float32)
    return weights


def _bert_moments(name: str, init_std: float) -> tuple[float, float]:
    if name.endswith("LayerNorm.weight"):
        return 1.0, 0.0
    return 0.0, 0.0 if name.endswith(".bias") else init_std


def _stress_moments(name: str, shape: tuple[int, ...]) -> tuple[float, float]:
    if name.endswith("LayerNorm.weight"):
        return 1.0, _STRESS_SPREAD
    if name.endswith(".bias"):
        return 0.0, _STRESS_SPREAD
    if name.endswith("_embeddings.weight"):
        return 0.0, _STRESS_EMBEDDING_STD
    return 0.0, float(shape[1]) ** -0.5


def perturb(weights: Mapping[str, np.ndarray], seed: int, relative: float = 1e-7) -> Weights:
    """Return the weights times `1 + relative * N(0, 1)`, rounded to float32 once.

    At the default most entries move by no or one unit in the last place; zeros stay zero.
    """
    rng = np.random.default_rng(seed)
    return {
        name: (array * (1.0 + relative * rng.standard_normal(array.shape))).astype(np.float32)
        for name, array in weights.items()
    }


def save(path: Path, weights: Mapping[str, np.ndarray]) -> None:
    """Write weights as a safetensors file.

    Raises:
        DiagnosticError: CC502 if the file cannot be written.
    """
    try:
        save_file({name: np.asarray(array, order="C") for name, array in weights.items()}, path)
        path.chmod(new_file_mode())  # save_file lets only the user read
    except (OSError, SafetensorError) as error:
        raise _failure("CC502", path, f"cannot be written: {error}") from error


def load(path: Path, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Weights:
    """Read the float32 weights of a safetensors file; a custom model may have counters beside them.

    With `shapes` (see `bert_shapes`) the file must hold exactly these parameters.

    Raises:
        DiagnosticError: CC710 if the file is missing, unreadable or not safetensors; CC711 if a
            tensor is not float32, not finite, missing, unknown or of another shape.
    """
    if not path.is_file():
        raise _failure("CC710", path, "is not a file")
    try:
        with safe_open(path, framework="numpy") as file:
            dtypes = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
            names = [name for name, dtype in dtypes.items() if dtype.startswith(FLOATS)]
            problems = _dtype_problems({name: dtypes[name] for name in names})
            if problems:
                raise _failure("CC711", path, problems)
            weights: Weights = {name: file.get_tensor(name) for name in names}
    except (OSError, SafetensorError) as error:
        raise _failure("CC710", path, f"cannot be read: {error}") from error
    problems = _content_problems(weights, shapes)
    if problems:
        raise _failure("CC711", path, problems)
    return weights


def _dtype_problems(dtypes: Mapping[str, str]) -> str:
    if not dtypes:
        return "holds no tensors"
    return _first(f"{name} is {dtype}, not F32" for name, dtype in dtypes.items() if dtype != "F32")


def _content_problems(
    weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]] | None
) -> str:
    problems = [
        f"{name} holds inf or nan"
        for name, array in weights.items()
        if not np.isfinite(array).all()
    ]
    if shapes is not None:
        problems += [f"{name} is missing" for name in shapes if name not in weights]
        for name, array in weights.items():
            if name not in shapes:
                problems.append(f"{name} is not a parameter of the model")
            elif array.shape != shapes[name]:
                problems.append(f"{name} has shape {array.shape}, the model {shapes[name]}")
    return _first(problems)


def _first(problems: Iterable[str], limit: int = 3) -> str:
    """Return the first problems as one line, empty if there is none."""
    texts = list(problems)
    more = f"; {len(texts) - limit} more" if len(texts) > limit else ""
    return "; ".join(texts[:limit]) + more


def _failure(code: str, path: Path, problem: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic(code=code, message=f"{path}: {problem}"))
