"""Predicates on windows of micro-batches, shared by rules."""

from __future__ import annotations

import ast
import re

from crosscast_reading.lint.answers.loop import backward_of, implies, of_one_window, own_windows
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.trainstep.events import Event, TrainingStep, WindowTest
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.library_settings import library_steps

ACCUMULATES = re.compile(
    r"accum|iter_size|update_freq|virtual_batch|n_?accs?\b|micro_?batch|grad_steps"
    r"|grad(ient)?s?_?acc(?![a-z])|(?<![a-z])acc_(steps?|iters?|grads?)",
    re.I,
)
"""Names of the number of micro-batches of a window."""
_HOOKS = "torch.distributed.algorithms.ddp_comm_hooks."
_LOSS_SCALE = re.compile(r"loss_?scale", re.I)
_REGISTERS = "register_comm_hook"
_CHANGES = frozenset({"div_", "mul_", "div", "mul", "true_divide_"})
_SCALES = re.compile("scale_grad|multiply_grads")
"""Functions that multiply gradients."""


def end_tests(step: TrainingStep) -> list[tuple[Event, WindowTest]]:
    """Return the optimizer steps that happen once per window, with the condition."""
    return [(event, event.window) for event in step.inside("step") if event.window is not None]


def compared_remainder(test: WindowTest) -> str:
    """Return the advice for a remainder that is a condition of its own: `if step % n:`."""
    counter = test.counter if test.counter.isidentifier() else "step"
    return f"compare the remainder: `({counter} + 1) % {test.steps_text} == 0`"


def clears_all(cleared: Event, step: TrainingStep) -> bool:
    """Whether the gradients of the only optimizer or of the only model are certainly cleared."""
    if "accumulator" in cleared.detail or "closure" in step.module.source.text:
        return False
    models = {event.subject for event in step.of("forward")}
    optimizers = {event.subject for event in step.of("step")}
    if len(optimizers) != 1:
        return False
    return cleared.subject in optimizers or (len(models) == 1 and cleared.subject in models)


def loses_window(cleared: Event, applied: Event, step: TrainingStep) -> bool:
    """Whether a step at the end of a window gets only the gradients of the last micro-batch.

    Both may stand on one branch of a condition, where the other branch has no windows.
    """
    window, after = applied.window, after_micro_loops(step)
    if cleared.window is not None:
        return False
    if window.by_caller if window is not None else applied not in after:
        return False
    if not own_windows(step) or step.inside("accumulate") or not clears_all(cleared, step):
        return False
    backward = [event for event in backward_of(step) if of_one_window(event, applied)]
    others = [event for event in step.inside("step") if event not in after]
    if any(event.window is None and of_one_window(event, applied) for event in others):
        return False
    micro = [loop for event in backward for loop in event.loops if loop.role == "micro"]
    if micro and not any(loop in cleared.loops for loop in micro):
        return False
    return bool(backward) and all(implies(event, cleared) for event in backward)


def after_micro_loops(step: TrainingStep) -> list[Event]:
    """Return the optimizer steps that follow a loop over the micro-batches of a window.

    None if there are other backward passes, or if the program itself looks at gradients: those
    that it keeps elsewhere may be cleared.
    """
    inner = [loop for event in backward_of(step) for loop in event.loops[-1:]]
    if any(loop.role != "micro" for loop in inner) or not inner or step.loop is None:
        return []
    looks = any(
        isinstance(node, ast.Attribute) and node.attr in ("grad", "grad_sample")
        for module in modules_of(step)
        for node in module.nodes
    )
    applied = () if looks else step.inside("step")
    return [event for event in applied if not any(loop in event.loops for loop in inner)]


def length_set(event: Event, name: str, *, within_epoch: bool) -> ast.Assign | None:
    """Return where a loop around a step assigns the length of its windows."""
    for loop in event.loops[-1:] if within_epoch else event.loops:
        for node in walk(loop.node):
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name for target in node.targets
            ):
                return node
    return None


def gradients_changed(step: TrainingStep) -> bool:
    """Whether the program multiplies or divides gradients directly."""
    return any(_changes(module) for module in modules_of(step))


def modules_of(step: TrainingStep) -> set[Module]:
    """Return the modules that the events of a loop stand in."""
    return {event.module for event in step.events}


@once
def _changes(module: Module) -> bool:
    for node in module.nodes:
        match node:
            case ast.AugAssign(target=target, op=ast.Div() | ast.Mult()):
                changed = _is_gradient(target, module)
            case ast.Assign(targets=targets, value=ast.BinOp()):
                changed = any(_is_gradient(target, module) for target in targets)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name == _REGISTERS:
                changed = not _is_librarys_hook(node, module)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if _SCALES.search(
                name
            ):
                changed = True
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _CHANGES:
                changed = _is_gradient(of, module) and not _takes_out_scale(node, module)
            case _:
                continue
        if changed:
            return True
    return False


def _is_librarys_hook(registered: ast.Call, module: Module) -> bool:
    """Whether PyTorch's own hook is registered, which divides by the processes alone."""
    given = [*registered.args, *(k.value for k in registered.keywords)]
    return any(module.resolve(each).startswith(_HOOKS) for each in given)


def _takes_out_scale(change: ast.Call, module: Module) -> bool:
    """Whether gradients are only freed of the loss scale: `p.grad.mul_(1 / loss_scale)`."""
    text = module.text(change.args[0]) if len(change.args) == 1 else ""
    return bool(_LOSS_SCALE.search(text)) and not ACCUMULATES.search(text)


def _is_gradient(node: ast.expr, module: Module) -> bool:
    text = module.text(node)
    return ".grad" in text or text in ("grad", "grads", "gradients", "g")


def library_divides(step: TrainingStep) -> bool:
    """Whether a library divides the losses: Accelerate with its own number of steps."""
    libraries = {event.library for event in step.of("backward")}
    if not libraries & {"accelerate"}:
        return bool(libraries - {"", "apex", "lightning_fabric", "lightning", "timm"})
    return accelerator_steps(step) != 1


def accelerator_steps(step: TrainingStep) -> object:
    """Return the number of micro-batches passed to the Accelerator; None if unknown."""
    for event in step.of("backward"):
        match event:
            case Event(library="accelerate", node=ast.Call(func=ast.Attribute(value=accelerator))):
                return fixed(library_steps(accelerator, CallFrame(event.module, None)))
    return None
