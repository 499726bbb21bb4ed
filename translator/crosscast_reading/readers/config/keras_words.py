"""Words that only configurations of TensorFlow programs have, where the program is not read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree

_KEYS = frozenset(
    (
        *("kernel_initializer", "kernel_regularizer", "kernel_constraint"),
        *("bias_initializer", "bias_regularizer", "clipnorm", "global_clipnorm"),
    )
)
"""Arguments of Keras' layers and optimizers that no other library calls so."""
_VALUES = re.compile(
    r"mixed_b?float16|PiecewiseConstantDecay|piecewise_constant_decay|CosineDecayRestarts"
    r"|(tf|tensorflow)\.(keras|train|compat)\.[\w.]+"
    r"|TF[A-Z][a-z]\w{0,60}(Model|For[A-Z]\w{1,60})"
)
"""Policies and schedules of Keras, names in TensorFlow, TensorFlow models of Transformers."""


def tell_tensorflow(writer: SettingWriter, tree: Tree) -> None:
    """Record that TensorFlow trains, if a key or value is a word of its own."""
    word = next(_words(tree), None)
    if word is not None:
        before = writer.confidence
        writer.confidence = "likely"
        writer.tell("framework", "tensorflow", word, origin="presence")
        writer.confidence = before


def _words(tree: Tree) -> Iterator[Setting]:
    for part in tree.walk():
        for key, entry in (part.keys or {}).items():
            if str(key) in _KEYS or _VALUES.fullmatch(entry.text):
                yield entry.as_setting(str(key))
