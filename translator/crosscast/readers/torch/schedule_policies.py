"""Functions of other files that set the learning rate: what their names and arguments say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crosscast.pysource.programs.evaluate import evaluate
from crosscast.readers.python.library_calls import last
from crosscast.readers.torch.fact_writer import content, place_of
from crosscast.readers.torch.schedule_functions import Candidate
from crosscast.readers.torch.schedule_names import decay_of, warms_up
from crosscast.readers.words import SCHEDULES

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.program import Program

POLICY = re.compile(r"(\w+_)?(lr|learning_rate)_(decay|sched|schedule|schedules)|"
                     r"(lr|learning_rate)_(\w+_)?(policy|schedule|scheduler|schedule_fn)"
                     r"|(adjust|update|set|schedule)_(lr|learning_rate)")  # fmt: skip
_POLICY_FLAG = re.compile(
    r"(lr_?)?(policy|sched|scheduler|schedule)(_type|_name)?|lr_(mode|type|decay_style|decay_type)"
)


def policy(call: Call, program: Program) -> Candidate | None:
    """Return what a function for the rate that is not among the files says by its name."""
    texts = [call.module.text(one) for one in call.node.args]
    texts += [call.module.text(one.value) for one in call.node.keywords]
    if call.name == "functools.partial":
        texts = texts[1:] or texts
    elif not any(re.search(r"optim|\bopt\b", text) for text in texts):
        return None
    word = last(call.module.resolve(call.node.args[0])) if is_partial(call) else last(call.name)
    decay = decay_of(word.replace("_policy", ""))
    if warms_up(word) and not decay:
        return Candidate("", (place_of(call),), warms=True, rising=True, confidence="likely")
    found = Candidate(decay or "elsewhere", (place_of(call),), confidence="likely")
    if not decay:
        for flag in program.all_flags:
            said = content(flag.given or flag.default)
            if _POLICY_FLAG.fullmatch(flag.dest) and isinstance(said, str):
                found.decay = SCHEDULES.get(said.lower(), decay_of(said) or "elsewhere")
                found.flag = f"args.{flag.dest}"
                found.places = (*found.places, flag.span)
                break
    keywords = {one.arg or "" for one in call.node.keywords}
    spread = [one.value for one in call.node.keywords if one.arg is None]
    for one in spread:
        value = content(evaluate(one, call.module))
        keywords |= {str(key) for key in value} if isinstance(value, dict) else set()
    found.warms = any(name.startswith("warm") for name in keywords)
    return found


def is_partial(call: Call) -> bool:
    """Whether a call is a `functools.partial` of something."""
    return call.name == "functools.partial" and bool(call.node.args)
