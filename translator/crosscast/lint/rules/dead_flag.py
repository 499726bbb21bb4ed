"""CL912: a flag about the training step that is parsed but never read."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from crosscast.lint.namespaces import use_of
from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules.accumulation_not_wired import check as not_wired
from crosscast.lint.topics import topic_of
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.flag import Flag
from crosscast.sources.subject import Subject

_AWARE = re.compile(r"deprecat|unused|not used|ignored|no effect|compatib|legacy", re.IGNORECASE)
_DATA = r"data|load|log|save|checkpoint|ckpt|dist|eval|valid|test|repo|hub|seed|token|vocab|devic"
_READS_STEP = re.compile(
    r"optim|sched|amp\b|amp_|clip|scal|precis|step|apex|fp16|trainer|engine|solver|\*\*|vars|getattr",
    re.IGNORECASE,
)
_BENIGN = re.compile(_DATA, re.IGNORECASE)
_BENIGN_FOR_STEP = re.compile(rf"{_DATA}|model|config|net", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Find flags of argparse that no attribute, getattr or unknown function can read."""
    program = subject.program
    if program is None or not _is_whole(subject):
        return
    flags = [
        known_flag
        for known_flag in program.all_flags
        if known_flag.parser == "argparse" and topic_of(known_flag.name)
    ]
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
            or not flag.dest.isidentifier()
            or _is_known_dead(flag)
            or _takes_one_value(flag)
            or _has_unseen_type(flag)
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


def _is_whole(subject: Subject) -> bool:
    """Whether the files contain the training loop: backward passes and optimizer steps."""
    return any(step.of("backward") and step.of("step") for step in subject.steps)


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


def _takes_one_value(flag: Flag) -> bool:
    """Whether the flag's type is a function that accepts one value only."""
    for node in ast.walk(flag.module.tree):
        if isinstance(node, ast.FunctionDef) and node.name == flag.type:
            inside = [*ast.walk(node)]
            returned = [child.value for child in inside if isinstance(child, ast.Return)]
            raises = any(isinstance(child, ast.Raise) for child in inside)
            return raises and len(returned) == 1 and isinstance(returned[0], ast.Constant)
    return False


def _has_unseen_type(flag: Flag) -> bool:
    """Whether the flag's type is a function of a module of the user's, which may do anything."""
    for node in flag.module.tree.body:
        match node:
            case ast.ImportFrom(module=module, level=level, names=names):
                root = (module or "").partition(".")[0]
                known = not level and root in sys.stdlib_module_names
                if not known and any((n.asname or n.name) == flag.type for n in names):
                    return True
    return False


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
    hints=("add_argument", "add_arg("),
)
