"""CL806: a decay filter of Paddle that searches for names that parameters do not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import calls_of, plain, value_of
from crosscast_reading.sources.subject import Subject

_STRUCTURED = ("bias", "LayerNorm", "layernorm", "LayerNorm.weight", "ln_", "norm.weight")
"""Parts of structured names, which no generated name has: `linear_0.b_0`, `layer_norm_0.w_0`."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find functions that search the generated name of a parameter for parts of structured ones."""
    program = subject.program
    if any("ParamAttr(" in m.code for m in program.modules):
        return
    for name, call in calls_of(program):
        node = call.bound().get("apply_decay_param_fun")
        if node is None or not name.startswith("paddle.optimizer."):
            continue
        decay_filter = _function(node, call.module, program)
        if decay_filter is None:
            continue
        where, module, parameter = decay_filter
        words = list(_searched(where, module, parameter))
        lost = [word for word in words if word in _STRUCTURED]
        if lost and len(lost) == len(words):
            yield Finding(
                span=call.module.span(node),
                message=f"no parameter name contains {lost[0]!r}: the function receives names such "
                "as linear_0.b_0 and excludes nothing from weight decay",
                hint="collect p.name of the parameters to decay from named_parameters(), and test "
                "`name in names`",
            )


def _function(
    node: ast.expr, module: Module, program: Program
) -> tuple[ast.AST, Module, str] | None:
    match node:
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body):
            return body, module, name
    match program.function_named(module.resolve(node)):
        case home, ast.FunctionDef(args=ast.arguments(args=[ast.arg(arg=name)])) as function:
            return function, home, name
    return None


def _searched(where: ast.AST, module: Module, parameter: str) -> Iterator[str]:
    """Yield the texts that are searched in the name."""
    for node in walk(where):
        match node:
            case ast.Compare(
                left=word, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]
            ) if name == parameter:
                yield from _words(word, module)


def _words(word: ast.expr, module: Module) -> Iterator[str]:
    """Yield a text, or those of `word in name for word in words`."""
    match word, module.enclosing(word, ast.GeneratorExp, ast.ListComp):
        case ast.Constant(value=str(text)), _:
            yield text
        case _, (
            ast.GeneratorExp(generators=[ast.comprehension(iter=given)])
            | ast.ListComp(generators=[ast.comprehension(iter=given)])
        ):
            match plain(value_of(given, module)):
                case list(texts) | tuple(texts) | set(texts):
                    yield from map(str, texts)


RULE = Rule("CL806", check, hints=("apply_decay_param_fun",))
