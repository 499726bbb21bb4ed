"""Watch the models and optimizers of Keras 3, see `crosscast_parity.inside.build`.

Functional models are symbolic where they are made. `fit` makes one step on the data that it is
given. Without data, it makes the optimizer's step on gradients of zero: as in `fit`, the optimizer
is built for the variables that are trainable at that time, or has to know them, and calls its
schedule with its count of steps. Weights are not downloaded, and not loaded if they are missing.
"""

from __future__ import annotations

import functools
import inspect
import sys
from pathlib import Path
from typing import Any

from crosscast_parity.inside.build import Build
from crosscast_parity.inside.missing_data import leave_open, refuse_empty
from crosscast_parity.inside.unknown import UNKNOWN, is_known

PACKAGES = ("keras", "tensorflow")
BLAMED = (
    *("keras/src/layers", "keras/src/models", "keras/src/ops", "keras/src/optimizers"),
    *("keras/src/losses", "keras/src/metrics", "keras/src/trainers", "keras/src/callbacks"),
    *("keras/src/backend", "keras/src/legacy/layers.py"),
)
EXCUSED = (
    *("keras/src/saving", "keras/src/legacy/saving", "keras/src/utils/file_utils.py"),
    "keras/src/trainers/data_adapters",
)
KEEPING = (
    *("apply_gradients", "apply", "minimize", "gradient", "summary", "save", "save_weights"),
    *(
        "load_weights",
        "get_weights",
        "set_weights",
        "evaluate",
        "predict",
        "fit",
        "train_on_batch",
        "get_config",
    ),
)
MISSING = r"(?i)cuda|\bgpu|nvidia|graphviz|pydot"
_UNBUILT = "no input of it is known"
_LOOPS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")


def base() -> Any:
    """Return the class of all models."""
    import keras

    return keras.Model


def refuses(error: Exception) -> bool:
    """Whether an error counts wherever it comes from: none."""
    return False


def install(build: Build, name: str) -> None:
    """Watch Keras, if it is Keras 3, and the files that TensorFlow finds."""
    if name == "tensorflow":
        files = sys.modules[name].io.gfile
        refuse_empty(build.is_own, files, "glob listdir walk")
        leave_open(build.is_own, files, "exists isdir")
    keras = sys.modules.get("keras")
    if name == "keras" and str(getattr(keras, "__version__", "")).startswith("3."):
        _Watch(build, keras).install()


class _Watch:
    def __init__(self, build: Build, keras: Any) -> None:
        self._build, self._keras = build, keras
        self._optimizers: list[tuple[Any, Any]] = []
        self._stepped: set[int] = set()
        self._symbolic: set[int] = set()
        self._is_symbolic = self._is_looping = False

    def install(self) -> None:
        """Wrap what makes models and optimizers and what trains."""
        from keras.src.optimizers.base_optimizer import BaseOptimizer
        from keras.src.utils import file_utils

        model = self._keras.Model
        trainer = next(kind for kind in model.__mro__ if kind.__name__.endswith("Trainer"))
        self._keras.config.disable_traceback_filtering()
        self._before(trainer, "__init__", lambda model, *args, **kwargs: self._build.making(model))
        self._before(model, "compile", lambda model, *_, **kw: self._symbolic.discard(id(model)))
        self._before(BaseOptimizer, "__init__", self._made)
        self._around(BaseOptimizer, "apply", self._applied)
        self._around(model, "load_weights", _load)
        for name in _LOOPS:
            self._around(model, name, functools.partial(self._loop, name))
        self._around(file_utils, "urlretrieve", _refuse)
        self._around(file_utils, "get_file", _path)
        self._build.at_end += [self._end]

    def _before(self, owner: Any, name: str, call: Any) -> None:
        def both(original: Any, *args: Any, **kwargs: Any) -> Any:
            call(*args, **kwargs)
            return original(*args, **kwargs)

        self._around(owner, name, both)

    def _around(self, owner: Any, name: str, call: Any) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def around(*args: Any, **kwargs: Any) -> Any:
            return call(original, *args, **kwargs)

        setattr(owner, name, around)

    def _made(self, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        self._optimizers.append((self._build.place(skip=optimizer), optimizer))

    def _applied(self, original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        self._stepped.add(id(optimizer))
        result = original(optimizer, *args, **kwargs)
        if not self._is_symbolic:
            self._build.step()
        return result

    def _loop(self, name: str, original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        """Make one step of a method that goes through data."""
        if self._is_looping:
            return original(model, *args, **kwargs)
        bound = inspect.signature(original).bind(model, *args, **kwargs)
        given, trains = bound.arguments, "fit" in name or "train" in name
        data = [given.get(key) for key in ("x", "y", "sample_weight")]
        if not is_known(data) or data[0] is None:
            return self._step(model) if trains else UNKNOWN
        for key in [key for key, value in given.items() if not is_known(value)]:
            del given[key]
        if name == "fit":
            first = given.get("initial_epoch", 0)
            given |= {"epochs": first + 1, "steps_per_epoch": 1, "verbose": 0}
            given |= {"validation_steps": 1} if given.get("validation_data") is not None else {}
        elif name in ("evaluate", "predict"):
            given |= {"steps": 1, "verbose": 0}
        self._is_looping = True
        try:
            result = original(*bound.args, **bound.kwargs)
        except OSError:  # of a generator, say
            return self._step(model) if trains else UNKNOWN
        finally:
            self._is_looping = False
        return result if name == "fit" else UNKNOWN

    def _step(self, model: Any) -> Any:
        """Make the optimizer's part of a step, once for each time that the model is compiled."""
        if id(model) not in self._symbolic:
            self._symbolic.add(id(model))
            self._build.attempt(self._build.place(), lambda: self._make_step(model))
        return UNKNOWN

    def _make_step(self, model: Any) -> None:
        model._assert_compile_called("fit")
        optimizer, variables = model.optimizer, model.trainable_variables
        own = type(model).train_step is not self._keras.Model.train_step
        if own or not model.built or not variables:
            why = "its train_step is its own" if own else "no input of the model is known"
            self._build.write("skipped", self._build.place(), words=f"no step is made: {why}")
            return
        if not optimizer.built:
            optimizer.build(variables)
        gradients = [self._keras.ops.zeros_like(variable) for variable in variables]
        step: Any = functools.partial(optimizer.apply, gradients, variables)
        if self._keras.backend.backend() == "tensorflow" and not model.run_eagerly:
            import tensorflow as tf

            step = tf.function(step, autograph=False)  # as `fit` makes it
        self._is_symbolic = True
        try:
            step()
        finally:
            self._is_symbolic = False
        self._build.step("the optimizer's part of a step")

    def _end(self) -> None:
        made = self._build.made
        inner = {id(getattr(model, "_functional", None)) for _, model, _ in made if is_known(model)}
        for place, model, name in made:
            why = "" if getattr(model, "built", False) is True else _UNBUILT
            if id(model) not in inner:
                self._build.write("model", place, name=name, why=why)
        for place, optimizer in self._optimizers:
            scheduled = hasattr(getattr(optimizer, "_learning_rate", None), "get_config")
            if scheduled and id(optimizer) not in self._stepped:
                self._build.attempt(place, functools.partial(getattr, optimizer, "learning_rate"))


def _refuse(original: Any, url: str, *args: Any, **kwargs: Any) -> Any:
    raise FileNotFoundError(f"a build downloads nothing: {url}")


def _path(original: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return original(*args, **kwargs)
    except OSError as error:
        return str(error)  # there is no such file


def _load(original: Any, model: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
    if not is_known(filepath) or not Path(filepath).exists():
        return None
    return original(model, filepath, *args, **kwargs)
