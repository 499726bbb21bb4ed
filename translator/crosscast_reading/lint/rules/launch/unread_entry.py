"""CL925: an entry of a configuration that the training program loads and never reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.unused_flags import is_whole
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch._config_reads import sections_read
from crosscast_reading.lint.rules.launch._settings_modules import unread_schedules
from crosscast_reading.lint.topics import topic_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.readers.tree import Tree

_SUFFIXES = (".yaml", ".yml")


def check(subject: Subject) -> Iterator[Finding]:
    """Find entries that a program which trains loads, or has in a module, and never reads."""
    if is_whole(subject):
        yield from _of_modules(subject)
        yield from _of_files(subject)


def _of_modules(subject: Subject) -> Iterator[Finding]:
    """Find settings of a schedule beside the number that the optimizer gets."""
    for call, rate, home, left in unread_schedules(subject.program):
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


_TRAIN = """\
import paddle
import yaml

settings = yaml.safe_load(open("train.yaml"))
model = paddle.nn.Linear(4, 2)
rate = paddle.optimizer.lr.MultiStepDecay(
    settings["optimizer"]["rate"], settings["schedule"]["steps"]
)
optimizer = paddle.optimizer.SGD(rate, model.parameters())
for inputs, targets in loader:
    loss = paddle.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    rate.step()
"""
_RIGHT = """\
optimizer:
  rate: 0.1
schedule:
  steps: [100, 200]
"""

RULE = Rule(
    code="CL925",
    name="unread-entry",
    topic="launch",
    severity=Severity.WARNING,
    title="An entry of the configuration that nothing reads",
    why="A user who sets the entry expects a warm-up or another schedule. The rule reports it only "
    "if one program of the given files trains and loads the file, and reads single entries of the "
    "section by their names. The same holds for settings of a schedule in a Python module, if the "
    "optimizer gets a number of that module.",
    language="yaml",
    wrong=_RIGHT + "  warmup: 1000\n",
    right=_RIGHT,
    check=check,
    hints=("load(", "import"),
    beside=(("train.py", _TRAIN),),
)
