"""Facts about an installed framework: each a question in words and a function that finds out."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """A fact about a framework."""

    text: str
    """What is asked, in one line."""
    ask: Callable[[], Any]
    """Finds it out; the answer is what JSON can hold."""


Groups = Mapping[str, Mapping[str, Fact]]


def answers(facts: Mapping[str, Fact]) -> dict[str, Any]:
    """Return the answers by name; the first exception ends it."""
    return {name: fact.ask() for name, fact in facts.items()}


def every_answer(groups: Groups) -> dict[str, dict[str, Any]]:
    """Return text and value, or text and error, of every fact; other releases lack some."""
    found = {}
    for group, facts in groups.items():
        for name, fact in facts.items():
            answer: dict[str, Any] = {"text": fact.text}
            try:
                answer["value"] = fact.ask()
            except Exception as error:  # whatever a release raises is its answer
                answer["error"] = type(error).__name__
            found[f"{group}/{name}"] = answer
    return found


def main(groups: Groups) -> None:
    """Print the answers of the group that is named, of all without a name, or of each if `--each`.

    With `--each`, a fact that cannot be found out does not keep others from being found out.
    """
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted == "--each":
        warnings.simplefilter("ignore")
        found = every_answer(groups)
    elif wanted:
        found = answers(groups[wanted])
    else:
        found = {
            name: answer for facts in groups.values() for name, answer in answers(facts).items()
        }
    print(json.dumps(found))
