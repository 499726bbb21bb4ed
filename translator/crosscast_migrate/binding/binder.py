"""Every import, name, call and method of a program that belongs to an indexed library, bound to it.

Nothing is reported that is not certain: what a name is must follow from imports and assignments
alone, an object's class from the call that made it, and all that it may be must agree. What may be
of the library and cannot be told is counted.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.binding.guards import is_guarded
from crosscast_migrate.binding.index import Index, Past, Signature
from crosscast_migrate.binding.own_classes import Kind, OwnClasses
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.meaning import meanings_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


@dataclass(frozen=True, slots=True)
class Unbound:
    """A place that a release refuses. `what`: the name or the call; `why`: in words.

    `existing`: public names of the release that end like a name that it lacks. `past`: what became
    of that name, if it is known. `accepted`: the arguments of what is called, in words.
    """

    span: Span
    what: str
    why: str
    existing: tuple[str, ...] = ()
    past: Past | None = None
    accepted: str = ""
    is_call: bool = False


@dataclass(slots=True)
class Bound:
    """The result of binding a program. `bound`: uses that fit; `unknown`: that cannot be told.

    `guarded`: uses that do not fit, where the program itself chooses between releases.
    """

    unbound: list[Unbound] = field(default_factory=list)
    bound: int = 0
    unknown: int = 0
    guarded: int = 0

    @property
    def words(self) -> str:
        """The numbers as a sentence."""
        known = self.bound + len(self.unbound)
        text = f"{self.bound} of {known} names and calls bound"
        if self.guarded:
            text += f", {self.guarded} left to the program's own conditions"
        if self.unknown:
            calls = "call" if self.unknown == 1 else "calls"
            text += f", {self.unknown} {calls} of objects of unknown class"
        return text


def bind(program: Program, index: Index) -> Bound:
    """Bind all modules of a program."""
    bound = Bound()
    stored = frozenset(
        node.attr
        for module in program.modules
        for node in module.every(ast.Attribute)
        if isinstance(node.ctx, ast.Store)
    )
    own = OwnClasses(program, index)
    for module in program.modules:
        _Binder(module, index, bound, stored, own).bind()
    return bound


class _Binder:
    """Binds one module. `stored`: attributes that the program itself gives to objects."""

    def __init__(
        self,
        module: Module,
        index: Index,
        bound: Bound,
        stored: frozenset[str],
        own: OwnClasses,
    ) -> None:
        self._stored = stored
        self._own = own
        self._module = module
        self._index = index
        self._bound = bound

    def bind(self) -> None:
        """Bind the module."""
        for node in self._module.nodes:
            if self._module.is_dead(node):
                continue
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._import(node, alias.name)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                self._attribute(node)
        for call in self._module.calls:
            if not self._module.is_dead(call.node):
                self._call(call)

    def _import(self, node: ast.stmt, name: str, meant: str = "", *, whole: bool = True) -> bool:
        """Bind the name of an import; tell whether it fits or is of no indexed package.

        Args:
            node: the import.
            name: the dotted name.
            meant: what is taken of it, if that is one name.
            whole: whether it must be a module: another object cannot be imported from.
        """
        package = name.partition(".")[0]
        if package not in self._index.packages or self._is_own(name):
            return True
        why = ""
        if self._index.entry(name) is None:
            why = self._lacks(name)
        elif whole and not self._index.may_be_module(name):
            why = f"{name} is no module in {self._index.title(package)}"
        return self._note(node, name, why, meant=meant)

    def _import_from(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level or base.partition(".")[0] not in self._index.packages or self._is_own(base):
            return
        taken = [f"{base}.{alias.name}" for alias in node.names if alias.name != "*"]
        if self._import(node, base, taken[0] if len(taken) == 1 else ""):
            for name in taken:
                self._import(node, name, whole=False)

    def _is_own(self, name: str) -> bool:
        """Whether a module of the program has this name."""
        return self._module.program.find_module(name, self._module) is not None

    def _lacks(self, name: str) -> str:
        return f"{self._index.title(name.partition('.')[0])} has no {name}"

    def _attribute(self, node: ast.Attribute) -> None:
        path = self._path(node.value)
        if path:
            base = self._index.entry(path)
            name = f"{path}.{node.attr}"
            if self._index.is_no_attribute(path, node.attr):
                self._note(node, name, self._lacks(name))
            if base is None or base.kind not in ("module", "class"):
                return
            entry = self._index.attribute(base, node.attr)
            why = "" if entry is not None else self._lacks(name)
            self._note(node, name, why, meant=self._spelled(node, name))
            return
        kinds = self._kinds(node.value)
        if not kinds or node.attr in self._stored:
            return
        lacking = [kind.name for kind in kinds if not kind.has(node.attr, self._index)]
        if len(lacking) == len(kinds):
            release = self._index.title(lacking[0].partition(".")[0])
            text = self._module.text(node)
            self._note(node, text, f"{lacking[0]} has no {node.attr} in {release}")
        else:
            self._bound.bound += 1

    def _spelled(self, node: ast.Attribute, name: str) -> str:
        """The longest dotted name that begins with an attribute."""
        here: ast.AST | None = self._module.parent(node)
        while isinstance(here, ast.Attribute):
            name = f"{name}.{here.attr}"
            here = self._module.parent(here)
        return name

    def _call(self, call: Call) -> None:
        function = call.node.func
        path = self._path(function)
        if path:
            self._named_call(call, path)
            return
        if not isinstance(function, ast.Attribute):
            self._own_call(call)
            return
        if self._path(function.value):
            return
        kinds = self._kinds(function.value)
        if kinds:
            method, index = function.attr, self._index
            held = [kind for kind in kinds if kind.has(method, index)]
            ways = [way for kind in held for way in kind.signatures(method, index)]
            self._fits(call, f"{kinds[0].name}.{method}", ways)
        elif self._is_unknown(function.value):
            self._bound.unknown += 1

    def _named_call(self, call: Call, path: str) -> None:
        """Bind a call of what a dotted name says; `Base.__init__(self, ...)` without `self`."""
        base, _, last = path.rpartition(".")
        above = self._index.entry(base) if last == "__init__" else None
        if above is not None and above.kind == "class":
            if call.node.args and not isinstance(call.node.args[0], ast.Starred):
                self._fits(call, path, self._index.signatures(above, base), given=1)
            return
        entry = self._index.entry(path)
        if entry is not None:
            self._fits(call, path, self._index.signatures(entry, path))

    def _own_call(self, call: Call) -> None:
        """Bind the call of a class of the program that has the constructor of a library's."""
        made = [self._own.constructed(m.name) for m in call.meanings if m.kind == "symbol"]
        kinds = [kind for kind in made if kind is not None]
        if kinds and len(kinds) == len(call.meanings):
            ways = [way for kind in kinds for way in kind.signatures("__init__", self._index)]
            self._fits(call, kinds[0].name, ways)

    def _is_unknown(self, node: ast.expr) -> bool:
        """Whether an object may be of the library, and nothing tells its class."""
        owner = self._owner_of_super(node)
        if owner:
            return self._own.derives(owner)
        return not meanings_of(node, self._module) and self._is_used_package()

    def _is_used_package(self) -> bool:
        imports = self._module.imports.values()
        return any(target.partition(".")[0] in self._index.packages for target in imports)

    def _fits(
        self, call: Call, name: str, signatures: Sequence[Signature | None], *, given: int = 0
    ) -> None:
        """Write a call down. `given`: arguments by position that are not of the signature."""
        node = call.node
        starred = any(isinstance(each, ast.Starred) for each in node.args)
        is_open = starred or any(keyword.arg is None for keyword in node.keywords)
        count = sum(not isinstance(each, ast.Starred) for each in node.args) - given
        names = [keyword.arg for keyword in node.keywords if keyword.arg]
        refusals = [
            signature.refusal(0 if starred else count, names, is_open=is_open) if signature else ""
            for signature in signatures
        ]
        if not refusals:
            return
        why = refusals[0] if all(refusals) else ""
        release = self._index.title(name.partition(".")[0])
        why = f"{name} of {release}: {why}" if why else ""
        self._note(node, name, why, signatures[0])

    def _path(self, node: ast.expr) -> str:
        """The dotted name that an expression spells, as the import says it; empty if it is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        bindings = list(bindings_of(node.id, node, self._module))
        targets = {binding.target for binding in bindings if binding.kind == "import"}
        if len(targets) != 1 or len(bindings) != len(targets):
            return ""
        (target,) = targets
        if target.partition(".")[0] not in self._index.packages or self._is_own(target):
            return ""
        return ".".join((target, *reversed(parts)))

    def _kinds(self, node: ast.expr) -> list[Kind]:
        """The classes that an object may have; none if it may be anything else."""
        owner = self._owner_of_super(node)
        if owner:
            above = self._own.above(owner)
            return [] if above is None else [above]
        kinds: list[Kind] = []
        for meaning in meanings_of(node, self._module):
            if meaning.kind != "instance":
                return []
            if ":" in meaning.name:
                kind = self._own.kind(meaning.name, exactly=meaning.call is not None)
            elif meaning.call is None:
                return []  # what an annotation tells of may be of a class derived from it
            else:
                kind = self._of_library(meaning.name)
            if kind is None:
                return []
            kinds.append(kind)
        return kinds

    def _of_library(self, name: str) -> Kind | None:
        if name.partition(".")[0] not in self._index.packages:
            return None
        entry = self._index.entry(name)
        return Kind(name, entry) if entry is not None and entry.kind == "class" else None

    def _owner_of_super(self, node: ast.expr) -> str:
        """The class of the program in whose method `super()` stands; empty for anything else."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return ""
        function = self._module.function_of(node)
        if node.func.id != "super" or function is None:
            return ""
        owner = self._module.parent(function)
        if not isinstance(owner, ast.ClassDef):
            return ""
        named = node.args[0] if node.args else None
        if named is not None and not (isinstance(named, ast.Name) and named.id == owner.name):
            return ""
        return f"{self._module.source.name}:{self._module.qualname(owner)}"

    def _note(
        self,
        node: ast.stmt | ast.expr,
        what: str,
        why: str,
        refusing: Signature | None = None,
        *,
        meant: str = "",
    ) -> bool:
        """Write a use down; tell whether it fits.

        Args:
            node: the import, name or call.
            what: what it names.
            why: why it does not fit; empty if it does.
            refusing: of a call, the signature that it does not fit.
            meant: the longest name that begins with it.
        """
        if not why:
            self._bound.bound += 1
        elif is_guarded(self._module, node, what, is_call=refusing is not None):
            self._bound.guarded += 1
        else:
            self._bound.unbound.append(
                Unbound(
                    self._module.span(node),
                    what,
                    why,
                    () if refusing else tuple(self._index.ending_like(what)),
                    None if refusing else self._index.past(meant or what),
                    refusing.words if refusing else "",
                    refusing is not None,
                )
            )
        return not why
