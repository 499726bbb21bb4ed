"""How a program gives rows to its training: loaders, pipelines of arrays, arguments of `fit`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crosscast_migrate.array_rows import array_nodes, columns_of
from crosscast_migrate.batch_loops import module_of
from crosscast_migrate.changed_values import only_source
from crosscast_migrate.copied_code import ForeignError
from crosscast_migrate.fit_methods import fits_of
from crosscast_migrate.models.installed import scripts
from crosscast_migrate.pipelines import SEVERAL, Pipeline, pipeline_of
from crosscast_reading.pysource.names.containers import (
    Place,
    chase,
    definitions,
    ends_of,
    sources_of,
)
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_migrate.fit_methods import Fit
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Scope
    from crosscast_reading.trainstep.events import TrainingStep

_AROUND = frozenset({"enumerate", "tqdm", "iter", "prefetch", "prepare", "MpDeviceLoader"})
UNSEEN = "the class of the rows is not seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The rows of a training, and the order that they come in."""

    call: Call
    """What makes batches of them."""
    dataset: Place | None = None
    """An object of a class of rows of the program."""
    arrays: Pipeline = field(default_factory=Pipeline)
    """Arrays and what is done to them, where the rows are nothing else."""
    shuffle: bool | None = None
    reason: str = ""
    """Why the rows are not carried; empty if they may be."""
    at: ast.expr | None = None
    """What the reason is about."""

    @property
    def place(self) -> Span:
        """Where the rows, or what keeps them from being carried, are."""
        return self.call.module.span(self.at or self.call.node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds:
    """The rows of the training of a program, and those of its evaluation."""

    train: Feed | None = None
    other: Feed | None = None
    undone: tuple[str, ...] = ()
    """What is told of the training, whatever its rows are."""


def feeds_of(program: Program, steps: Sequence[TrainingStep]) -> Feeds:
    """Return the rows that a program trains with, in its loops or in a method of a library."""
    fits = [] if any(step.of("backward") for step in steps) else list(fits_of(program))
    if fits:
        return _of_fits(fits)
    names = [name for script in scripts() for name in script.loaders]
    all_loaders = list(program.calls(*names)) if names else []
    loaders = [feed for feed in map(_of_loader, all_loaders) if feed is not None and _is_seen(feed)]
    places = list(_iterated(steps))
    calls = [call for place in places for call in _calls(*place)]
    used = [feed for feed in loaders if feed.call in calls]
    if used:
        others = [feed for feed in loaders if feed.call not in calls]
        is_chosen = any(_is_chosen(*place, used) for place in places)
        first = replace(used[0], reason=SEVERAL) if is_chosen else used[0]
        return Feeds(train=first, other=others[0] if len(others) == 1 else None)
    pipelines = (_pipeline_in(*place) for place in places)
    train = next((feed for feed in pipelines if feed is not None), None)
    if train is None:
        unseen = [call for call in calls if call in all_loaders]
        train = _unseen(_of_loader(unseen[0])) if unseen else None
    return Feeds(train=train)


def class_of(place: Place | None) -> tuple[ast.Call, Module, Scope] | None:
    """Return the one call that creates rows, and their class in the program."""
    source = only_source(*place) if place is not None else None
    if source is not None and isinstance(source[0], ast.Call):
        call = source[1].call(source[0])
        for name in call.names:
            scope = call.module.program.class_named(name)
            if scope is not None and "__getitem__" in scope.bindings:
                return call.node, call.module, scope
    return None


def _is_seen(feed: Feed) -> bool:
    """Whether the rows of a loader are of a class of the program, or arrays."""
    return class_of(feed.dataset) is not None or bool(feed.arrays.columns)


def _unseen(feed: Feed) -> Feed:
    """Return the rows of a loader that are not of one class."""
    is_one = feed.dataset is None or _is_certain(*feed.dataset)
    return replace(feed, reason=UNSEEN if is_one else SEVERAL)


def _of_loader(call: Call) -> Feed:
    node = call.bound().get("dataset") or next(iter(call.node.args), None)
    own = "collate_fn" in call.bound() or "batch_sampler" in call.bound()
    dataset = (node, call.module) if node is not None else None
    return Feed(
        call=call,
        dataset=dataset,
        arrays=Pipeline(columns=array_nodes(*dataset) if dataset is not None else ()),
        shuffle=_shuffle(call),
        reason="the loader has a function of its own that makes its batches" if own else "",
    )


def _shuffle(call: Call) -> bool | None:
    match call.argument("shuffle", Known(value=False)):
        case Known(value=bool() as shuffle) if "sampler" not in call.bound():
            return shuffle
    return None


def _iterated(steps: Sequence[TrainingStep]) -> Iterator[Place]:
    """Yield the expressions that the loops around the backward passes run over."""
    for step in steps:
        for event in step.of("backward"):
            for loop in reversed(event.loops):
                if isinstance(loop.node, ast.For):
                    yield loop.node.iter, module_of(event.module, loop.node)


def _calls(node: ast.expr, module: Module) -> Iterator[Call]:
    for expression, where in chase(node, module):
        if not isinstance(expression, ast.Call):
            continue
        call = where.call(expression)
        yield call
        if call.method in _AROUND and expression.args:
            yield from _calls(expression.args[0], where)
        elif isinstance(expression.func, ast.Name) and not expression.args:
            yield from _calls(expression.func, where)  # Paddle's `loader()`


def _is_chosen(node: ast.expr, module: Module, loaders: Sequence[Feed]) -> bool:
    """Whether a name on the way to the loaders of a loop has one of several with other rows.

    A parameter may have several: a function that also evaluates is given those of both.
    """
    names = ((here, where) for here, where in chase(node, module) if isinstance(here, ast.Name))
    for name, where in names:
        assigned = [
            each for b in definitions(name, where) if b.kind == "assign" for each in sources_of(b)
        ]
        calls = [call for place in assigned for call in _calls(*place)]
        held = [feed.dataset for feed in loaders if feed.call in calls and feed.dataset is not None]
        if len({source[0] for place in held if (source := only_source(*place)) is not None}) > 1:
            return True
    return False


def _pipeline_in(node: ast.expr, module: Module) -> Feed | None:
    """Return the pipeline that an expression is, or that it goes through."""
    feeds = (_of_pipeline(call) for call in _calls(node, module))
    feed = next((feed for feed in feeds if feed is not None), None)
    if feed is None or feed.reason or _is_certain(node, module):
        return feed
    return replace(feed, reason=SEVERAL)


def _is_certain(node: ast.expr, module: Module) -> bool:
    """Whether an expression goes through one value only."""
    ends = ends_of(node, module)
    if len(ends) != 1:
        return False
    end, where = ends[0]
    around = isinstance(end, ast.Call) and end.args and where.call(end).method in _AROUND
    first = end.args[0] if isinstance(end, ast.Call) and around else None
    return first is None or _is_certain(first, where)


def _of_pipeline(call: Call) -> Feed | None:
    try:
        pipeline = pipeline_of(call.node, call.module)
    except ForeignError as error:
        return Feed(call=call, reason=error.reason)
    if pipeline is None:
        return None
    return Feed(call=call, arrays=pipeline, shuffle=pipeline.buffer is not None)


def _of_fits(fits: Sequence[Fit]) -> Feeds:
    """Return the rows that a library trains with in its own loop."""
    first = fits[0]
    train = _fed(first, first.rows)
    if train is None:
        return Feeds(train=Feed(call=first.call, reason=UNSEEN, shuffle=_order(first)))
    texts = {fit.text for fit in fits}
    if len(texts) > 1:
        reason = f"{first.methods.fits} is called with different rows or batches"
        train = replace(train, reason=train.reason or reason)
    if refused := first.refused:
        name, node = refused
        train = replace(train, reason=f"{first.methods.fits} has {name}", at=node)
    other = _fed(first, first.others) if first.others else None
    return Feeds(train=train, other=other)


def _order(fit: Fit) -> bool | None:
    """Return whether `fit` shuffles the rows that it gets."""
    node = fit.given.get("shuffle")
    if node is None:
        return fit.methods.shuffles
    value = evaluate(node, fit.call.module)
    shuffles = value.value if isinstance(value, Known) else None
    return shuffles if isinstance(shuffles, bool) else None


def _fed(fit: Fit, nodes: Sequence[ast.expr]) -> Feed | None:
    """Return the rows in the arguments of `fit`; None if they are not seen."""
    module = fit.call.module
    if not nodes:
        return None
    first, *rest = nodes
    if not rest and not _is_certain(first, module):
        return Feed(call=fit.call, reason=SEVERAL, at=first, shuffle=_order(fit))
    if not rest:
        for call in _calls(first, module):
            if any(name in script.loaders for script in scripts() for name in call.names):
                return _of_loader(call)
        if (feed := _pipeline_in(first, module)) is not None:
            return _of_one(fit, feed)
    place = (first, module)
    dataset, columns = None, array_nodes(*place)
    if class_of(place) is not None or columns:
        dataset = place
    elif not rest:
        return None
    else:
        columns = tuple(each for node in nodes for each in columns_of(node, module))
    arrays = Pipeline(columns=columns)
    return Feed(call=fit.call, dataset=dataset, arrays=arrays, shuffle=_order(fit))


def _of_one(fit: Fit, feed: Feed) -> Feed:
    """Return a pipeline that `fit` gets, which must have inputs and labels and nothing else."""
    if feed.arrays.parts != 2 and not feed.reason:
        weights = feed.arrays.parts == 3
        what = "weights of its rows" if weights else "no pair of inputs and labels"
        return replace(feed, reason=f"the data set of {fit.methods.fits} has {what}")
    return feed
