"""CL711: the policy is set after layers are created."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._keras import half_policies
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.names.containers import chase, definitions
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Function, Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.programs.scopes import Binding
from crosscast.readers.python.library_calls import calls_of, canonical
from crosscast.readers.python.precision import Site
from crosscast.readers.tensorflow.late_policies import compiled_before
from crosscast.sources.subject import Subject

_PRECISION = re.compile(r"dtype|policy|float16|half|fp16|precision|amp\b", re.I)
_MADE = re.compile(r"keras\.(layers\.[A-Z]\w*|applications\.\w+|Sequential|Model)")


def check(subject: Subject) -> Iterator[Finding]:
    """Find policies set after the layers of a model in the same block, without later layers."""
    program = subject.program
    layers = [call for name, call in calls_of(program) if _MADE.fullmatch(name)]
    makers = {f for call in layers if (f := call.module.function_of(call.node)) is not None}
    calling = [
        call
        for module in program.modules
        for call in module.calls
        if (found := program.function(call)) is not None and found[1] in makers
    ]
    policies = half_policies(program)
    if len(policies) == 1:
        yield from _behind_compile(policies[0])
        yield from _behind_models(policies[0], program)
    for policy in policies:
        statement = policy.module.statement_of(policy.node)
        assert statement is not None
        mine = [
            call
            for call in (*layers, *calling)
            if call.module is policy.module and not _is_within(call, makers)
        ]
        before = [call for call in mine if _precedes(call, statement, policy.module)]
        if before and len(before) == len(mine) and not _in_maker(policy, makers):
            yield Finding(
                span=policy.module.span(policy.node),
                message="the policy is set after the layers were created: they remain in float32",
                hint="set the policy before the model is built",
                related=(before[0].module.span(before[0].node),),
            )


def _behind_models(policy: Site, program: Program) -> Iterator[Finding]:
    """Find a policy that is set when the models of all tapes exist, with layers not seen here."""
    trained = list(_differentiated(program))
    if not all(trained) or _makes_later(policy, program):
        return
    made = [binding for bindings in trained for binding in bindings]
    for first in made[:1] if all(_exists_before(each, policy) for each in made) else ():
        yield Finding(
            span=policy.module.span(policy.node),
            message="the policy is set after the model was created: its layers remain in float32",
            hint="set the policy before the model is built",
            related=(first.module.span(first.node),),
        )


def _makes_later(policy: Site, program: Program) -> bool:
    """Whether another model may be made after the policy, or one is trained by Keras."""
    end = getattr(policy.node, "lineno", 0)
    for name, call in calls_of(program):
        if call.method in ("fit", "fit_generator", "compile") and not name.startswith("re."):
            return True
        if call.module is not policy.module or call.node.lineno <= end:
            continue
        of_library = name.startswith(("keras.", "tensorflow."))
        if call.method[:1].isupper() and (not of_library or _MADE.fullmatch(name)):
            return True
    return False


def _differentiated(program: Program) -> Iterator[Sequence[Binding]]:
    """Yield what the models of `tape.gradient(loss, model.trainable_variables)` are made by."""
    for module in program.modules:
        for call in module.calls:
            if call.method != "gradient" or len(call.node.args) < 2:
                continue
            for sources, where in chase(call.node.args[1], module):
                match sources:
                    case ast.Attribute(
                        value=ast.Name() as owner, attr="trainable_variables" | "trainable_weights"
                    ):
                        yield definitions(owner, where)
                    case ast.Name() if definitions(sources, where):
                        continue  # what it stands for follows
                    case _:
                        yield ()


def _exists_before(binding: Binding, policy: Site) -> bool:
    """Whether a class or an import, of which nothing is known here, gave a name its model."""
    module = policy.module
    if binding.module is not module:
        return False
    if getattr(binding.node, "lineno", 0) >= getattr(policy.node, "lineno", 0):
        return False
    home = module.function_of(binding.node)
    if binding.kind == "import":
        return home is None
    value, program = binding.assigned, module.program
    if home is not module.function_of(policy.node) or not isinstance(value, ast.Call):
        return False
    call = module.call(value)
    if _PRECISION.search(module.text(value).partition("(")[2]):
        return False  # it may get the policy as an argument
    if canonical(call.name).startswith(("keras.", "tensorflow.")):
        return False
    made = program.constructor(call)
    if made is not None:
        return _makes_layers(*made)
    return program.function(call) is None and ":" not in call.name  # not of this program


def _makes_layers(module: Module, initializer: Function) -> bool:
    """Whether a class creates layers in `__init__`, and none later: in `build` or `call`."""
    owner = module.class_of(initializer)
    makers = [
        module.function_of(call.node)
        for call in module.calls
        if _MADE.fullmatch(canonical(call.name)) and module.class_of(call.node) is owner
    ]
    return bool(makers) and all(maker is initializer for maker in makers)


def _behind_compile(policy: Site) -> Iterator[Finding]:
    """Find a policy that is set when a model is compiled already, and no other is trained."""
    module = policy.module
    function = module.function_of(policy.node)
    statement = module.statement_of(policy.node)
    while isinstance(parent := module.parent(statement) if statement else None, ast.If):
        statement = parent
    assert statement is not None
    if function is None or not isinstance(module.parent(statement), ast.FunctionDef | ast.With):
        return
    end = statement.end_lineno or 0
    mine = [call for call in module.calls if module.function_of(call.node) is function]
    later = [call for call in mine if call.node.lineno > end]
    before = compiled_before(policy)
    models = {call.receiver_text for call in before}
    trained = {call.receiver_text for call in later if call.method in ("fit", "fit_generator")}
    if trained and trained <= models and not any(_may_build(call, models) for call in later):
        yield Finding(
            span=module.span(policy.node),
            message="the policy is set after the model was built and compiled: its layers remain "
            "in float32",
            hint="set the policy before the model is built",
            related=(module.span(before[0].node),),
        )


def _may_build(call: Call, models: Collection[str]) -> bool:
    """Whether a call may create a model: a function that is not the method of a compiled one.

    What a call only gets or returns for logs, a path or a number cannot be trained any more.
    """
    if call.receiver_text in models:
        return False
    module = call.module
    match module.statement_of(call.node):
        case ast.Expr(value=call.node):
            return not _takes(call, models)
        case ast.Assign(targets=[target, *_], value=call.node):
            return module.text(target) in models
    return False


def _takes(call: Call, models: Collection[str]) -> bool:
    """Whether a call gets a compiled model, to log or to save it."""
    return any(call.module.text(argument) in models for argument in call.node.args)


def _is_within(call: Call, makers: Collection[Function]) -> bool:
    """Whether a layer is created in a function, whose calls are looked at instead."""
    program = call.module.program
    function = call.module.function_of(call.node)
    return (
        function in makers and function is not None and bool(program.sites(call.module, function))
    )


def _in_maker(policy: Site, makers: Collection[Function]) -> bool:
    """Whether the policy is set in a called function, before or after other calls of it."""
    function = policy.module.function_of(policy.node)
    program = policy.module.program
    sites = program.sites(policy.module, function) if function is not None else ()
    return function in makers and len(sites) > 1


def _precedes(call: Call, later: ast.stmt, module: Module) -> bool:
    """Whether a layer is created in the same block before a statement."""
    mine = module.statement_of(call.node)
    assert mine is not None
    return module.parent(later) is module.parent(mine) and mine.lineno < later.lineno


_EXAMPLE = """\
import keras

keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(2, dtype="float32")])
model.compile(keras.optimizers.AdamW(1e-3), loss="mse")
model.fit(inputs, targets, batch_size=8)
"""
_SET = 'keras.mixed_precision.set_global_policy("mixed_float16")\n'

RULE = Rule(
    code="CL711",
    name="keras-policy-late",
    topic="keras",
    severity=Severity.WARNING,
    title="The policy is set after the model was built",
    why="A layer takes the global policy when it is created. Setting the policy later does not "
    "affect existing layers: training runs in float32.",
    wrong=changed(_EXAMPLE, (_SET, ""), ("model.compile", f"{_SET}model.compile")),
    right=_EXAMPLE,
    check=check,
    hints=("mixed_float16",),
    sources=("Keras documentation, Mixed precision",),
)
