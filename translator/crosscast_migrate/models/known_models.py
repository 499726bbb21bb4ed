"""Models of libraries that have a counterpart in another framework, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import LayerObject
from crosscast_migrate.models.rows import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model of torchvision and paddle.vision, where it has the same name."""

    name: str
    parameters: int
    """That learn, for 1000 classes: the same in both."""
    head: str = ""
    """The attribute with its last layer in torchvision, where that is one layer."""
    features: int = 0
    """Inputs of the last layer."""
    keras: str = ""
    """The model of keras.applications that comes nearest; empty for none."""


ROWS: Sequence[KnownModel] = (
    KnownModel(name="resnet18", parameters=11689512, head="fc", features=512),
    KnownModel(name="resnet34", parameters=21797672, head="fc", features=512),
    KnownModel(name="resnet50", parameters=25557032, head="fc", features=2048, keras="ResNet50"),
    KnownModel(name="resnet101", parameters=44549160, head="fc", features=2048, keras="ResNet101"),
    KnownModel(name="resnet152", parameters=60192808, head="fc", features=2048, keras="ResNet152"),
    KnownModel(name="resnext50_32x4d", parameters=25028904, head="fc", features=2048),
    KnownModel(name="wide_resnet50_2", parameters=68883240, head="fc", features=2048),
    KnownModel(name="vgg11", parameters=132863336),
    KnownModel(name="vgg13", parameters=133047848),
    KnownModel(name="vgg16", parameters=138357544),
    KnownModel(name="vgg19", parameters=143667240),
    KnownModel(name="alexnet", parameters=61100840),
    KnownModel(name="squeezenet1_0", parameters=1248424),
    KnownModel(name="squeezenet1_1", parameters=1235496),
    KnownModel(name="mobilenet_v2", parameters=3504872, keras="MobileNetV2"),
    KnownModel(name="mobilenet_v3_small", parameters=2542856),
    KnownModel(name="mobilenet_v3_large", parameters=5483032),
    KnownModel(name="shufflenet_v2_x1_0", parameters=2278604, head="fc", features=1024),
    KnownModel(
        name="densenet121",
        parameters=7978856,
        head="classifier",
        features=1024,
        keras="DenseNet121",
    ),
    KnownModel(
        name="densenet169",
        parameters=14149480,
        head="classifier",
        features=1664,
        keras="DenseNet169",
    ),
)
BY_NAME: Mapping[str, KnownModel] = {row.name: row for row in ROWS}
_BY_KERAS: Mapping[str, KnownModel] = {row.keras: row for row in ROWS if row.keras}
_PACKAGES = re.compile(r"(torchvision\.models|paddle\.vision\.models|keras\.applications)\..*")
READING = Reading("known_model")
_NEAR = (
    "{name} of keras.applications comes nearest to that of the source, but is not the same function"
    " (strides, biases and epsilons differ): train it, do not convert weights"
)


def known_model(
    name: str, given: Sequence[Any], named: Mapping[str, Any], span: Span | None
) -> tuple[LayerObject, str] | None:
    """Return the model that a function of a library creates, and its activation.

    Raises:
        UnreadableError: the library has the model, but not with these arguments.
    """
    found = _PACKAGES.fullmatch(name)
    if found is None:
        return None
    word, is_keras = name.rpartition(".")[2], found[1] == "keras.applications"
    row = (_BY_KERAS if is_keras else BY_NAME).get(word)
    if row is None:
        raise UnreadableError(f"{name} has no counterpart in the table", span)
    values = dict(named)
    first = "include_top" if is_keras else "pretrained"
    values |= dict(zip((first, "weights"), given, strict=False))
    usual = {"include_top": (True,), "input_tensor": (None,), "pooling": (None,)}
    loads = _loads(values.pop("pretrained", False)) or _loads(
        values.pop("weights", "imagenet" if is_keras else None)
    )
    classes = values.pop("classes" if is_keras else "num_classes", 1000)
    activation = values.pop("classifier_activation", "softmax" if is_keras else "")
    for ignored in ("progress", "input_shape", "name"):
        values.pop(ignored, None)
    for argument, value in values.items():
        if value not in usual.get(argument, ()):
            raise UnreadableError(f"{argument} of {word} is not carried", span)
    if not isinstance(classes, int) or activation not in ("softmax", "", None):
        raise UnreadableError(f"the arguments of {word} are not known", span)
    source = "tensorflow" if is_keras else found[1].partition(".")[0].removesuffix("vision")
    settings = {"model": row.name, "classes": classes, "rank": 2, "source": source, "loads": loads}
    return LayerObject(READING, settings, span), activation or ""


def _loads(value: Any) -> bool:
    return value is not None and value is not False


def with_head(model: LayerObject, attribute: str, layer: Any, span: Span | None) -> None:
    """Replace the last layer of a model.

    Raises:
        UnreadableError: it is not one layer, or is replaced by another kind of layer.
    """
    row = BY_NAME[model.settings["model"]]
    is_linear = isinstance(layer, LayerObject) and layer.reading.kind == "linear"
    if attribute != row.head or not is_linear or layer.settings["inputs"] != row.features:
        raise UnreadableError(f"{row.name}.{attribute} is replaced", span)
    model.settings["classes"] = layer.settings["units"]


def notes(settings: Mapping[str, Any], backend: str) -> list[str]:
    """Return what is to be told of a model."""
    row, found = BY_NAME[settings["model"]], []
    if settings["loads"]:
        found.append(f"the pretrained weights of {row.name}: it starts from random ones")
    if settings["source"] != backend and "tensorflow" in (backend, settings["source"]):
        found.append(_NEAR.format(name=row.keras))
    return found


def written(settings: Mapping[str, Any], backend: str) -> list[str]:
    """Return the lines of code that create a model.

    Raises:
        UnreadableError: the backend has no such model.
    """
    row, classes = BY_NAME[settings["model"]], settings["classes"]
    if backend == "torch":
        return [f"torchvision.models.{row.name}(num_classes={classes})"]
    if backend == "paddle":
        return [f"paddle.vision.models.{row.name}(num_classes={classes})"]
    if not row.keras:
        raise UnreadableError(f"keras.applications has no {row.name}")
    return [
        "keras.Sequential(",
        "    [",
        f"        keras.applications.{row.keras}(",
        "            include_top=False,",
        "            weights=None,",
        "            input_shape=(None, None, 3),",
        '            pooling="avg",',
        "        ),",
        f"        layers.Dense({classes}),",
        "    ]",
        ")",
    ]
