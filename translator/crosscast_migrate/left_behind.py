"""What a script does besides its training steps: each of it is told, with what is done instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.installed import scripts
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import names_in, walk
from crosscast_reading.readers.python.library_calls import canonical, target_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_MOST = 3
"""Places of one kind that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Something that scripts do besides their steps."""

    what: str
    instead: str
    names: str = ""
    """Pattern of canonical names of functions and classes, besides those of `ScriptReading`."""
    methods: frozenset[str] = frozenset()
    """Methods of something that no file defines."""
    keywords: frozenset[str] = frozenset()
    """Arguments of `fit` and `compile`."""
    given: frozenset[str] = frozenset()
    """Arguments of any call."""
    attributes: frozenset[str] = frozenset()
    """Attributes that are set to `value`, or to something that may be it, also by a method."""
    value: object = None


@dataclass(frozen=True, slots=True)
class Left:
    """A kind with its places in a source."""

    kind: Kind
    places: tuple[Span, ...]


KINDS: Sequence[Kind] = (
    Kind(
        what="frozen weights",
        instead="the new script trains every weight: freeze them in build_model()",
        attributes=frozenset({"requires_grad", "trainable"}),
        value=False,
    ),
    Kind(
        what="frozen weights",
        instead="the new script trains every weight: freeze them in build_model()",
        attributes=frozenset({"stop_gradient"}),
        value=True,
    ),
    Kind(
        what="pretrained or saved weights",
        instead="pass them as safetensors: train.py --weights FILE; --resume continues a run",
        methods=frozenset(
            {"load_state_dict", "set_state_dict", "load_weights", "set_dict", "from_pretrained"}
        ),
    ),
    Kind(
        what="checkpoints",
        instead="the new script saves its own: train.py --checkpoint-every N",
        methods=frozenset({"save_weights", "save_pretrained", "save_checkpoint"}),
    ),
    Kind(
        what="early stopping",
        instead="the new script trains schedule.total_steps updates",
        names=r"(?:\w+\.)*EarlyStopping",
    ),
    Kind(
        what="evaluation",
        instead="the new script evaluates data.eval once, at the end",
        methods=frozenset({"evaluate", "eval"}),
        keywords=frozenset({"validation_data", "validation_split"}),
    ),
    Kind(
        what="metrics",
        instead="the new script reports the loss and the accuracy: name others in metrics.custom",
        names=r"sklearn\.metrics\.\w+(?:\.\w+)*",
        keywords=frozenset({"metrics", "weighted_metrics"}),
    ),
    Kind(
        what="logging",
        instead="the new script prints a line and writes a journal: train.py --log-every N",
        names=r"(?:wandb|mlflow|neptune|comet_ml|swanlab|clearml)\.\w+(?:\.\w+)*"
        r"|(?:\w+\.)*(?:SummaryWriter|LogWriter|TensorBoard|CSVLogger|VisualDL)",
    ),
    Kind(
        what="schedule by a callback",
        instead="write it as schedule.name; a recipe counts updates, not epochs",
    ),
    Kind(
        what="preparation of the data",
        instead="your rows must come prepared: do it in the class of your rows",
        names=r"albumentations\.(?:transforms\.(?:\w+\.)*)?\w+",
    ),
    Kind(
        what="weights of rows",
        instead="weight the losses: loss.kind custom",
        keywords=frozenset({"sample_weight"}),
    ),
    Kind(
        what="lists of operations in half precision",
        instead="your own model says it, or precision.ops for the shipped BERT",
        given=frozenset({"custom_white_list", "custom_black_list"}),
    ),
    Kind(
        what="sampling of rows",
        instead="the new script reads every row once an epoch, in an order from the seed",
    ),
)
"""What is told, in the order of the report."""
_FITS = frozenset({"fit", "compile", "fit_generator", "train_on_batch"})


def left_behind(program: Program) -> list[Left]:
    """Return the work that a program does besides its steps."""
    spans: dict[Kind, list[Span]] = {}
    for kind, span in _found(program):
        places = spans.setdefault(kind, [])
        if len(places) < _MOST and span.line not in {place.line for place in places}:
            places.append(span)
    return [Left(kind, tuple(spans[kind])) for kind in KINDS if kind in spans]


def _found(program: Program) -> Iterator[tuple[Kind, Span]]:
    names = {kind: _names(kind) for kind in KINDS}
    loads = frozenset[str]().union(*(script.loads for script in scripts()))
    for call in program.calls():
        for kind in KINDS:
            if _is_of(kind, names[kind], call, loads):
                yield kind, call.module.span(call.node)
                break
    for module in program.modules:
        for node in module.every(ast.Assign):
            for kind in KINDS:
                if _sets(kind, node) and not _of_results(node, module):
                    yield kind, module.span(node)


def _names(kind: Kind) -> str:
    """Return the pattern of a kind in all frameworks; empty for none."""
    patterns = (kind.names, *(script.left_behind.get(kind.what, "") for script in scripts()))
    return "|".join(filter(None, patterns))


def _is_of(kind: Kind, pattern: str, call: Call, loads: frozenset[str]) -> bool:
    names = [canonical(name) for name in call.names]
    if any(name in loads for name in names) and _is_iterated(call):
        return False
    if pattern and any(re.fullmatch(pattern, name) for name in names if ":" not in name):
        return True
    if kind.given and any(keyword.arg in kind.given for keyword in call.node.keywords):
        return True
    if call.method.rstrip("_") in kind.attributes and call.method.endswith("_"):
        return any(_may_be(kind, given) for given in call.node.args)
    if call.method in kind.methods and call.receiver is not None:
        return not any(":" in name and not name.endswith(".__call__") for name in names)
    is_fit = call.method in _FITS and call.receiver is not None
    return is_fit and any(keyword.arg in kind.keywords for keyword in call.node.keywords)


def _is_iterated(call: Call) -> bool:
    """Whether a loop runs over what a call reads: then these are rows, and no weights."""
    module = call.module
    names = {target_of(call.node, module)} - {""}
    return any(
        call.node in (loop.iter, *walk(loop.iter)) or names & names_in(loop.iter)
        for loop in module.every(ast.For)
    )


def _of_results(node: ast.Assign, module: Module) -> bool:
    """Whether an attribute is set of what operators or functions of layers compute, not weights."""
    owners = [target.value for target in node.targets if isinstance(target, ast.Attribute)]
    made = [value for owner in owners for value in _values(owner, module)]
    return bool(made) and all(value is not None and _is_result(value, module) for value in made)


def _values(owner: ast.expr, module: Module) -> list[ast.expr | None]:
    """Return the values assigned to a name, or to an entry that is written in the same way."""
    if isinstance(owner, ast.Name):
        return [binding.assigned for binding in definitions(owner, module)]
    text = module.text(owner)
    return [
        node.value
        for node in module.every(ast.Assign)
        if any(module.text(target) == text for target in node.targets)
    ]


def _is_result(node: ast.expr, module: Module) -> bool:
    if isinstance(node, ast.Call):
        name = canonical(module.call(node).name)
        packages = tuple(f"{package}." for script in scripts() for package in script.results)
        return name.startswith(packages) and "parameter" not in name
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare)


def _sets(kind: Kind, node: ast.Assign) -> bool:
    return any(
        isinstance(target, ast.Attribute)
        and target.attr in kind.attributes
        and _may_be(kind, node.value)
        for target in node.targets
    )


def _may_be(kind: Kind, node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant) or node.value is kind.value
