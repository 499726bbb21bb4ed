"""CL608: an attribute of the model is asked of the wrapper that hides it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import DDP, changed
from crosscast.lint.rules._joint_conditions import atoms, can_be_met, is_plain, texts_compared
from crosscast.lint.rules._wrapper_names import NAMES, WRAPPERS
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.names.containers import definitions
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.readers.python.conditions import Condition, conditions
from crosscast.readers.python.library_calls import calls_of
from crosscast.sources.subject import Subject

_ASKS = ("isinstance", "hasattr", "getattr", "type(", "__class__", "Parallel", "dist", "module")


def check(subject: Subject) -> Iterator[Finding]:
    """Find attributes of local variables that may be a wrapper, none of which it has."""
    program = subject.program
    wrapped = {c.node: n for n, c in calls_of(program) if n in WRAPPERS} if program else {}
    for module in program.modules if program is not None and wrapped else ():
        set_here = {e.attr for e in module.every(ast.Attribute) if isinstance(e.ctx, ast.Store)}
        asked: dict[Call, list[ast.Attribute]] = {}
        for node in module.every(ast.Attribute):
            if node.attr in NAMES | set_here or node.attr.startswith("_"):
                continue
            wrap = next((w for w in _reaching(node.value, module) if w.node in wrapped), None)
            if wrap is not None and _can_happen(node, module, wrap):
                asked.setdefault(wrap, []).append(node)
        for wrap, nodes in asked.items():
            names = list(dict.fromkeys(node.attr for node in nodes))
            inner = WRAPPERS[wrapped[wrap.node]]
            yield Finding(
                span=module.span(nodes[0]),
                message=f"{wrap.method} has no {' and no '.join(names)}: the line raises an "
                "exception where the model is wrapped",
                hint=f"read `{module.text(nodes[0].value)}.{inner}.{names[0]}` where it is "
                "wrapped, or keep the model under a name of its own",
                related=(module.span(wrap.node), *(module.span(node) for node in nodes[1:4])),
            )


def _reaching(node: ast.expr, module: Module) -> Iterator[Call]:
    """Yield the calls of the same function whose results a variable may have."""
    if not isinstance(node, ast.Name):
        return
    function = module.function_of(node)
    for binding in definitions(node, module):
        value = binding.value
        if binding.kind != "assign" or not isinstance(value, ast.Call) or binding.path:
            continue
        again = [
            each
            for each in module.every(ast.Name)
            if each.id == node.id and isinstance(each.ctx, ast.Store)
            if value.lineno < each.lineno <= node.lineno and module.function_of(each) is function
            if not _keeps(module.parent(each), node.id)
        ]
        if module.function_of(value) is function and not again:
            yield module.call(value)


def _keeps(statement: ast.AST | None, name: str) -> bool:
    """Whether an assignment changes nothing: `model = model`, left by a conversion."""
    match statement:
        case ast.Assign(value=ast.Name(id=same)):
            return same == name
    return False


def _can_happen(node: ast.Attribute, module: Module, wrap: Call) -> bool:
    """Whether the attribute is asked in a case in which the wrapper was certainly made."""
    around, made = conditions(node, module), conditions(wrap.node, wrap.module)
    own = [test for test in around if test.node not in {each.node for each in made}]
    if any(word in test.text for test in own for word in _ASKS):
        return False
    if module.enclosing(node, ast.Try) is not None:
        return False
    shared = {(test.text, test.holds) for test in made}
    open_ones = [test for test in own if (test.text, test.holds) not in shared]
    if made and not all(_is_plain(test) for test in open_ones):
        return False
    wanted = [(test.node, test.holds) for test in (*made, *around)]
    return not made or can_be_met(wanted, texts_compared(module.nodes))


def _is_plain(test: Condition) -> bool:
    return all(is_plain(atom, test.module) for atom in atoms(test.node))


_RIGHT = changed(
    DDP,
    ("model = Distr", "net = torch.nn.Linear(4, 2).cuda()\nmodel = Distr"),
    ("Parallel(torch.nn.Linear(4, 2).cuda())", "Parallel(net)"),
    ("        optimizer.step()\n", "        optimizer.step()\n        print(net.weight.norm())\n"),
)

RULE = Rule(
    code="CL608",
    name="behind-wrapper",
    topic="distributed",
    severity=Severity.WARNING,
    title="An attribute of the model that its wrapper hides",
    why="DataParallel and DistributedDataParallel hold the model as an attribute, `module` in "
    "PyTorch and `_layers` in Paddle, and pass on nothing but the forward pass. What works on one "
    "device raises AttributeError on several.",
    wrong=changed(_RIGHT, ("print(net.weight", "print(model.weight")),
    right=_RIGHT,
    check=check,
    hints=("DataParallel",),
    sources=("torch 2.13, nn/parallel", "Paddle 3.3.1, distributed/parallel.py"),
    needs_training=False,
)
