"""Reads Keras: precision policies, loss scaling and further settings of Keras optimizers.

Three generations: `tf.keras.mixed_precision.experimental` (TensorFlow 2.1-2.4), the stable names of
Keras 2 (TensorFlow 2.4-2.15), and Keras 3, where `LossScaleOptimizer` scales by `scale_loss` and
`apply`, and optimizers accumulate by `gradient_accumulation_steps`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.targets.defaults import version_number
from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact, unknown
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches, reached_by
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    last,
    matching,
    numeric,
    plain,
    text_value,
    value_of,
)
from crosscast_reading.readers.python.losses import compiled_losses
from crosscast_reading.readers.python.precision import (
    Mode,
    Site,
    precision_facts,
    site,
    types_in,
)
from crosscast_reading.readers.python.scale_bounds import own_bounds
from crosscast_reading.readers.python.scaler_switches import tell_idle_scalers
from crosscast_tensorflow.reading.chosen_types import chosen_types, conditions_of_half
from crosscast_tensorflow.reading.half_inputs import half_inputs
from crosscast_tensorflow.reading.keras_elsewhere import by_scaler
from crosscast_tensorflow.reading.keras_factor import factors, fixed_scale, scaling_is_off
from crosscast_tensorflow.reading.late_policies import is_behind_compile, late_policies
from crosscast_tensorflow.reading.tested_halves import tested_halves

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.program import Program

NAME = "keras"
SCALER_OF_KERAS_2 = "tensorflow.keras.mixed_precision.LossScaleOptimizer"
"""Its defaults are not those of Keras 3."""
_SET = re.compile(
    r"keras\.(mixed_precision\.(experimental\.)?set_(global_)?policy"
    r"|mixed_precision\.set_dtype_policy|config\.set_dtype_policy|backend\.set_floatx)"
)
_POLICY = re.compile(r"keras\.(mixed_precision\.(experimental\.)?)?(Policy|DTypePolicy)")
_SCALER = re.compile(
    r"(keras\.(mixed_precision\.(experimental\.|loss_scale_optimizer\.)?|optimizers\.)"
    r"|tensorflow\.[\w.]{0,60}keras[\w.]{0,60}\.)LossScaleOptimizer"
)
_LAYER = re.compile(r"keras\.(layers\.\w+|Sequential|Model|models\.\w+)")
_REWRITES = re.compile(r"tensorflow\.[\w.]*(graph_rewrite|LossScaleOptimizer)")
_TRAINS = frozenset({"fit", "fit_generator", "compile", "minimize", "apply_gradients", "apply"})
_MAY_TRAIN = re.compile(r"train|optimi|learn|\bmain\b|\brun\b|callback|experiment", re.I)
_METHODS = ("get_scaled_loss", "get_unscaled_gradients")


class KerasReader:
    """Reads policies, LossScaleOptimizer and the settings of Keras optimizers."""

    name = NAME
    hints = ("keras", "LossScaleOptimizer", "get_scaled_loss", "scale_loss")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        sites = [*policy_sites(program)]
        yield from _apis(program, sites)
        yield from _generation(program, sites)
        late = next(late_policies(program, sites), None)
        yield from precision_facts(sites, NAME, with_default=late is None)
        if late is not None:
            reason = f"the policy is set after the creation of the {late.exists}"
            span = late.policy.span
            yield unknown("precision.compute_dtype", reason, span, late.place, reader=NAME)
        possible = [each for each in sites if each.possible]
        if sites and not possible:
            spans = [each.span for each in sites]
            yield fact_of("precision.enabled", Known("never"), *spans, reader=NAME)
            yield fact_of("precision.compute_dtype", Known("float32"), *spans, reader=NAME)
        if not sites and not scaler_calls(program):
            yield from _by_caller(program)
        if not sites:
            casts = [site(c.node, c.module, ("bfloat16",)) for c in half_inputs(program)]
            yield from () if casts else by_scaler(program)
            tests = [site(c.node, c.module, ("float16",)) for c in tested_halves(program)]
            yield from precision_facts([*casts, *tests][:1], NAME)
        yield from _scaling(program, possible)
        yield from own_bounds(program, NAME)
        yield from compiled_losses((call for _, call in calls_of(program)), NAME)


def policy_sites(program: Program) -> Iterator[Site]:
    """Yield the places that set a global policy, then those of single layers."""
    for name, call in matching(program, _SET):
        node = call.bound().get("policy") or call.bound().get("value")
        if node is None:
            continue
        policy = _policy_name(value_of(node, call.module))
        chosen = chosen_types(node, call.module)
        dtypes = tuple(dict.fromkeys((*types_in(policy), *chosen.types)))
        if dtypes and dtypes != ("float32",):
            full = chosen.default != "float32" and "mixed" not in str(plain(policy) or "mixed")
            mode: Mode = "full" if full or last(name) == "set_floatx" else "mixed"
            default = chosen.default if len(dtypes) > 1 else ""
            also = conditions_of_half(node, call.module)
            yield site(
                call.node, call.module, dtypes, chosen=node, mode=mode, default=default, also=also
            )
    for _name, call in matching(program, _LAYER):
        node = call.bound().get("dtype")
        if node is None:
            continue
        policy = _policy_name(value_of(node, call.module))
        if text_value(policy).startswith(("mixed_float16", "mixed_bfloat16")):
            yield site(call.node, call.module, types_in(policy), chosen=node)


def policy_calls(program: Program) -> Iterator[Call]:
    """Yield the calls that create a policy object."""
    yield from (call for _, call in matching(program, _POLICY))


def _policy_name(value: Value) -> Value:
    """Return the name of a policy, given as an object or a string."""
    match value:
        case Instance(made_by=made, call=Call() as call):
            name = call.argument("name") if last(made) in ("Policy", "DTypePolicy") else None
            return value if name is None else _policy_name(name)
        case Choice(options=options):
            return Choice(tuple((text, _policy_name(option)) for text, option in options))
    return value


def scaler_calls(program: Program) -> list[tuple[str, Call]]:
    """Return the calls that wrap an optimizer in Keras' LossScaleOptimizer."""
    return list(matching(program, _SCALER))


def _apis(program: Program, sites: list[Site]) -> Iterator[Fact]:
    for name, call in calls_of(program):
        if name.startswith("keras.") and _is_mixed(name, call, sites):
            old = ".experimental." in name
            word = "keras_mp_experimental" if old else "keras_mp"
            yield fact_of("api", Known((word,)), call.module.span(call.node), reader=NAME)
        elif call.method in _METHODS and call.receiver is not None and not _of_paddle(call):
            old = any(".experimental." in n for n in call.names)
            word = "keras_mp_experimental" if old else "keras_mp"
            yield fact_of("api", Known((word,)), call.module.span(call.node), reader=NAME)
        elif call.method == "scale_loss" and _is_keras_scale(call):
            yield fact_of("api", Known(("keras_mp",)), call.module.span(call.node), reader=NAME)


def _generation(program: Program, sites: list[Site]) -> Iterator[Fact]:
    """Yield the class that scales the loss of a program that is written for Keras 2."""
    scaled = [*(call for _, call in scaler_calls(program)), *scales_by_hand(program)]
    places = [call.module.span(call.node) for call in scaled]
    places += [cast.module.span(cast.node) for cast in sites]
    if not places:
        return
    if any(name.startswith("tf_keras.") for call in program.calls() for name in call.names):
        name = "tf_keras.mixed_precision.LossScaleOptimizer"
    elif _is_keras_2(program, scaled):
        name = SCALER_OF_KERAS_2
    else:
        return
    yield fact_of("loss_scaling.api", Known(name), places[0], reader=NAME)


def _is_keras_2(program: Program, scaled: list[Call]) -> bool:
    """Whether a program is certainly written for the Keras within TensorFlow 2.4 to 2.15."""
    version = program.versions.get("tensorflow", "")
    if version and version_number(version) < (2, 16):
        return True
    return any(call.method in _METHODS or "dynamic" in call.bound() for call in scaled)


def _is_mixed(name: str, call: Call, sites: list[Site]) -> bool:
    if _SCALER.fullmatch(name) or (
        _POLICY.fullmatch(name) and "mixed" in call.module.text(call.node)
    ):
        return True
    if not _SET.fullmatch(name):
        return False
    return any(site.node is call.node for site in sites)


def _is_keras_scale(call: Call) -> bool:
    """Whether `scale_loss` is the method of a Keras 3 optimizer (not apex's function)."""
    if any(name.startswith("apex") for name in call.names):
        return False
    inside = isinstance(call.module.parent(call.node), ast.withitem)
    return not inside and "keras" in call.module.source.text and len(call.node.args) == 1


def _of_paddle(call: Call) -> bool:
    """Whether a method is Paddle's, whose decorated optimizers share names with Keras."""
    text = call.module.source.text
    return "paddle" in text and not re.search("tensorflow|keras", text)


def scales_by_hand(program: Program) -> Iterator[Call]:
    """Yield the calls that scale a loss with an optimizer method."""
    for _name, call in calls_of(program):
        if call.method not in ("get_scaled_loss", "scale_loss") or call.receiver is None:
            continue
        if _of_paddle(call) or (call.method == "scale_loss" and not _is_keras_scale(call)):
            continue
        yield call


def _scaling(program: Program, sites: list[Site]) -> Iterator[Fact]:
    scalers = scaler_calls(program)
    for _name, call in scalers:
        yield from _scaler(call)
    if scalers:
        yield from tell_idle_scalers(((call, None) for _, call in scalers), NAME)
        yield from _library_updates(scalers[0][1])
        return
    if any(_REWRITES.fullmatch(name) for name, _ in calls_of(program)):
        return  # the code that creates the scaler decides how it works
    by_hand = list(scales_by_hand(program))
    if any(call.method == "scale_loss" for call in by_hand) and any(factors(program)):
        yield from fixed_scale(program, NAME)
        return
    for call in by_hand:
        word = "caller" if call.method == "get_scaled_loss" else "library"
        span = call.module.span(call.node)
        yield fact_of("loss_scaling.mode", Known(word), span, reader=NAME)
    if by_hand:
        yield from _library_updates(by_hand[0])
        return
    halves = [site for site in sites if "float16" in site.dtypes and site.mode == "mixed"]
    if halves and scaling_is_off(program):
        yield from fixed_scale(program, NAME)
        return
    for half in halves:
        policy = _policy_scale(half, program)
        span = half.module.span(half.node)
        under = half.decision.under
        if policy is not None:
            yield from _given(policy, span, under)
        elif not _own_loop(program) and _trains(program) and not is_behind_compile(half):
            yield fact_of("loss_scaling.mode", Known("library"), span, under=under, reader=NAME)
            yield fact_of("scaler_update.status", Known("library"), span, reader=NAME)


def _by_caller(program: Program) -> Iterator[Fact]:
    """Yield that the caller decides, if the optimizer that scales losses is created elsewhere."""
    for call in scales_by_hand(program):
        span = call.module.span(call.node)
        switched = site(call.node, call.module, ("float16",))
        if switched.decision.who != "always" and call.method == "get_scaled_loss":
            yield from precision_facts([switched], NAME)
            return
        yield fact_of("precision.enabled", Known("caller"), span, reader=NAME, confidence="likely")
        if call.method == "get_scaled_loss":
            yield fact_of("precision.dtypes", Known(("float16",)), span, reader=NAME)
        return


def _own_loop(program: Program) -> bool:
    """Whether the program applies gradients itself, so that `compile` wraps nothing."""
    names = {call.method for _, call in calls_of(program)}
    return "apply_gradients" in names and "fit" not in names


def _trains(program: Program) -> bool:
    """Whether a program trains, or calls what may: with a policy alone, a model only predicts."""
    return any(
        call.method in _TRAINS or _MAY_TRAIN.search(call.module.text(call.node.func))
        for _, call in calls_of(program)
    )


def _policy_scale(site: Site, program: Program) -> Value | None:
    """Return the loss scale that an experimental policy carries."""
    for name, call in matching(program, _POLICY):
        if ".experimental." in name and "loss_scale" in call.bound():
            return call.argument("loss_scale")
    return None


def _library_updates(call: Call) -> Iterator[Fact]:
    span = call.module.span(call.node)
    yield fact_of("scaler_update.status", Known("library"), span, reader=NAME)


def _scaler(call: Call) -> Iterator[Fact]:
    """Yield the facts in the arguments of a LossScaleOptimizer."""
    bound = call.bound()
    span = call.module.span(call.node)
    under = tuple(c.text for c in branches(call.node, call.module))
    if "loss_scale" in bound:
        yield from _given(value_of(bound["loss_scale"], call.module), span, under)
        return
    fixed = plain(call.argument("dynamic"))
    words = scaling_words("keras")
    stated = any(name in bound for name in (*words, "dynamic"))
    mode = "static" if fixed is False else "dynamic" if stated else "framework_default"
    via = reached_by(call.node, call.module)
    yield fact_of("loss_scaling.mode", Known(mode), span, *via, under=under, reader=NAME)
    if mode == "static":
        words["initial_scale"] = "loss_scaling.scale"
    for argument, field in words.items():
        value = call.argument(argument) if argument in bound else None
        if isinstance(value, Known | Unknown):
            value = numeric(value)
        if value is not None:
            yield fact_of(field, value, span, under=under, reader=NAME)


def _given(value: Value, span: Span, under: tuple[str, ...]) -> Iterator[Fact]:
    """Yield the facts of an old `loss_scale` argument: "dynamic", a number, or an object."""
    places = (span,)
    match value:
        case Known(value="dynamic") | Unknown(default="dynamic", has_default=True):
            yield fact_of("loss_scaling.mode", Known("dynamic"), *places, under=under, reader=NAME)
        case Known(value=int() | float()):
            yield fact_of("loss_scaling.mode", Known("static"), *places, under=under, reader=NAME)
            yield fact_of("loss_scaling.scale", value, *places, under=under, reader=NAME)
        case Known(value=None):
            yield fact_of("loss_scaling.mode", Known("none"), *places, under=under, reader=NAME)
        case Instance(made_by=made) if "Fixed" in made or "Dynamic" in made:
            word = "static" if "Fixed" in made else "dynamic"
            yield fact_of("loss_scaling.mode", Known(word), *places, under=under, reader=NAME)
        case _:
            yield fact_of(
                "loss_scaling.mode", Known("selectable"), *places, under=under, reader=NAME
            )


READER = KerasReader()
