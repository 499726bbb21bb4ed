"""Reads loss scales and half types of modules, which are all the mixed precision that JAX has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_jax.reading.names import NAME
from crosscast_reading.facts.fact import unknown
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    canonical,
    last,
    text_value,
    value_of,
)
from crosscast_reading.readers.python.precision import Site, precision_facts, site, types_in

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SCALERS = re.compile(r"(flax|jmp)\.([\w.]+\.)?(DynamicScale|DynamicLossScale)")
_STATIC = "jmp.StaticLossScale"
_OF_SUMS = re.compile(r"^(mu|nu)_|moment|accum|state|grad|optim")
_OF_WEIGHTS = re.compile(r"(param|weight)s?_dtype")
_Chosen = tuple[ast.AST, "Module", str, bool]
"""A place that chooses a half type, and whether that is the type of weights."""
_HALF_NAMES = frozenset(f"jax.numpy.{name}" for name in HALVES)
_ARRAYS = re.compile(r"(jax|numpy|tensorflow|torch)\.|optax\.")
"""Functions whose `dtype` is that of one array, or of an optimizer's state."""
_CHOOSES = re.compile(r"(get_|parse_|to_|str)\w*dtype\w*|\w*dtype_(by|of|from)_\w+", re.I)
"""Functions of other files that return the type that a word names."""
_JMP = re.compile(r"(p|params|c|compute|o|output)=(\w+)")
_JMP_DEFAULTS = (
    ("period", "loss_scaling.growth_interval", 2000),
    ("factor", "loss_scaling.growth_factor", 2.0),
    ("min_loss_scale", "loss_scaling.min_scale", 1.0),
)
"""Arguments of `jmp.DynamicLossScale`, and their values where a call leaves them out."""
_MODULES = re.compile(
    r"flax\.(linen|nnx)\.Module|equinox\.Module|haiku\.Module|(jax\.example_libraries\.)?stax\.\w+"
    r"|equinox\.nn\.\w+|flax\.nnx\.\w+"
)
"""Bases of models, and layers that a program makes itself: their types stand in the program."""


def scaling_facts(program: Program) -> Iterator[Fact]:
    """Yield the facts about scalers, and about the types in which modules compute."""
    scalers = [call for name, call in calls_of(program) if _SCALERS.fullmatch(name)]
    for call in scalers:
        span = call.module.span(call.node)
        of_jmp = call.name.startswith("jmp.")
        if not of_jmp:
            yield fact_of("api", Known(("jax_dynamic_scale",)), span, reader=NAME)
        yield fact_of("loss_scaling.mode", Known("dynamic"), span, reader=NAME)
        yield fact_of("scaler_update.status", Known("custom"), span, reader=NAME)
        words = scaling_words("jmp") if of_jmp else scaling_words("flax")
        for argument, field in words.items():
            node = call.bound().get(argument)
            if node is not None:
                value = value_of(_number_in(node), call.module)
                yield fact_of(field, value, span, reader=NAME)
        yield from _of_jmp(call) if of_jmp else ()
    for call in (call for name, call in calls_of(program) if name == _STATIC):
        span = call.module.span(call.node)
        yield fact_of("loss_scaling.mode", Known("static"), span, reader=NAME)
        if call.node.args:
            value = value_of(_number_in(call.node.args[0]), call.module)
            yield fact_of("loss_scaling.scale", value, span, reader=NAME)
    for call in scalers[:1] if _skips(program) else ():
        span = call.module.span(call.node)
        yield fact_of("schedule.on_skip", Known("guarded"), span, reader=NAME)
    yield from _types(program, scalers)


def _of_jmp(call: Call) -> Iterator[Fact]:
    """Yield the settings of jmp's scale that its call leaves out; it falls as it grows."""
    span = call.module.span(call.node)
    for argument, field, usual in _JMP_DEFAULTS:
        if argument not in call.bound() and not call.has_star:
            yield fact_of(field, Known(usual, "library_default"), span, reader=NAME)
    factor = call.argument("factor", Known(2))
    match factor:
        case Known(value=int() | float() as growth) if growth:
            told = Known(1 / growth, "derived")
            yield fact_of("loss_scaling.backoff_factor", told, span, reader=NAME)


def _number_in(node: ast.expr) -> ast.expr:
    """Return the number within `jnp.float32(2 ** 15)`, or within a call with it alone."""
    match node:
        case ast.Call(args=[inner], keywords=[]):
            return inner
    return node


def _skips(program: Program) -> bool:
    """Whether parameters are restored where gradients are not finite."""
    return any(name in ("jax.numpy.where", "jax.lax.select", "functools.partial") and "fin" in
               call.module.text(call.node) for name, call in calls_of(program))  # fmt: skip


def _types(program: Program, scalers: list[Call]) -> Iterator[Fact]:
    chosen = list(_half_names(program))
    sites = [site(node, module, (kind,)) for node, module, kind, stored in chosen if not stored]
    sites += _chosen_types(program)
    policies = list(_policies(program))
    sites += [each for each, _ in policies]
    halves = [module.span(node) for node, module, _, stored in chosen if stored]
    halves += [each.span for each, stored in policies if stored]
    if not sites and scalers:
        sites = [site(scalers[0].node, scalers[0].module, ("float16",))]
    if halves:
        yield from _of_half_weights(chosen, sites, halves)
    elif sites:
        yield from precision_facts(sites, NAME)
    elif (place := _made_elsewhere(program)) is not None:
        call, module = place
        reason = "the types of its modules are in another file"
        yield unknown("precision.mode", reason, module.span(call), reader=NAME)


def _of_half_weights(
    chosen: Sequence[_Chosen], sites: Sequence[Site], places: Sequence[Span]
) -> Iterator[Fact]:
    """Yield types of a program whose weights are half ones, without copies in float32."""
    told = sites or [site(node, module, (kind,)) for node, module, kind, _ in chosen]
    yield from (
        fact
        for fact in precision_facts(told, NAME, with_default=bool(sites))
        if fact.field != "precision.mode"
    )
    reason = "weights and moments are stored in a half type"
    yield unknown("precision.mode", reason, *places, reader=NAME)
    if not sites:
        reason = "the type of the inputs decides"
        yield unknown("precision.compute_dtype", reason, *places, reader=NAME)


def _half_names(program: Program) -> Iterator[_Chosen]:
    """Yield the places that choose a half type: a return value or a `dtype` argument."""
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if module.resolve(node) not in _HALF_NAMES or module.is_dead(node):
                continue
            parent = module.parent(node)
            around = module.parent(parent) if isinstance(parent, ast.IfExp) else parent
            chosen = isinstance(around, ast.Return | ast.Assign)
            keyword = around if isinstance(around, ast.keyword) else None
            if chosen or (keyword is not None and _is_for_compute(keyword, module)):
                stored = keyword is not None and bool(_OF_WEIGHTS.match(str(keyword.arg)))
                yield node, module, node.attr, stored


def _is_for_compute(given: ast.keyword, module: Module) -> bool:
    """Whether an argument sets the type of computation, not of an optimizer's state."""
    name = str(given.arg)
    if not name.endswith("dtype") or _OF_SUMS.search(name):
        return False
    function = getattr(module.parent(given), "func", given.value)
    return not module.resolve(function).startswith("optax.")


def _chosen_types(program: Program) -> Iterator[Site]:
    """Yield modules whose type a setting names: `dtype=getattr(jnp, args.dtype)`."""
    for module in program.modules:
        for node in module.every(ast.keyword):
            if node.arg != "dtype" or not isinstance(node.value, ast.Call):
                continue
            around = module.parent(node)
            function = getattr(around, "func", None)
            if function is None or _ARRAYS.match(canonical(module.resolve(function))):
                continue
            word = _named_by(node.value, module)
            if word is not None:
                default = next(iter(types_in(value_of(word, module))), "")
                yield site(node.value, module, HALVES, chosen=word, default=default)


def _named_by(call: ast.Call, module: Module) -> ast.expr | None:
    """Return the word that a call makes a type of."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[numpy, word]):
            whose = canonical(module.resolve(numpy))
            return word if whose in ("jax.numpy", "numpy", "jax") else None
        case ast.Call(func=function, args=[word]) if _CHOOSES.fullmatch(
            last(module.text(function))
        ):
            return word if module.program.function(module.call(call)) is None else None
    return None


def _policies(program: Program) -> Iterator[tuple[Site, bool]]:
    """Yield the policies of jmp that name a half type, and whether for the weights, too."""
    for name, call in calls_of(program):
        if name != "jmp.get_policy" or not call.node.args:
            continue
        words = dict(_JMP.findall(text_value(value_of(call.node.args[0], call.module))))
        kinds = {part[:1]: types_in(Known(word)) for part, word in words.items()}
        compute, stored = kinds.get("c", ()), kinds.get("p", ())
        if set(compute) & set(HALVES):
            yield site(call.node, call.module, compute), bool(set(stored) & set(HALVES))


def _made_elsewhere(program: Program) -> tuple[ast.AST, Module] | None:
    """Return a place that shows that the model of a program is of another file; None if not."""
    if any(_MODULES.fullmatch(name) for name, _ in calls_of(program)):
        return None
    for module in program.modules:
        for node in module.classes.values():
            if any(_MODULES.fullmatch(canonical(module.resolve(base))) for base in node.bases):
                return None
    for name, call in calls_of(program):
        of_model = call.method in ("init", "apply", "apply_fn") and ":" not in name
        if (of_model and not name.startswith("optax.")) or name == "flax.nnx.Optimizer":
            return call.node, call.module
    return None
