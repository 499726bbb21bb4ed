"""Where flags are defined: argparse and its wrappers, absl, click, fire, dataclasses."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.pysource.flags import fields
from crosscast_reading.pysource.flags.conversion import convert
from crosscast_reading.pysource.flags.launch import Launch
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.pysource.values.value import Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_ABSL = {
    "integer": "int",
    "float": "float",
    "string": "str",
    "bool": "boolean",
    "boolean": "boolean",
    "enum": "str",
    "list": "list",
    "multi_string": "list",
    "multi_integer": "list",
    "multi_float": "list",
}


_OF_A_FILE = ("is_config_file", "is_config_file_arg")


def flags_of(program: Program) -> Iterator[Flag]:
    """Yield all flags of a program with their values in the launch command."""
    flags: list[Flag] = []
    defaults: dict[str, ast.expr] = {}
    for module in program.modules:
        flags.extend(_in_module(module, defaults))
    flags.extend(fields.fields_and_parameters(program))
    launch = Launch(program.launch)
    for settings in _files_of_settings(program, launch):
        launch.add(settings)
    readers = _Readers(program)
    for flag in flags:
        if flag.dest in defaults and flag.parser == "argparse":
            node = defaults[flag.dest]
            flag = replace(flag, default=evaluate(node, flag.module.owner_of(node)))
        yield replace(flag, given=launch.given(flag), read=readers.read(flag))


def _files_of_settings(program: Program, launch: Launch) -> Iterator[Mapping[str, object]]:
    """Yield the content of files that a command gives to an option for them, of ConfigArgParse."""
    if program.launch is None or program.documents is None:
        return
    for module in program.modules:
        if "is_config_file" not in module.source.text:
            continue
        for call in module.calls:
            marks = [k.value for k in call.node.keywords if k.arg in _OF_A_FILE]
            if not any(isinstance(mark, ast.Constant) and mark.value is True for mark in marks):
                continue
            options = [arg.value for arg in call.node.args if isinstance(arg, ast.Constant)]
            names = [launch.text(option) for option in options if isinstance(option, str)]
            for name in filter(None, names):
                yield program.documents(name, False, False) or {}


def _in_module(module: Module, defaults: dict[str, ast.expr]) -> Iterator[Flag]:
    keeps = _KEPT.search(module.source.text) is not None
    for call in module.calls:
        function = call.node.func
        word = function.attr if isinstance(function, ast.Attribute) else _id(function)
        if keeps and isinstance(function, ast.Name) and word not in _READERS:
            word = _kept_method(function, module) or word
        reader = _READERS.get(word)
        if reader is not None:
            flag = reader(call, module)
            if flag is not None:
                yield flag
        elif word.startswith("DEFINE_"):
            flag = _absl(call, module, word.removeprefix("DEFINE_"))
            if flag is not None:
                yield flag
        elif word == "set_defaults":
            for keyword in call.node.keywords:
                if keyword.arg:
                    defaults[keyword.arg] = keyword.value


def _kept_method(name: ast.Name, module: Module) -> str:
    """Return the method of a parser that a name stands for: `add = parser.add_argument`."""
    for assigned, _ in chase(name, module):
        if isinstance(assigned, ast.Attribute) and assigned.attr in _READERS:
            return assigned.attr
    return ""


def _id(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _argument(call: Call, module: Module) -> Flag | None:
    """Read `add_argument("-x", "--long", type=..., default=...)`."""
    options = [a.value for a in call.node.args if isinstance(a, ast.Constant)]
    spellings = tuple(o for o in options if isinstance(o, str))
    if not spellings:
        return None
    given = {k.arg: k.value for k in call.node.keywords if k.arg is not None}
    long = [o for o in spellings if o.startswith("--")] or list(spellings)
    dest = long[0].lstrip("-")
    positional = not spellings[0].startswith("-")
    dest = dest if positional else dest.replace("-", "_")
    if "dest" in given:
        named = evaluate(given["dest"], module)
        if isinstance(named, Known) and isinstance(named.value, str):
            dest = named.value
    action = _action(given.get("action"), module)
    kind = module.text(given["type"])[:80] if "type" in given else ""
    required = positional or _is_true(given.get("required"), module)
    starred = any(k.arg is None for k in call.node.keywords)
    default = _default(given.get("default"), action, kind, module)
    if default is None:
        why = "the flag must be given" if required else f"the flag {long[0]} has no default"
        if starred:
            why = f"the flag {long[0]} is defined with arguments that are not known"
        default = Unknown(module.text(call.node)[:200], why, "flag")
    return Flag(
        name=long[0],
        dest=dest,
        default=default,
        type=kind or ("bool" if action in ("store_true", "store_false") else ""),
        action=action,
        choices=_choices(given.get("choices"), module),
        span=module.span(call.node),
        options=spellings,
        required=required,
        parser="argparse",
        module=module,
        node=call.node,
    )


def _action(node: ast.expr | None, module: Module) -> str:
    if node is None:
        return ""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return module.text(node).rpartition(".")[2][:80]


def _is_true(node: ast.expr | None, module: Module) -> bool:
    value = evaluate(node, module) if node is not None else None
    return isinstance(value, Known) and value.value is True


def _default(node: ast.expr | None, action: str, kind: str, module: Module) -> Value | None:
    if node is None:
        if action in ("store_true", "store_false"):
            return Known(action == "store_false")
        return None
    value = evaluate(node, module)
    if isinstance(value, Known):
        return convert(value.value, kind)
    return value


def _choices(node: ast.expr | None, module: Module) -> tuple[object, ...]:
    value = evaluate(node, module) if node is not None else None
    if isinstance(value, Known) and isinstance(value.value, list | tuple | set):
        return tuple(value.value)
    return ()


_SETTINGS = frozenset({"default", "type", "action", "choices", "nargs", "const", "required"})
"""Arguments by which a definition of a flag is told from an element that a set gets."""


def _optional(call: Call, module: Module) -> Flag | None:
    """Read `group.add("--long", "-long", default=...)` of ConfigArgParse."""
    first = call.node.args[0] if call.node.args else None
    dashed = isinstance(first, ast.Constant) and str(first.value).startswith("-")
    settings = any(keyword.arg in _SETTINGS for keyword in call.node.keywords)
    return _argument(call, module) if dashed and settings else None


def _grouped(call: Call, module: Module) -> Flag | None:
    """Read `group.add_arg(name, type, default, help)`: its `bool` reads true and false."""
    args = call.node.args
    given = {k.arg: k.value for k in call.node.keywords if k.arg is not None}
    named = args[0] if args else given.get("name", given.get("argname"))
    if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
        return None
    kind = args[1] if len(args) > 1 else given.get("type")
    default = args[2] if len(args) > 2 else given.get("default")
    if kind is None or default is None:
        return None
    text = module.text(kind)[:80]
    value = evaluate(default, module)
    name = named.value
    return Flag(
        name=name if name.startswith("-") else f"--{name}",
        dest=name.lstrip("-").replace("-", "_"),
        default=value,
        type="str2bool" if text == "bool" else text,
        choices=_choices(given.get("choices"), module),
        span=module.span(call.node),
        options=(name if name.startswith("-") else f"--{name}",),
        parser="argparse",
        module=module,
        node=call.node,
    )


def _absl(call: Call, module: Module, kind: str) -> Flag | None:
    args = call.node.args
    given = {k.arg: k.value for k in call.node.keywords if k.arg is not None}
    named = args[0] if args else given.get("name", given.get("flag_name"))
    if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
        return None
    node = args[1] if len(args) > 1 else given.get("default", given.get("default_value"))
    default: Value = Unknown(named.value, "the flag has no default", "flag")
    if node is not None:
        default = evaluate(node, module)
        if isinstance(default, Known) and _ABSL.get(kind) != "list":
            default = convert(default.value, _ABSL.get(kind, "str"), "absl")
    listed = args[2] if kind.startswith("enum") and len(args) > 2 else given.get("enum_values")
    return Flag(
        name=f"--{named.value}",
        dest=named.value,
        default=default,
        type=_ABSL.get(kind, kind),
        choices=_choices(listed, module),
        span=module.span(call.node),
        options=(f"--{named.value}",),
        required=_is_true(given.get("required"), module),
        parser="absl",
        module=module,
        node=call.node,
    )


_READERS: dict[str, Callable[[Call, Module], Flag | None]] = {
    "add_argument": _argument,
    "add_option": _argument,
    "add": _optional,
    "add_arg": _grouped,
    "add_arguments": _grouped,
}


_KEPT = re.compile(rf"=[ \t]*[\w.]+\.(?:{'|'.join(_READERS)})[ \t]*(?:#|$)", re.MULTILINE)
"""An assignment of a parser's method to a name."""


class _Readers:
    """What the files given read of namespaces."""

    def __init__(self, program: Program) -> None:
        self.names: set[str] = set()
        self.all = False
        for module in program.modules:
            for node in module.parents:
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                    self.names.add(node.attr)
                    self.all = self.all or node.attr == "__dict__"
                elif isinstance(node, ast.Name) and node.id == "vars":
                    self.all = True
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    self._text(node, node.value, module)

    def _text(self, node: ast.Constant, text: str, module: Module) -> None:
        if not module.is_definition(node):
            self.names.add(text)

    def read(self, flag: Flag) -> bool:
        if self.all or flag.parser in ("click", "fire") or flag.dest in self.names:
            return True
        return not flag.dest.isidentifier()
