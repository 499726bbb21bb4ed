"""What a configuration leaves to the program: each `auto` of DeepSpeed that a Trainer fills in."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast_reading.facts.fact import Fact

_CONFIG = "deepspeed_json"
_TYPE = ("precision.compute_dtype", "")
_TYPES = ("precision.enabled", "precision.dtypes", "precision.compute_dtype")
_SCALING = ("loss_scaling.", "scaler_update.")
_FOLLOWS = frozenset({"batch.global_batch_size", "schedule.total_steps", "schedule.peak"})
"""What the Trainer computes of its other arguments."""


def without_filled_in(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts but every `auto` that the Trainer of the same run fills in.

    The Trainer of Transformers writes its own arguments over them (huggingface/transformers
    02348331, integrations/deepspeed.py: trainer_config_process). DeepSpeed refuses the word, so
    where no Trainer is read the value stays unknown.
    """
    if not any(fact.field == "api" and fact.value == "hf_trainer" for fact in facts):
        return tuple(facts)
    stated = {(f.field, f.subject): f for f in facts if f.known and f.reader != _CONFIG}
    left = {(f.field, f.subject) for f in facts if _is_auto(f)}
    gone: tuple[str, ...] = ()
    if _TYPE in left and _TYPE in stated:
        gone = _TYPES if stated[_TYPE].value == "float16" else (*_TYPES, *_SCALING)
    return tuple(
        fact
        for fact in facts
        if fact.reader != _CONFIG
        or not (
            (gone and fact.field.startswith(gone))
            or (_is_auto(fact) and ((fact.field, fact.subject) in stated or fact.field in _FOLLOWS))
        )
    )


def _is_auto(fact: Fact) -> bool:
    return fact.reader == _CONFIG and not fact.known and fact.expression == "auto"
