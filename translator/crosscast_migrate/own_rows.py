"""The data of a source: its own class of rows, where that is free of the old framework.

The class is copied with what it needs of the program, and wrapped in an object with `rows`, which
emitted scripts read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast.emit.render import py_literal
from crosscast_migrate.array_rows import array_function
from crosscast_migrate.batch_loops import check_order, computed
from crosscast_migrate.copied_code import Copied, ForeignError, copied
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.uses import uses_of
from crosscast_migrate.row_feeds import UNSEEN, class_of, feeds_of
from crosscast_migrate.written_code import written_text
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known, Value

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Diagnostic, Span
    from crosscast_migrate.row_feeds import Feed
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Scope
    from crosscast_reading.trainstep.events import TrainingStep

FILE = "own_rows.py"
_IGNORES = "loss.target"
"""The field that the label is reported for."""
_NO_OTHER = "no other loader is seen: data.eval has the rows of the training"
_OURS = frozenset({"NAMES", "np", "train_rows", "eval_rows"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedRows:
    """The rows that were read, or why they were not."""

    text: str = ""
    """Of the file; empty if there is none."""
    reason: str = ""
    place: Span | None = None
    shuffle: bool | None = None
    notes: tuple[str, ...] = ()
    """What is to be told."""
    undone: tuple[str, ...] = ()
    """What the loop computes of the arrays of a batch, which the rows do not."""
    ignores: bool = False
    """Whether the rows have -100 for the label that counts for nothing."""

    def settled(self, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return diagnostics without those about labels that the rows change themselves."""
        return tuple(d for d in diagnostics if not (self.ignores and d.path == _IGNORES))

    def fields(self) -> dict[str, Filled]:
        """Return the fields of the recipe."""
        places = (self.place,) if self.place is not None else ()
        note = f"written to {FILE}"
        module = FILE.removesuffix(".py")
        data_fields: dict[str, Filled] = {}
        if self.text:
            data_fields = {
                "data.source": Filled(value="custom", how="derived", places=places, note=note),
                "data.train": Filled(value=f"{module}:train_rows", how="derived", places=places),
                "data.eval": Filled(value=f"{module}:eval_rows", how="derived", places=places),
            }
        return {**data_fields, **self.order()}

    def order(self) -> dict[str, Filled]:
        """Return the field that says whether the rows are shuffled, whoever writes them."""
        places = (self.place,) if self.place is not None else ()
        if self.shuffle is None:
            return {}
        return {"data.shuffle": Filled(value=self.shuffle, places=places)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNames:
    """What the arrays of a row are called."""

    inputs: Sequence[str]
    """Of the model."""
    labels: Sequence[str] = ("labels",)
    """In the new script; they stand behind the inputs."""
    keys: Sequence[str] = ()
    """Of the labels in the source, if it names them."""
    unplaced: Sequence[str] = ()
    """Labels whose place in a row is not seen, as the source writes them."""

    @property
    def all(self) -> tuple[str, ...]:
        """Names of all arrays in the new script."""
        return (*self.inputs, *self.labels)

    def check(self) -> None:
        """Raise an error if it is not certain which array is which."""
        if len(self.unplaced) > 1:
            reason = f"which arrays of a row {', '.join(self.unplaced)} are is not seen"
            raise ForeignError(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labels:
    """What the new script does to the labels of the rows."""

    ignored: int | None
    """The class that does not count."""
    column_of: str
    """The framework that takes a class in a column of its own for that class; empty for others."""
    as_column: bool
    """Whether a number of a row becomes a column of its own."""


def carried_rows(
    program: Program,
    steps: Sequence[TrainingStep],
    framework: str,
    names: RowNames,
    *,
    classes: bool,
    single: bool = False,
    ignored: float | None = None,
) -> CarriedRows:
    """Return the rows that a program trains on. Never raises.

    Args:
        program: the program.
        steps: its training steps.
        framework: the backend of its framework.
        names: of the arrays of a row.
        classes: whether the labels are classes.
        single: whether the model gives one number for every row, against one label.
        ignored: the label that counts for nothing in the source, if it is not -100.
    """
    tables = model_tables().get(framework)
    reading = tables.reading if tables is not None else None
    uses = list(uses_of(program, steps, reading)) if reading is not None else []
    undone = tuple(dict.fromkeys(computed(steps, uses)))
    try:
        check_order(steps)
        feeds = feeds_of(program, steps)
    except ForeignError as error:
        return CarriedRows(reason=error.reason, place=error.span)
    train = feeds.train
    if train is None:
        return CarriedRows(reason=UNSEEN, undone=undone)
    labels = _Labels(
        ignored=int(ignored) if classes and ignored is not None else None,
        column_of=tables.title if tables and tables.script.class_columns and classes else "",
        as_column=single and reading is not None and bool(reading.pairs_columns),
    )
    try:
        if train.reason:
            raise ForeignError(train.reason, train.place)
        names.check()
        rows = _written(train, feeds.other, names, labels)
        return replace(rows, undone=(*undone, *train.arrays.undone))
    except ForeignError as error:
        place = error.span or train.place
        return CarriedRows(reason=error.reason, place=place, shuffle=train.shuffle, undone=undone)


def _written(train: Feed, other: Feed | None, names: RowNames, labels: _Labels) -> CarriedRows:
    dataset = class_of(train.dataset)
    if dataset is None:
        return _of_arrays(train, other, names, labels)
    node, module, scope = dataset
    assert isinstance(scope.node, ast.ClassDef)
    by_place = _are_tuples(scope, names.all)
    notes = []
    functions = [("train_rows", node, module, scope)]
    evaluated = class_of(other.dataset) if other is not None else None
    if evaluated is None:
        notes.append(_NO_OTHER)
        functions.append(("eval_rows", node, module, scope))
    else:
        functions.append(("eval_rows", *evaluated))
    if any(word in ast.unparse(_method(scope)) for word in ("random", "RandomState", "rng")):
        notes.append("rows are drawn at random: let them depend on their number alone")
    owners = list(dict.fromkeys(each[3] for each in functions))
    code = copied([(owner.module, owner.node) for owner in owners])
    taken = _bound_names(code)
    if taken & _OURS:
        raise ForeignError(f"the name {min(taken & _OURS)} has a meaning of its own in {FILE}")
    adapter = next(name for name in ("Rows", "NumberedRows", "MigratedRows") if name not in taken)
    made = []
    for function, call, where, owner in functions:
        assert isinstance(owner.node, ast.ClassDef)
        made.append((function, f"{owner.node.name}({_arguments(call, where)})"))
    return _file(
        train,
        notes,
        labels,
        imports=code.imports,
        names=names.all,
        definitions=code.definitions,
        of_arrays=False,
        adapter=adapter,
        by_place=by_place,
        functions=made,
    )


def _file(train: Feed, notes: Iterable[str], labels: _Labels, **values: object) -> CarriedRows:
    """Return the file with the rows of a loader."""
    text = written_text(
        "own_rows.py.j2",
        ignored=labels.ignored,
        column_of=labels.column_of,
        as_column=labels.as_column,
        **values,
    )
    ast.parse(text)
    return CarriedRows(
        text=text,
        place=train.place,
        shuffle=train.shuffle,
        notes=tuple(notes),
        ignores=labels.ignored is not None,
    )


def _of_arrays(train: Feed, other: Feed | None, names: RowNames, labels: _Labels) -> CarriedRows:
    """Return the rows that are some arrays."""
    arrays = _ordered(train, names)
    notes = [] if other is not None and other.arrays.columns else [_NO_OTHER]
    evaluated = _ordered(other, names) if other is not None and not notes else arrays
    return _file(
        train,
        [*notes, *train.arrays.notes],
        labels,
        imports=("import numpy as np",),
        names=names.all,
        definitions=(
            array_function("train_arrays", arrays),
            array_function("eval_arrays", evaluated),
        ),
        of_arrays=True,
        adapter="Rows",
        by_place=True,
        functions=[
            ("train_rows", "ArrayRows(train_arrays())"),
            ("eval_rows", "ArrayRows(eval_arrays())"),
        ],
    )


def _ordered(feed: Feed, names: RowNames) -> list[str]:
    """Return the arrays in the order of the names of a row."""
    arrays = feed.arrays.texts()
    if len(arrays) != len(names.all):
        wanted = ", ".join(names.all)
        raise ForeignError(f"a row has {len(arrays)} arrays, not {wanted}", feed.place)
    named = {key: text for key, text in arrays if key}
    placed = iter([text for key, text in arrays if not key])
    texts = []
    for key in (*names.inputs, *(names.keys or [""] * len(names.labels))):
        text = named.pop(key, "")
        texts.append(text or ("" if key in names.keys else next(placed, "")))
    if named or not all(texts):
        shown = ", ".join(key for key, _ in arrays if key) or "given by place"
        raise ForeignError(f"which arrays of a row are which is not seen: {shown}", feed.place)
    return texts


def _bound_names(code: Copied) -> set[str]:
    """Return the names that copied code defines, without the import of NumPy."""
    lines = (line for line in code.imports if line != "import numpy as np")
    tree = ast.parse("\n".join([*lines, *code.definitions]))
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(t.id for t in targets if isinstance(t, ast.Name))
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(alias.asname or alias.name for alias in aliases)
    return names


def _method(scope: Scope) -> ast.FunctionDef:
    node = scope.bindings["__getitem__"][-1].node
    if not isinstance(node, ast.FunctionDef):
        raise ForeignError("__getitem__ is no function")
    return node


def _are_tuples(scope: Scope, names: Sequence[str]) -> bool:
    """Return whether rows are tuples, whose arrays have no names; False for dicts.

    Raises:
        ForeignError: rows are something else, or have other numbers of arrays.
    """
    node = _method(scope)
    returns = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)]
    by_place = False
    for value in returns:
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            by_place = True
        elif isinstance(value, ast.Dict):
            keys = [key.value for key in value.keys if isinstance(key, ast.Constant)]
            if set(names) - set(keys):
                wanted = ", ".join(names)
                raise ForeignError(f"a row must have the arrays {wanted}", scope.module.span(value))
        else:
            wanted = ", ".join(names)
            raise ForeignError(f"__getitem__ does not return {wanted}", scope.module.span(node))
    if not returns:
        raise ForeignError("__getitem__ returns nothing", scope.module.span(node))
    return by_place


def _arguments(node: ast.Call, module: Module) -> str:
    """Return the arguments that a class is created with, as code.

    Raises:
        ForeignError: one is not known.
    """
    texts = [_literal(argument, module) for argument in node.args]
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ForeignError("the rows are created with ** arguments", module.span(node))
        texts.append(f"{keyword.arg}={_literal(keyword.value, module)}")
    return ", ".join(texts)


def _literal(node: ast.expr, module: Module) -> str:
    value: Value = evaluate(node, module)
    if isinstance(value, Known):
        content = tuple(value.value) if isinstance(value.value, list) else value.value
        try:
            return py_literal(content)
        except TypeError:
            pass
    text = module.text(node)[:60]
    raise ForeignError(f"an argument of the rows is not known: {text}", module.span(node))
