"""The domain of settings: what functions that write out a `ConfigDict` return.

A value is plain Python data, a `Section`, a function, or a `Value` of what is not known or depends
on a condition. After a condition that is not known, both branches have been run, and what they do
not agree on is a choice. What something unknown may have changed is lost.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from crosscast_reading.pysource.evaluation.choices import choice
from crosscast_reading.pysource.evaluation.section import (
    COPIES,
    MISSING,
    Kept,
    Section,
    copied,
    is_computed,
    lose_all,
    made_by,
    makes_settings,
    nested,
    section_of,
)
from crosscast_reading.pysource.flags import reading as flags
from crosscast_reading.pysource.machine import functions
from crosscast_reading.pysource.machine.frames import Closure, Variables
from crosscast_reading.pysource.machine.machine import Machine
from crosscast_reading.pysource.machine.statements import LEAVE
from crosscast_reading.pysource.names.containers import definitions, sources_of
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.budget import Budget, NoValueError
from crosscast_reading.pysource.values.combine import MAX_OPTIONS, spread
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_STEPS = 100_000
_DEEPEST = 12
_VALUES = (Known, Symbol, Unknown, Choice, Instance)
_READS = ("logging.", "absl.logging.", "json.dumps", "pprint.")
_READS_WHOLE = ("print", "repr", "str", "type")
"""Functions that leave settings as they are."""
_SAME = frozenset({"unlocked", "ignore_type", "lock", "unlock"})
_COPYING = frozenset({"copy_and_resolve_references", "to_dict", "copy"})
_NO_CHANGE = frozenset({"get_type", "to_json", "to_yaml", "eq_as_configdict"})
_FLAT = "update_from_flattened_dict"


class _EndedError(Exception):
    """A `raise` was reached: no run goes on from there."""


class SettingsMachine(Machine):
    """Computes what a function returns. `ran` holds the functions that were computed."""

    def __init__(self, program: Program) -> None:
        super().__init__(Budget(_STEPS, _DEEPEST))
        self.program = program
        self.ran: set[ast.AST] = set()

    def settings(
        self,
        module: Module,
        function: Function,
        given: Sequence[object],
        named: Mapping[str, object],
    ) -> Section:
        """Return the settings that a function makes; open ones where that cannot be computed."""
        try:
            made = self.run_function(Closure(function, module), given, named)
        except (NoValueError, _EndedError, *LEAVE):
            made = None
        if isinstance(made, Section):
            return made
        made = Section(merges=True)
        made.is_open = True
        return made

    def run_function(
        self, closure: Closure, given: Sequence[Any], named: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the result of a function of the program."""
        self.ran.add(closure.node)
        return super().run_function(closure, given, named)

    # ---- values

    def unknown(self, node: ast.AST, place: Variables, reason: str = "") -> Unknown:
        """Return the stand-in of a value that is not known."""
        text = place.module.text(node)[:200]
        return Unknown(text, reason or "an expression that only a run can tell", names=(text,))

    def exhausted(self, node: ast.AST, module: Module, *, is_deep: bool = False) -> NoReturn:
        """Raise the error of a computation that takes too long."""
        raise NoValueError

    def uncallable(self, closure: Closure, reason: str) -> NoReturn:
        """Raise the error of a call that is not computed."""
        raise NoValueError

    def missing(self, parameter: ast.arg, closure: Closure, names: dict[str, Any]) -> None:
        """Say what a parameter is that a call gives no value."""
        names[parameter.arg] = Unknown(parameter.arg, "an argument that is not known")

    def blank(self, node: ast.AST, frame: Variables, *, is_changed: bool = False) -> Unknown:
        """Return the content of a name whose value is not known."""
        return self.unknown(node, frame)

    def is_unknown(self, value: Any) -> bool:
        """Whether a value has no content that operators could be computed with."""
        return isinstance(value, (*_VALUES, Closure))

    def truth_of(self, value: Any) -> bool | None:
        """Return whether a value counts as true; defaults of flags are not certain."""
        match value:
            case Known(value=content, flag=flag):
                return bool(content) if flags.is_given(flag, self.program) else None
            case Section(is_open=True):
                return None
            case Symbol() | Unknown() | Choice() | Instance() | Closure():
                return None
        return bool(value)

    def lifted(self, content: object) -> Any:
        """Return a container; a dictionary as a section."""
        return Section(content) if type(content) is dict else content

    def applied(
        self, node: ast.AST, values: Sequence[Any], compute: Callable[..., object], place: Variables
    ) -> Any:
        """Return an operation on values, for every option of choices."""
        if not any(isinstance(value, _VALUES) for value in values):
            return super().applied(node, values, compute, place)
        if any(isinstance(value, Closure) for value in values):
            return self.unknown(node, place)
        return spread(place.module.text(node), [_as_value(value) for value in values], compute)

    def combined(
        self, node: ast.BinOp | ast.AugAssign, left: Any, right: Any, frame: Variables
    ) -> Any:
        """Return `left op right`."""
        if isinstance(left, Section) or isinstance(right, Section):
            lose_all(left)
            return self.unknown(node, frame)
        return super().combined(node, left, right, frame)

    def compared(
        self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any, place: Variables
    ) -> Any:
        """Return `left op right` of a comparison."""
        if isinstance(right, Section) and right.is_open:
            return self.unknown(node, place)
        return super().compared(node, op, left, right, place)

    def name(self, node: ast.Name, place: Variables) -> Any:
        """Return the value of a name."""
        names = place.find(node.id)
        if names is not None:
            return names[node.id]
        made = [each for b in definitions(node, place.module) for each in sources_of(b)]
        if len(made) == 1 and isinstance(made[0][0], ast.Dict):  # it may hold settings
            return self.value(made[0][0], Variables(made[0][1]))
        return section_of(evaluate(node, place.module))

    def attribute(self, node: ast.Attribute, place: Variables) -> Any:
        """Return the value of an attribute."""
        if not is_computed(node.value, place):
            return section_of(evaluate(node, place.module))
        held = self.value(node.value, place)
        text = place.module.text(node)[:200]
        return (
            held.entry(node.attr, text) if isinstance(held, Section) else self.unknown(node, place)
        )

    def entry_of(self, base: Any, node: ast.Subscript, frame: Variables) -> Any:
        """Return an entry of something that is not computed."""
        if is_computed(node.value, frame):
            return self.unknown(node, frame)
        return section_of(evaluate(node, frame.module))

    def no_entry(self, node: ast.Subscript, frame: Variables) -> Any:
        """Return the stand-in of an entry that is not there."""
        return self.unknown(node, frame, "an entry that nothing in the files given writes")

    def either(self, node: ast.IfExp, place: Variables) -> Any:
        """Return the value of `a if test else b` where the test is not known."""
        one, two = self.value(node.body, place), self.value(node.orelse, place)
        return self._choice("", one, two, node.test, place.module)

    # ---- calls

    def call(self, node: ast.Call, place: Variables) -> Any:
        """Return the value of a call."""
        function, module = node.func, place.module
        if isinstance(function, ast.Attribute) and is_computed(function.value, place):
            return self._method(node, function, place)
        if isinstance(function, ast.Name) and place.find(function.id) is not None:
            return self._program_call(node, self.value(function, place), place)
        if (own := module.program.function(module.call(node))) is not None:
            return self._program_call(node, Closure(own[1], own[0]), place)
        name = module.resolve(function)
        given, named = self.arguments(node, place)
        if makes_settings(name) or name == "dict":
            return made_by(name, given, named)
        if name in COPIES and given:
            return copied(given[0])
        if name in ("setattr", "getattr") and len(given) > 1:
            return self._named_attribute(node, name, given, place)
        known = functions.function_named(name)
        if known is not None:
            try:
                return functions.call(known, given, named)
            except NoValueError:
                return self.unknown(node, place)
        if name not in _READS_WHOLE and not name.startswith(_READS):
            lose_all(*given, *named.values())
        elsewhere = evaluate(node, module)
        return elsewhere if isinstance(elsewhere, Symbol | Instance) else self.unknown(node, place)

    def _named_attribute(
        self, node: ast.Call, word: str, given: Sequence[Any], place: Variables
    ) -> Any:
        held, key, *rest = given
        if not isinstance(held, Section) or not isinstance(key, str):
            lose_all(held)
            return self.unknown(node, place)
        if word == "setattr":
            held.put(key, rest[0] if rest else None)
            return None
        if key not in held and rest and not held.is_open:
            return rest[0]
        return held.entry(key, place.module.text(node)[:200])

    def _method(self, node: ast.Call, function: ast.Attribute, place: Variables) -> Any:
        held, word = self.value(function.value, place), function.attr
        given, named = self.arguments(node, place)
        if not isinstance(held, Section):
            if isinstance(held, list | str):
                return self.call_method(held, word, (given, named), node, place)
            lose_all(*given, *named.values())
            return self.unknown(node, place)
        content = given[0] if given else named
        if word in ("update", _FLAT) and isinstance(content, dict) and len(given) < 2:
            held.update_with(nested(content) if word == _FLAT else content)
            held.update_with(dict(named))
        elif word in ("get", "pop", "setdefault") and given and not self.is_unknown(given[0]):
            return self._taken(held, word, given, node, place)
        elif word in ("items", "keys", "values") and not held.is_open:
            return list(getattr(dict, word)(held))
        elif word in _SAME:
            return held
        elif word in _COPYING:
            return copied(held)
        elif word not in _NO_CHANGE:
            if not word.startswith("get_"):  # a reference follows what it refers to
                held.lose()
            lose_all(*given, *named.values())
        return None if word.startswith("update") else self.unknown(node, place)

    def _taken(
        self, held: Section, word: str, given: Sequence[Any], node: ast.Call, place: Variables
    ) -> Any:
        key, default = given[0], given[1] if len(given) > 1 else None
        if key in held:
            return held.pop(key) if word == "pop" else held[key]
        if held.is_open:
            return self.unknown(node, place)
        if word == "setdefault":
            held.put(key, default)
        return default

    def _program_call(self, node: ast.Call, closure: object, place: Variables) -> Any:
        given, named = self.arguments(node, place)
        try:
            if not isinstance(closure, Closure):
                raise NoValueError
            return self.run_function(closure, given, named)
        except NoValueError:
            lose_all(closure, *given, *named.values())
            return self.unknown(node, place)

    def lose(self, held: Any, node: ast.AST, frame: Variables) -> None:
        """Note that something was changed to something that is not known."""
        lose_all(held)
        super().lose(held, node, frame)

    def unfolded_names(self, node: ast.expr, frame: Variables) -> Mapping[str, Any]:
        """Return the arguments that `**node` stands for."""
        entries = super().unfolded_names(node, frame)
        if isinstance(entries, Section) and entries.is_open:
            raise NoValueError
        return entries

    # ---- statements

    def refused(self, statement: ast.stmt, frame: Variables) -> None:
        """End at a `raise`, delete; give up at any other statement that is not computed."""
        match statement:
            case ast.Raise():
                raise _EndedError
            case ast.Delete(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Attribute | ast.Subscript):
                        lose_all(self.value(target.value, frame))
            case _:
                raise NoValueError

    def undecided_branch(self, statement: ast.If, frame: Variables) -> None:
        """Run both branches; what they do not agree on is a choice."""
        before, ends = self._kept(statement, frame), []
        for body in (statement.body, statement.orelse):
            before.restore()
            try:
                self.run(body, frame)
                ends.append(Kept(frame, before))
            except _EndedError:
                pass
            except LEAVE:
                raise NoValueError from None
        if not ends:
            raise _EndedError
        ends[0].restore()
        if len(ends) == 2:
            module = frame.module
            join = lambda name, a, b: self._choice(name, a, b, statement.test, module)  # noqa: E731
            ends[0].join(ends[1], join)

    def undecided_loop(self, statement: ast.For | ast.While, frame: Variables) -> None:
        """Lose what the rounds of a loop change."""
        if isinstance(statement, ast.For):
            self.assign(statement.target, self.unknown(statement.target, frame), frame)
        for _ in range(2):  # what the first round changes may decide what the second one does
            before = self._kept(statement, frame)
            try:
                self.run(statement.body, frame)
            except (_EndedError, *LEAVE):
                raise NoValueError from None
            before.join(Kept(frame, before), _changing)

    def _kept(self, statement: ast.stmt, frame: Variables) -> Kept:
        kept = Kept(frame)
        if not self.budget.spend(kept.size):
            self.exhausted(statement, frame.module)
        return kept

    def _choice(self, name: str, one: Any, two: Any, test: ast.expr, module: Module) -> Any:
        if any(part is MISSING or isinstance(part, Section | Closure) for part in (one, two)):
            condition = module.text(test)[:200]
            return Unknown(name or condition, f"it depends on {condition}", names=(condition,))
        value = choice([(test, True, _as_value(one)), (test, False, _as_value(two))], module)
        if isinstance(value, Choice) and len(value.options) > MAX_OPTIONS:
            return Unknown(name, "it depends on conditions", names=(name,))
        return value

    def unpacked(self, value: Any, count: int, target: ast.expr, frame: Variables) -> Sequence[Any]:
        """Return as many values that are not known."""
        return [self.unknown(target, frame) for _ in range(count)]

    def assign_attribute(self, target: ast.Attribute, value: Any, frame: Variables) -> None:
        """Assign a value to an entry of settings."""
        held = self.value(target.value, frame)
        if isinstance(held, Section):
            held.put(target.attr, value)
        else:
            lose_all(value)

    def assign_entry(self, target: ast.Subscript, value: Any, frame: Variables) -> None:
        """Assign a value to an entry."""
        held, key = self.value(target.value, frame), self.key(target.slice, frame)
        if isinstance(held, Section) and isinstance(key, str | int):
            held.put(key, value)
        elif isinstance(held, list) and isinstance(key, int) and -len(held) <= key < len(held):
            held[key] = value
        else:
            if isinstance(held, list):
                held[:] = [self.unknown(target, frame) for _ in held]
            self.lose(held, target, frame)
            lose_all(value)


def _changing(name: str, one: object, two: object) -> Unknown:
    """Return the stand-in of a value that the rounds of a loop change."""
    return Unknown(name, "it changes in every round of a loop", names=(name,))


def _as_value(value: Any) -> Value:
    return value if isinstance(value, _VALUES) else Known(value)
