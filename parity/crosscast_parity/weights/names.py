"""Names of tensors as words that mean the same in every framework."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SAME = {
    "attn": "attention",
    "att": "attention",
    "beta": "bias",
    "dense": "linear",
    "downsample": "shortcut",
    "emb": "embedding",
    "embed": "embedding",
    "embeddings": "embedding",
    "fc": "linear",
    "gamma": "scale",
    "k": "key",
    "kernel": "weight",
    "layernorm": "norm",
    "ln": "norm",
    "mha": "attention",
    "moving": "running",
    "normalization": "norm",
    "out": "output",
    "pos": "position",
    "positional": "position",
    "q": "query",
    "tok": "token",
    "v": "value",
    "var": "variance",
}
_NOISE = {"proj", "projection", "module", "model", "d", "l"}
_PLURAL = {"layers": "layer", "blocks": "block", "heads": "head", "tokens": "token"}


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name: `net/encoder_0/q_proj/kernel` is encoder, 0, query, weight."""
    normalized = []
    for word in _WORD.findall(name):
        low = word.lower()
        low = _PLURAL.get(low, low)
        low = _SAME.get(low, low)
        if low not in _NOISE:
            normalized.append(low)
    return tuple(normalized)


def without_common(names: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return names without the first words that all of them have, such as that of the model."""
    shortest = min(map(len, names), default=1)
    common = 0
    while common < shortest - 1 and len({name[common] for name in names}) == 1:
        common += 1
    return [name[common:] for name in names]
