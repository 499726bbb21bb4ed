"""Flags about the training step that are parsed and never read, and commands that set them.

A flag that is only kept under a name that nothing reads is not read, either.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from crosscast_reading.lint.namespaces import use_of
from crosscast_reading.lint.topics import Topic, topic_of
from crosscast_reading.pysource.libraries.public_names import INSTALLED, STANDARD
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.compiled_models import compiled as keras_compiled
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.facts.command import Command
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_PURE = frozenset(
    {
        *("int", "float", "bool", "str", "list", "tuple", "set", "map", "len", "sorted"),
        *("split", "strip", "lower", "upper", "replace", "min", "max"),
    }
)
"""Functions that do nothing but return a value."""
_HIDES = frozenset({"locals", "globals", "vars", "eval", "exec"})
"""Functions that read names which no line shows."""

_AWARE = re.compile(r"deprecat|unused|not used|ignored|no effect|compatib|legacy", re.IGNORECASE)
_DATA = (
    r"data|load|reader|log|save|checkpoint|ckpt|dist|eval|valid|test|repo|hub|seed|token|vocab"
    r"|devic"
)
_READS_STEP = re.compile(
    r"optim|sched|amp\b|amp_|clip|scal|precis|step|apex|fp16|trainer|engine|solver|\*\*|vars|getattr",
    re.IGNORECASE,
)
_LIBRARIES = INSTALLED | STANDARD
"""Modules whose functions are known."""
_BENIGN = re.compile(_DATA, re.IGNORECASE)
_BENIGN_FOR_STEP = re.compile(rf"{_DATA}|model|config|net", re.IGNORECASE)


def unused_flags(subject: Subject) -> Iterator[tuple[Flag, Topic]]:
    """Yield the flags that no attribute, getattr or unknown function can read.

    The files must contain the training loop.
    """
    program = subject.program
    if not is_whole(subject):
        return
    flags = [
        (flag, topic)
        for flag in program.all_flags
        if flag.parser in ("argparse", "absl") and (topic := topic_of(flag.name))
    ]
    if any(not is_known(module) for module in program.modules):
        flags = [
            (flag, topic)
            for flag, topic in flags
            if flag.parser == "argparse" and not _is_shared(flag.module)
        ]
    if not flags:
        return
    whole = use_of(program)
    for flag, topic in flags:
        others = {other.module for other in program.all_flags if other.dest == flag.dest}
        others -= connected(flag.module)
        use = use_of(program, others) if others else whole
        small = {name.lower() for name in use.read if name.isupper()}
        benign = _BENIGN if topic == "precision" else _BENIGN_FOR_STEP
        if (
            (flag.dest in use.read and not _is_only_kept(flag, program))
            or not flag.dest.isidentifier()
            or _is_known_dead(flag)
            or _may_refuse_values(flag)
        ):
            continue
        if use.escapes and flag.dest in small:
            continue  # `config = get_config(args)`, and `config.TRAIN.CLIP_GRAD` is read
        if any(_READS_STEP.search(escape) or not benign.search(escape) for escape in use.escapes):
            continue
        yield flag, topic


def launches(subject: Subject) -> Iterator[Command]:
    """Yield the commands that start the program."""
    program = subject.program
    main = program.modules[0].source.name if program.modules else ""
    for command in subject.commands:
        if main and PurePath(command.program).name == PurePath(main).name:
            yield command


def asked_by(command: Command, flag: Flag) -> tuple[Span, object] | None:
    """Return where a command sets a flag, and to what."""
    for fact in command.flags:
        if fact.expression.partition("=")[0] in flag.options and fact.places:
            return fact.places[0], fact.value
    return None


def is_known(module: Module) -> bool:
    """Whether everything that a module imports is a library or one of the given files.

    Any module of the program may read the flags of absl.
    """
    program = module.program
    return not any(
        name.startswith(".")
        or (name.partition(".")[0] not in _LIBRARIES and program.find_module(name, module) is None)
        for name in (*module.imported, *module.stars)
    )


def _is_shared(module: Module) -> bool:
    """Whether other files can import what a module parses: its namespace is a global of it."""
    main = module.program.modules[0]
    return module is not main and any(
        call.method.startswith("parse_") and module.function_of(call.node) is None
        for call in module.calls
    )


def is_whole(subject: Subject) -> bool:
    """Whether the files contain the training: backward passes and optimizer steps, or a `fit`."""
    return any(step.of("backward") and step.of("step") for step in subject.steps) or fits(subject)


def fits(subject: Subject) -> bool:
    """Whether the main file compiles a model of Keras with an optimizer, and fits it."""
    program = subject.program
    main = program.modules[0] if program.modules else None
    compiled = [call for call in keras_compiled(program) if call.module is main]
    return bool(compiled) and any(
        call.method in ("fit", "fit_generator") for call in compiled[0].module.calls
    )


def _is_known_dead(flag: Flag) -> bool:
    """Whether the flag is documented as unused, or kept for its side effects."""
    if flag.action not in ("", "store", "store_true", "store_false", "store_const"):
        return True
    node = flag.node
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "help" and _AWARE.search(ast.unparse(keyword.value)):
                return True
    return False


def _may_refuse_values(flag: Flag) -> bool:
    """Whether the flag's type is a function that accepts one value only or that no file defines."""
    node = _type_of(flag)
    name = flag.module.resolve(node) if node is not None else ""
    definition = flag.module.program.function_named(name)
    if definition is not None:
        return _takes_one_value(definition[1])
    root, _, inside = name.partition(".")
    unseen = bool(inside) and ":" not in name and root not in _LIBRARIES
    return unseen or (not name and _is_imported_from_package(flag.type, flag.module))


def _is_imported_from_package(text: str, module: Module) -> bool:
    """Whether a name comes from the package of its module: such a name has no meaning unseen."""
    bindings = module.scope.bindings.get(text.partition(".")[0], ())
    return any(each.kind == "import" and each.target.startswith(".") for each in bindings)


def _type_of(flag: Flag) -> ast.expr | None:
    keywords = flag.node.keywords if isinstance(flag.node, ast.Call) else []
    return next((each.value for each in keywords if each.arg == "type"), None)


def _takes_one_value(function: Function) -> bool:
    inside = [*ast.walk(function)]
    returned = [child.value for child in inside if isinstance(child, ast.Return)]
    raises = any(isinstance(child, ast.Raise) for child in inside)
    return raises and len(returned) == 1 and isinstance(returned[0], ast.Constant)


def _is_only_kept(flag: Flag, program: Program) -> bool:
    """Whether every read of a flag computes a value for a name that the program never reads."""
    reads = [
        (node, module)
        for module in program.modules
        for node in module.every(ast.Attribute)
        if node.attr == flag.dest and isinstance(node.ctx, ast.Load)
    ]
    named = any(
        text.value == flag.dest for module in program.modules for text in module.every(ast.Constant)
    )
    return bool(reads) and not named and all(_is_kept(node, module) for node, module in reads)


def _is_kept(read: ast.Attribute, module: Module) -> bool:
    match module.statement_of(read):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) as statement:
            pass
        case _:
            return False
    if isinstance(module.parent(statement), ast.ClassDef):
        return False  # an attribute of the class
    calls = [node.func for node in walk(value) if isinstance(node, ast.Call)]
    if not all(identifier(call) in _PURE for call in calls):
        return False
    return not any(_may_read(name, other, own=other is module) for other in module.program.modules)


def _may_read(name: str, module: Module, *, own: bool) -> bool:
    """Whether a module reads a name, or imports it, or may read it unseen."""
    for node in module.nodes:
        match node:
            case ast.Name(id=variable, ctx=ast.Load()) if own and variable in {name, *_HIDES}:
                return True
            case ast.Attribute(attr=attribute, ctx=ast.Load()) if not own and attribute == name:
                return True
            case ast.ImportFrom(names=names) if any(each.name in (name, "*") for each in names):
                return True
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                return True
    return False
