"""What `from module import *` gives to names that the lines before it have bound."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.packages import OWN, framework_of_name
from crosscast_reading.pysource.libraries.public_names import INSTALLED, STANDARD
from crosscast_reading.pysource.names.reaching_assignments import reaching
from crosscast_reading.pysource.programs.scopes import Binding

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_PACKAGE = re.compile("|".join(sorted(OWN)))
_DEEPEST = 8


def rebound(
    bindings: Sequence[Binding], name: str, use: ast.AST | None, module: Module
) -> Sequence[Binding]:
    """Return the bindings of a global name after the star imports that follow them.

    A file that is given says what it binds. One that is not given may bind anything: the name keeps
    its meaning, unless the file is named after another framework, as in `import torch` before
    `from paddle_compat import *`. Then nothing is known of the name.

    Args:
        bindings: what binds the name in the module itself.
        name: the name.
        use: the node that reads it, if it stands in the module's own scope.
        module: the module of the use.
    """
    for star, base in module.star_imports:
        before = [b for b in bindings if b.module is module and _line(b.node) < star.lineno]
        if not before or (use is not None and _line(use) <= star.lineno):
            continue
        given = [*_given(base, name, module, star, before)]
        if given:
            sure = isinstance(module.parent(star), ast.Module)
            kept = [b for b in bindings if not (sure and b in before)]
            bindings = [
                *(b for b in kept if b in before),
                *given,
                *(b for b in kept if b not in before),
            ]
    return bindings


def may_be_rebound(node: ast.expr, module: Module) -> bool:
    """Whether a star import of a file that is not given may give `torch` of `torch.x` to it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name) or not module.star_imports:
        return False
    lines = [_line(binding.node) for binding in module.scope.bindings.get(node.id, ())]
    inside = module.scope_of(node) is module.scope
    return any(
        max(lines, default=0) < star.lineno and (not inside or star.lineno < node.lineno)
        for star, base in module.star_imports
        if _is_unseen(base, module, _DEEPEST)
    )


def _given(
    base: str, name: str, module: Module, star: ast.ImportFrom, before: Sequence[Binding]
) -> Iterator[Binding]:
    """Yield the bindings that a star import gives a name."""
    seen = [*_exported(base, name, module, _DEEPEST)]
    yield from seen
    roots = {b.target.partition(".")[0] for b in before if b.kind == "import"}
    other = any(is_of_another(base, root) for root in roots)
    if not seen and other and _is_unseen(base, module, _DEEPEST):
        yield Binding("other", star, module.scope)


def _exported(base: str, name: str, importer: Module, depth: int) -> Iterator[Binding]:
    """Yield the bindings of a name that a module of the program hands on."""
    other = importer.program.find_module(base, importer)
    if other is None or other is importer or not depth or name not in _public(name, other):
        return
    own = other.scope.bindings.get(name)
    if own:
        yield from rebound(reaching(own, None, other), name, None, other)
        return
    for _, inner in other.star_imports:
        yield from _exported(inner, name, other, depth - 1)


def _public(name: str, module: Module) -> Sequence[str]:
    """Return the name if the module hands it on: what `__all__` lists, or has no underscore."""
    for node in module.tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="__all__")],
                value=ast.List(elts=listed) | ast.Tuple(elts=listed),
            ):
                return [name] if any(getattr(e, "value", name) == name for e in listed) else []
    return [] if name.startswith("_") else [name]


def _is_unseen(base: str, importer: Module, depth: int) -> bool:
    """Whether a star import takes names from a file that is not given and is no known library."""
    other = importer.program.find_module(base, importer)
    if other is not None:
        return (
            other is not importer
            and depth > 0
            and any(_is_unseen(inner, other, depth - 1) for _, inner in other.star_imports)
        )
    return base.partition(".")[0] not in INSTALLED | STANDARD


def is_of_another(base: str, library: str) -> bool:
    """Whether a module is named after another framework than a library."""
    named = {framework_of_name(word) for word in _PACKAGE.findall(base.lower())}
    return library in OWN and bool(named) and framework_of_name(library) not in named


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
