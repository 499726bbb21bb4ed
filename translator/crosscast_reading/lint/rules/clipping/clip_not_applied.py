"""CL304: clipped gradients are computed and discarded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Span
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.references import references
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier, names_in, walk
from crosscast_reading.readers.python.library_calls import canonical, uses
from crosscast_reading.sources.subject import Subject

_CLIPS = re.compile(r"clip", re.I)
"""Names of functions that clip by hand."""
_FACTOR = re.compile(r"clip|coef|scale|norm|ratio", re.I)
_PRODUCTS = frozenset({"mul", "multiply", "scale", "div", "divide"})
_STORES = frozenset({"set_value", "copy_", "assign", "append", "setattr", "add_", "mul_", "zero_"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find unused results of clipping, for gradients that are applied."""
    program = subject.program
    for span, bound, line in _lost_clips(program):
        yield Finding(
            span=span,
            message=f"nothing is clipped: the scaled gradients are bound to {bound}, which "
            "nothing reads, and those of the parameters stay as they are",
            hint="change them in place, or assign them to `parameter.grad`",
            related=(line,) if line is not None else (),
        )
    for module in program.modules:
        for call in module.calls:
            names = [canonical(name) for name in call.names]
            if not names or not all(has_role(name, "clips_a_copy") for name in names):
                continue
            if "grad" not in module.text(call.node).lower() and "norm" not in call.method:
                continue
            name = _kept_in(call)
            if name is None or _is_read(name, call):
                continue
            yield Finding(
                span=module.span(call.node),
                message=f"the clipped gradients in {name} are never used"
                if name
                else "the clipped gradients are not assigned to a variable",
                hint="apply the returned gradients",
            )


def _kept_in(call: Call) -> str | None:
    """Return the variable assigned the gradients; empty if none, None for other uses."""
    match call.module.parent(call.node):
        case ast.Expr():
            return ""
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), *_])]):
            return name
    return None


def _is_read(name: str, call: Call) -> bool:
    """Whether anything behind the line may read the variable that it gives the gradients."""
    module = call.module
    line, uses = module.statement_of(call.node), references(name, call.node, module)
    binding = uses.bound_by(line) if uses is not None and line is not None else None
    if uses is None or binding is None:
        return False
    return any(module.statement_of(read) is not line for read in uses.reads_of(binding))


def _lost_clips(program: Program) -> Iterator[tuple[Span, str, Span | None]]:
    """Yield where gradients are clipped for nothing, the name they get, and the helper's line.

    That is the call of the function that clips them, or the line itself where nothing calls it.
    """
    rebinds = uses(program, "paddle")
    for module in program.modules:
        for function in module.functions.values():
            clips = walk(function) if _CLIPS.search(function.name) else ()
            lost = (_lost(each, module, rebinds) for each in clips)
            for name, line in filter(None, lost):
                sites = program.call_sites(module, function)
                for site in sites:
                    yield site.module.span(site.node), name, module.span(line)
                if not sites:
                    yield module.span(line), name, None


def _lost(loop: ast.AST, module: Module, rebinds: bool) -> tuple[str, ast.stmt] | None:
    """Return the unused name that the last statement of a loop assigns a product to.

    Args:
        loop: what may be a loop of a function that clips, by its name.
        module: of the loop.
        rebinds: whether `g *= x` makes a new tensor, as in Paddle.
    """
    if not isinstance(loop, ast.For):
        return None
    last = loop.body[-1]
    while isinstance(last, ast.If) and not last.orelse:
        last = last.body[-1]
    match last:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_product(value, name):
            pass
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value) if rebinds:
            if not _is_product(ast.BinOp(target, op, value), name):
                return None
        case _:
            return None
    if not _holds_gradients(name, loop, module):
        return None
    if any(map(_stores, walk(loop))):
        return None
    uses = references(name, last, module)
    binding = uses.bound_by(last) if uses is not None else None
    if uses is None or binding is None or uses.reads_of(binding):
        return None
    return name, last


def _is_product(node: ast.expr, name: str) -> bool:
    """Whether a value is a gradient times a factor, as a new tensor."""
    words = names_in(node)
    if name not in words or not any(_FACTOR.search(word) for word in words - {name}):
        return False
    match node:
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            return True
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _PRODUCTS
    return False


def _holds_gradients(name: str, loop: ast.For, module: Module) -> bool:
    """Whether a name is a gradient: one of a list of them, or `parameter.grad`."""
    of_gradients = "grad" in module.text(loop.iter).lower()
    if identifier(loop.target) == name:
        return of_gradients or name in ("g", "grad", "gradient")
    for each in loop.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Attribute(attr="grad")):
                if bound == name:
                    return True
    return of_gradients and name in names_in(loop.target)


def _stores(node: ast.AST) -> bool:
    """Whether a call changes something in place: `copy_`, or with `out`."""
    match node:
        case ast.keyword(arg="out" | "output"):
            return True
        case ast.Call(func=function):
            name = identifier(function)
            return name in _STORES or name.endswith("_")
    return False


RULE = Rule("CL304", check, hints=("clip",))
