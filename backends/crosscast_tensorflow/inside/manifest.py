"""The operations of a TensorFlow script, seen while its loss is traced (or run eagerly).

Public functions, the operators of tensors, and Keras layers that compute something of one piece.
They are wrapped on top of what the emulation may have put there, so its own casts do not show.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from crosscast_parity.inside.emulate import HALF
from crosscast_parity.inside.manifest import MOST_FRAMES, Patches, Recorder, Tap, canonical
from crosscast_tensorflow.inside import emulate
from crosscast_tensorflow.inside.graph_sources import Sources

FUNCTIONS = emulate.FUNCTIONS | {
    "cast": "cast",
    "nn.sparse_softmax_cross_entropy_with_logits": "cross_entropy",
    "nn.softmax_cross_entropy_with_logits": "cross_entropy",
    "nn.embedding_lookup": "embedding",
    "reduce_logsumexp": "logsumexp",
    "math.reduce_logsumexp": "logsumexp",
}
LAYERS = {
    "LayerNormalization": "layer_norm",
    "BatchNormalization": "batch_norm",
    "GroupNormalization": "group_norm",
    "RMSNormalization": "rms_norm",
    "Embedding": "embedding",
}
COMPOSED = ("gelu", "dropout")
"""Functions that a script may define itself, which are one operation then."""
MOVING = (
    *("reshape", "transpose", "concat", "stack", "unstack", "split", "gather", "where", "squeeze"),
    *("expand_dims", "identity", "tile", "pad", "slice", "strided_slice", "broadcast_to"),
)
KERAS = ("keras", "tf_keras")

kind = emulate.TensorFlowTensors().kind


def autocast() -> str | None:
    """Return the half type of Keras' global policy."""
    keras = next((sys.modules[name] for name in KERAS if name in sys.modules), None)
    for path in ("config.dtype_policy", "mixed_precision.global_policy"):
        function: Any = keras
        for part in path.split("."):
            function = getattr(function, part, None)
        if function is not None:
            compute = function().compute_dtype
            return compute if compute in ("float16", "bfloat16") else None
    return None


def by_policy() -> bool:
    """Whether the layer that is running computes in half: then it casts as its policy does."""
    layers = tuple(sys.modules[name].layers.Layer for name in KERAS if name in sys.modules)
    frame = sys._getframe(1)
    for _ in range(MOST_FRAMES):
        layer = frame.f_locals.get("self")
        if isinstance(layer, layers):
            return getattr(layer, "compute_dtype", None) in HALF
        if frame.f_back is None:
            break
        frame = frame.f_back
    return False


class TensorFlowTap:
    """Wraps the functions that the policy of the emulation knows, operators and layers."""

    def __init__(self) -> None:
        self._patches = Patches()

    def start(self, recorder: Recorder, model: Any) -> None:
        """Wrap them."""
        if self._patches.made:
            return
        recorder.autocast = autocast()
        recorder.by_policy = by_policy
        recorder.lineage.learned = Sources().learned
        weights = getattr(model, "weights", [])
        recorder.frozen = len(getattr(model, "trainable_weights", [])) < len(weights)
        layers: Any = getattr(model, "_flatten_layers", list)()
        recorder.places = {id(layer): getattr(layer, "path", layer.name) for layer in layers}
        for path, name in FUNCTIONS.items():
            *folders, last = path.split(".")
            for root in (tf, tf.compat.v2):
                owner = root
                for folder in folders:
                    owner = getattr(owner, folder)
                self._wrap(recorder, owner, last, canonical(name) or name)
        for path in MOVING:
            for root in (tf, tf.compat.v2):
                self._patches.replace(root, path, _moving(recorder, getattr(root, path)))
        slicing = tf.Tensor.__getitem__
        self._patches.replace(tf.Tensor, "__getitem__", _moving(recorder, slicing))
        for last in dir(tf.Tensor):
            operator = canonical(last) if last.startswith("__") else None
            if operator:
                self._wrap(recorder, tf.Tensor, last, operator)
        for keras in filter(None, map(sys.modules.get, KERAS)):
            for last, name in LAYERS.items():
                layer = getattr(keras.layers, last, None)
                if layer is None:
                    continue
                own = [kind for kind in _subclasses(layer) if "call" in vars(kind)]
                self._patches.replace(layer, "call", _layer(recorder.call, name, layer.call))
                for subclass in own:
                    composed = _layer(recorder.compose, name, subclass.call)
                    self._patches.replace(subclass, "call", composed)
        module: Any = inspect.getmodule(type(model))
        for name in COMPOSED:
            function = getattr(module, name, None)
            if callable(function) and getattr(function, "__module__", "") == module.__name__:
                self._patches.replace(module, name, _wrapped(recorder.compose, name, function))
        # Of half numbers Keras 3 takes the mean in float32 and rounds it: one operation in half.
        numpy = sys.modules.get("keras.src.backend.tensorflow.numpy")
        if numpy is not None and hasattr(numpy, "mean"):
            self._wrap(recorder, numpy, "mean", "mean")

    def stop(self) -> None:
        """Put them back."""
        self._patches.undo()

    def _wrap(self, recorder: Recorder, owner: Any, last: str, name: str) -> None:
        self._patches.replace(owner, last, _wrapped(recorder.call, name, getattr(owner, last)))


def _subclasses(layer: Any) -> Iterator[Any]:
    """Yield the classes that a program derives from a layer of Keras."""
    for subclass in layer.__subclasses__():
        yield from (subclass, *_subclasses(subclass))


def _wrapped(record: Callable[..., Any], name: str, function: Callable[..., Any]) -> Any:
    def operation(*args: Any, **kwargs: Any) -> Any:
        return record(kind, name, function, args, kwargs)

    # AutoGraph would otherwise rewrite the recorder along with the script.
    return tf.autograph.experimental.do_not_convert(operation)


def _moving(recorder: Recorder, function: Callable[..., Any]) -> Any:
    def move(*args: Any, **kwargs: Any) -> Any:
        return recorder.move(kind, function, args, kwargs)

    return tf.autograph.experimental.do_not_convert(move)


def _layer(record: Callable[..., Any], name: str, original: Callable[..., Any]) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return record(kind, name, original, (self, *args), kwargs, self.weights)

    return tf.autograph.experimental.do_not_convert(call)


def make_tap() -> Tap | None:
    """Return the tap."""
    return TensorFlowTap()
