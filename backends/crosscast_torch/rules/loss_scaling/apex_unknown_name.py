"""CL214: a name that apex.amp does not have."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_NAMES = frozenset(
    {
        *("initialize", "scale_loss", "master_params", "state_dict", "load_state_dict", "init"),
        *("disable_casts", "half_function", "float_function", "promote_function"),
        *("register_half_function", "register_float_function", "register_promote_function"),
        *("amp", "handle", "frontend", "opt", "scaler", "utils", "wrap", "compat", "lists"),
        *("rnn_compat",),
    }
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls of names that apex.amp does not have."""
    for module in subject.program.modules:
        for call in module.calls:
            names = [name for name in call.names if name.startswith("apex.amp.")]
            if not names or len(names) != len(call.names):
                continue
            word, _, rest = names[0].removeprefix("apex.amp.").partition(".")
            if rest:  # a method of the result of a call that is reported already
                continue
            if word in _NAMES or word.startswith("_"):
                continue
            near = difflib.get_close_matches(word, _NAMES, n=1)
            yield Finding(
                span=module.span(call.node.func),
                message=f"apex.amp has no {word}",
                hint=f"did you mean `amp.{near[0]}`?" if near else "",
            )


RULE = Rule("CL214", check, hints=("apex",))
