"""Shared code of the rules about Keras and TensorFlow, and example programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.outdated_apis import older
from crosscast_reading.pysource.libraries.packages import framework_of_name
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.readers.python.module_words import words_of
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.reading.keras import policy_sites, scaler_calls, scales_by_hand
from crosscast_tensorflow.reading.keras_optimizers import is_given, optimizer_calls
from crosscast_tensorflow.reading.late_policies import half_policies as half_sites

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.readers.python.precision import Site

_SCALES = re.compile(
    r"loss_?scal|scaled?_loss|unscal|grad\w{0,60}_scal|enable_mixed_precision_graph_rewrite", re.I
)
_WRAPPER = re.compile(
    r"^\w*LossScaleOptimizer\w*$|^loss_scale_optimizer$|^enable_mixed_precision_graph_rewrite$"
)
_POLICIES = frozenset({"set_global_policy", "set_policy", "set_floatx", "Policy", "DTypePolicy"})
_STRATEGIES = ("MirroredStrategy", "MultiWorkerMirroredStrategy")


def framework_code(program: Program) -> list[str]:
    """Return the code of the modules that can give a model or an optimizer a type.

    A module that does not import the framework names types at most, unless the name of a policy is
    computed: then any module may have it.
    """
    policies = [call for _, call in calls_of(program) if call.method in _POLICIES]
    plain = all(isinstance(a, ast.Constant) for call in policies for a in call.node.args)
    return [module.code for module in program.modules if not plain or _imports_framework(module)]


def _imports_framework(module: Module) -> bool:
    return any(framework_of_name(name) == "tensorflow" for name in module.imported)


def accumulating(program: Program) -> Iterator[Call]:
    """Yield the optimizers of Keras that certainly accumulate."""
    for name, call in optimizer_calls(program):
        if not name.startswith("keras."):
            continue
        steps = is_given(call, "gradient_accumulation_steps")
        if steps is None or (isinstance(steps, Known) and steps.value in (0, 1)):
            continue
        yield call


def strategies(program: Program) -> list[Call]:
    """Return the calls that create a strategy with replicated variables."""
    return [
        call
        for name, call in calls_of(program)
        if last(name) in _STRATEGIES and name.startswith("tensorflow.distribute")
    ]


def is_keras_3(program: Program) -> bool:
    """Whether the program is certainly written for Keras 3."""
    if older(program, "keras", "3") or older(program, "tensorflow", "2.16"):
        return False
    names = {name for name, _ in calls_of(program)}
    return (
        any(n.startswith(("keras.ops.", "keras.random.", "keras.config.")) for n in names)
        or "keras.mixed_precision.set_dtype_policy" in names
        or "keras.optimizers.LossScaleOptimizer" in names
        or any(call.method == "scale_loss" for call in scales_by_hand(program))
        or program.versions.get("keras", "").startswith("3")
    )


def half_policies(program: Program) -> list[Site]:
    """Return the calls that certainly set `mixed_float16` for the whole program."""
    return half_sites(list(policy_sites(program)))


def possible_half_policies(program: Program) -> list[Site]:
    """Return the calls that set a policy which a caller may choose as `mixed_float16`."""
    return [
        site
        for site in policy_sites(program)
        if "float16" in site.dtypes
        and site.mode == "mixed"
        and site.possible
        and site.decision.by_default is not False
        and "policy" in site.module.text(site.node).partition("(")[0]
    ]


def scales(program: Program) -> bool:
    """Whether the program scales losses or wraps an optimizer for it."""
    return bool(scaler_calls(program)) or scales_losses(program, wrappers=True)


def scales_losses(program: Program, *, wrappers: bool = False) -> bool:
    """Whether the program scales losses, judged by its calls and names.

    Args:
        program: the program.
        wrappers: whether the names of LossScaleOptimizer and of the graph rewrite, which makes
            one, count; the wrapper scales in `minimize` and `fit`, not in `apply_gradients`.
    """
    if any(scales_by_hand(program)):
        return True
    shares = _quotients(program)
    return any(
        _SCALES.search(word) and word not in shares and (wrappers or not _WRAPPER.search(word))
        for module in program.modules
        if any(map(_imports_framework, connected(module)))
        for word in words_of(module)
    )


def _quotients(program: Program) -> set[str]:
    """Return the names that are only given quotients: `scaled_loss = loss / steps`.

    A loss scale is a factor; what divides the loss is a number of micro-batches or replicas.
    """
    divided: set[str] = set()
    other: set[str] = set()
    for module in program.modules:
        for node in module.nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    (divided if _is_share(node, module) else other).add(name)
                case (
                    ast.arg(arg=name)
                    | ast.keyword(arg=str(name))
                    | ast.Attribute(attr=name)
                    | ast.FunctionDef(name=name)
                ):
                    other.add(name)
    return divided - other


def _is_share(target: ast.Name, module: Module) -> bool:
    """Whether a name is assigned nothing but a quotient, without a word about scaling."""
    match module.parent(target):
        case (
            ast.Assign(value=ast.BinOp(op=ast.Div()) as value)
            | ast.AnnAssign(value=ast.BinOp(op=ast.Div()) as value)
        ):
            return not _SCALES.search(module.text(value))
    return False


def program_of(subject: Subject) -> Program | None:
    """Return the program if it uses Keras or TensorFlow."""
    program = subject.program
    if program is None:
        return None
    for name, _ in calls_of(program):
        if name.startswith(("keras.", "tensorflow.")):
            return program
    return None
