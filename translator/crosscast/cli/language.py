"""The option --lang, before the command and after it."""

from __future__ import annotations

import os
from copy import copy
from typing import Annotated, Any

import typer

from crosscast.messages.language import Language, choose, language_of


def _choose(language: Language | None) -> Language | None:
    if language is not None:
        choose(language)
    return language


LanguageOption = Annotated[
    Language | None,
    typer.Option(
        "--lang",
        callback=_choose,
        help="Language of messages; without it, CROSSCAST_LANG or the locale decides.",
    ),
]


def begin(context: typer.Context, language: Language | None) -> None:
    """Choose the language for a run of the command line, and English again at its end."""
    choose(language or language_of(os.environ))
    context.call_on_close(lambda: choose("en"))


def accept_language(command: Any, option: Any) -> None:
    """Let a command, or every command of a group, take the option of the application, too.

    It is not listed in their help, which would say it dozens of times.
    """
    for each in getattr(command, "commands", {}).values():
        accept_language(each, option)
    if not any(parameter.name == option.name for parameter in command.params):
        taken = copy(option)
        vars(taken).update(hidden=True, expose_value=False)
        command.params.append(taken)
