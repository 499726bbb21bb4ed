"""Reads hand-written half precision: a half model, float32 weight copies, custom loss scalers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.libraries.packages import KNOWN, package_of_name
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Choice
from crosscast_reading.readers.python.conditions import conditions_of
from crosscast_reading.readers.python.decisions import decide
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of, trains, word_of_type
from crosscast_reading.readers.python.library_calls import calls_matching, last, parts_of
from crosscast_reading.trainstep.frames.object_kinds import is_model_name, kind_by_name, last_name
from crosscast_torch.reading.apex import WRAPPER as BY_APEX
from crosscast_torch.reading.apex import tell_wrapper_scale
from crosscast_torch.reading.precision import Use, tell_uses

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "manual_fp16"
_WRAPPER = re.compile(r"(FP16_?Optimizer|Float16Optimizer\w*|MemoryEfficientFP16Optimizer)$")
_MASTERS = re.compile(
    r"(prep_param_lists|network_to_half|master_params_to_model_params|FP16Model|BN_convert_float"
    r"|model_grads_to_master_grads|convert_network|copy_in_params)$"
)
_SCALER = re.compile(r"(DynamicLossScaler|LossScaler|DynamicGradScaler|ConstantGradScaler)$")
_SCALE = re.compile(
    r"(?:lg_|log_|cur_|self\.|static_)?(?:loss_scale|grad_scale|scale_factor)\w*", re.IGNORECASE
)
_FROZEN = frozenset(
    {
        *("teacher", "vae", "ema", "text", "inference", "encoder", "infer", "test", "eval"),
        *("reference", "ref", "clip", "lpips", "pretrained", "vgg", "perceptual"),
    }
)


class ManualFp16:
    """Reads hand-written half precision."""

    name = NAME
    hints = (
        ".half()",
        "bfloat16",
        "optim.backward",
        "optimizer.backward",
        "FP16",
        "fp16",
        "LossScaler",
        "network_to_half",
        "Float16",
    )

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts; none if half weights are only for inference."""
        writer = FactWriter(NAME)
        if not trains(program):
            return
        wrappers = _calls(program, _WRAPPER)
        masters = _calls(program, _MASTERS)
        scalers = [c for c in _calls(program, _SCALER) if _scales_loss(program)]
        stepping = _backwards(program)
        byhand = bool(wrappers or masters or stepping or _scaled(program))
        halved = [c for c, model in _halved(program) if _matters(c, model, byhand)]
        if not halved:
            stepping = []
        uses = [_use(call) for call in (*wrappers, *masters, *halved, *scalers)]
        uses = [use for use in uses if use.decision.who != "never"]
        if not uses:
            return
        tell_uses(writer, uses, "full")
        if not byhand and {use.default for use in uses} == {"bfloat16"}:
            _without_masters(writer)
        own = [*wrappers, *masters, *scalers]
        if own or (stepping and not calls_matching(program, BY_APEX)):
            writer.say("api", "custom_fp16", *(use.place for use in uses))
        tell_wrapper_scale(writer, wrappers)
        for call in scalers:
            dynamic = "Dynamic" in call.name
            writer.say("loss_scaling.mode", "dynamic" if dynamic else "static", place_of(call))
        if not wrappers and not scalers:
            _by_hand(writer, program)
            places = [place_of(call) for call in stepping]
            if places:
                writer.say("loss_scaling.mode", "library", *places, confidence="likely")
        yield from writer.facts


def _without_masters(writer: FactWriter) -> None:
    """Record that no float32 copies of the weights were seen."""
    mode = next(fact for fact in writer.facts if fact.field == "precision.mode")
    writer.facts.remove(mode)
    text = "weights in bfloat16, float32 copies were not seen"
    writer.unknown("precision.mode", "recipes keep copies", *mode.places, expression=text)


def _by_hand(writer: FactWriter, program: Program) -> None:
    """Record how a loss is scaled by hand: `(loss * scale).backward()`."""
    for call, scale in _scaled(program)[:1]:
        place = place_of(call)
        if _changes(scale, call.module):
            writer.say("loss_scaling.mode", "dynamic", place)
        else:
            writer.say("loss_scaling.mode", "static", place)
            writer.number("loss_scaling.scale", evaluate(scale, call.module), place)


def _scaled(program: Program) -> list[tuple[Call, ast.expr]]:
    """Return the backward passes of scaled losses, and the scales."""
    passes = []
    for module in program.modules:
        for call in module.calls:
            product = call.receiver
            if call.method != "backward" or not isinstance(product, ast.BinOp):
                continue
            if isinstance(product.op, ast.Mult):
                factors = (product.right, product.left)
                passes += [(call, factor) for factor in factors if _is_scale(factor, module)][:1]
    return passes


def _is_scale(node: ast.expr, module: Module) -> bool:
    """Whether a factor or the value it is computed from is named a scale."""
    return any(map(_SCALE.search, _texts(node, module)))


def _texts(node: ast.expr, module: Module) -> Iterator[str]:
    """Yield the texts of an expression and of what its names are assigned."""
    yield module.text(node)
    for inner in walk(node):
        for binding in definitions(inner, module) if isinstance(inner, ast.Name) else ():
            match binding:
                case Binding(kind="assign", value=ast.expr() as value):
                    yield module.text(value)


def _changes(node: ast.expr, module: Module) -> bool:
    """Whether the program changes a scale while it trains."""
    words = {word for text in _texts(node, module) for word in _SCALE.findall(text)}
    changed = (module.text(statement.target) for statement in module.every(ast.AugAssign))
    return any(words & set(_SCALE.findall(text)) for text in changed)


def _backwards(program: Program) -> list[Call]:
    """Return `optimizer.backward(loss)`: an optimizer that scales the loss itself."""
    backward_calls = []
    for call in program.calls():
        match call.node:
            case ast.Call(func=ast.Attribute(value=stepped, attr="backward"), args=[_, *_]):
                if kind_by_name(last_name(stepped)) == "optimizer":
                    backward_calls.append(call)
    return backward_calls


def _calls(program: Program, pattern: re.Pattern[str]) -> list[Call]:
    """Return calls of names outside the amp modules of libraries, once each."""
    calls = []
    for module in program.modules:
        for call in module.calls:
            name = call.name or call.method  # a package's own file, imported by `from .x import`
            if pattern.search(last(name)) and package_of_name(name) not in KNOWN:
                inside = module.class_of(call.node)
                if inside is None or not pattern.search(inside.name):
                    calls.append(call)
    return calls


def _scales_loss(program: Program) -> bool:
    """Whether a method is called that only loss scalers have."""
    methods = {call.method for module in program.modules for call in module.calls}
    return bool(methods & {"update_scale", "has_overflow", "scale_gradient"})


def _halved(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the calls that halve a model, and the model."""
    for call in program.calls():
        model = _model_of(call)
        if model is None or not is_model_name(last_name(model)):
            continue
        if call.method in ("half", "bfloat16") or _to_half(call):
            yield call, model


def _model_of(call: Call) -> ast.expr | None:
    """Return the halved model: the receiver, or the target of `Net().to(device).half()`."""
    if not isinstance(call.receiver, ast.Call):
        return call.receiver
    statement = call.module.statement_of(call.node)
    if isinstance(statement, ast.Assign) and statement.value is call.node:
        return statement.targets[0]
    return call.receiver


def _to_half(call: Call) -> str:
    """Return the half type of `model.to(torch.bfloat16)`; empty for anything else."""
    if call.method != "to":
        return ""
    given = [*call.node.args, *(k.value for k in call.node.keywords if k.arg == "dtype")]
    if any(isinstance(evaluate(argument, call.module), Choice) for argument in given):
        return ""  # which type it is, a condition decides
    words = {word_of_type(last(call.module.resolve(argument))) for argument in given
             if call.module.resolve(argument).startswith("torch.")}  # fmt: skip
    return next(iter(words & set(HALVES)), "")


def _matters(call: Call, model: ast.expr, masters: bool) -> bool:
    """Whether the halved model is trained."""
    function = call.module.function_of(call.node)
    where = parts_of(function.name) if function is not None else frozenset()
    if (where | parts_of(call.receiver_text)) & _FROZEN:
        return False
    name = call.module.text(model)
    if masters and (_used_after(call, name) or _handed_on(call, name)):
        return True
    decision = decide(conditions_of(call), None, call.module)
    chosen = decision.who in ("flag", "config")
    return (chosen or _type_of(call) == "bfloat16") and _used_after(call, name)


def _used_after(call: Call, name: str) -> bool:
    """Whether the model goes to an optimizer or a training wrapper in the same function."""
    function: ast.AST = call.module.function_of(call.node) or call.module.tree
    return any(
        isinstance(inner, ast.Attribute)
        and inner.attr in ("parameters", "named_parameters")
        and call.module.text(inner.value) == name
        for inner in walk(function)
    )


def _handed_on(call: Call, name: str) -> bool:
    """Whether the model goes to a function that makes an optimizer or wraps it for training."""
    function: ast.AST = call.module.function_of(call.node) or call.module.tree
    return any(
        isinstance(inner, ast.Call)
        and re.search(r"optim|Parallel|DDP", call.module.text(inner.func))
        and any(call.module.text(given) == name for given in inner.args)
        for inner in walk(function)
    )


def _use(call: Call) -> Use:
    decision = decide(conditions_of(call), None, call.module)
    word = _type_of(call)
    return Use(place_of(call), decision, (word,), word)


def _type_of(call: Call) -> str:
    """Return the type that a call turns a model into."""
    return "bfloat16" if call.method == "bfloat16" else _to_half(call) or "float16"


READER = ManualFp16()
