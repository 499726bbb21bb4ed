"""Loss scalers where they are made."""

from __future__ import annotations

import ast

from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.pysource.syntax.nodes import identifier
from crosscast.pysource.values.value import Known
from crosscast.readers.python.library_calls import target_of
from crosscast.sources.subject import Subject

CLASSES = frozenset(
    {
        *("torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.cpu.amp.GradScaler"),
        *("torch.cuda.amp.grad_scaler.GradScaler", "torch.amp.grad_scaler.GradScaler"),
        *("paddle.amp.GradScaler",),
    }
)
_SHOWS = frozenset({"print", "info", "debug", "log"})
_OF_CHECKPOINTS = ("state_dict", "load_state_dict", "get_scale")


def scaler_calls(subject: Subject) -> list[Call]:
    """Return the calls that create a GradScaler of PyTorch or Paddle."""
    program = subject.program
    if program is None:
        return []
    return [
        call
        for module in program.modules
        for call in module.calls
        if call.names and set(call.names) <= CLASSES
    ]


def idle_scalers(subject: Subject) -> bool:
    """Whether every scaler of a program is only created, saved, or scales what is only shown."""
    program = subject.program
    made = scaler_calls(subject)
    if program is None or not made:
        return False
    names = {target_of(call.node, call.module).rpartition(".")[2] for call in made}
    if not all(names):
        return False
    for module in program.modules:
        for node in module.nodes:
            if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            word = identifier(node)
            named = "scaler" in word.lower() or word in names
            if not named or _is_saved(node, module) or _makes(node, made):
                continue
            if not _scales_to_show(node, module):
                return False
    return True


def _is_saved(node: ast.AST, module: Module) -> bool:
    parent = module.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in _OF_CHECKPOINTS


def _scales_to_show(node: ast.AST, module: Module) -> bool:
    """Whether `scaled = scaler.scale(loss)` is only printed, and the plain loss goes on."""
    method = module.parent(node)
    call = module.parent(method) if method is not None else None
    if not isinstance(method, ast.Attribute) or method.attr != "scale":
        return False
    statement = module.parent(call) if isinstance(call, ast.Call) else None
    if isinstance(statement, ast.Expr):
        return True
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if statement.value is call:
            return all(
                _is_shown(read, module)
                for read in module.nodes
                if isinstance(read, ast.Name) and read.id == name
                if isinstance(read.ctx, ast.Load)
            )
    return False


def _is_shown(node: ast.AST, module: Module) -> bool:
    around = module.parent(node)
    return isinstance(around, ast.Call) and identifier(around.func) in _SHOWS


def _makes(node: ast.AST, made: list[Call]) -> bool:
    """Whether a node is the class in a call that creates a scaler."""
    return any(inner is node for call in made for inner in ast.walk(call.node.func))


def enabled_by_default(call: Call) -> bool:
    """Whether a scaler is created enabled, with the defaults of the flags."""
    given = call.argument("enabled") or call.argument("enable")
    if given is None:
        return not call.has_star
    return isinstance(given, Known) and given.value is True


def switched_off(call: Call) -> bool | None:
    """Whether a scaler is created disabled; None if it depends on a flag or condition."""
    given = call.argument("enabled") or call.argument("enable")
    if given is None:
        return None if call.has_star else False
    if isinstance(given, Known) and isinstance(given.value, bool) and not given.flag:
        return not given.value
    return None
