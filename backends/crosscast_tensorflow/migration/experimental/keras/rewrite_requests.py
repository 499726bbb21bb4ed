"""Requests of a program for TensorFlow's graph rewrite for mixed precision."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_tensorflow.migration.experimental.keras.edits import remove
from crosscast_tensorflow.migration.experimental.keras.policy_place import PolicyRequest
from crosscast_tensorflow.reading.rewrite import VARIABLE, assignments

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_OFF = ("", "0", "false", "False")
_OPTION = "auto_mixed_precision"


@dataclass(slots=True)
class RewriteRequest:
    """A request for the graph rewrite, and the edits that remove it."""

    request: PolicyRequest
    edits: list[Edit] = field(default_factory=list)
    by: str = "variable"
    """`variable`, `option` or `call`."""


def refuse(module: Module, node: ast.AST, message: str, hint: str) -> Refusal:
    """Return a refusal about a node."""
    return Refusal(span=module.span(node), message=message, hint=hint)


def policy_request(
    node: ast.AST, module: Module, extra: ast.expr | None = None
) -> PolicyRequest | None:
    """Return the request of a statement; None if its conditions cannot be moved.

    Args:
        node: a statement, or an expression in it.
        module: module of the node.
        extra: a condition inside the statement.
    """
    tests: list[ast.expr] = [extra] if extra is not None else []
    child, here = node, module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If) and "__name__" not in module.text(here.test):
            if child not in here.body:
                return None
            tests.append(here.test)
        elif isinstance(here, ast.For | ast.While | ast.Try | ast.With | ast.Lambda | ast.ClassDef):
            return None
        child, here = here, module.parent(here)
    if not tests:
        return PolicyRequest(module, node)
    if len(tests) > 1 or any(isinstance(n, ast.Call | ast.NamedExpr) for n in ast.walk(tests[0])):
        return None
    names = tuple(n.id for n in ast.walk(tests[0]) if isinstance(n, ast.Name))
    return PolicyRequest(module, node, module.text(tests[0]), names)


def by_variable(program: Program) -> Iterator[RewriteRequest | Refusal]:
    """Yield the requests by the environment variable in Python code."""
    for module in program.modules:
        if "TF_ENABLE_AUTO_MIXED_PRECISION" not in module.source.text:
            continue
        handled: set[int] = set()
        found: list[RewriteRequest | Refusal] = []
        for node, target in assignments(module):
            if isinstance(target, ast.Subscript) and _named(target.slice):
                handled.add(id(target.slice))
                if module.resolve(target.value) == "os.environ":
                    found += _set(node, node.value, module)
        for call in module.calls:
            arguments = call.node.args
            named = call.name in ("os.putenv", "os.environ.setdefault", "os.environ.__setitem__")
            if named and len(arguments) == 2 and _named(arguments[0]):
                handled.add(id(arguments[0]))
                statement = module.parent(call.node)
                if isinstance(statement, ast.Expr):
                    found += _set(statement, arguments[1], module)
        if not found:
            continue
        yield from found
        for constant in module.every(ast.Constant):
            if (
                _named(constant)
                and id(constant) not in handled
                and not _is_docstring(constant, module)
            ):
                yield refuse(
                    module,
                    constant,
                    f"{constant.value!s} is also used here with uncertain effect",
                    "decide what depends on the variable, and use the policy instead",
                )


def _named(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and bool(VARIABLE.fullmatch(value))


def _is_docstring(node: ast.AST, module: Module) -> bool:
    """Whether a string is a statement of its own, as a docstring is."""
    return isinstance(module.parent(node), ast.Expr)


def _set(statement: ast.stmt, value: ast.expr, module: Module) -> list[RewriteRequest | Refusal]:
    """Return the requests of an assignment to the variable; empty if it is turned off."""
    if isinstance(value, ast.Constant):
        if str(value.value) in _OFF:
            return []
        test = None
    elif isinstance(value, ast.IfExp) and _is_switch(value):
        test = value.test
    else:
        return [_unclear(module, statement, value)]
    request = policy_request(statement, module, test)
    if request is None:
        return [_unclear(module, statement, value)]
    gone = remove(module, _with_other_branch(statement, module))
    if gone is None:
        return [_unclear(module, statement, value)]
    return [RewriteRequest(request, [gone])]


def _is_switch(value: ast.IfExp) -> bool:
    parts = [value.body, value.orelse]
    texts = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
    return len(texts) == 2 and texts[0] not in _OFF and texts[1] in _OFF


def _unclear(module: Module, statement: ast.stmt, value: ast.expr) -> Refusal:
    return refuse(
        module,
        statement,
        f"the environment variable becomes {module.text(value)} under conditions that cannot be "
        "moved to where the model is built",
        'set the policy instead: keras.mixed_precision.set_global_policy("mixed_float16") before '
        "the model is built",
    )


def _with_other_branch(statement: ast.stmt, module: Module) -> ast.stmt:
    """Return the enclosing `if` whose other branch only turns the variable off."""
    parent = module.parent(statement)
    if not isinstance(parent, ast.If) or parent.body != [statement] or not parent.orelse:
        return statement
    off = all(
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Subscript)
        and _named(statement.targets[0].slice)
        and isinstance(statement.value, ast.Constant)
        and str(statement.value.value) in _OFF
        for statement in parent.orelse
    )
    return parent if off else statement


def by_option(program: Program) -> Iterator[RewriteRequest | Refusal]:
    """Yield the requests by an option of the graph optimizer."""
    for name, call in calls_of(program):
        if not name.endswith("config.optimizer.set_experimental_options"):
            continue
        module, given = call.module, call.bound().get("options")
        if not isinstance(given, ast.Dict):
            if _OPTION in module.source.text:
                yield _option_refused(module, call.node)
            continue
        keys = [key.value if isinstance(key, ast.Constant) else None for key in given.keys]
        if _OPTION not in keys:
            continue
        value = given.values[keys.index(_OPTION)]
        if isinstance(value, ast.Constant) and not value.value:
            continue
        statement = module.parent(call.node)
        test = None if isinstance(value, ast.Constant) else value
        request = (
            policy_request(statement, module, test) if isinstance(statement, ast.Expr) else None
        )
        if request is None or not isinstance(statement, ast.stmt):
            yield _option_refused(module, call.node)
            continue
        gone = remove(module, statement)
        if len(keys) > 1:
            text = ", ".join(
                f"{ast.unparse(k)}: {ast.unparse(v)}" if k is not None else f"**{ast.unparse(v)}"
                for k, v in zip(given.keys, given.values, strict=True)
                if v is not value
            )
            gone = replace_node(module, given, f"{{{text}}}")
        if gone is not None:
            yield RewriteRequest(request, [gone], "option")


def _option_refused(module: Module, node: ast.AST) -> Refusal:
    return refuse(
        module,
        node,
        "it is not certain whether and when the option auto_mixed_precision is on",
        "set a Keras policy under the same condition before the model is built",
    )


def by_session(program: Program) -> Iterator[Refusal]:
    """Yield refusals of the rewriter options of sessions."""
    for module in program.modules:
        if _OPTION not in module.source.text:
            continue
        for node, target in assignments(module):
            if isinstance(target, ast.Attribute) and target.attr == _OPTION:
                yield _session(module, node)
        for call in module.calls:
            options = "RewriterConfig" in (last(call.name), call.method)
            if options and any(keyword.arg == _OPTION for keyword in call.node.keywords):
                yield _session(module, call.node)


def _session(module: Module, node: ast.AST) -> Refusal:
    return refuse(
        module,
        node,
        "options of a session rewrite graphs of TensorFlow 1, which have no Keras policy",
        "first migrate the training to Keras (compile and fit, or a GradientTape)",
    )


GRAPHS = (
    "either keep the graph under tf.compat.v1, with tf.compat.v1.mixed_precision."
    "enable_mixed_precision_graph_rewrite(optimizer), which TensorFlow 2.21 still has "
    "(Keras 3 has no tf.layers: create the variables by hand, or with tf_keras); or write the "
    'model in Keras: keras.mixed_precision.set_global_policy("mixed_float16") before it is built, '
    "a Keras optimizer, compile and fit, which scale the loss"
)
"""Hint for graphs of TensorFlow 1."""
_OPTIMIZER = re.compile(r"tensorflow\.train\.\w+Optimizer")
_V1 = re.compile(
    r"tensorflow\.(Session|InteractiveSession|placeholder|layers\.|contrib\.|estimator\."
    r"|train\.(\w+Optimizer|MonitoredTrainingSession|Supervisor|get_or_create_global_step)"
    r"|disable_v2_behavior|disable_eager_execution|global_variables_initializer).*"
)


def of_graphs(call: Call | None) -> str:
    """Return the name of an optimizer of TensorFlow 1; empty if it is not certainly one."""
    names = [canonical(name) for name in call.names] if call is not None else []
    return names[0] if names and all(map(_OPTIMIZER.fullmatch, names)) else ""


def graph_program(program: Program) -> Refusal | None:
    """Return the refusal of a program that trains in sessions or with estimators."""
    for name, call in calls_of(program):
        if _V1.fullmatch(name):
            return refuse(
                call.module,
                call.node,
                f"the program uses {name}: graphs of TensorFlow 1 have no Keras policy",
                GRAPHS,
            )
    return None
