"""Reads accumulation: wrappers of optax, loops of `lax` over micro-batches, helpers by their names.

A loop of `lax` over whole steps, which applies updates in its body, accumulates nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import GRADIENTS, LOOPS, NAME, given_function
from crosscast_reading.facts.fact import unknown
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    canonical,
    last,
    plain,
    value_of,
)
from crosscast_reading.readers.python.module_words import function_calls
from crosscast_reading.readers.python.origins import located
from crosscast_reading.readers.python.value_flow import flow_of

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_HELPER = re.compile(r"accum\w*_grad")
_MAPS = frozenset({"tree_map", "map", "tree_multimap"})
_STEPS_WORD = re.compile(r"accum|micro|num_(chunks|splits)|grad_steps", re.I)
_TOKENS = re.compile(r"token|weight|denom|mask|count", re.I)
_APPLIES = frozenset({"apply_updates", "apply_gradients", "apply_gradient"})
_DEPTH = 3


def window_facts(program: Program) -> Iterator[Fact]:
    """Yield the facts about micro-batches that share an update."""
    for name, call in calls_of(program):
        if name in LOOPS:
            yield from _of_loop(name, call)
            continue
        if name == "optax.MultiSteps":
            value: Value | None = call.argument("every_k_schedule")
            divided = "no" if plain(call.argument("use_grad_mean")) is False else "library"
        elif name == "optax.apply_every":
            value, divided = call.argument("k"), "no"
        elif (steps := _summed_by(call)) is not None:
            span = call.module.span(call.node)
            yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
            told = located(value_of(steps, call.module), steps, call.module)
            yield fact_of("accumulation.steps", told, span, reader=NAME)
            continue
        else:
            continue
        span = call.module.span(call.node)
        yield fact_of("api", Known(("jax_multisteps",)), span, reader=NAME)
        yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
        if value is not None:
            yield fact_of("accumulation.steps", value, span, reader=NAME)
        yield fact_of("accumulation.loss_divided", Known(divided), span, reader=NAME)
        yield fact_of("accumulation.no_sync", Known("library"), span, reader=NAME)


def _summed_by(call: Call) -> ast.expr | None:
    """Return the number of parts: `accumulate_gradient(value_and_grad(f), ..., accum_steps)`."""
    if not _HELPER.match(call.method):
        return None
    arguments = (*call.node.args, *(k.value for k in call.node.keywords))
    text = call.module.text
    if not any(re.search(r"grad", text(argument)) for argument in arguments):
        return None
    return next(
        (argument for argument in arguments if re.search(r"accum|micro", text(argument))), None
    )


def _of_loop(name: str, call: Call) -> Iterator[Fact]:
    """Yield the facts of a loop of `lax` whose body adds up gradients and applies none."""
    scan = last(name) == "scan"
    place = 0 if scan else 2
    words = ("f",) if scan else ("body_fun",)
    bound = call.bound()
    named = next((bound[word] for word in words if word in bound), None)
    body = call.node.args[place] if len(call.node.args) > place else named
    definition = given_function(body, call.module) if body is not None else None
    if definition is None or not _adds_gradients(*definition):
        return
    span = call.module.span(call.node)
    yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
    steps = _cut_into(call) if scan else _rounds(call)
    if steps is None:
        reason = "into how many micro-batches a batch is cut was not read"
        yield unknown("accumulation.steps", reason, span, reader=NAME)
    else:
        value = located(value_of(steps, call.module), steps, call.module)
        yield fact_of("accumulation.steps", value, span, reader=NAME)
    divided = _divided(call, definition, steps)
    if divided:
        yield fact_of("accumulation.loss_divided", Known(divided), span, reader=NAME)
    yield fact_of("accumulation.tail", Known("none"), span, reader=NAME)


def _adds_gradients(module: Module, function: Function | ast.Lambda) -> bool:
    """Whether a body computes gradients and adds them to what it carries."""
    calls = list(_calls_within(module, function, _DEPTH))
    if any(call.method in _APPLIES for call in calls) or not any(map(_differentiates, calls)):
        return False
    return any(_adds(call) for call in calls)


def _calls_within(module: Module, function: ast.AST, depth: int) -> Iterator[Call]:
    """Yield the calls of a function and of functions of the program that it calls."""
    for call in function_calls(function, module):
        yield call
        inner = module.program.function(call) if depth else None
        if inner is not None:
            yield from _calls_within(*inner, depth - 1)


def _differentiates(call: Call) -> bool:
    """Whether a call computes gradients, or makes the function that does."""
    if any(GRADIENTS.fullmatch(canonical(name)) for name in call.names):
        return True
    for node, module in flow_of(call.node.func, call.module, lambda *_: False):
        name = canonical(module.call(node).name) if isinstance(node, ast.Call) else ""
        if GRADIENTS.fullmatch(name):
            return True
    return False


def _adds(call: Call) -> bool:
    """Whether a call adds trees: `tree_map(jnp.add, a, b)`, `tree_map(lambda x, y: x + y, ...)`."""
    if last(canonical(call.name)) not in _MAPS and call.method not in _MAPS:
        return False
    match call.node.args[:1]:
        case [ast.Lambda(body=body)]:
            return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
                       for node in walk(body))  # fmt: skip
        case [ast.Name() | ast.Attribute() as function]:
            return identifier(function) in ("add", "__add__")
    return False


def _rounds(call: Call) -> ast.expr | None:
    """Return the number of rounds of a loop from 0, or from 1 behind a first one outside."""
    bound = call.bound()
    lower = call.node.args[0] if call.node.args else bound.get("lower")
    upper = call.node.args[1] if len(call.node.args) > 1 else bound.get("upper")
    match lower:
        case ast.Constant(value=0 | 1):
            return upper
    return None


def _cut_into(call: Call) -> ast.expr | None:
    """Return the length of a scan, else the first size that its rows are reshaped to."""
    bound = call.bound()
    if (length := bound.get("length")) is not None:
        return length
    rows = call.node.args[2] if len(call.node.args) > 2 else bound.get("xs")
    if rows is None:
        return None
    sizes = {}
    for node, module in flow_of(rows, call.module):
        size = _first_size(node)
        if size is not None and _STEPS_WORD.search(module.text(size)):
            sizes[module.text(size)] = size
    return next(iter(sizes.values())) if len(sizes) == 1 else None


def _first_size(node: ast.AST) -> ast.expr | None:
    """Return the first size of `x.reshape((n, ...) + rest)`, `jnp.reshape(x, (n, ...))`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="jnp" | "np"), attr="reshape"),
                      args=[_, shape, *_]):  # fmt: skip
            pass
        case ast.Call(func=ast.Attribute(attr="reshape"), args=[shape, *_]):
            pass
        case _:
            return None
    while isinstance(shape, ast.BinOp):
        shape = shape.left
    return shape.elts[0] if isinstance(shape, ast.Tuple) and shape.elts else shape


def _divided(call: Call, body: tuple[Module, Function | ast.Lambda], steps: ast.expr | None) -> str:
    """Return whether sums are divided, in the body or behind the loop; empty if that is open."""
    around = call.module.function_of(call.node) or call.module.tree
    texts = []
    for module, root in ((call.module, around), body):
        for node in walk(root):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                texts.append(module.text(node.right))
    if steps is not None and call.module.text(steps) in texts:
        return "yes"
    if any(_TOKENS.search(text) for text in texts):
        return "token_normalised"
    return "" if texts else "no"
