"""CM402: NVIDIA's variable for mixed precision to a call that TensorFlow has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Span
from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.layout import indent_of, is_alone, unit_of
from crosscast_reading.edits.node_edits import insert, insert_before
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.tensorflow1.module_names import (
    imports_of,
    is_for_v1,
    uses_of,
)
from crosscast_tensorflow.reading.rewrite import VARIABLE

_NAME = "TF_ENABLE_AUTO_MIXED_PRECISION"
_CALL = "enable_mixed_precision_graph_rewrite"
_WRITE = (
    f"wrap the optimizer: optimizer = tf.train.experimental.{_CALL}(optimizer); on a GPU it casts, "
    "and everywhere it scales the loss"
)
_NOTE = (
    "published builds of TensorFlow never read the variable: this program trained in float32 with "
    "them, and now does so only where the variable is not 1; the rewrite casts only on a GPU, its "
    "loss scale works everywhere; a session that only evaluates, in a process without the "
    "optimizer, computes in float32"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Wrap every optimizer of TensorFlow 1 where the variable is set, or none."""
    program = subject.program
    if any(_CALL in module.source.text for module in program.modules):
        return
    where, exact = _requested(subject, program)
    if where is None:
        return
    optimizers = list(_optimizers(program))
    found = [_optimizer(module, node) for module, node in optimizers]
    if not found and not is_for_v1(program):
        return
    early = _early_session(program, optimizers)
    if early is not None:
        yield Refusal(
            span=early,
            message="the session may be created before the optimizer, and the graph rewrite "
            "concerns only sessions that are created after its call",
            hint=f"create the session after the optimizer, and {_WRITE}",
        )
        return
    wrapped = [one for one in found if one is not None]
    if not exact or not found or len(wrapped) < len(found):
        yield Refusal(
            span=where,
            message="published builds of TensorFlow never read the variable, and how it is set or "
            "where the optimizer is made is not certain",
            hint=_WRITE,
        )
        return
    yield Change(
        span=where,
        message=f"{_NAME} is read by the program, which then calls {_CALL}",
        edits=tuple(edit for edits in wrapped for edit in edits),
        note=_NOTE,
    )


def _requested(subject: Subject, program: Program) -> tuple[Span | None, bool]:
    """Return where the variable is set, and whether only with the one name and 0 or 1."""
    where: list[Span] = []
    exact = True
    for module in program.modules:
        for node in module.every(ast.Constant):
            if isinstance(node.value, str) and VARIABLE.fullmatch(node.value):
                if isinstance(module.parent(node), ast.Expr):
                    continue
                where.append(module.span(node))
                exact = exact and node.value == _NAME
    for command in subject.commands:
        for fact in command.environment:
            if VARIABLE.fullmatch(str(fact.expression)):
                where += fact.places[:1]
                exact = exact and str(fact.expression) == _NAME
                exact = exact and str(fact.value) in ("0", "1")
    return (where[0] if where else None), exact


def _optimizers(program: Program) -> Iterator[tuple[Module, ast.Call]]:
    """Yield the calls that make an optimizer of TensorFlow 1, or one of a class derived from it."""
    own: set[str] = set()
    for module in program.modules:
        for use in uses_of(module, imports_of(module)):
            place, _, name = use.path.rpartition(".")
            places = ("train", "python.training.optimizer")
            if place not in places or not name.endswith("Optimizer"):
                continue
            around = module.parent(use.node)
            if isinstance(around, ast.ClassDef):
                own.add(around.name)
            elif isinstance(around, ast.Call) and around.func is use.node:
                yield module, around
    for module in program.modules:
        for call in module.calls:
            if module.text(call.node.func).rpartition(".")[2] in own:
                yield module, call.node


def _early_session(program: Program, optimizers: list[tuple[Module, ast.Call]]) -> Span | None:
    """Return a session that may exist before an optimizer; None if there is none.

    A session of a `with` in a function that makes no optimizer only evaluates.
    """
    makers = _makers(program, optimizers)
    for module in program.modules:
        for use in uses_of(module, imports_of(module)):
            session = module.parent(use.node)
            if use.path not in ("Session", "InteractiveSession"):
                continue
            if not isinstance(session, ast.Call) or session.func is not use.node:
                continue
            scope = module.function_of(session)
            lines = [
                call.node.lineno
                for call in module.calls
                if module.function_of(call.node) is scope and _makes(module, call.node, makers)
            ]
            evaluates = isinstance(module.parent(session), ast.withitem) and scope is not None
            if not lines and evaluates:
                continue
            if not lines or min(lines) >= session.lineno:
                return module.span(session)
    return None


def _makes(module: Module, call: ast.Call, makers: set[str | int]) -> bool:
    return id(call) in makers or module.text(call.func).rpartition(".")[2] in makers


def _makers(program: Program, optimizers: list[tuple[Module, ast.Call]]) -> set[str | int]:
    """Return the calls that make an optimizer, and the names of functions that contain them."""
    makers: set[str | int] = {id(call) for _, call in optimizers}
    before = 0
    while len(makers) > before:
        before = len(makers)
        for module in program.modules:
            for call in module.calls:
                if _makes(module, call.node, makers):
                    makers.update(_around(module, call.node))
    return makers


def _around(module: Module, call: ast.Call) -> list[str]:
    """Return the names of the function and the class around a call."""
    around = (module.function_of(call), module.class_of(call))
    return [node.name for node in around if node is not None]


def _optimizer(module: Module, call: ast.Call) -> list[Edit] | None:
    """Return the edits that wrap an optimizer after its assignment; None if it is not assigned."""
    statement = module.parent(call)
    local = _tensorflow(module)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not local:
        return None
    target = module.text(statement.targets[0])
    if not isinstance(statement.targets[0], ast.Name | ast.Attribute):
        return None
    if not is_alone(module, statement):
        return None
    indent, unit = indent_of(module, statement), unit_of(module, statement)
    last = statement.end_lineno or statement.lineno
    text = (
        f'\n{indent}if os.environ.get("{_NAME}") == "1":'
        f"\n{indent}{unit}{target} = {local}.train.experimental.{_CALL}({target})"
    )
    edits = [insert(module, last, len(module.lines[last - 1]) + 1, text)]
    if module.imports.get("os") != "os":
        edits.append(insert_before(module, _first_import(module), "import os\n"))
    return edits


def _tensorflow(module: Module) -> str:
    found = [bound.local for bound in imports_of(module) if not bound.path]
    return found[0] if found else ""


def _first_import(module: Module) -> ast.stmt:
    return next(
        node
        for node in module.tree.body
        if isinstance(node, ast.Import)
        or (isinstance(node, ast.ImportFrom) and node.module != "__future__")
    )


_EARLY = """\
import os
import tensorflow.compat.v1 as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
session = tf.Session()
optimizer = tf.train.AdamOptimizer(1e-3)
train = optimizer.minimize(loss)
"""
CODEMOD = Codemod(
    code="CM402",
    name="tensorflow-1-rewrite-variable",
    api="tf.compat.v1",
    title="TF_ENABLE_AUTO_MIXED_PRECISION to the graph rewrite of tf.compat.v1",
    hints=("AUTO_MIXED_PRECISION",),
    examples=(
        Example(
            before="""\
import os
import tensorflow.compat.v1 as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
optimizer = tf.train.AdamOptimizer(1e-3)
train = optimizer.minimize(loss)
""",
            after="""\
import os
import tensorflow.compat.v1 as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
optimizer = tf.train.AdamOptimizer(1e-3)
if os.environ.get("TF_ENABLE_AUTO_MIXED_PRECISION") == "1":
    optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
train = optimizer.minimize(loss)
""",
        ),
        Example(
            before="""\
import os
import tensorflow as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
model.compile(tf.keras.optimizers.Adam(1e-3), "mse")
""",
            after="""\
import os
import tensorflow as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
model.compile(tf.keras.optimizers.Adam(1e-3), "mse")
""",
        ),
        Example(
            before=_EARLY,
            after=_EARLY,
            refused="created before the optimizer",
        ),
        Example(
            before="""\
import os
import tensorflow.compat.v1 as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE"] = "1"
train = tf.train.AdamOptimizer(1e-3).minimize(loss)
""",
            after="""\
import os
import tensorflow.compat.v1 as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE"] = "1"
train = tf.train.AdamOptimizer(1e-3).minimize(loss)
""",
            refused="never read the variable",
        ),
    ),
    run=run,
    scope="connected",
)
