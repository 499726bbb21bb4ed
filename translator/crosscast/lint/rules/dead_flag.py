"""CL912: a flag about the training step that is parsed but never read."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from crosscast.lint.namespaces import Use, use_of
from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._stored_switches import stored_switches
from crosscast.lint.rules._type_switches import type_switches
from crosscast.lint.rules.accumulation_not_wired import check as not_wired
from crosscast.lint.topics import topic_of
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.libraries.public_names import KNOWN
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.flag import Flag
from crosscast.pysource.programs.module import Function, Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.syntax.nodes import identifier, keyword
from crosscast.readers.python.library_calls import calls_of, last
from crosscast.readers.python.optimizers import family_of
from crosscast.sources.subject import Subject

_AWARE = re.compile(r"deprecat|unused|not used|ignored|no effect|compatib|legacy", re.IGNORECASE)
_DATA = r"data|load|log|save|checkpoint|ckpt|dist|eval|valid|test|repo|hub|seed|token|vocab|devic"
_READS_STEP = re.compile(
    r"optim|sched|amp\b|amp_|clip|scal|precis|step|apex|fp16|trainer|engine|solver|\*\*|vars|getattr",
    re.IGNORECASE,
)
_SETTINGS = re.compile(r"arg|opt|conf|cfg|flag|param|setting|self|namespace", re.IGNORECASE)
"""Names of objects that may hold flags; `x.dtype` of a tensor is none."""
_LIBRARIES = KNOWN | sys.stdlib_module_names | {"distutils"}
"""Modules whose functions are known; distutils belonged to Python until 3.11."""
_BENIGN = re.compile(_DATA, re.IGNORECASE)
_BENIGN_FOR_STEP = re.compile(rf"{_DATA}|model|config|net", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Find flags that no attribute, getattr or unknown function can read."""
    program = subject.program
    yield from _defaults_kept(program)
    if not _is_whole(subject):
        return
    yield from _only_for_scaler(subject, program)
    for node, where, names in stored_switches(subject):
        yield Finding(
            span=where.span(node),
            message=f"{where.text(node)} has no effect: it only sets {', '.join(names)}, which "
            "nothing reads",
            hint="cast the forward pass and scale the loss under it, or remove it",
        )
    flags = [
        known_flag
        for known_flag in program.all_flags
        if known_flag.parser in ("argparse", "absl") and topic_of(known_flag.name)
    ]
    if any(not _is_known(module) for module in program.modules):
        flags = [known_flag for known_flag in flags if known_flag.parser == "argparse"]
    if not flags:
        return
    use = use_of(program)
    small = {name.lower() for name in use.read if name.isupper()}
    reported = {event.span for event in not_wired(subject)}  # reported by accumulation-not-wired
    for flag in flags:
        topic = topic_of(flag.name)
        benign = _BENIGN if topic == "precision" else _BENIGN_FOR_STEP
        if (
            flag.span in reported
            or flag.dest in use.read
            or _is_known_dead(flag)
            or _may_refuse_values(flag)
        ):
            continue
        if use.escapes and flag.dest in small:
            continue  # `config = get_config(args)`, and `config.TRAIN.CLIP_GRAD` is read
        if any(_READS_STEP.search(escape) or not benign.search(escape) for escape in use.escapes):
            continue
        yield Finding(
            span=flag.span,
            message=f"{flag.name} has no effect: it is parsed but never used",
            hint="use it in the training step, or remove it: users who set it expect "
            f"{_expected(topic)}",
        )


def _only_for_scaler(subject: Subject, program: Program) -> Iterator[Finding]:
    """Find flags for a type that only switch the loss scaler: autocast never gets the type."""
    for found in type_switches(subject):
        name = identifier(found.chosen)
        reads = [
            node
            for module in program.modules
            for node in module.nodes
            if isinstance(node, ast.Attribute) and node.attr == name
            if module.parent(node) is not found.test
            if _SETTINGS.search(module.text(node.value))
        ]
        for flag in program.all_flags if not reads else ():
            outside = {*flag.choices} - {*found.values}
            if flag.dest == name and (outside or not flag.choices):
                yield Finding(
                    span=flag.span,
                    message=f"{flag.name} does not change the type of autocast, which is float16: "
                    "it only switches the loss scaler",
                    hint="pass it to autocast as `dtype`",
                    related=(found.step.module.owner_of(found.context).span(found.context),),
                )


def _defaults_kept(program: Program) -> Iterator[Finding]:
    """Find makers of optimizers that are called without the parameters which flags are for.

    Several flags have the names of parameters, and nothing reads them: they were to be passed on.
    """
    flags = {flag.dest: flag for flag in program.all_flags if flag.parser == "argparse"}
    makers = [call for name, call in calls_of(program) if family_of(last(name))] if flags else []
    for call in makers:
        module, function = call.module, call.module.function_of(call.node)
        if function is None:
            continue
        sites = program.sites(module, function)
        if any(site.node.args or site.node.keywords for site in sites):
            continue
        named = sorted(_passed(call, function) & flags.keys())
        use = use_of(program) if len(named) > 1 else Use()
        dead = [flags[dest].name for dest in named if dest not in use.read]
        for site in sites[:1] if len(dead) > 1 and not use.escapes else ():
            yield Finding(
                span=site.module.span(site.node),
                message=f"{', '.join(dead[:-1])} and {dead[-1]} have no effect: "
                f"{function.name} is called without them",
                hint=f"pass them to {function.name}, or remove them",
                related=(module.span(call.node),),
            )


def _passed(call: Call, function: Function) -> set[str]:
    """Return the parameters with defaults that a call in a function gets."""
    given = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    names = {argument.id for argument in given if isinstance(argument, ast.Name)}
    arguments = function.args.args
    return names & {a.arg for a in arguments[len(arguments) - len(function.args.defaults) :]}


def _is_known(module: Module) -> bool:
    """Whether everything that a module imports is a library or one of the given files.

    Any module of the program may read the flags of absl.
    """
    program = module.program
    return not any(
        name.startswith(".")
        or (name.partition(".")[0] not in _LIBRARIES and program.find_module(name, module) is None)
        for name in (*module.imported, *module.stars)
    )


def _is_whole(subject: Subject) -> bool:
    """Whether the files contain the training loop: backward passes and optimizer steps."""
    return any(step.of("step") for step in subject.steps)


def _is_known_dead(flag: Flag) -> bool:
    """Whether the flag is documented as unused, or kept for its side effects."""
    if flag.action not in ("", "store", "store_true", "store_false", "store_const"):
        return True
    told = _given(flag, "help")
    return told is not None and bool(_AWARE.search(ast.unparse(told)))


def _may_refuse_values(flag: Flag) -> bool:
    """Whether the flag's type is a function that accepts one value only or that no file defines."""
    node = _given(flag, "type")
    name = flag.module.resolve(node) if node is not None else ""
    program = flag.module.program
    found = program.function_named(name)
    if found is not None:
        return _takes_one_value(found[1])
    root, _, inside = name.partition(".")
    unseen = bool(inside) and ":" not in name and root not in _LIBRARIES
    return unseen or (not name and _is_imported_from_package(flag.type, flag.module))


def _is_imported_from_package(text: str, module: Module) -> bool:
    """Whether a name comes from the package of its module: such a name has no meaning unseen."""
    bindings = module.scope.bindings.get(text.partition(".")[0], ())
    return any(each.kind == "import" and each.target.startswith(".") for each in bindings)


def _given(flag: Flag, name: str) -> ast.expr | None:
    return keyword(flag.node, name) if isinstance(flag.node, ast.Call) else None


def _takes_one_value(function: Function) -> bool:
    inside = [*ast.walk(function)]
    returned = [child.value for child in inside if isinstance(child, ast.Return)]
    raises = any(isinstance(child, ast.Raise) for child in inside)
    return raises and len(returned) == 1 and isinstance(returned[0], ast.Constant)


def _expected(topic: str | None) -> str:
    return {
        "precision": "half precision",
        "scaling": "another loss scale",
        "accumulation": "larger windows",
        "clipping": "clipped gradients",
        "schedule": "another learning rate",
    }.get(topic or "", "something")


_EXAMPLE = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--clip-grad", type=float, default=1.0)
args = parser.parse_args()

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
"""

RULE = Rule(
    code="CL912",
    name="dead-flag",
    topic="launch",
    severity=Severity.WARNING,
    title="Unused flag of the training step",
    why="A user who sets the flag assumes that gradients are clipped, losses are scaled or half "
    "precision is enabled. The rule reports it only if the given files contain the training "
    "loop and the parsed flags are not passed elsewhere.",
    wrong=_EXAMPLE,
    right=_EXAMPLE.replace(
        "    optimizer.step()",
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)\n"
        "    optimizer.step()",
    ),
    check=check,
    hints=("add_argument", "add_arg(", "DEFINE_", "Scaler"),
)
