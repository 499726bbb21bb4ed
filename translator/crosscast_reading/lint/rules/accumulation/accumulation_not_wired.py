"""CL109: the number of micro-batches never reaches the loop."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.unused_flags import asked_by, launches, unused_flags
from crosscast_reading.lint.answers.windows import ACCUMULATES, accelerator_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.accumulation._uses import only_counts_or_shows, uses_of
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.default_conditions import truth_by_default
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.library_settings import maker_call

_KNOWS = re.compile(r"\.accumulate\(|sync_gradients\s*=(?!=)|set_sync|deepspeed|megatron", re.I)
"""Words of programs in which a library ends the windows."""

_ROWS = re.compile(r"batch_?size|_bs$", re.I)
_REPORTS = re.compile(r"sched|warmup|print|log|info|format|tqdm|trange|progress", re.I)
_SETTINGS = re.compile(r"config\w*|conf|cfg|settings|params|hparams|hps", re.I)
_RATE = re.compile(r"(^|_)(lr|learning_rate)$", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find flags for accumulation that neither the loop nor a library uses."""
    program = subject.program
    yield from _of_other_modes(program)
    yield from _of_launches(subject)
    for group in dict.fromkeys(map(connected, program.modules)):
        yield from _in_files(subject, group)


def _in_files(subject: Subject, group: Collection[Module]) -> Iterator[Finding]:
    """Find them in files that use each other."""
    program = subject.program
    steps = [step for step in subject.steps if step.module in group]
    modules = [module for module in program.modules if module in group]
    finding = _unused_accelerator(modules, steps)
    if finding is not None:
        yield finding
        return
    if not steps or not all(_takes_no_steps(step) for step in steps):
        return
    yield from _unused_parameters(steps)
    yield from _unused_settings(modules, steps[0])
    for flag in (flag for flag in _lengths(program) if flag.module in group):
        uses = uses_of(flag, program)
        if uses is None or not all(only_counts_or_shows(*use) for use in uses):
            continue
        yield Finding(
            span=flag.span,
            message=f"{flag.name} has no effect: the optimizer steps after every micro-batch",
            hint=_hint(steps[0]),
            related=tuple(event.span for event in steps[0].of("step")[:1]),
        )


def _of_launches(subject: Subject) -> Iterator[Finding]:
    """Find commands that ask for windows of a program which never reads their length."""
    commands = list(launches(subject))
    flags = unused_flags(subject) if commands else ()
    for flag in [flag for flag, topic in flags if topic == "accumulation"]:
        for command in commands:
            asked = asked_by(command, flag)
            if asked is not None and str(asked[1]) not in ("0", "1", "True", "False"):
                yield Finding(
                    span=asked[0],
                    message=f"{flag.name} has no effect: the program parses it but never uses "
                    "it, so every batch is an update",
                    hint="accumulate gradients in the program, or remove it here",
                    related=(flag.span,),
                )


def _lengths(program: Program) -> list[Flag]:
    """Return the flags for numbers of micro-batches."""
    return [f for f in program.all_flags if ACCUMULATES.search(f.dest) and not f.action]


def _unused_parameters(steps: Sequence[TrainingStep]) -> Iterator[Finding]:
    """Find parameters of the function with the loop: `def main(grad_accumulation_steps=4)`."""
    for step in steps:
        if step.loop is None:
            continue
        module = step.module.owner_of(step.loop.node)
        function: ast.AST = module.function_of(step.loop.node) or module.tree
        match function:
            case ast.FunctionDef(args=ast.arguments(args=plain, kwonlyargs=others)):
                arguments = [number for number in (*plain, *others) if _is_number(number.arg)]
            case _:
                arguments = []
        for number in arguments:
            uses = [
                node
                for node in walk(function)
                if isinstance(node, ast.Name) and node.id == number.arg
            ]
            if uses and all(_only_counts(node, module) for node in uses):
                rated = any(_scales_rate(node, module) for node in uses)
                effect = "only multiplies the learning rate" if rated else "has no effect"
                yield Finding(
                    span=module.span(number),
                    message=f"{number.arg} {effect}: the optimizer steps after every micro-batch",
                    hint=_hint(step),
                    related=tuple(event.span for event in step.of("step")[:1]),
                )


def _unused_settings(modules: Sequence[Module], step: TrainingStep) -> Iterator[Finding]:
    """Find entries of configurations: `config.training.accumulation_steps` of a file."""
    flags = {flag.dest for flag in step.module.program.all_flags if flag.module in modules}
    reads = [
        (node, module)
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Attribute) and _is_number(node.attr) and node.attr not in flags
    ]
    for name in dict.fromkeys(node.attr for node, _ in reads):
        mine = [(node, module) for node, module in reads if node.attr == name]
        if all(_is_setting(*use) and only_counts_or_shows(*use) for use in mine):
            node, module = mine[0]
            yield Finding(
                span=module.span(node),
                message=f"{module.text(node)} only counts updates: the optimizer steps after "
                "every micro-batch",
                hint=_hint(step),
                related=tuple(event.span for event in step.of("step")[:1]),
            )


def _is_setting(node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is read of settings that nothing else in the module gets as a whole."""
    owner, parts = node.value, {node.attr}
    while isinstance(owner, ast.Attribute):
        parts.add(owner.attr)
        owner = owner.value
    if not isinstance(owner, ast.Name) or not isinstance(node.ctx, ast.Load):
        return False
    home = module.scope_of(owner).lookup(owner.id)
    bound = home.bindings.get(owner.id, ()) if home is not None else ()
    imported = any(binding.kind == "import" for binding in bound)
    if not _SETTINGS.fullmatch(owner.id) or imported:  # other files may read imported ones, too
        return False
    for other in module.nodes:
        around = module.parent(other)
        if isinstance(other, ast.Attribute) and other.attr in parts:
            whole = not isinstance(around, ast.Attribute) and other.attr != node.attr
        elif isinstance(other, ast.Name) and other.id == owner.id:
            whole = isinstance(other.ctx, ast.Load) and not isinstance(around, ast.Attribute)
        else:
            continue
        if whole and not _renames(other, owner.id, module):
            return False
    return True


def _renames(node: ast.expr, name: str, module: Module) -> bool:
    """Whether settings are only turned into others of their name: `config = munchify(config)`."""
    match module.statement_of(node):
        case ast.Assign(targets=[ast.Name(id=target)]):
            return target == name
    return False


def _only_counts(node: ast.Name, module: Module) -> bool:
    if not isinstance(node.ctx, ast.Load) or _is_handed_on(node, module):
        return False
    return only_counts_or_shows(node, module)


def _is_number(name: str) -> bool:
    """Whether a name is that of the number of micro-batches, not of their rows."""
    return bool(ACCUMULATES.search(name)) and not _ROWS.search(name)


def _is_handed_on(node: ast.AST, module: Module) -> bool:
    """Whether a call gets a value under a name, and may use it: `Windows(num_steps=n)`."""
    around = module.enclosing(node, ast.stmt, ast.JoinedStr, ast.keyword)
    match around, module.parent(around) if around is not None else None:
        case ast.keyword(), ast.Call(func=function):
            return not _REPORTS.search(identifier(function))
    return isinstance(around, ast.keyword)


def _scales_rate(node: ast.AST, module: Module) -> bool:
    statement = module.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(_RATE.search(identifier(target)) for target in targets)


def _of_other_modes(program: Program) -> Iterator[Finding]:
    """Find flags that only a non-default mode reads, where the default mode calls `fit`."""
    for flag in _lengths(program):
        branches = [_branch_off(*use) for use in uses_of(flag, program) or ()]
        if not branches or len(set(branches)) != 1 or branches[0] is None:
            continue
        branch, module = branches[0]
        yield Finding(
            span=flag.span,
            message=f"{flag.name} has no effect with the default settings: only the branch that "
            f"{module.text(branch.test)} does not choose reads it",
            hint="make the other mode accumulate, too, or refuse the flag there",
            related=(module.span(branch.test),),
            severity=Severity.WARNING,
        )


def _branch_off(node: ast.AST, module: Module) -> tuple[ast.If, Module] | None:
    """Return the `if` whose other branch runs by default and trains with `fit`."""
    child, parent = node, module.parent(node)
    while parent is not None:
        if isinstance(parent, ast.If) and child is not parent.test:
            runs = truth_by_default(parent.test, module)
            other = parent.orelse if child in parent.body else parent.body
            if runs is not None and runs is (child in parent.orelse) and _fits(other):
                return parent, module
        child, parent = parent, module.parent(parent)
    return None


def _fits(statements: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Call) and identifier(node.func) in ("fit", "fit_generator")
        for statement in statements
        for node in walk(statement)
    )


def _unused_accelerator(modules: Sequence[Module], steps: Sequence[TrainingStep]) -> Finding | None:
    """Find an Accelerator that divides losses although no loop of its own has windows."""
    own = [step for step in steps if any(e.library == "accelerate" for e in step.of("backward"))]
    if any(_KNOWS.search(module.code) for module in modules):
        return None
    if not all(_takes_no_steps(step) for step in own):
        return None
    for step in own:
        backward = step.of("backward")[0]
        match backward:
            case Event(library="accelerate", node=ast.Call(func=ast.Attribute(value=of))):
                maker = maker_call(of, CallFrame(backward.module, None))
            case _:
                continue
        if maker is None or step.loop is None:
            continue
        argument = maker.bound().get("gradient_accumulation_steps")
        if argument is None or accelerator_steps(step) == 1:
            continue
        return Finding(
            span=maker.module.span(argument),
            message="the Accelerator divides the losses by it, but the loop never enters "
            "accumulate, so every micro-batch is a separate step",
            hint="wrap the loop body in `with accelerator.accumulate(model):`",
            related=(backward.span,),
        )
    return None


def _takes_no_steps(step: TrainingStep) -> bool:
    applied = step.of("step")
    if not applied or any(event.library not in ("", "apex", "accelerate") for event in applied):
        return False
    if any(event.context("accumulate") for event in step.of("backward")):
        return accelerator_steps(step) == 1
    return not step.windowed


def _hint(step: TrainingStep) -> str:
    if any(event.library == "accelerate" for event in step.of("backward")):
        return "pass it on: `Accelerator(gradient_accumulation_steps=...)`"
    return "divide the loss by it, and step once per that many micro-batches"


RULE = Rule("CL109", check, hints=("accum", "iter_size", "update_freq", "micro_batch"))
