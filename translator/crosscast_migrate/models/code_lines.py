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
        for argument in arguments:
            yield from _broken(argument, f"{indent}    ", ",")
    yield f"{indent}{tail}"


def long(line: str) -> Iterator[str]:
    """Yield a statement whose outermost call is wrapped where it is too long."""
    if len(line) <= _WIDTH or not line.endswith(")") or "(" not in line:
        yield line
        return
    head, _, rest = line.partition("(")
    yield from wrapped(f"{head}(", _arguments(rest[:-1]), ")")


def _broken(text: str, indent: str, tail: str) -> Iterator[str]:
    """Yield an argument, in several lines where it is too long for one."""
    start = text.find("(")
    operands = _operands(text)
    if len(indent) + len(text) + len(tail) <= _WIDTH or (start < 0 and len(operands) == 1):
        yield f"{indent}{text}{tail}"
    elif len(operands) > 1:
        for place, operand in enumerate(operands):
            yield from _broken(operand, indent, tail if place == len(operands) - 1 else "")
    elif text.endswith(")") and _closes_at_end(text, start):
        yield f"{indent}{text[: start + 1]}"
        inner = _arguments(text[start + 1 : -1])
        for argument in inner:
            yield from _broken(argument, f"{indent}    ", "," if len(inner) > 1 else "")
        yield f"{indent}){tail}"
    else:
        yield f"{indent}{text}{tail}"


def _operands(text: str) -> list[str]:
    """Return the operands of an expression, each with the operator before it."""
    operands, depth = [""], 0
    for word in text.split(" "):
        if depth == 0 and word in ("+", "-", "*", "/", "**", "@") and operands[-1]:
            operands.append(word)
        else:
            operands[-1] += f" {word}" if operands[-1] else word
        depth += sum(word.count(c) for c in "([{") - sum(word.count(c) for c in ")]}")
    return operands


def _closes_at_end(text: str, start: int) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for place, character in enumerate(text[start:], start):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return place == len(text) - 1
    return False


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
