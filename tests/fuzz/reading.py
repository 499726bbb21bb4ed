"""Inputs at random for the commands that read programs and configurations, and what must hold.

`python tests/fuzz/reading.py [SEED] [COUNT]` reads that many and prints those that break a law.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
SECONDS = 10
COMMANDS = (("lint",), ("lift",), ("explain",), ("diff", "r.yaml"), ("check",))
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_MARKS = ("\x1b[31m", "\u202e", "\u2066", "\x00", "\x07", "\r", "\x9b2J", "\ufeff", "\f", "\t")
_DEEP = (
    ("x = ", "f(", "1", ")"),
    ("x = y", ".a", "", ""),
    ("x = ", "(1 + ", "1", ")"),
    ("x = ", "not ", "y", ""),
    ("x = ", "lambda: ", "1", ""),
    ("x = ", "[", "", "]"),
    ("x = ", '"a" + ', '"b"', ""),
    ("x = ", "1 if a else ", "0", ""),
    ("x = ", "a < ", "b", ""),
    ("a: ", "{a: ", "1", "}"),
    ("python train.py ", "$(", "a", ")"),
)
_BLOCKS = ("if a:", "for x in rows:", "with a as b:", "def f(loss):", "class A(B):", "while a:")
_CODECS = ("utf-8", "utf-16", "latin-1", "utf-8-sig", "cp1252", "shift_jis", "utf-32")
_DECLARED = ("undefined", "punycode", "idna", "utf-7", "rot13", "latin-1", "nothing")
_WORDS = ("0a", "a.", "a/", "_", "loss_scale_", "warmup_", "((", "${A}", "    ", "9", "#", "*a, ")


@dataclass(frozen=True, slots=True)
class Input:
    """A file as it is written: its name and its bytes."""

    name: str
    data: bytes


class TooSlow(BaseException):
    """An input takes longer than it may."""


def programs() -> list[tuple[str, str]]:
    """Return names and texts of the examples, which are mutated."""
    found = []
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix in (".py", ".yaml", ".json", ".sh", ".ipynb") and path.is_file():
            text = path.read_text(encoding="utf-8")
            if len(text) < 20_000:
                found.append((path.suffix, text))
    return found


def inputs(seed: int, count: int) -> Iterator[Input]:
    """Yield inputs that depend on the seed and their place alone."""
    known = programs()
    for at in range(count):
        yield _input(random.Random(f"{seed} {at}"), known)


def _input(rng: random.Random, known: list[tuple[str, str]]) -> Input:
    suffix, text = rng.choice(known)
    for _ in range(rng.randint(1, 3)):
        text = rng.choice(_CHANGES)(rng, text)
    codec = rng.choice(_CODECS) if rng.random() < 0.2 else "utf-8"
    data = text.encode(codec, "surrogatepass" if codec.startswith("utf") else "replace")
    if rng.random() < 0.1:
        data = data[: rng.randint(0, len(data))]
    if rng.random() < 0.1:
        data = f"# coding: {rng.choice(_DECLARED)}\n".encode() + data
    mark = rng.choice(_MARKS).replace("\x00", "") if rng.random() < 0.2 else ""
    return Input(f"train{mark}{suffix}", data)


def _spliced(rng: random.Random, text: str, piece: str) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + piece + text[at:]


def _long_word(rng: random.Random, text: str) -> str:
    return _spliced(rng, text, rng.choice(_WORDS) * rng.randint(10, 3000))


def _deep(rng: random.Random, text: str) -> str:
    before, opens, inner, closes = rng.choice(_DEEP)
    times = rng.choice((20, 60, 90, 150, 190, 1000))
    return f"{text}\n{before}{opens * times}{inner}{closes * times}\n"


def _nested(rng: random.Random, text: str) -> str:
    depth = rng.choice((10, 18, 60, 95, 150))
    lines = [f"{' ' * at}{rng.choice(_BLOCKS)}" for at in range(depth)]
    return "\n".join([text, *lines, " " * depth + "loss.backward()", ""])


def _many(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    return "\n".join([*lines[:at], *lines[at : at + 3] * rng.randint(5, 60), *lines[at:]])


def _cut(rng: random.Random, text: str) -> str:
    return text[: rng.randint(0, len(text))]


def _shuffled(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    rng.shuffle(lines)
    return "\n".join(lines)


def _without_lines(rng: random.Random, text: str) -> str:
    return "\n".join(line for line in text.split("\n") if rng.random() < 0.8)


def _marked(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 5)):
        text = _spliced(rng, text, rng.choice((*_MARKS, "\ud800", "9" * 5000)))
    return text


def _renamed(rng: random.Random, text: str) -> str:
    words = sorted(set(re.findall(r"\w{3,}", text)))
    if len(words) < 2:
        return text
    one, other = rng.sample(words, 2)
    return re.sub(rf"\b{one}\b", lambda _: other, text)


_CHANGES: tuple[Callable[[random.Random, str], str], ...] = (
    _long_word, _deep, _nested, _many, _cut, _shuffled, _without_lines, _marked, _renamed, _renamed,
)  # fmt: skip


def problems(given: Input, folder: Path, command: tuple[str, ...]) -> list[str]:
    """Return the laws that a command breaks for an input.

    Args:
        given: The input; it is written to the folder, which is the working directory.
        folder: The folder.
        command: The command and its first arguments.
    """
    from crosscast.cli import app

    (folder / given.name).write_bytes(given.data)
    try:
        with _within(SECONDS):
            result = CliRunner().invoke(app, [*command, f"./{given.name}"])
    except TooSlow:
        return [f"over {SECONDS} s"]
    finally:
        (folder / given.name).unlink()
    found = []
    printed = result.stdout + result.stderr
    if not isinstance(result.exception, SystemExit | None):
        found.append(f"raised {result.exception!r}")
    if "CC950" in printed or "Traceback (most" in printed:
        found.append(f"failed: {printed[:2000]!r}")
    if bad := CONTROL.search(printed):
        found.append(f"printed {bad.group()!r}: {printed[max(0, bad.start() - 80) :][:160]!r}")
    if result.exit_code not in (0, 1, 2):
        found.append(f"exit code {result.exit_code}")
    return found


class _within:
    """CPU seconds after which the work inside is stopped."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self.before = signal.signal(signal.SIGVTALRM, self._stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, self.before)

    @staticmethod
    def _stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow


def broken(seed: int, count: int) -> Iterator[tuple[int, tuple[str, ...], list[str]]]:
    """Yield the place of every input that breaks a law, the command, and the laws."""
    from recipe_texts import text_of

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "r.yaml").write_text(text_of())
        os.chdir(folder)
        try:
            for at, given in enumerate(inputs(seed, count)):
                command = COMMANDS[at % len(COMMANDS)]
                if found := problems(given, folder, command):
                    yield at, command, found
        finally:
            os.chdir(before)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    seed, count = (int(each) for each in (*sys.argv[1:], "0", "300")[:2])
    for at, command, found in broken(seed, count):
        print(at, *command, *found, flush=True)
