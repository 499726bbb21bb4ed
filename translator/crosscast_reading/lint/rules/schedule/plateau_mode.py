"""CL515: a schedule that waits for a plateau takes improvements for the opposite."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Choice, Instance, Known
from crosscast_reading.readers.python.library_calls import calls_of, last, parts_of
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject

_STEPPED = (
    "torch.optim.lr_scheduler.ReduceLROnPlateau",
    "paddle.optimizer.lr.ReduceOnPlateau",
)
_CALLBACK = "keras.callbacks.ReduceLROnPlateau"
_MORE = frozenset(
    {
        *("acc", "accuracy", "dice", "iou", "miou", "jaccard", "f1", "auc", "auroc", "psnr"),
        *("ssim", "bleu", "kappa", "mcc", "ndcg", "recall", "r2", "rouge", "map50"),
    }
)
"""Words of metrics of which more is better."""
_LESS = frozenset(
    {
        *("loss", "losses", "error", "err", "mse", "mae", "rmse", "ppl", "perplexity"),
        *("wer", "cer", "fid", "nll", "mape"),
    }
)
"""Words of metrics of which less is better; those of `dice_loss` decide."""
_TURNED = frozenset({"neg", "negative", "minus", "inverse", "inv", "one"})
"""Words of values that were turned round."""
_SAME = frozenset({"float", "item", "mean", "sum", "cpu", "detach", "numpy", "average", "array"})
"""Functions and methods that return what they get, or means of it."""
_BETTER = {"min": "less", "max": "more"}


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules of a known mode whose metric certainly gets better the other way."""
    for maker, metric, module in _metrics(subject.program):
        mode = _mode(maker)
        better = _direction(metric, module)
        if better and mode and better != _BETTER[mode]:
            yield Finding(
                span=module.span(metric),
                message=f'the schedule has mode "{mode}", but {better} of {module.text(metric)} is '
                "better: the rate falls while the model improves",
                hint=f'set `mode="{"max" if mode == "min" else "min"}"`',
                related=(maker.module.span(maker.node),),
            )


def _metrics(program: Program) -> Iterator[tuple[Call, ast.expr, Module]]:
    """Yield the schedules with the expressions, or names in text, that they look at."""
    for module in program.modules:
        for call in module.calls:
            match call.node:
                case ast.Call(func=ast.Attribute(value=schedule, attr="step"), args=[metric]):
                    pass
                case ast.Call(
                    func=ast.Attribute(value=schedule, attr="step"),
                    args=[],
                    keywords=[ast.keyword(arg="metrics", value=metric)],
                ):
                    pass
                case _:
                    continue
            yield from ((maker, metric, module) for maker in _plateau_makers(schedule, module))
        for node in module.nodes:  # what a module of Lightning returns
            if isinstance(node, ast.Dict):
                entries = {k.value: v for k, v in _entries(node)}
                if isinstance(entries.get("monitor"), ast.Constant) and "scheduler" in entries:
                    for maker in _plateau_makers(entries["scheduler"], module):
                        yield maker, entries["monitor"], module
    for name, call in calls_of(program):
        monitor = call.bound().get("monitor") if name == _CALLBACK else None
        if isinstance(monitor, ast.Constant):
            yield call, monitor, call.module


def _entries(node: ast.Dict) -> Iterator[tuple[ast.Constant, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant):
            yield key, value


def _plateau_makers(schedule: ast.expr, module: Module) -> Iterator[Call]:
    """Yield the calls that made a schedule that is or may be one that waits for a plateau."""
    value = evaluate(schedule, module)
    for each in [option for _, option in value.options] if isinstance(value, Choice) else [value]:
        if isinstance(each, Instance) and each.made_by in _STEPPED and isinstance(each.call, Call):
            yield each.call


def _mode(maker: Call) -> str:
    """Return min or max; empty if it is not certain."""
    node = maker.bound().get("mode")
    if maker.has_star:
        return ""
    if node is None:
        return "min" if maker.name in _STEPPED else ""
    value = evaluate(node, maker.module)
    text = value.value if isinstance(value, Known) and not value.flag else None
    return text if isinstance(text, str) and text in _BETTER else ""


def _direction(expression: ast.expr, module: Module) -> str:
    """Return whether more or less of a metric is better; empty if nothing says it surely."""
    metric = _bare(expression)
    compared = _compared(metric, module)
    if len(compared) > 1:
        return ""
    named = _named_direction(metric, module)
    if compared and named and named not in compared:
        return ""
    return next(iter(compared), named)


def _bare(node: ast.expr) -> ast.expr:
    """Return the metric of `float(metric)`, `metric.item()`, `np.mean(metric)`, `metric / n`."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="item" | "mean" | "cpu"), args=[]):
            return _bare(inner)
        case ast.Call(func=ast.Name(id="float" | "sum"), args=[inner]):
            return _bare(inner)
        case ast.Call(func=ast.Attribute(attr="mean"), args=[inner]):
            return _bare(inner)
        case ast.BinOp(left=inner, op=ast.Div()):
            return _bare(inner)
    return node


def _named_direction(metric: ast.expr, module: Module) -> str:
    match metric:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            pass
        case ast.Constant(value=str(name)) | ast.Subscript(slice=ast.Constant(value=str(name))):
            pass
        case _:
            return ""
    words = parts_of(name)
    if words & _TURNED or _is_turned(metric, module):
        return ""
    if words & _LESS:
        return "less"
    return "more" if words & _MORE and not _is_loss(metric, module) else ""


def _is_loss(metric: ast.expr, module: Module) -> bool:
    """Whether a metric has the value of a loss: `dice = DiceLoss()(scores, targets)`."""
    calls = [
        where.call(node)
        for node, where in flow_of(metric, module, _hands_on)
        if isinstance(node, ast.Call)
    ]
    names = [name for call in calls for name in (call.method, *map(_called_name, call.names))]
    texts = [call.module.text(call.node.func) for call in calls if not call.method]
    return any(parts_of(name) & _LESS for name in (*names, *texts))


def _called_name(name: str) -> str:
    return last(name.removesuffix(".__call__"))


def _hands_on(call: ast.Call, module: Module) -> bool:
    """Whether a call returns what it is given, or a mean of it."""
    return identifier(call.func) in _SAME


def _is_turned(metric: ast.expr, module: Module) -> bool:
    """Whether a metric may be assigned the negative of something, or its difference from one."""
    return any(
        isinstance(node, ast.USub | ast.Sub)
        for binding in definitions(metric, module)
        if binding.value is not None
        for node in ast.walk(binding.value)
    )


def _compared(metric: ast.expr, module: Module) -> set[str]:
    """Return how a metric becomes the best one: `if metric > best: best = metric`."""
    text, directions = module.text(metric), set[str]()
    around = module.function_of(metric) or module.tree
    for node in walk(around):
        match node:
            case ast.If(test=ast.Compare(left=left, ops=[op], comparators=[right])):
                sides = [module.text(left), module.text(right)]
                if text in sides and isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
                    greater = isinstance(op, ast.Gt | ast.GtE) == (sides[0] == text)
                    best = sides[1 - sides.index(text)]
                    if _keeps(node.body, best, text, module):
                        directions.add("more" if greater else "less")
                    if _keeps(node.orelse, best, text, module):
                        directions.add("less" if greater else "more")
    return directions


def _keeps(body: list[ast.stmt], best: str, text: str, module: Module) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and module.text(node.value) == text
        and best in map(module.text, node.targets)
        for node in body
    )


RULE = Rule("CL515", check, hints=("Plateau",))
