"""Reads the section `launch` back from the job.sbatch and launch.sh that crosscast emits.

Both are recognized by lines that no other file has. Lines that were edited afterwards count as they
are now; what is not understood is left out. Other scripts yield no facts about this section: it
changes how emitted files start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.recipe.launch import SLURM_NAME_PATTERN
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.shell.text import ShellText

_JOB = re.compile(r"^ +LAUNCH=\$\{original%%/job\.sbatch\*\}/launch\.sh$", re.M)
_STARTS = re.compile(r'^(?:exec )?srun .*\bbash "\$LAUNCH" "\$@"(?: &)?$', re.M)
_DIRECTIVE = re.compile(r"^#SBATCH --([a-z-]+)(?:=(\S+))?[ \t]*$", re.M)
_THREADS = re.compile(r"^export OMP_NUM_THREADS=([1-9]\d{0,5})$", re.M)
_REQUEUES = re.compile(r"SLURM_RESTART_COUNT:-0\} >= ([1-9]\d{0,8})\)\); then$", re.M)
_SIGNAL = re.compile(r"B:USR1@(\d{2,5})")
_MEMORY = re.compile(r"([1-9]\d{0,11})([MG]?)")
_NAME = re.compile(SLURM_NAME_PATTERN)
_NODE = re.compile(r'^here=\$\(cd -- "\$\(dirname -- "\$\{BASH_SOURCE\[0\]\}"\)" && pwd\)$', re.M)
_RESUMES = '"$here/train.py" --auto-resume "$@"'
_ELASTIC = re.compile(r" --rdzv-backend c10d --rdzv-endpoint | --standalone(?= )")
"""How several nodes meet, or how a single node starts so that it resumes by itself (elastic)."""
_RESTARTS = re.compile(r"--max-restarts ([1-9]\d{0,8})\b")
_COUNT = re.compile(r"[1-9]\d{0,8}")


def tell_start(writer: SettingWriter, text: ShellText) -> None:
    """Record the facts of an emitted job.sbatch or launch.sh; other scripts have none."""
    body = text.bytes.decode("utf-8", "replace")
    starts, elastic = _STARTS.search(body), _ELASTIC.search(body)
    if starts is not None and _JOB.search(body):
        for name, value, match in _job(body, starts):
            _tell(writer, text, name, value, match)
    elif elastic is not None and _NODE.search(body) and _RESUMES in body:
        _tell(writer, text, "rendezvous", "elastic", elastic)
        if restarts := _RESTARTS.search(body):
            _tell(writer, text, "max_restarts", int(restarts[1]), restarts)


def _tell(
    writer: SettingWriter, text: ShellText, name: str, value: int | str, match: re.Match[str]
) -> None:
    at = len(match.string[: match.start()].encode())
    place = text.span(at, at + len(match[0].encode()))
    writer.tell(f"recipe.launch.{name}", value, Setting(name=name, value=value, places=(place,)))


def _job(body: str, starts: re.Match[str]) -> Iterator[tuple[str, int | str, re.Match[str]]]:
    """Yield field, value and place of what a job asks for."""
    yield "scheduler", "slurm", starts
    command = re.search(r"^[ \t]*[^#\s]", body, re.M)  # SLURM reads no line after it
    end = command.start() if command else len(body)
    directives = {directive[1]: directive for directive in _DIRECTIVE.finditer(body, 0, end)}

    def given(option: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
        directive = directives.get(option)
        return None if directive is None else pattern.fullmatch(directive[2] or "")

    for option, field in (("time", "time_limit_minutes"), ("gpus-per-node", "gpus_per_node")):
        if count := given(option, _COUNT):
            yield field, int(count[0]), directives[option]
    for option in ("partition", "account"):
        if name := given(option, _NAME):
            yield option, name[0], directives[option]
    if size := given("mem", _MEMORY):
        mebibytes = int(size[1]) * (1024 if size[2] == "G" else 1)
        yield "memory_mib_per_node", mebibytes, directives["mem"]
    threads = _THREADS.search(body)
    if threads is not None and "cpus-per-task" in directives:
        yield "cpus_per_process", int(threads[1]), threads
    requeues, seconds = _REQUEUES.search(body), given("signal", _SIGNAL)
    if requeues is not None and seconds is not None and "requeue" in directives:
        yield "max_requeues", int(requeues[1]), requeues
        yield "signal_seconds", int(seconds[1]), directives["signal"]
