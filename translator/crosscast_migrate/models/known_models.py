"""Models of libraries: their namesakes in another framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import LayerObject, SequenceObject
from crosscast_migrate.models.rows import Reading
from crosscast_migrate.models.tables import LibraryModel, ModelTables

READING = Reading("known_model")
_SOFTMAX = Reading("softmax")


def known_model(
    tables: ModelTables,
    name: str,
    given: Sequence[Any],
    named: Mapping[str, Any],
    span: Span | None,
) -> LayerObject | SequenceObject | None:
    """Return the model that a function of a framework's library creates; None for another name.

    Raises:
        UnreadableError: the library has the model, but not with these arguments.
    """
    library = tables.library
    if library is None or not name.startswith(f"{library.package}."):
        return None
    word = name.rpartition(".")[2]
    row = library.models.get(word)
    if row is None:
        raise UnreadableError(f"{name} has no counterpart in the table", span)
    values = dict(named)
    values |= dict(zip(library.positional, given, strict=False))
    loads = any(_loads(values.pop(each, usual)) for each, usual in library.loads.items())
    classes = values.pop(library.classes, 1000)
    activation = values.pop(library.activation, "softmax") if library.activation else None
    for argument, value in values.items():
        usual = argument in library.must and value == library.must[argument]
        if not usual and argument not in library.ignored:
            raise UnreadableError(f"{argument} of {word} is not carried", span)
    if not isinstance(classes, int) or activation not in ("softmax", "", None):
        raise UnreadableError(f"the arguments of {word} are not known", span)
    settings = {"model": row.name, "classes": classes, "rank": 2, "loads": loads}
    model = LayerObject(READING, settings, span)
    if not activation:
        return model
    last = LayerObject(_SOFTMAX, {"axis": -1}, span)
    return SequenceObject([("model", model), ("softmax", last)], True)


def _loads(value: Any) -> bool:
    return value is not None and value is not False


def last_layer(tables: ModelTables, model: LayerObject, attribute: str) -> LayerObject | None:
    """Return the last layer of a model, if an attribute is that."""
    row = _row(tables, model.settings)
    layers = tables.reading.layers.values() if tables.reading is not None else ()
    linear = next((layer for layer in layers if layer.kind == "linear"), None)
    if linear is None or attribute != row.head:
        return None
    return LayerObject(linear, {"inputs": row.features})


def with_head(
    tables: ModelTables, model: LayerObject, attribute: str, layer: Any, span: Span | None
) -> None:
    """Replace the last layer of a model.

    Raises:
        UnreadableError: it is not one layer, or is replaced by another kind of layer.
    """
    row = _row(tables, model.settings)
    is_linear = isinstance(layer, LayerObject) and layer.reading.kind == "linear"
    if attribute != row.head or not is_linear or layer.settings["inputs"] != row.features:
        raise UnreadableError(f"{row.name}.{attribute} is replaced", span)
    model.settings["classes"] = layer.settings["units"]


def _row(tables: ModelTables, settings: Mapping[str, Any]) -> LibraryModel:
    """Return the row of a model that was read with the same tables."""
    assert tables.library is not None
    rows = tables.library.models.values()
    return next(row for row in rows if row.name == settings["model"])


def notes(settings: Mapping[str, Any], source: str, backend: str) -> list[str]:
    """Return the notes to give on a model.

    Args:
        settings: of the layer.
        source: the backend that it was read from.
        backend: the one that it is written for.
    """
    remarks = []
    if settings["loads"]:
        name = settings["model"]
        remarks.append(f"the pretrained weights of {name}: it starts from random ones")
    libraries = [model_tables()[each].library for each in (backend, source)]
    if len({library.family for library in libraries if library is not None}) > 1:
        for library in libraries:
            if library is not None and library.difference:
                name = _function(library.models, settings)
                return [*remarks, library.difference.format(name=name)]
    return remarks


def _function(models: Mapping[str, LibraryModel], settings: Mapping[str, Any]) -> str:
    """Return the function that creates a model; empty if there is none."""
    names = (name for name, row in models.items() if row.name == settings["model"])
    return next(names, "")


def written(settings: Mapping[str, Any], tables: ModelTables) -> list[str]:
    """Return the lines of code that create a model.

    Raises:
        UnreadableError: the framework has no such model.
    """
    library = tables.library
    if library is None:
        raise UnreadableError(f"{tables.title} has no {settings['model']}")
    name = _function(library.models, settings)
    if not name:
        raise UnreadableError(f"{library.package} has no {settings['model']}")
    return [line.format(name=name, classes=settings["classes"]) for line in library.code]
