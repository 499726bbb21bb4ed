"""Prints what the installed Keras 3 has, and which members of objects it lacks beside tf_keras.

`python tests/frameworks/run_keras_present.py | python -m json.tool --indent 1` is what
`keras_names/present.json` holds.
"""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf
import tf_keras

warnings.simplefilter("ignore")
TF_KERAS: Any = tf.keras
MODULES = (
    "", "activations", "applications", "callbacks", "constraints", "datasets", "initializers",
    "layers", "losses", "metrics", "mixed_precision", "models", "optimizers",
    "optimizers.schedules", "preprocessing", "preprocessing.image", "preprocessing.sequence",
    "preprocessing.text", "regularizers", "utils", "wrappers", "backend",
)  # fmt: skip
"""Modules of Keras 3 where Keras 2 had names, too."""
OF_LAYERS = ("input_shape", "batch_shape", "batch_input_shape", "input_dim", "batch_size",
             "weights", "dynamic", "input_dtype")  # fmt: skip
"""What layers of Keras 2 took besides their own arguments."""
BASES = (keras.layers.Layer, keras.optimizers.Optimizer)
"""Classes whose subclasses take no other arguments than their own and those of the base."""
METHODS = (
    "compile", "fit", "evaluate", "predict", "train_on_batch", "test_on_batch",
    "predict_on_batch", "save", "save_weights", "load_weights", "summary",
)  # fmt: skip
KEYWORDS = {
    "save": ("include_optimizer", "save_format"),
    "load_weights": ("by_name",),
    "compile": (),
    "evaluate": (),
}
"""Method of a model to what it takes in `**kwargs`."""


def module(root: Any, path: str) -> Any:
    """A module of `keras` or `tf.keras`; None if it has no such one."""
    here = root
    for part in filter(None, path.split(".")):
        here = getattr(here, part, None)
    return here


def public(root: Any, path: str) -> set[str]:
    here = module(root, path)
    return {name for name in dir(here) if not name.startswith("_")} if here is not None else set()


def modules() -> list[str]:
    found = []
    for path in MODULES:
        found.append(path)
        if path in ("applications", "datasets"):
            for name in sorted(public(keras, path) | public(TF_KERAS, path)):
                if inspect.ismodule(getattr(module(keras, path), name, None)):
                    found.append(f"{path}.{name}")
    return found


def takes(name: str) -> bool:
    """Whether every layer takes an argument of Keras 2."""
    values = {"input_dim": 3, "batch_size": 2, "weights": None, "dynamic": False}
    try:
        keras.layers.Flatten(**{name: values.get(name, (3,))})
    except (TypeError, ValueError):
        return False
    return True


def arguments(made: Any) -> str | None:
    """The arguments of a function or a class by name; None if others are taken as well."""
    try:
        given = inspect.signature(made.__init__ if inspect.isclass(made) else made).parameters
    except (TypeError, ValueError):
        return None
    names = [p.name for p in given.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    names = [name for name in names if name != "self"]
    if any(p.kind is p.VAR_KEYWORD for p in given.values()):
        bases: list[Any] = [b for b in BASES if inspect.isclass(made) and issubclass(made, b)]
        if not bases or issubclass(made, keras.Model):
            return None
        rest = inspect.signature(bases[0].__init__).parameters.values()
        names += [p.name for p in rest if p.kind is p.KEYWORD_ONLY or p.default is not p.empty]
        names += filter(takes, OF_LAYERS) if bases[0] is keras.layers.Layer else ()
        names += popped(made)
    return " ".join(dict.fromkeys(names))


def popped(made: type) -> list[str]:
    """What the constructors of a class take out of their `**kwargs`."""
    sources = [inspect.getsource(each) for each in made.__mro__ if each.__module__[:5] == "keras"]
    return re.findall(r"kwargs\.pop\(\s*\"(\w+)\"", "".join(sources))


def signatures() -> Iterator[tuple[str, str]]:
    for path in modules():
        for name in sorted(public(keras, path) | public(TF_KERAS, path)):
            made = getattr(module(TF_KERAS, path), name, None)
            made = made if made is not None else getattr(module(keras, path), name, None)
            if callable(made) and (found := arguments(made)) is not None:
                yield ".".join(filter(None, ("keras", path, name))), found


def gone(library: Any) -> dict[str, set[str]]:
    """The public members of the objects of a library."""
    layers, optimizers = library.layers, library.optimizers
    model = library.Sequential([library.Input((3,)), layers.Dense(2)])
    functional = library.Model(model.inputs, model.outputs)
    model.compile("sgd", "mse")
    objects = {
        "model": (model, functional),
        "layer": (
            layers.Dense(2), layers.LSTM(1), layers.Embedding(2, 2),
            layers.BatchNormalization(), layers.Conv2D(1, 1),
        ),
        "optimizer": (optimizers.Adam(), optimizers.SGD(), optimizers.RMSprop()),
        "metric": (library.metrics.Mean(), library.metrics.Accuracy()),
    }  # fmt: skip
    if library is tf_keras:  # the optimizers of Keras 2 up to 2.10
        objects["optimizer"] += (optimizers.legacy.Adam(), optimizers.legacy.SGD())
    return {
        kind: {name for each in some for name in dir(each) if not name.startswith("_")}
        for kind, some in objects.items()
    }


def index() -> dict[str, Any]:
    names = {}
    for path in modules():
        both, only = public(keras, path), public(TF_KERAS, path)
        home = ".".join(filter(None, ("keras", path)))
        names[home] = [" ".join(sorted(both)), " ".join(sorted(only - both))]
    methods = {}
    for name in METHODS:
        given = inspect.signature(getattr(keras.Model, name)).parameters.values()
        words = [p.name for p in given if p.kind is not p.VAR_KEYWORD and p.name != "self"]
        methods[name] = " ".join([*words, *KEYWORDS.get(name, ())])
    methods["apply_gradients"] = "grads_and_vars"
    old, new = gone(tf_keras), gone(keras)
    return {
        "names": names,
        "arguments": dict(sorted(signatures())),
        "methods": methods,
        "gone": {kind: " ".join(sorted(old[kind] - new[kind])) for kind in old},
    }


if __name__ == "__main__":
    print(json.dumps(index()))
