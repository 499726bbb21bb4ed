"""Lines of code, wrapped in the style of a formatter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_WIDTH = 88


def wrapped(head: str, arguments: Sequence[str], tail: str) -> Iterator[str]:
    """Yield a call in the style of a formatter."""
    line = f"{head}{', '.join(arguments)}{tail}"
    if len(line) <= _WIDTH:
        yield line
        return
    indent = " " * (len(head) - len(head.lstrip()))
    yield head
    inner = f"{indent}    {', '.join(arguments)}"
    if len(inner) <= _WIDTH:
        yield inner
    else:
        yield from (f"{indent}    {argument}," for argument in arguments)
    yield f"{indent}{tail}"


def long(line: str) -> Iterator[str]:
    """Yield a statement whose outermost call is wrapped where it is too long."""
    if len(line) <= _WIDTH or not line.endswith(")") or "(" not in line:
        yield line
        return
    head, _, rest = line.partition("(")
    yield from wrapped(f"{head}(", _arguments(rest[:-1]), ")")


def _arguments(text: str) -> list[str]:
    """Return the arguments of a call, split at commas outside of brackets."""
    arguments, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += character
    return [part.strip() for part in arguments]
