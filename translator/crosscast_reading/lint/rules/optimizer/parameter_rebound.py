"""CL519: a loop over parameters binds new values to its variable, and changes no parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.references import references
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import uses
from crosscast_reading.sources.subject import Subject

_ARITHMETIC = frozenset({"add", "subtract", "sub", "multiply", "mul", "divide", "div", "scale"})
_PASSED_ON = frozenset({"list", "tuple", "reversed"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find new values of parameters that only the variable of the loop gets."""
    program = subject.program
    rebinds = uses(program, "paddle")
    for module in program.modules:
        for loop in module.every(ast.For):
            names = {*_parameters(loop.target, loop.iter)}
            for node in walk(loop) if names else ():
                name = _bound(node, names, rebinds=rebinds)
                if name is None or module.enclosing(node, ast.For, ast.While) is not loop:
                    continue
                if not _is_read(name, node, module):
                    yield from _reported(name, node, module)


def _reported(name: str, node: ast.AST, module: Module) -> Iterator[Finding]:
    """Report a lost value where the program calls the function that computes it, else there."""
    program, function = module.program, module.function_of(node)
    sites = program.call_sites(module, function) if function else ()
    line = module.span(node)
    for span in [site.module.span(site.node) for site in sites] or [line]:
        yield Finding(
            span=span,
            message=f"no parameter changes: the new value is bound to {name}, a variable of the "
            "loop, which nothing reads",
            hint="change the parameter in place, without gradients: `set_value` in Paddle, "
            "`copy_` in PyTorch",
            related=() if span == line else (line,),
        )


def _parameters(target: ast.expr, source: ast.expr) -> Iterator[str]:
    """Yield the variables of a loop that are parameters of a model."""
    match source, target:
        case ast.Call(func=ast.Attribute(attr="parameters")), ast.Name(id=name):
            yield name
        case (
            ast.Call(func=ast.Attribute(attr="named_parameters")),
            ast.Tuple(elts=[_, ast.Name(id=name)]),
        ):
            yield name
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(elts=[_, each]):
            yield from _parameters(each, inner)
        case ast.Call(func=ast.Name(id="zip"), args=parts), ast.Tuple(elts=targets):
            for each, part in zip(targets, parts, strict=False):
                yield from _parameters(each, part)
        case ast.Call(func=ast.Name(id=called), args=[inner]), _ if called in _PASSED_ON:
            yield from _parameters(target, inner)


def _bound(node: ast.AST, names: set[str], *, rebinds: bool) -> str | None:
    """Return the variable that a statement binds a changed or stored value to.

    Args:
        node: the statement.
        names: those that count.
        rebinds: whether `p += x` makes a new tensor, as in Paddle.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names:
            return name if _is_new(value) else None
        case ast.AugAssign(target=ast.Name(id=name)) if name in names and rebinds:
            return name
    return None


def _is_new(node: ast.expr) -> bool:
    """Whether a value is computed, or one that was kept: `p * 0.9`, `backup[name]`."""
    match node:
        case ast.BinOp() | ast.Subscript():
            return True
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _ARITHMETIC
    return False


def _is_read(name: str, bound: ast.AST, module: Module) -> bool:
    """Whether anything may use the new value: later in the round, or behind the loop."""
    uses = references(name, bound, module)
    binding = uses.bound_by(bound) if uses is not None else None
    if uses is None or binding is None:
        return True  # the line never runs
    return uses.is_open or bool(uses.reads_of(binding))


RULE = Rule("CL519", check, hints=("parameters",), needs_training=False)
