"""Reads activation checkpointing: activations that the backward pass recomputes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.conditions import conditions, conditions_of
from crosscast_reading.readers.python.decisions import Decision, decide
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of, trains
from crosscast_reading.readers.python.library_calls import last

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.programs.program import Program

NAME = "checkpointing"
_FUNCTIONS = re.compile(
    r"torch\.utils\.checkpoint\.(checkpoint|checkpoint_sequential)"
    r"|fairscale\.nn\.(\w+\.)*checkpoint_wrapper"
    r"|torch\.distributed\.algorithms\._checkpoint\.checkpoint_wrapper\."
    r"(checkpoint_wrapper|apply_activation_checkpointing\w*)"
    r"|torch\.distributed\._composable\.checkpoint"
    r"|deepspeed\.checkpointing\.checkpoint"
    r"|(megatron\.(core\.)?)?(mpu|tensor_parallel)\.checkpoint|megatron\.[\w.]*mpu\.checkpoint"
    r"|transformers\.modeling_utils\.checkpoint"
)
_METHODS = frozenset(
    {
        *("gradient_checkpointing_enable", "enable_gradient_checkpointing"),
        *("set_grad_checkpointing", "set_gradient_checkpointing", "checkpoint_activations"),
    }
)
_KEYWORDS = frozenset(
    {
        *("gradient_checkpointing", "use_gradient_checkpointing", "activation_checkpointing"),
        *("checkpoint_activations", "use_grad_checkpoint", "grad_checkpointing"),
        *("use_checkpoint", "enable_activation_checkpointing", "use_activation_checkpointing"),
        *("gradient_checkpoint", "grad_checkpoint", "use_grad_ckpt", "recompute_activations"),
    }
)
_WANTED = frozenset({"checkpoint", "checkpointing", "recompute", "ckpt", "grad", "memory"})
_HELP = re.compile(r"gradient check|activation check|checkpointing|save memory|recomput", re.I)


class Checkpointing:
    """Reads activation checkpointing."""

    name = NAME
    hints = ("checkpoint", "recompute", "grad_ckpt")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield whether activations are recomputed."""
        writer = FactWriter(NAME)
        if not trains(program):
            return
        uses = [*_calls(program), *_assigned(program)]
        live = [(place, decision) for place, decision in uses if decision.who != "never"]
        if not live:
            live = list(_flags(program))
        if live:
            order = ("flag", "config", "caller", "always")
            place, chosen = min(live, key=lambda use: order.index(use[1].who))
            word = {"flag": "flag", "config": "config", "caller": "config"}.get(chosen.who, "yes")
            if word == "flag" and chosen.by_default:
                word = "yes"
            writer.say(
                "activation_checkpointing",
                word,
                place,
                *(other for other, _ in live),
                origin="flag" if word == "flag" else "presence",
                expression=chosen.flag,
            )
        yield from writer.facts


def _calls(program: Program) -> Iterator[tuple[Span, Decision]]:
    for module in program.modules:
        for call in module.calls:
            switch: ast.expr | None = None
            if any(_FUNCTIONS.fullmatch(name) for name in call.names):
                pass
            elif call.method in _METHODS and call.receiver is not None:
                named = {keyword.arg: keyword.value for keyword in call.node.keywords}
                given = [*call.node.args[:1], named.get("enable"), named.get("value")]
                switch = next(filter(None, given), None)
            else:
                keywords = [k for k in call.node.keywords if k.arg in _KEYWORDS]
                if not keywords or not _takes(call.name, keywords[0]):
                    continue
                switch = keywords[0].value
            value = evaluate(switch, module) if switch is not None else None
            if isinstance(value, Known) and not isinstance(value.value, bool | int | None):
                switch = None
            yield place_of(call), decide(conditions_of(call), switch, module, _WANTED)


def _takes(name: str, keyword: ast.keyword) -> bool:
    """Whether a keyword of this name can concern activations: not a path."""
    if isinstance(keyword.value, ast.Constant) and not isinstance(keyword.value.value, bool):
        return False
    return not last(name).endswith(("Arguments", "Config")) or keyword.arg != "use_checkpoint"


def _assigned(program: Program) -> Iterator[tuple[Span, Decision]]:
    """Yield assignments such as `config.gradient_checkpointing = True`."""
    for module in program.modules:
        for statement in module.every(ast.Assign):
            target = statement.targets[0]
            if not isinstance(target, ast.Attribute) or target.attr not in _KEYWORDS:
                continue
            if module.is_dead(statement):
                continue
            if module.text(target.value) in ("self", "args", "opt"):
                continue
            decision = decide(conditions(statement, module), statement.value, module, _WANTED)
            yield module.span(statement), decision


def _flags(program: Program) -> Iterator[tuple[Span, Decision]]:
    """Yield the flags named for it, if the model is in another file."""
    for flag in program.all_flags:
        if flag.dest in _KEYWORDS and _is_switch(flag):
            yield flag.span, Decision("flag", None, (), f"args.{flag.dest}")


def _is_switch(flag: Flag) -> bool:
    boolean = flag.action in ("store_true", "store_false") or flag.type in ("bool", "str2bool")
    default = flag.default
    boolean = boolean or (isinstance(default, Known) and isinstance(default.value, bool))
    if not boolean:
        return False
    if flag.dest != "use_checkpoint":
        return True
    return bool(_HELP.search(flag.module.text(flag.node)))


READER = Checkpointing()
