"""Suggest corrections: similar names, and terms used by other tools."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import field_names
from crosscast.recipe.yaml_source import PathKey

# Terms of other tools, used only for suggestions.
_SYNONYMS = {
    "fp16": "float16",
    "half": "float16",
    "16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "lr": "learning_rate",
    "wd": "weight_decay",
    "gradient_accumulation_steps": "steps",
    "accumulate_grad_batches": "steps",
    "max_grad_norm": "max_norm",
    "adam_epsilon": "eps",
    "epsilon": "eps",
    "mixed_precision": "precision",
    "scheduler": "schedule",
    "loss_scale": "loss_scaling",
    "grad_clip": "clipping",
    "clip": "clipping",
    "max_steps": "total_steps",
    "batch_size": "micro_batch_size",
}


def suggest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice the user most likely meant, or None."""
    options = list(choices)
    synonym = _SYNONYMS.get(word.lower())
    if synonym in options:
        return synonym
    near = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.6)
    return near[0] if near else None


def suggest_field(path: PathKey, data: Any) -> str:
    """Return the dotted path of the field that an unknown one most likely means, or ""."""
    *parent, word = map(str, path)
    near = suggest(word, field_names(tuple(parent), data))
    if near:
        return ".".join((*parent, near))
    wanted = {word, _SYNONYMS.get(word.lower())}
    for section in Recipe.SECTIONS:  # the right name in the wrong place
        for name in field_names((section,), data):
            if name in wanted:
                return f"{section}.{name}"
    return ""
