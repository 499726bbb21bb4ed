"""Moves the loss scale of experimental policies to the optimizers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, last, text_value, value_of
from crosscast_tensorflow.migration.experimental.keras.compiled_models import fixed_scale, unscaled
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits
from crosscast_tensorflow.migration.experimental.keras.experimental import Names
from crosscast_tensorflow.migration.experimental.keras.loss_scales import Scale, scale_of
from crosscast_tensorflow.migration.experimental.keras.policy_scope import setter_of, unless
from crosscast_tensorflow.migration.experimental.keras.program import compiles, open_call

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_OLD_POLICIES = ("infer", "infer_float32_vars", "infer_with_float32_vars", "mixed_float16_vars")


@dataclass(slots=True)
class Outcomes:
    """Edits and refusals of one program; the edits are applied together or not at all."""

    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, module: Module, node: ast.AST, message: str, hint: str) -> None:
        """Add a refusal."""
        self.refusals.append(Refusal(span=module.span(node), message=message, hint=hint))


def policy_argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return a positional or keyword argument of a call."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if len(call.args) > place else None


def policies(names: Names, named: list[Names], program: Program, out: Outcomes) -> None:
    """Move the loss scale of policies to the optimizers it applies to.

    Args:
        names: the old names of a module.
        named: the old names of all modules.
        program: all of it.
        out: receives the edits and refusals.
    """
    module = names.module
    for call in names.used("Policy"):
        if open_call(call):
            out.refuse(
                module,
                call,
                "the arguments of this policy are not visible and may include a loss scale",
                "write them out; policies of Keras 3 have no loss scale",
            )
            continue
        kind = text_value(value_of(policy_argument(call, 0, "name"), module))
        if kind in _OLD_POLICIES:
            out.refuse(
                module,
                call,
                f"the policy {kind} was removed: Keras 3 does not infer dtypes from inputs",
                "choose mixed_float16, mixed_bfloat16 or float32",
            )
            continue
        given = policy_argument(call, 1, "loss_scale")
        if given is not None:
            _with_scale(call, given, kind, (names, named), program, out)
    for call in names.used("set_policy"):
        policy = policy_argument(call, 0, "policy")
        value = value_of(policy, module)
        if open_call(call) or (isinstance(value, Known) and value.value is None):
            out.refuse(
                module,
                call,
                "set_policy(None) selected the default policy; set_global_policy rejects None",
                'write set_global_policy("float32")',
            )


def _with_scale(
    call: ast.Call,
    given: ast.expr,
    kind: str,
    names: tuple[Names, list[Names]],
    program: Program,
    out: Outcomes,
) -> None:
    module = names[0].module
    scale = scale_of(given, module)
    if scale is None or (scale.kind == "dynamic" and (scale.initial or scale.interval)):
        return out.refuse(
            module,
            call,
            f"the policy has the loss scale {module.text(given)}, whose value is not certain; "
            "policies of Keras 3 have no loss scale",
            "pass it to the optimizer: LossScaleOptimizer(optimizer, initial_scale=..., "
            "dynamic_growth_steps=...), or loss_scale_factor for a fixed scale",
        )
    if kind != "mixed_float16" and scale.kind != "none":
        return out.refuse(
            module,
            call,
            "compile of Keras 3 scales the loss under mixed_float16 only, and this policy is "
            f"{kind or 'not known'}",
            "wrap the optimizer in LossScaleOptimizer by hand if the loss must be scaled",
        )
    out.edits += argument_edits(module, call, [given])
    if scale.kind == "dynamic":
        return
    _by_compile(call, scale, names, program, out)


def _by_compile(
    call: ast.Call,
    scale: Scale,
    names: tuple[Names, list[Names]],
    program: Program,
    out: Outcomes,
) -> None:
    """Set or disable a fixed scale in every `compile`."""
    module = names[0].module
    why = _why_not_global(call, module, names[1], program)
    if why:
        return out.refuse(
            module,
            call,
            f"this policy {why}: its loss scale cannot be set in every optimizer",
            "pass the scale to the optimizers under this policy",
        )
    done = fixed_scale(program, scale.initial) if scale.initial else unscaled(program)
    if isinstance(done, Refusal):
        out.refusals.append(done)
        return
    if not done and not compiles(program) and not _has_tape(program):
        return out.refuse(
            module,
            call,
            "the loss scale of this policy is for models that are compiled elsewhere",
            "pass a fixed scale to their optimizers as loss_scale_factor, and "
            "auto_scale_loss=False to compile",
        )
    if not compiles(program):
        out.notes.append(
            "the loss scale of the policy applies only to compile; a custom loop does not use it"
        )
    out.edits += done


def _why_not_global(call: ast.Call, module: Module, named: list[Names], program: Program) -> str:
    """Return why a policy may not apply to every model; empty if it certainly does."""
    setter = setter_of(call, module, named)
    if setter is None:
        return "is not certainly the one set for all layers"
    return unless(
        setter, next(policy.module for policy in named if setter in policy.module.nodes), program
    )


def _has_tape(program: Program) -> bool:
    return any(last(name) == "GradientTape" for name, _ in calls_of(program))


def layer_policies(module: Module, program: Program) -> Iterator[Edit]:
    """Yield the edits of `self._policy.compute_dtype` in layers, now `dtype_policy`."""
    if "_policy." not in module.source.text:
        return
    for node in module.every(ast.Attribute):
        mine = node.value
        if node.attr not in ("compute_dtype", "variable_dtype") or module.is_dead(node):
            continue
        if not isinstance(mine, ast.Attribute) or mine.attr != "_policy":
            continue
        if not isinstance(mine.value, ast.Name) or mine.value.id != "self":
            continue
        owner = module.class_of(node)
        scope = module.scopes.get(owner) if owner is not None else None
        if scope is None or not program.library_base(scope).endswith((".Layer", ".Model")):
            continue
        if "keras" not in program.library_base(scope) or program.has_attribute(scope, "_policy"):
            continue
        line = mine.end_lineno or mine.lineno
        end = column_at(module, line, mine.end_col_offset or 0)
        yield Edit(
            file=module.source.name,
            line=line,
            column=end - len("_policy"),
            end_line=line,
            end_column=end,
            text="dtype_policy",
        )
