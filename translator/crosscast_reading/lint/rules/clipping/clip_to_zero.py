"""CL309: a limit of 0 sets all gradients to 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import known_word
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.evaluation.bindings import default_of
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event

_OURS = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_")
_ZEROS = ("0", "0.0")


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips with a default limit of 0."""
    for step in subject.steps:
        for clip in step.of("clip"):
            limit = _default(clip)
            if repr(limit) not in _ZEROS:
                yield from _left_out(clip)
                continue
            if not _runs(clip):
                continue
            name = str(known_word(clip, "max_text"))
            yield Finding(
                span=clip.span,
                message=f"{name} is 0 by default, so every gradient is clipped to 0",
                hint=f"clip only `if {name} > 0`, or change the default to None",
                severity=None if isinstance(clip.detail.get("max"), Known) else Severity.WARNING,
            )


def _left_out(clip: Event) -> Iterator[Finding]:
    """Find a parameter that is 0 if a call leaves it out, on its way to the clip."""
    calls, module = list(clip.calls), clip.module
    node = _limit(clip)
    while isinstance(node, ast.Name):
        if any(node.id in g.text and "None" not in g.text for g in clip.guards):
            return
        bindings = definitions(node, module)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return
        if _is_zero(default_of(bindings[0])):
            yield Finding(
                span=module.span(node),
                message=f"a call that leaves {node.id} out clips every gradient to 0",
                hint="change the default to None",
                related=(clip.span,),
                severity=Severity.NOTE,
            )
            return
        if not calls:
            return
        call = calls.pop()
        argument = module.owner_of(call).call(call).bound().get(node.id)
        module, node = module.owner_of(call), argument


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and repr(node.value) in _ZEROS


def _default(clip: Event) -> object:
    """Return the default limit; None if unknown."""
    return plain(clip.detail.get("max"))


def _limit(clip: Event) -> ast.expr | None:
    """Return the limit that a function of PyTorch gets; None for anything else."""
    match clip.node:
        case ast.Call() as node if clip.module.call(node).name in _OURS:
            return clip.module.call(node).bound().get("max_norm")
    return None


def _runs(clip: Event) -> bool:
    """Whether it is a function of PyTorch that uses the limit directly."""
    if clip.library == "timm":  # its scaler clips unless the limit is None
        about = str(known_word(clip, "max_text"))
        return all(g.by_default is not False or about not in g.text for g in clip.guards)
    if _limit(clip) is None:
        return False
    about = str(known_word(clip, "max_text"))
    for guard in clip.guards:
        if guard.by_default is False:
            return False
        if guard.by_default is None and about in guard.text and "None" not in guard.text:
            return False
    return True


RULE = Rule("CL309", check, hints=("clip",))
