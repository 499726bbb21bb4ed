"""CL924: a program reads a setting that its parser does not define."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from crosscast_reading.lint.namespaces import is_only_displayed
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch.undefined_flag import is_plain, near
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject

_PARSE = "argparse.ArgumentParser.parse_args"
_SHOWS = frozenset({"print", "info", "debug", "str", "repr", "isinstance", "type", "len"})
_READS = frozenset({"items", "keys", "values", "copy"})
"""Methods of dictionaries that add nothing."""
_HIDES = frozenset({"Namespace", "exec", "globals", "locals"})
"""Functions that may give settings which no line names."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find attributes of what `parse_args` returned that are neither flags nor assigned."""
    for group in dict.fromkeys(map(connected, subject.program.modules)):
        yield from _undefined_in(subject.program, group)


def _undefined_in(program: Program, group: Collection[Module]) -> Iterator[Finding]:
    """Find them in files that use each other, and have a parser."""
    if not is_plain(program, group):
        return
    modules = [module for module in program.modules if module in group]
    if any(_may_fill(node, module) for module in modules for node in module.nodes):
        return
    defined = {flag.dest for flag in program.all_flags if flag.module in group}
    set_later = (_defaults(name, call) for name, call in calls_of(program) if call.module in group)
    flags = {*defined, *_names(modules), *(word for words in set_later for word in words)}
    for module in modules:
        seen: set[str] = set()
        for node in module.every(ast.Attribute):
            if node.attr in flags | seen or node.attr.startswith("_"):
                continue
            parser_call = _parsed(node.value, module)
            if (
                parser_call is None
                or _is_filled(node, parser_call, module)
                or module.enclosing(node, ast.Try)
            ):
                continue
            seen.add(node.attr)
            yield Finding(
                span=module.span(node),
                message=f"the parser defines no {node.attr}: {module.text(node)} raises an "
                "exception",
                hint=near(node.attr, defined),
                related=(parser_call.module.span(parser_call.node),),
            )


def _may_fill(node: ast.AST, module: Module) -> bool:
    """Whether a line may give the settings attributes that it does not name."""
    match node:
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, *_]):
            return _may_be_parsed(owner, module)
        case ast.Attribute(attr="__dict__", value=owner):
            return _may_be_parsed(owner, module)
        case ast.Call(func=function):
            return identifier(function) in _HIDES
    return False


def _may_be_parsed(owner: ast.expr, module: Module) -> bool:
    """Whether an object is what the parser returned, or may be: nothing tells what it is."""
    root = owner
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in module.imports:
        return False
    values = [node for node, _ in chase(owner, module) if node is not owner]
    calls = [node.func for node in values if isinstance(node, ast.Call)]
    return not values or "parse_args" in map(identifier, calls)


def _defaults(name: str, call: Call) -> list[str]:
    """Return the names that `parser.set_defaults(x=1)` adds."""
    words = call.node.keywords if name.endswith(".set_defaults") else []
    return [word.arg for word in words if word.arg is not None]


def _names(modules: Iterable[Module]) -> set[str]:
    """Return the attributes that are assigned anywhere, and the texts that may name one."""
    names: set[str] = set()
    for module in modules:
        for node in module.every(ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.attr)
        for text in module.every(ast.Constant):
            if isinstance(text.value, str) and text.value.isidentifier():
                names |= set() if _is_entry_read(text, module) else {text.value}
    return names


def _is_entry_read(text: ast.Constant, module: Module) -> bool:
    """Whether a text only reads an entry of something: `settings["rate"]`."""
    match module.parent(text):
        case ast.Subscript(slice=index, ctx=ast.Load(), value=ast.Name()):
            return index is text
    return False


def _parsed(node: ast.expr, module: Module) -> Call | None:
    """Return the call of the parser whose result a variable has, if it has no other value."""
    bindings = definitions(node, module) if isinstance(node, ast.Name) else ()
    value = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
    if not isinstance(value, ast.Call) or value.args or value.keywords:
        return None
    call = bindings[0].module.call(value)
    return call if call.name == _PARSE else None


def _is_filled(node: ast.Attribute, parser_call: Call, module: Module) -> bool:
    """Whether code that is not seen may have got the settings before, and given them more."""
    for where in module.program.modules:
        for call in where.calls:
            arguments = [*call.node.args, *(word.value for word in call.node.keywords)]
            if not any(_parsed(each, where) is parser_call for each in arguments):
                continue
            function = module.function_of(node)
            inside = where is module and where.function_of(call.node) is function
            if inside and call.node.lineno > node.lineno and not _repeats(node, module):
                continue
            known = module.program.function(call) or module.program.constructor(call)
            if not known and call.method not in _SHOWS and not _is_copied(call):
                return True
    return False


def _is_copied(call: Call) -> bool:
    """Whether the settings are only written somewhere: `yaml.dump(vars(args), file)`."""
    if call.method != "vars":
        return False
    around = call.module.parent(call.node)
    read = isinstance(around, ast.Attribute) and around.attr in _READS
    return read or is_only_displayed(call.node, call.module)


def _repeats(node: ast.AST, module: Module) -> bool:
    return module.enclosing(node, ast.For, ast.While) is not None


RULE = Rule("CL924", check, hints=("parse_args",))
