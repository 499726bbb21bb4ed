"""How models of toygrad are read and written: dense layers and a few functions."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.initials import constant
from crosscast_migrate.models.network import Settings, UnreadableError
from crosscast_migrate.models.rows import Argument, Reading
from crosscast_migrate.models.tables import ModelReading, ModelTables, ModelWriting


def _last_axis(settings: Settings) -> Mapping[str, str]:
    if len(settings["shape"]) > 1:
        raise UnreadableError("toygrad normalizes the last axis only")
    return {}


def _exact(settings: Settings) -> Mapping[str, str]:
    if settings["tanh"]:
        raise UnreadableError("toygrad has no GELU by tanh")
    return {}


MODELS = ModelTables(
    backend="toy",
    title="toygrad",
    channels="last",
    initials={"linear": {"weight": constant(0.0), "bias": constant(0.0)}},
    reading=ModelReading(
        package="toygrad",
        layers={
            "Linear": Reading(
                "linear", (Argument("inputs", "inputs"), Argument("outputs", "units"))
            ),
            "LayerNorm": Reading(
                "layer_norm",
                (Argument("size", "shape"), Argument("eps", "eps")),
                {"affine": True, "shift": True},
            ),
        },
        functions={
            "toygrad.tanh": Reading("tanh"),
            "toygrad.gelu": Reading("gelu", fixed={"tanh": False}),
            "toygrad.matmul": Reading("matmul", inputs=2),
        },
        methods={"reshape": Reading("reshape", (Argument("shape", "shape"),))},
        function_packages=frozenset({"toygrad"}),
        forward="__call__",
        train_selects=False,
    ),
    writing=ModelWriting(
        imports=("import numpy as np", "import toygrad"),
        base="toygrad.Module",
        signature="def __call__(self, {inputs}):",
        prepared="{name} = toygrad.tensor_of({name})",
        layers={
            "linear": ("toygrad.Linear", "{inputs}", "{units}"),
            "layer_norm": ("toygrad.LayerNorm", "{shape}", "{eps}"),
        },
        operations={
            "add": "{0} + {1}",
            "multiply": "{0} * {1}",
            "scale": "{0} * {scale} + {offset}",
            "tanh": "toygrad.tanh({0})",
            "gelu": "toygrad.gelu({0})",
            "matmul": "toygrad.matmul({0}, {1})",
            "reshape": "{0}.reshape(*{shape})",
            "flatten": "{0}.reshape(-1, {features})",
        },
        values={"layer_norm": _last_axis, "gelu": _exact},
        initials={
            "uniform": "{w}.data[:] = np.random.uniform(-{n}, {n}, {w}.data.shape)",
            "normal": "{w}.data[:] = np.random.normal(0.0, {n}, {w}.data.shape)",
            "constant": "{w}.data[:] = {n}",
        },
        fills=True,
    ),
)
