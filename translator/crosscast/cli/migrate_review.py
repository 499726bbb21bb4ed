"""`crosscast migrate --interactive`: changes and refusals one by one, in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from crosscast.messages.console import print_diff
from crosscast.messages.diagnostics import failure

if TYPE_CHECKING:
    from crosscast_migrate.interactive import Answer, Question
    from crosscast_reading.lint.result import Result

_ANSWERS: dict[str, Answer] = {"y": "yes", "n": "no", "a": "all", "q": "quit"}
_HELP = """\
y - make this change
n - leave this place as it is
a - make this change and all that follow
q - leave this place and all that follow as they are"""
Read = Callable[[str], str]


def answers_on_terminal() -> Callable[[Question], Answer]:
    """Return the function that asks the person at the terminal.

    Raises:
        DiagnosticError: CC970 if there is no terminal to ask in.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = "--interactive needs a terminal for questions and answers"
        raise failure("CC970", message, "use --diff to see the changes, --write to make them")
    return ask


def ask(question: Question, read: Read = input) -> Answer:
    """Show a change and return the answer; the end of the input means to quit.

    Args:
        question: the change.
        read: reads one line after a prompt.
    """
    print()
    for result in question.results:
        print(f"{result.span}: {result.code} {result.message}")
    print_diff(question.diff)
    for note in dict.fromkeys(result.hint for result in question.results if result.hint):
        print(f"Note: {note}")
    many = "these changes" if len(question.results) > 1 else "this change"
    while True:
        try:
            word = read(f"Make {many} [y,n,a,q,?]? ").strip().lower()
        except EOFError:
            return "quit"
        if word in _ANSWERS:
            return _ANSWERS[word]
        print(_HELP)


def show_refusals(refusals: Sequence[Result], read: Read = input) -> list[Result]:
    """Show the places that only a person can change, one by one; return those not shown.

    Declined changes were seen already and are not shown again.
    """
    from crosscast_migrate.interactive import DECLINED
    from crosscast_reading.lint.formats.text import text

    left = [refusal for refusal in refusals if not refusal.message.startswith(DECLINED)]
    for number, refusal in enumerate(left, 1):
        print(f"\n{text([refusal])}", end="")
        try:
            word = read(f"Left for you, {number} of {len(left)}. Next [Enter] or quit [q]? ")
        except EOFError:
            return left[number:]
        if word.strip().lower() == "q":
            return left[number:]
    return []
