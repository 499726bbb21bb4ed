"""Flags in the words of a command, with the places of their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from crosscast.messages.diagnostics import Span
from crosscast_reading.facts.fact import Fact, Layer, Origin
from crosscast_reading.readers.shell.simple_commands import Started
from crosscast_reading.readers.shell.text import Word, places_of, reason_of, shown, text_of

_FLAG = re.compile(r"--?[A-Za-z_][\w./-]*")
_NAMED = re.compile(r"\+{0,2}~?([A-Za-z_][\w-]*+(?:[./@][\w./-]++)*+)=(.*)", re.S)
LISTS = re.compile(
    r"\$(?!\{#)[{(]?([@*]|.{0,60}(\[[@*]\]|ARGS|OPTS?|OPTIONS|FLAGS|EXTRA|args|opts?|options|flags|extra))"
)


def flags_of(words: Sequence[Word], started: Started) -> tuple[list[Fact], list[Fact]]:
    """Return the flags in words, and the remaining words."""
    flags: list[Fact] = []
    arguments: list[Fact] = []
    at = 0
    while at < len(words):
        text = shown(words[at])
        name, equal, _ = text.partition("=")
        if _FLAG.fullmatch(name):
            values: list[Word] = []
            after = at + 1
            while not equal and after < len(words) and _is_value(words[after]):
                if values and _NAMED.fullmatch(shown(words[after])):
                    break  # an override of a configuration, as Hydra's
                values.append(words[after])
                after += 1
            flags.append(_flag(name, words[at], values, bool(equal), started))
            at = after
            continue
        if named := _NAMED.fullmatch(text):
            flags.append(_flag(named[1], words[at], [], True, started))
        elif optional := _options_of(words[at]):
            flags += [_optional(option, words[at], started) for option in optional]
        elif text_of(words[at]) is None:
            flags.append(flag_fact(text, words[at], started))
        else:
            arguments.append(argument_fact(words[at], started))
        at += 1
    return flags, arguments


def _is_value(word: Word) -> bool:
    text = shown(word)
    if _FLAG.match(text):
        return False
    return text_of(word) is not None or not (LISTS.match(text) or _options_of(word))


def _flag(name: str, word: Word, values: list[Word], equal: bool, started: Started) -> Fact:
    if equal:
        fact = flag_fact(name, word, started)
        text = text_of(word)
        return replace(fact, value=None if text is None else text.partition("=")[2])
    if not values:
        return replace(flag_fact(name, word, started), value=True)
    facts = [flag_fact(name, value, started) for value in values]
    places = united(word, *values)
    unknown = next((fact for fact in facts if not fact.known), None)
    if unknown is not None:
        return replace(unknown, places=places)
    texts = tuple(str(fact.value) for fact in facts)
    value = texts[0] if len(texts) == 1 else texts
    origin = "literal" if _beside(word, values) else facts[0].origin
    return replace(facts[0], value=value, places=places, origin=origin)


def _beside(name: Word, values: list[Word]) -> bool:
    """Whether a flag and its values are one text: `ARGS="--clip-grad 1.0"`, used as `$ARGS`."""
    held = {(piece.origin, piece.via) for word in (name, *values) for piece in word}
    return len(held) == 1 and name[0].origin == "shell_variable"


def _options_of(word: Word) -> tuple[str, ...]:
    """Return the possible values of a word, if all of them are flags."""
    options = word[0].options if len(word) == 1 else ()
    texts = [option.strip() for option in options]
    return tuple(texts) if any(t.startswith("-") for t in texts) else ()


def _optional(option: str, word: Word, started: Started) -> Fact:
    """Return a flag that depends on a condition of the script."""
    name = option.split()[0].partition("=")[0] if option else ""
    return Fact(
        field="command.flag",
        known=False,
        expression=name,
        reason=f"{option or 'nothing'}: {reason_of(word)}",
        places=places_of(word),
        layer=Layer.LAUNCHER,
        confidence="likely",
        under=started.under,
        reader="shell",
    )


def united(*words: Word) -> tuple[Span, ...]:
    """Return the places of words, one per line."""
    places: dict[int, Span] = {}
    for word in words:
        for span in places_of(word):
            places.setdefault(span.line, span)
    return tuple(places.values())


def flag_fact(name: str, word: Word, started: Started) -> Fact:
    """Return the fact of a flag with the value of a word."""
    return _fact("command.flag", name, word, started, Layer.LAUNCHER)


def argument_fact(word: Word, started: Started) -> Fact:
    """Return the fact of a word that belongs to no flag."""
    return _fact("command.argument", "", word, started, Layer.LAUNCHER)


def variable_fact(name: str, word: Word, started: Started) -> Fact:
    """Return the fact of a variable in the environment of a program."""
    return _fact("command.variable", name, word, started, Layer.ENVIRONMENT)


def _fact(field_name: str, name: str, word: Word, started: Started, layer: Layer) -> Fact:
    text = text_of(word)
    origins: list[Origin] = [piece.origin for piece in word]
    origin: Origin = next((o for o in origins if o != "literal"), "literal")
    return Fact(
        field=field_name,
        value=text,
        known=text is not None,
        expression=name,
        reason="" if text is not None else f"{shown(word)}: {reason_of(word)}",
        places=places_of(word) or (started.span,),
        layer=layer,
        origin=origin,
        confidence="certain" if not started.under else "likely",
        under=started.under,
        reader="shell",
    )
