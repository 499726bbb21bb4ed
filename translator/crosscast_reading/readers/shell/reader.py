"""Shell and batch scripts: the programs they start, with the flags and variables they get.

A configuration that a script writes into a file with a here-document is read as that file.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.source import Source
from crosscast_reading.readers.config.deepspeed_config import looks_like_deepspeed, tell_deepspeed
from crosscast_reading.readers.config.json_places import read_json
from crosscast_reading.readers.evaluations import evaluates
from crosscast_reading.readers.protocol import Reading
from crosscast_reading.readers.settings import SettingWriter, normal
from crosscast_reading.readers.shell.emitted_job import tell_start
from crosscast_reading.readers.shell.emitted_launch import tell_emitted
from crosscast_reading.readers.shell.environment import tell_environment
from crosscast_reading.readers.shell.expand import Scope
from crosscast_reading.readers.shell.flags_of_libraries import tell_launch
from crosscast_reading.readers.shell.launch import Launch, launch_of
from crosscast_reading.readers.shell.lost_flags import glued_diagnostics, lost_diagnostics
from crosscast_reading.readers.shell.processes import with_processes
from crosscast_reading.readers.shell.programs import WRAPPERS
from crosscast_reading.readers.shell.run import Runner
from crosscast_reading.readers.shell.simple_commands import Started
from crosscast_reading.readers.shell.slurm import directives, variables
from crosscast_reading.readers.shell.text import Piece, ShellText, Word, shown

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_WRITERS = frozenset({"cat", "tee"})

MAX_CHARACTERS = 400_000
SECONDS = 3.0
"""CPU time for the syntax of a script; where it is none, the parser may need the square of it."""
_PART = 65536
MAX_COMMANDS = 100

_NAMES = (".sh", ".bash", ".sbatch", ".slurm", ".zsh", ".ksh", ".pbs", ".job", ".cmd")
_FOREIGN = (".py", ".json", ".yaml", ".yml", ".md", ".rst", ".ipynb", ".toml", ".txt", ".bat")
_SHEBANG = re.compile(r"\s*#!\s*\S*?(/env\s+(-S\s+)?)?(ba|da|k|z)?sh\b")
_STARTS = re.compile(
    r"^[ \t]*(export [A-Z_]+=|[A-Z_]+=\S+[ \t]+)?(\w+[ \t]+)?(python[\d.]*|torchrun|deepspeed|"
    r"accelerate launch|fleetrun|horovodrun|mpirun|srun|fairseq-train)[ \t]",
    re.M,
)
_FOUR_BYTES = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_LETTERS = "\u00e9\u00e9".encode()
_PROGRAM = re.compile(r"\.py\b|\bpython|torchrun|deepspeed|accelerate|-train\b|-m \w")
_OF_TRAINING = (
    *("accumulation.", "batch.", "clipping.", "optimizer.", "schedule.", "scaler_update."),
    *("zero_grad.", "loss_scaling."),
)
"""Fields that say nothing about a program that only infers."""
_LENGTHS = frozenset({"train_iters", "train_samples", "max_steps", "num_train_epochs", "epochs"})


@dataclass(slots=True)
class ShellReader:
    """Reads shell scripts."""

    name: str = "shell"

    def sniff(self, source: Source) -> bool:
        """Return whether the text is a shell script, by its name, first line or commands."""
        if "\0" in source.text[:4096]:
            return False
        name = source.name.lower()
        if name.endswith(_NAMES) or "#SBATCH" in source.text[:4096]:
            return True
        if _SHEBANG.match(source.text):
            return True
        if name.endswith(_FOREIGN):
            return False
        return bool(_STARTS.search(source.text)) and "import " not in source.text

    def read(self, source: Source) -> Reading:
        """Return the commands of a script and their facts."""
        return read_script(source)


def read_script(source: Source, scope: Scope | None = None) -> Reading:
    """Return the commands and facts of a script; `scope` holds the variables of its environment."""
    if len(source.text) > MAX_CHARACTERS:
        return _only(Diagnostic(code="CC921", message=f"{source.name}: too long for a script"))
    body, odd = _without_returns(source)
    text = ShellText(body, source.name)
    try:
        root = _parse(text.bytes)
        requests = directives(text)
        runner = Runner(source.name, _parse)
        runner.scope = scope or Scope()
        runner.scope.given |= variables(requests)
        runner.statement(root, text)
        launches = _launches(runner, requests)
        lost = [
            *lost_diagnostics(root, text, lambda joined: bool(_PROGRAM.search(joined))),
            *glued_diagnostics(root, text),
        ]
    except RecursionError:
        return _only(Diagnostic(code="CC921", message=f"{source.name}: nested too deeply"))
    except TooSlowError:
        message = f"{source.name}: its syntax takes over {SECONDS:g} seconds to find"
        return _only(Diagnostic(code="CC921", message=message))
    writer = SettingWriter("shell")
    tell_environment(writer, runner.settings, launches)
    for launch in launches:
        if evaluates(launch.command):
            continue
        tell_launch(writer, launch)
        tell_emitted(writer, launch, runner.scope)
    tell_start(writer, text)
    _config_in(writer, runner.started)
    if launches and all(_only_infers(launch) for launch in launches):
        writer.facts[:] = [f for f in writer.facts if not f.field.startswith(_OF_TRAINING)]
    if root.has_error and not launches:
        writer.warn("CC921", f"{source.name}: not all of it is shell that can be parsed")
    return Reading(
        facts=tuple(writer.facts),
        commands=tuple(launch.command for launch in launches),
        diagnostics=(*odd, *lost, *writer.diagnostics),
        mentions=tuple(writer.mentions),
    )


def _only_infers(launch: Launch) -> bool:
    """Whether a program is told to infer and not how long to train."""
    names = {normal(flag.expression) for flag in launch.command.flags}
    return "inference" in names and not names & _LENGTHS


class TooSlowError(Exception):
    """The syntax of a script was not found in time."""


def _parse(data: bytes) -> Node:
    """Return the syntax tree of UTF-8; tree-sitter is imported only when a script is read.

    tree-sitter-bash 0.25 reads memory that is not its own at a brace and a character of four bytes
    (its issue 337), and may crash. It sees two letters instead; texts come from `data`.

    Raises:
        TooSlowError: it takes too long, as for thousands of brackets that nothing closes.
    """
    from tree_sitter import Parser

    safe = _FOUR_BYTES.sub(_LETTERS, data)
    end = time.process_time() + SECONDS

    def part(offset: int, _: object) -> bytes:
        return safe[offset : offset + _PART]

    def is_over(*_: object) -> bool:
        return time.process_time() > end

    try:
        return Parser(_language()).parse(part, progress_callback=is_over).root_node
    except ValueError as error:
        raise TooSlowError from error


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def root_of(source: Source) -> tuple[Node, ShellText]:
    """Return the syntax tree of a script, for rules that look at its text.

    Raises:
        TooSlowError: its syntax was not found in time.
    """
    text = ShellText(_without_returns(source)[0], source.name)
    return _parse(text.bytes), text


def _launches(runner: Runner, requests: dict[str, Piece]) -> list[Launch]:
    launches: list[Launch] = []
    for started in runner.started:
        launch = launch_of(started)
        if launch is not None:
            launches.append(with_processes(launch, requests))
        if len(launches) >= MAX_COMMANDS:
            break
    unique = {(launch.command.program, launch.command.flags): launch for launch in launches}
    return [replace(launch) for launch in unique.values()]


def _without_returns(source: Source) -> tuple[str, list[Diagnostic]]:
    """Return the text with Unix line ends; bash itself rejects the others."""
    if "\r\n" not in source.text:
        return source.text, []
    if re.search(r"[^\r]\n", source.text):
        return source.text, []
    message = "the lines end with a carriage return: bash takes it for a part of the last word"
    hint = "convert the file to Unix line ends"
    odd = Diagnostic(code="CC932", message=message, severity=Severity.WARNING, hint=hint)
    return source.text.replace("\r\n", "\n"), [odd]


def _only(diagnostic: Diagnostic) -> Reading:
    return Reading(diagnostics=(diagnostic,))


def _config_in(writer: SettingWriter, started: Iterable[Started]) -> None:
    """Record the facts of the DeepSpeed configurations that a script writes."""
    for command in started:
        if command.body is None or not _writes(command):
            continue
        text = _text(command.body)
        if not text.lstrip().startswith("{"):
            continue
        first = command.body[0].span
        source = Source(first.file, "\n" * (first.line - 1) + text)
        tree = read_json(source).tree
        if tree is None or not looks_like_deepspeed(tree):
            continue
        for node in tree.walk():
            if isinstance(node.value, str) and node.value.startswith("$"):
                node.reason = f"{node.value} of the script is not known"
        inner = replace(writer, facts=[], reader="deepspeed_json")
        tell_deepspeed(inner, tree)
        # The engine scales according to its own file; the script's flags only affect its loop.
        kept = [fact for fact in writer.facts if not fact.field.startswith("loss_scaling.")]
        writer.facts[:] = [*kept, *inner.facts]
        writer.diagnostics = inner.diagnostics


def _writes(command: Started) -> bool:
    """Whether a command passes its input on as it is: `cat`, `sudo tee`."""
    first, *others = (shown(word).rpartition("/")[2] for word in command.words)
    return first in _WRITERS or (first in WRAPPERS and not _WRITERS.isdisjoint(others))


def _text(body: Word) -> str:
    """Return the text with unquoted unknown parts in quotes."""
    parts: list[str] = []
    for piece in body:
        quoted = parts and parts[-1].endswith('"')
        parts.append(piece.text if piece.known or quoted else f'"{piece.text}"')
    return "".join(parts)


READER = ShellReader()
