"""Words of simple commands: text after a backslash, shells inside commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from getopt import GetoptError, getopt

from crosscast_reading.readers.shell.arithmetic import changed_in
from crosscast_reading.readers.shell.text import Piece, ShellText, Word, text_of

_SHELLS = re.compile(r"(.*/)?(ba|z|k|da)?sh")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPTIONS = ("d:n:O:s:tu:C:c:", "ersa:d:i:n:N:p:t:u:")
"""Options of mapfile and of read; a colon is behind those with a value."""
_RUNS_TEXT = re.compile(r"-\w*c\w*")


def lines_of(text: ShellText, start: int, end: int) -> Iterable[tuple[int, str]]:
    """Yield the offset and the text of every line."""
    at = start
    for line in text.slice(start, end).splitlines(keepends=True):
        yield at, line
        at += len(line.encode("utf-8", "replace"))


def junk_after(text: ShellText, end: int) -> list[Word]:
    """Return the words after a backslash that is followed by a blank."""
    line = text.slice(end, end + 400).split("\n", 1)[0]
    match = re.match(r"[ \t]*\\([ \t\r].*|[ \t\r])$", line)
    if not match:
        return []
    rest = match[1]
    place = text.span(end + len(line[: match.start(1)].encode("utf-8", "replace")))
    first = re.match(r"[ \t\r]\S*", rest)
    assert first is not None
    words: list[Word] = [(Piece(text=first.group(), span=place),)]
    for word in rest[first.end() :].split():
        if word.startswith("#"):
            break
        words.append((Piece(text=word, span=place),))
    return words


def names_set(texts: Sequence[str]) -> list[str]:
    """Return the variables that a command of bash itself sets to something unknown."""
    match texts:
        case [("read" | "mapfile" | "readarray") as name, *words]:
            try:
                options, names = getopt(words, _OPTIONS[name == "read"])
            except GetoptError:
                return []
            names += [value for option, value in options if option == "-a"]
            return [*filter(_NAME.fullmatch, names)] or ["REPLY" if name == "read" else "MAPFILE"]
        case ["getopts", _, name, *_]:
            return [name, "OPTARG", "OPTIND"]
        case ["printf", "-v", name, *_]:
            return [name]
        case ["let", *words]:
            return [name for word in words for name in changed_in(word)]
    return []


def shell_inside(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], Word] | None:
    """Return the words before `bash -c` and the text after it, if a command has them."""
    for index, word in enumerate(words[:-2]):
        name = text_of(word)
        if name and _SHELLS.fullmatch(name):
            for position in range(index + 1, len(words) - 1):
                option = text_of(words[position]) or ""
                if not option.startswith("-"):
                    break
                if _RUNS_TEXT.fullmatch(option):
                    return words[:index], words[position + 1]
    return None


def before_shell(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words before the shell, or none if a queue takes the script."""
    for index, word in enumerate(words):
        if _SHELLS.fullmatch(text_of(word) or ""):
            return words[:index]
    return ()


def runs_input(words: tuple[Word, ...]) -> bool:
    """Return whether a command executes its here-document: bash, sbatch, `srun bash`."""
    names = [text_of(word) or "" for word in words]
    if names[0] in ("sbatch", "qsub", "bsub"):
        return not any(name.endswith((".sh", ".sbatch", ".slurm")) for name in names[1:])
    shells = [i for i, name in enumerate(names) if _SHELLS.fullmatch(name)]
    return bool(shells) and all(name.startswith("-") for name in names[shells[0] + 1 :])
