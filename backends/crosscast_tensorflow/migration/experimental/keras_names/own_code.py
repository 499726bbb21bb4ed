"""Code of the program that Keras 3 may run otherwise, and that nothing here looks at."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.places import OLD_METHODS

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SHOWN = 3
_OF_KERAS_3 = {
    "update_step": "learning_rate",
    "add_variable_from_reference": "reference_variable",
}
"""Method of an optimizer to an argument that it has only in Keras 3."""
_NAMES = "import the names that you use, and migrate again"


@dataclass(frozen=True, slots=True)
class OwnCode:
    """Classes of a kind that a program writes itself."""

    base: str
    """Pattern of the canonical name of what they derive from."""
    what: str
    hint: str


KINDS = (
    OwnCode(
        r"keras\.(Model|Sequential|models\..*|layers\..*)",
        "layers and models",
        "call gets training by name only, is not converted by AutoGraph (no `if` on a tensor), and "
        "keeps no losses that others add; names of weights are without the layer; build and "
        "compute_output_shape get tuples; shapes have no as_list()",
    ),
    OwnCode(
        r"keras\.optimizers\.(?!schedules\.).*|keras\.optimizer_v2\..*",
        "optimizers",
        "write update_step(self, gradient, variable, learning_rate) and build(self, variables); "
        "nothing calls other methods of Keras 2",
    ),
    OwnCode(
        r"keras\.metrics\..*",
        "metrics",
        "a metric is no layer: it has variables, add_variable and reset_state",
    ),
    OwnCode(
        r"keras\.losses\..*",
        "losses",
        "call is summed over the batch as before; the first argument of the base is the name",
    ),
    OwnCode(
        r"keras\.callbacks\..*",
        "callbacks",
        "self.validation_data and lr are gone, names of logs are those of the metrics",
    ),
    OwnCode(
        r"keras\.utils\.(Sequence|PyDataset)",
        "sequences of rows",
        "__init__ must call super().__init__(**kwargs), which takes workers; rows are tuples",
    ),
    OwnCode(
        r"keras\.(constraints|regularizers|initializers|optimizers\.schedules)\..*",
        "constraints, regularizers, initializers and schedules",
        "they get variables and numbers of Keras 3: convert them by tf.convert_to_tensor",
    ),
    OwnCode(
        r"tensorflow\.Module",
        "modules of TensorFlow",
        "variables of a tf.Module lacks those of layers of Keras 3, which are no modules",
    ),
)


def own_code(module: Module, program: Program, out: Outcomes) -> None:
    """Name the classes and the imports of a module that were not looked at."""
    seen: dict[OwnCode, list[ast.ClassDef]] = {}
    for node in module.every(ast.ClassDef):
        scope = module.scopes.get(node)
        if scope is None or module.is_dead(node):
            continue
        base = canonical(program.library_base(scope))
        private = base.removeprefix("tensorflow.python.")
        kind = next((kind for kind in KINDS if re.fullmatch(kind.base, private)), None)
        methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
        old = [name for name in methods if name in OLD_METHODS]
        if kind is not None and old and kind.what == "optimizers":
            message = f"{node.name} is an optimizer for Keras 2: Keras 3 never calls its {old[0]}"
            out.refuse(module, node, message, kind.hint)
        elif kind is not None and methods and not _is_for_keras_3(node):
            seen.setdefault(kind, []).append(node)
    for statement in module.every(ast.ImportFrom):
        home = canonical(statement.module or "")
        if statement.names[0].name == "*" and home.split(".")[0] == "keras":
            message = f"not looked at: names that come from {statement.module} by *"
            out.refuse(module, statement, message, _NAMES)
    for kind, nodes in seen.items():
        if kind.what == "modules of TensorFlow" and not _makes_layers(module):
            continue  # it holds no layers
        named = listed([node.name for node in nodes])
        out.refuse(module, nodes[0], f"not looked at: your own {kind.what} ({named})", kind.hint)


def _is_for_keras_3(node: ast.ClassDef) -> bool:
    """Whether a class overrides a method of optimizers as Keras 3 calls it."""
    return any(
        isinstance(part, ast.FunctionDef)
        and any(argument.arg == _OF_KERAS_3.get(part.name) for argument in part.args.args)
        for part in node.body
    )


def _makes_layers(module: Module) -> bool:
    names = (canonical(name) for call in module.calls for name in call.names)
    return any(name.startswith(("keras.layers.", "keras.Sequential")) for name in names)


def listed(names: list[str]) -> str:
    """Return the first names, and how many others there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
