"""Trained weights that a launch names for the start of a training, which a recipe cannot."""

from __future__ import annotations

import re

from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.recipe_draft import Draft
from crosscast_reading.sources.subject import Subject

_NAMED = re.compile(
    r"pretrain|^init(ial)?_(checkpoint|ckpt|weights|model|params)|^warm_?start_from"
)
_ABOUT = re.compile(r"config|vocab|tokenizer|data|task|step|epoch|_lr$|rate")
"""Flags whose names speak of trained weights, but give something else."""
_NONE = ("", "none", "null", "false", "0", "no", "scratch")


def initial_weights(subject: Subject, draft: Draft) -> None:
    """Report that a launch starts from trained weights."""
    if not subject.program.modules:
        return
    for command in subject.commands:
        for flag in command.flags:
            if _names_weights(flag):
                shown = flag.expression if flag.value is True else f"{flag.expression} {flag.value}"
                message = f"it starts from trained weights ({shown}); a recipe starts from new ones"
                hint = "load them in the function that builds the model"
                draft.note("CC911", "model", message, flag, hint)
                return


def _names_weights(flag: Fact) -> bool:
    name = flag.expression.lstrip("-").replace("-", "_").lower()
    if not _NAMED.search(name) or _ABOUT.search(name) or not flag.known:
        return False
    return str(flag.value).strip().lower() not in _NONE
