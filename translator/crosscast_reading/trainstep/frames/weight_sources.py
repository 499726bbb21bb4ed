"""Whether an expression is a weight of a model, by where its value comes from."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.scopes import COMPREHENSIONS
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.trainstep.frames.object_kinds import is_gradient

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module

_SAME_VALUE = frozenset(
    {
        *("detach", "clone", "cpu", "cuda", "numpy", "float", "double", "half", "to", "type"),
        *("astype", "read_value", "value", "contiguous", "copy"),
    }
)
"""Methods that return the same numbers."""
_CONVERTS = frozenset(
    {
        *("array", "asarray", "float", "to_tensor", "cast", "identity", "stop_gradient", "copy"),
        *("convert_to_tensor", "convert_to_numpy", "deepcopy"),
    }
)
"""Functions that return the numbers of their first argument."""
_LISTS = frozenset(
    {
        *("parameters", "named_parameters", "buffers", "named_buffers", "state_dict"),
        *("get_weights", "sublayers_parameters", "all_parameters"),
    }
)
"""Methods of a model that return its weights."""
_ALIASES = _LISTS - {"get_weights"}
"""Those that return no copies."""
_ATTRIBUTES = frozenset({"trainable_variables", "trainable_weights", "weights", "variables"})
_WRAPS = frozenset({"list", "tuple", "dict", "sorted", "filter", "chain", "OrderedDict", "islice"})
_VIEWS = frozenset({"items", "values", "keys"})
_OF_LAYERS = frozenset({"weight", "bias", "kernel"})
_GRADIENT = re.compile(r"(^|_)grads?($|_)|gradients?$|^g$|^d_p$|^dp$", re.I)
_OTHER = re.compile(
    r"(^|_)(updates?|deltas?|moments?|momentum|loss(es)?|logs|metrics?|stat(istic)?s)$", re.I
)
"""Names of trees that are added up or averaged and are no weights."""
TRANSFORMS = frozenset({"grad", "value_and_grad", "filter_grad", "filter_value_and_grad"})
"""Functions that make one that computes gradients; some decorate the loss with them."""
_DIFFERENTIATES = frozenset({"torch.autograd.grad", "paddle.grad", "paddle.autograd.grad"})
_FILLED = re.compile(
    r"(zeros|ones|empty|full|randn?|normal|uniform)(_like)?|new_(zeros|ones|empty)"
)
_DEPTH = 4


def plain(node: ast.expr) -> ast.expr:
    """Return an expression without what leaves its numbers: `p` of `p.data.detach().float()`."""
    while True:
        match node:
            case ast.Attribute(value=inner, attr="data"):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=given) if (
                name in _SAME_VALUE and (not given or name in ("to", "type", "astype"))
            ):
                node = inner
            case ast.Call(func=function, args=[inner, *_]) if identifier(function) in _CONVERTS:
                node = inner
            case _:
                return node


def is_weight(node: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether an expression is a weight, or a collection of the weights of a model."""
    node = plain(node)
    if depth > _DEPTH or is_gradient(node):
        return False
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return False
    for here, where in chase(node, module):
        inner = plain(here)
        if inner is not here and is_weight(inner, where, depth + 1):
            return True
        match inner:
            case ast.Attribute(attr=name) if name in _OF_LAYERS:
                return True
            case ast.Subscript(value=collection):
                if is_collection(collection, where, depth + 1):
                    return True
            case ast.Name():
                if any(is_collection(*place, depth + 1) for place in _elements(inner, where)):
                    return True
            case _:
                pass
    return is_collection(node, module, depth + 1)


def is_collection(node: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether an expression holds the weights of a model: `model.state_dict().items()`."""
    if depth > _DEPTH:
        return False
    for here, where in chase(node, module):
        match here:
            case ast.Call(func=ast.Attribute(attr=name)) if name in _LISTS:
                return True
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _VIEWS:
                if is_collection(inner, where, depth + 1):
                    return True
            case ast.Call(func=function, args=given) if identifier(function) in _WRAPS:
                if any(is_collection(each, where, depth + 1) for each in given):
                    return True
            case ast.Attribute(attr=name) if name in _ATTRIBUTES:
                return True
            case ast.Subscript(slice=ast.Constant(value="params")):
                return True
            case ast.ListComp() | ast.DictComp() | ast.GeneratorExp():
                if _kept(here) and is_collection(here.generators[0].iter, where, depth + 1):
                    return True
            case _:
                pass
    return False


def _kept(node: ast.expr) -> bool:
    """Whether a comprehension keeps elements as they are: `[p for p in … if p.requires_grad]`."""
    assert isinstance(node, COMPREHENSIONS)
    element = plain(node.value if isinstance(node, ast.DictComp) else node.elt)
    names = {part.id for part in ast.walk(node.generators[0].target) if isinstance(part, ast.Name)}
    return isinstance(element, ast.Name) and element.id in names


def _elements(node: ast.Name, module: Module) -> list[tuple[ast.expr, Module]]:
    """Return the collections that the loops around give a name the elements of."""
    return [
        (_iterated(binding.value, binding.path), binding.module)
        for binding in definitions(node, module)
        if binding.kind == "loop" and binding.value is not None
    ]


def _iterated(iterable: ast.expr, path: tuple[int, ...]) -> ast.expr:
    """Return the source of an element: `weights` of `for a, w in zip(averages, weights)`."""
    match iterable:
        case ast.Call(func=ast.Name(id="zip"), args=given) if path and path[0] < len(given):
            return _iterated(given[path[0]], path[1:])
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if path[:1] == (1,):
            return _iterated(inner, path[1:])
    return iterable


def owner_of(node: ast.expr, module: Module) -> str:
    """Return the collection an element is taken from, as text: `average` of `average[name]`."""
    collection, where = _collection_of(node, module)
    return where.text(collection)


def model_of(node: ast.expr, module: Module) -> ast.expr:
    """Return the model whose weight an element is, or else the collection that it is taken from.

    `slow` of an element of `slow.parameters()`, `state.average` of `state.average[name]`.
    """
    collection, where = _collection_of(node, module)
    for here, _ in chase(collection, where):
        model = _listed(here)
        if model is not here:
            return model
    return collection


def is_of_layer(node: ast.expr, module: Module) -> bool:
    """Whether an expression is one weight of a layer by its name: `model.fc.bias`."""
    expressions = (plain(here) for here, _ in chase(plain(node), module))
    return any(isinstance(here, ast.Attribute) and here.attr in _OF_LAYERS for here in expressions)


def starts_filled(collection: ast.expr, module: Module) -> bool:
    """Whether a collection is made of zeros, ones or random numbers: `[zeros_like(p) for p in …]`.

    A copy of the weights is not.
    """
    return any(
        isinstance(part, ast.Call) and _FILLED.fullmatch(identifier(part.func))
        for here, _ in chase(collection, module)
        for part in ast.walk(here)
    )


def _collection_of(node: ast.expr, module: Module) -> tuple[ast.expr, Module]:
    node = plain(node)
    if isinstance(node, ast.Subscript):
        return node.value, module
    if isinstance(node, ast.Name):
        for place in _elements(node, module):
            return place
    return node, module


def _listed(node: ast.expr) -> ast.expr:
    """Return `model` of `list(model.state_dict().items())` and of `model.weights`."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _ALIASES | _VIEWS:
                node = inner
            case ast.Attribute(value=inner, attr=name) if name in _ATTRIBUTES:
                node = inner
            case ast.Call(func=function, args=[inner, *_]) if identifier(function) in _WRAPS:
                node = inner
            case _:
                return node


def is_gradient_like(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a gradient, to which weights are added as a decay."""
    node = plain(node)
    name = identifier(node.value if isinstance(node, ast.Subscript) else node)
    if is_gradient(node) or _GRADIENT.search(name):
        return True
    return any(is_gradient(plain(here)) for here, _ in chase(node, module))


def is_no_weight(node: ast.expr, module: Module) -> bool:
    """Whether a tree of arrays is known as something else: gradients, updates, metrics, moments."""
    if is_gradient_like(node, module) or _OTHER.search(identifier(plain(node))):
        return True
    sources = [node, *(b.value for b in definitions(node, module) if isinstance(node, ast.Name))]
    return any(
        isinstance(here, ast.Call) and identifier(here.func) in TRANSFORMS
        for source in sources
        if isinstance(source, ast.Call)
        for here, _ in chase(source.func, module)
    )


def holds_gradients(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a gradient, an element of a list of gradients, or such a list."""
    node = plain(node)
    if is_gradient(node):
        return True
    if isinstance(node, ast.Name):
        places = [(node, module), *_elements(node, module)]
        return any(_lists_gradients(collection, where) for collection, where in places)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return _lists_gradients(node.value, module)
    return isinstance(node, ast.ListComp) and is_gradient(plain(node.elt))


def _appended(node: ast.Name, module: Module) -> Sequence[ast.expr]:
    """Return the elements that are appended to a list that begins empty in the same function."""
    if not any(isinstance(b.value, ast.List) for b in definitions(node, module)):
        return ()
    return _appends(module).get((module.function_of(node), node.id), ())


@once
def _appends(module: Module) -> Mapping[tuple[Function | None, str], Sequence[ast.expr]]:
    """Return the elements that are appended to lists, by function and name."""
    elements: dict[tuple[Function | None, str], list[ast.expr]] = {}
    for call in module.every(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[e]):
                elements.setdefault((module.function_of(call), name), []).append(e)
    return elements


def _lists_gradients(node: ast.expr, module: Module, depth: int = 0) -> bool:
    for here, where in chase(node, module) if depth <= _DEPTH else ():
        match here:
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                if is_gradient(plain(element)):
                    return True
            case ast.DictComp(value=element):
                if is_gradient(plain(element)):
                    return True
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _VIEWS:
                if _lists_gradients(inner, where, depth + 1):
                    return True
            case ast.Call(func=function, args=[inner, *_]) if identifier(function) in _WRAPS:
                if _lists_gradients(inner, where, depth + 1):
                    return True
            case ast.Name():
                if any(is_gradient(plain(each)) for each in _appended(here, where)):
                    return True
            case ast.Call(func=ast.Attribute(attr="gradient" | "compute_gradients")):
                return True
            case ast.Call(func=function) if module.resolve(function) in _DIFFERENTIATES:
                return True
            case _:
                pass
    return False
