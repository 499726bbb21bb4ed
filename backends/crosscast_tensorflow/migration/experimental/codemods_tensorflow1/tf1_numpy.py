"""CM403: names of NumPy 1 in programs of TensorFlow 1."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.tensorflow1.module_names import is_for_v1

RENAMED: Mapping[str, str] = {
    **{name: name for name in ("bool", "int", "float", "complex", "object", "str")},
    "long": "int",
    "unicode": "str",
    "float_": "float64",
    "complex_": "complex128",
    "string_": "bytes_",
    "unicode_": "str_",
    "Inf": "inf",
    "infty": "inf",
    "NaN": "nan",
    "NAN": "nan",
    "product": "prod",
    "cumproduct": "cumprod",
    "alltrue": "all",
    "sometrue": "any",
    "round_": "round",
}
"""Aliases that NumPy 1.24 or 2.0 removed: a builtin, or another name in NumPy."""
BUILTINS = frozenset({"bool", "int", "float", "complex", "object", "str", "long", "unicode"})


def run(subject: Subject) -> Iterator[Outcome]:
    """Replace the aliases in each module of a program of TensorFlow 1."""
    if not is_for_v1(subject.program):
        return
    for module in subject.program.modules:
        yield from _module(module)


def _module(module: Module) -> Iterator[Outcome]:
    local = {
        name
        for name, target in module.imports.items()
        if target == "numpy"
        and all(b.kind == "import" for b in module.scope.bindings.get(name, ()))
    }
    used = [
        node
        for node in module.every(ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id in local and node.attr in RENAMED
    ]
    for node in used:
        new = RENAMED[node.attr]
        if node.attr not in BUILTINS:
            assert isinstance(node.value, ast.Name)
            text = f"{node.value.id}.{new}"
        elif any(new in scope.bindings for scope in module.scopes.values()):
            yield Refusal(
                span=module.span(node),
                message=f"{module.text(node)} is the builtin {new}, which has another meaning here",
                hint=f"write builtins.{new}",
            )
            continue
        else:
            text = new
        assert hasattr(builtins, new) or node.attr not in BUILTINS
        yield Change(
            span=module.span(node),
            message=f"{module.text(node)} is {text}",
            edits=(replace_node(module, node, text),),
        )


_BEFORE = """\
import numpy as np
import tensorflow.compat.v1 as tf

mask = np.zeros(4, dtype=np.bool)
session = tf.Session()
"""
_ELSEWHERE = """\
import numpy as np
import tensorflow as tf

mask = tf.constant(np.zeros(4, dtype=np.bool))
"""
_TAKEN = """\
import numpy as np
import tensorflow.compat.v1 as tf

bool = str
mask = np.zeros(4, dtype=np.bool)
"""
CODEMOD = Codemod(
    code="CM403",
    name="tensorflow-1-numpy",
    api="tf.compat.v1",
    title="aliases of NumPy 1 (np.bool, np.float_) to what they were",
    hints=("numpy",),
    examples=(
        Example(before=_BEFORE, after=_BEFORE.replace("np.bool", "bool")),
        Example(before=_ELSEWHERE, after=_ELSEWHERE),
        Example(before=_TAKEN, after=_TAKEN, refused="has another meaning here"),
    ),
    run=run,
    scope="connected",
)
