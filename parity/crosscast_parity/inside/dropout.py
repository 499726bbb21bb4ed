"""Switch off the dropout of a script's model, which lies in the user's code."""

from __future__ import annotations

from typing import Any

from crosscast_parity.inside.modules import module_of


def install(inside: str, module: Any) -> None:
    """Let a script make its model without dropout; its source stays as it is.

    Args:
        inside: the package with what a backend loads in the process of its framework.
        module: the loaded script, an emitted one.
    """
    framework, original = module_of(inside, "dropout"), module.make_state

    def make_state(*args: Any, **kwargs: Any) -> Any:
        state = original(*args, **kwargs)
        if hasattr(framework, "switch_off_state"):  # where a model is in pieces
            framework.switch_off_state(state)
            return state
        # With half weights a script may compute with a copy of the model; it calls it `working`.
        for model in (state.model, getattr(state, "working", state.model)):
            framework.switch_off(model)
        return state

    module.make_state = make_state
