"""What users call targets: a table for hints."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.recipe.suggestions import suggest

OTHER_NAMES = {
    "torch": "pytorch pt torch2 libtorch py_torch native_amp torch.amp",
    "tensorflow": "tf tf2 tensorflow2 tensorflow_cpu tensorflow_gpu keras tf.keras tf_keras keras3",
    "paddle": "paddlepaddle paddlepaddle_gpu pp paddle3 paddle2 fluid",
    "jax": "flax nnx optax jax_flax flax_nnx linen",
    "transformers": "huggingface hugging_face hf trainer hf_trainer",
    "lightning": "pl pytorch_lightning pytorchlightning ptl lightning.pytorch",
    "fabric": "lightning_fabric lightning.fabric",
    "deepspeed": "ds zero",
    "paddlenlp": "paddle_nlp erniekit",
}
"""Name of a backend and other names for it, separated by spaces: in lower case, `_` for `-`."""


def backend_meant(name: str, installed: Iterable[str]) -> str:
    """Return the installed backend that another name most likely means; empty if there is none."""
    known = list(installed)
    word = name.strip().lower().replace("-", "_").replace(" ", "_")
    for backend, names in OTHER_NAMES.items():
        if backend in known and word in names.split():
            return backend
    return suggest(name, known) or ""
