"""CL925: an entry of a configuration that the training program loads and never reads."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.unseen import unseen_gets
from crosscast_reading.lint.answers.unused_flags import is_known, is_whole
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch._config_reads import sections_read
from crosscast_reading.lint.topics import topic_of
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.readers.tree import Tree

_SUFFIXES = (".yaml", ".yml")
_SCHEDULE = re.compile(r"sched|plateau|warm_?up|lr_?(decay|step|gamma)|decay_?(rate|steps?)", re.I)
_MAKES = re.compile(
    r"sched|plateau|(lr|learning_?rate|rate)_?(decay|fn|lambda)|set_lr|adjust", re.I
)
"""Names of calls that may make a schedule, or change the rate by hand."""
_PLAIN = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Expr)
_SHOWS = frozenset({"print", "eval", "str", "format"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find entries that a program which trains loads, or has in a module, and never reads."""
    if is_whole(subject):
        yield from _of_modules(subject)
        yield from _of_files(subject)


def _of_modules(subject: Subject) -> Iterator[Finding]:
    """Find settings of a schedule beside the number that the optimizer gets."""
    for call, rate, home, left in _unread_schedules(subject.program):
        module, names = call.module, ", ".join(each.id for each in left)
        yield Finding(
            span=module.span(rate),
            message=f"the learning rate stays at {module.text(rate)}: nothing reads {names}, "
            "which stands beside it",
            hint="make the schedule, or remove its settings",
            related=tuple(home.span(each) for each in left),
        )


def _of_files(subject: Subject) -> Iterator[Finding]:
    """Find sections about the training step of which a program reads some entries by name."""
    files = [source for source in subject.sources if source.name.endswith(_SUFFIXES)]
    reads = sections_read(subject.program) if len(files) == 1 else None
    if reads is None:
        return
    # Programs that load no configuration must not load YAML.
    from crosscast_reading.readers.config.foreign_yaml import read_yaml

    tree = read_yaml(files[0]).tree
    load, sections = reads
    uses = Counter(entry.span for entry in tree.walk()) if tree is not None else Counter()
    if tree is None or not _is_meant(tree, sections):
        return
    for name, read in sections.items():
        section = tree.section(name).keys or {}
        if not read or not read <= section.keys():
            continue
        left = {
            key: entry
            for key, entry in section.items()
            if key not in read and (topic_of(name) or topic_of(key)) and _is_written(key, entry)
            if uses[entry.span] == 1  # no alias leads to it
        }
        if left:
            first = next(iter(left.values()))
            yield Finding(
                span=first.key or first.span,
                message=f"without effect: {', '.join(left)}; of {name} the program reads only "
                f"{', '.join(sorted(read))}",
                hint="read them in the program, or remove them: users who set them expect "
                "another training",
                related=(load.module.span(load.node),),
            )


def _is_written(key: str, entry: Tree) -> bool:
    """Whether a key stands in the file as a word: not a null or a list."""
    if entry.key is None:
        return False
    column, end = entry.key.column or 1, entry.key.end_column or 0
    return entry.key.text[column - 1 : end - 1].strip("'\"") == key


def _is_meant(tree: Tree, sections: dict[str, set[str] | None]) -> bool:
    """Whether a program loads this file: it has every section whose entries the program reads."""
    keys = tree.keys or {}
    known = [name for name in sections if name in keys]
    return len(known) >= 2 and all(name in keys for name, read in sections.items() if read)


def _unread_schedules(program: Program) -> Iterator[tuple[Call, ast.expr, Module, list[ast.Name]]]:
    """Yield the optimizers whose rate is a number of a module of settings, which has more.

    Yields also the rate, the module, and its settings of a schedule that nothing reads. A module
    that is not given may import the settings, and a function of it change the rate.
    """
    if any(_MAKES.search(call.method) for call in program.calls()):
        return
    if not all(map(is_known, program.modules)) or unseen_gets(program, ()):
        return
    for name, call in calls_of(program):
        rate = call.bound().get("lr") or call.bound().get("learning_rate")
        home = _settings_of(rate, call.module) if has_role(name, "optimizer") else None
        if rate is None or home is None:
            continue
        left = [each for each in _settings(home) if not _may_be_read(each.id, home)]
        if left:
            yield call, rate, home, left


def _settings_of(rate: ast.expr | None, module: Module) -> Module | None:
    """Return the module of settings that a rate is a number of: `config.lr`."""
    match rate:
        case ast.Attribute(value=ast.Name(id=alias)) if alias in module.imports:
            home = module.program.find_module(module.imports[alias], module)
        case _:
            return None
    if home is None or not all(isinstance(node, _PLAIN) for node in home.tree.body):
        return None
    values = [binding.assigned for binding in definitions(rate, module)]
    numbers = [isinstance(getattr(value, "value", None), int | float) for value in values]
    return home if numbers and all(numbers) and _is_asked_by_name(home) else None


def _is_asked_by_name(home: Module) -> bool:
    """Whether every module that imports a module of settings only reads single ones: `config.x`."""
    for module in home.program.modules:
        imported_names = [
            alias
            for alias, target in module.imports.items()
            if home.program.find_module(target, module) is home
        ]
        for node in module.every(ast.Name) if imported_names else ():
            if node.id in imported_names and not isinstance(module.parent(node), ast.Attribute):
                return False
        if any(home.program.find_module(star, module) is home for star in module.stars):
            return False
    return True


def _settings(home: Module) -> Iterator[ast.Name]:
    """Yield the names of settings of a schedule that are a number or a list."""
    for node in home.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                if isinstance(value, ast.Constant | ast.List | ast.Tuple) and _SCHEDULE.search(
                    name
                ):
                    yield target


def _may_be_read(name: str, home: Module) -> bool:
    """Whether a line of the program may read a setting, other than to show it."""
    for module in home.program.modules:
        for node in module.nodes:
            match node:
                case ast.Attribute(attr=read_name) if read_name == name:
                    return True
                case ast.Name(id=read_name, ctx=ast.Load()) if read_name == name:
                    return True
                case ast.ImportFrom(names=names) if any(each.name == name for each in names):
                    return True
                case ast.Constant(value=text) if text == name and not _is_shown(node, module):
                    return True
    return False


def _is_shown(text: ast.Constant, module: Module) -> bool:
    """Whether a text is in a function that only prints: `for name in [...]: print(eval(name))`."""
    function = module.function_of(text)
    calls = [node for node in module.every(ast.Call) if module.function_of(node) is function]
    named = [getattr(call.func, "id", getattr(call.func, "attr", "")) for call in calls]
    return function is not None and bool(named) and all(each in _SHOWS for each in named)


RULE = Rule("CL925", check, hints=("load(", "import"))
