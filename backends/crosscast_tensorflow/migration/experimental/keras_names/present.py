"""What the present Keras has, by the index of its public names."""

from __future__ import annotations

from functools import cache

from crosscast_migrate.binding.index import Index

_OLD = "tf_keras"
_KINDS = {
    "model": ("Sequential", "Model"),
    "layer": ("layers.Dense", "layers.LSTM", "layers.Embedding", "layers.BatchNormalization",
              "layers.Conv2D"),
    "optimizer": ("optimizers.Adam", "optimizers.SGD", "optimizers.RMSprop"),
    "metric": ("metrics.Mean", "metrics.Accuracy"),
}  # fmt: skip
_OLD_OPTIMIZERS = ("optimizers.legacy.Adam", "optimizers.legacy.SGD")
"""The optimizers of Keras 2 up to 2.10."""
_METHODS = frozenset(
    ("compile", "fit", "evaluate", "predict", "train_on_batch", "test_on_batch",
     "predict_on_batch", "save", "save_weights", "load_weights", "summary")
)  # fmt: skip
_TAKEN = {"save": ("include_optimizer", "save_format"), "load_weights": ("by_name",)}
"""Method of a model to what a function that it calls takes out of its `**kwargs`."""
_KEPT = frozenset(("inputs",))
"""Members that only some layers of tf_keras have."""


def public(home: str) -> frozenset[str] | None:
    """Return the names of a module in `tensorflow.keras` or `keras`; None if neither has it."""
    both = [_index().names_in(home), _index().names_in(f"tensorflow.{home}")]
    known = [names for names in both if names is not None]
    return frozenset().union(*known) if known else None


def of_tensorflow(home: str) -> frozenset[str]:
    """Return the names of a module that only `tensorflow.keras` has."""
    return (public(home) or frozenset()) - (_index().names_in(home) or frozenset())


def arguments(name: str) -> frozenset[str] | None:
    """Return all arguments of a function or class; None if it takes others, too."""
    if not name.startswith("keras."):
        return None
    whole = f"tensorflow.{name}"
    entry = _index().entry(whole)
    if entry is None:
        whole, entry = name, _index().entry(name)
    taken: set[str] = set()
    for signature in _index().signatures(entry, whole) if entry is not None else [None]:
        if signature is None or signature.takes_any_name:
            return None
        taken |= signature.named
    return frozenset(taken)


def of_method(name: str) -> frozenset[str] | None:
    """Return the arguments of a method of a model; None if it is none that Keras 2 had, too."""
    entry = _index().entry("keras.Model")
    if name not in _METHODS or entry is None:
        return None
    signature = _index().signature(entry, name)
    if signature is None or (signature.takes_any_name and name not in _TAKEN):
        return None
    return signature.named | frozenset(_TAKEN.get(name, ()))


@cache
def gone(kind: str) -> frozenset[str]:
    """Return the members that objects of a kind had in Keras 2 and do not have in Keras 3."""
    before = Index.load("crosscast_tensorflow.names:WITH_TF_KERAS")
    older = (*_KINDS[kind], *(_OLD_OPTIMIZERS if kind == "optimizer" else ()))
    had = frozenset().union(*(before.members(f"{_OLD}.{name}") for name in older))
    has = frozenset().union(*(_index().members(f"keras.{name}") for name in _KINDS[kind]))
    return had - has - _KEPT


def _index() -> Index:
    return Index.load("crosscast_tensorflow.names:NAMES")
