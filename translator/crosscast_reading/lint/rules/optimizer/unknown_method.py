"""CL508: a method that optimizers or loss scalers do not have: misspelt, or of PyTorch alone."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject

_METHODS = frozenset(
    {
        *("step", "zero_grad", "state_dict", "load_state_dict", "add_param_group", "backward"),
        *("scale", "unscale", "unscale_", "update", "get_scale", "is_enabled", "minimize"),
        *("is_enable",),  # Paddle's `is_enabled`
        *("compute_gradients", "apply_gradients", "clear_grad", "clear_gradients", "get_lr"),
        *("set_lr", "set_state_dict", "set_lr_scheduler", "apply", "get_gradients", "get_config"),
        *("from_config", "get_scaled_loss", "get_unscaled_gradients", "scale_loss", "build"),
        *("variables", "assign", "set_dict", "clear_gradient", "apply_optimize"),
    }
)
_CLOSE = 0.75
"""Least similarity of a misspelt name."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls of methods that exist nowhere but are close to one that does."""
    for call in subject.program.calls():
        if call.receiver is None or call.method in _METHODS or not call.names:
            continue
        value = evaluate(call.receiver, call.module)
        maker = canonical(value.made_by) if isinstance(value, Instance) else ""
        if not has_role(maker, "optimizer", "scaler"):
            continue
        near = difflib.get_close_matches(call.method, _METHODS, n=1, cutoff=_CLOSE)
        if near and not call.method.startswith("_"):
            yield Finding(
                span=call.module.span(call.node.func),
                message=f"{call.receiver_text} has no method {call.method}",
                hint=f"did you mean `{near[0]}`?",
            )


RULE = Rule("CL508", check, hints=("optim", "Scaler", "Optim"), needs_training=False)
