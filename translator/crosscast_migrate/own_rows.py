"""The data of a source: its own class of rows, where that is free of the old framework.

The class is copied with what it needs of the program, and wrapped in an object with `rows`, which
emitted scripts read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast.emit.render import py_literal
from crosscast_migrate.array_rows import array_function, array_nodes, arrays_of
from crosscast_migrate.batch_loops import check_order, computed, module_of
from crosscast_migrate.copied_code import Copied, ForeignError, copied
from crosscast_migrate.models.installed import model_tables, scripts
from crosscast_migrate.written_code import written_text
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.libraries.packages import package_of_name
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known, Value

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Diagnostic, Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Scope
    from crosscast_reading.trainstep.events import TrainingStep

FILE = "own_rows.py"
_IGNORES = "loss.target"
"""The field that the label is reported for."""
_AROUND = frozenset({"enumerate", "tqdm", "iter", "prefetch", "prepare", "MpDeviceLoader"})
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


def carried_rows(
    program: Program,
    steps: Sequence[TrainingStep],
    inputs: Sequence[str],
    labels: Sequence[str] = ("labels",),
    *,
    classes: bool,
    ignored: float | None = None,
) -> CarriedRows:
    """Return the rows that a program trains on. Never raises.

    Args:
        program: the program.
        steps: its training steps.
        inputs: names of the inputs of its model.
        labels: names that the arrays with labels get, which stand behind the inputs.
        classes: whether the labels are classes.
        ignored: the label that counts for nothing in the source, if it is not -100.
    """
    names = [name for script in scripts() for name in script.loaders]
    all_loaders = list(program.calls(*names)) if names else []
    loaders = [call for call in all_loaders if _is_seen(call)]
    iterated = list(_iterated(steps))
    used = [call for call in iterated if call in loaders]
    try:
        check_order(steps)
    except ForeignError as error:
        return CarriedRows(reason=error.reason, place=error.span)
    undone = tuple(dict.fromkeys(computed(steps)))
    if not used:
        reason = "the class of the rows is not seen"
        unseen = [call for call in iterated if call in all_loaders]
        place = unseen[0].module.span(unseen[0].node) if unseen else None
        shuffle = _shuffle(unseen[0]) if unseen else None
        return CarriedRows(reason=reason, place=place, shuffle=shuffle, undone=undone)
    train = used[0]
    others = [call for call in loaders if call not in used]
    try:
        other = others[0] if len(others) == 1 else None
        names = [*inputs, *labels]
        rows = _written(train, other, names, classes=classes, ignored=ignored)
        return replace(rows, undone=undone)
    except ForeignError as error:
        place = error.span or train.module.span(train.node)
        return CarriedRows(reason=error.reason, place=place, shuffle=_shuffle(train), undone=undone)


def _iterated(steps: Sequence[TrainingStep]) -> Iterator[Call]:
    """Yield the loaders that the loops around the backward passes run over."""
    for step in steps:
        for event in step.of("backward"):
            for loop in reversed(event.loops):
                if isinstance(loop.node, ast.For):
                    yield from _calls(loop.node.iter, module_of(event.module, loop.node))


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


def _column_of(loader: Call) -> str:
    """Return the framework whose rows have the class in an array; empty if it is a number."""
    for tables in model_tables().values():
        packages = {package_of_name(name) for name in tables.script.loaders}
        if tables.script.class_columns and package_of_name(loader.name) in packages:
            return tables.title
    return ""


def _dataset(call: Call) -> tuple[ast.Call, Module, Scope] | None:
    """Return the call that creates the rows of a loader, and their class in the program."""
    node = call.bound().get("dataset") or next(iter(call.node.args), None)
    if node is None:
        return None
    for expression, where in chase(node, call.module):
        if isinstance(expression, ast.Call):
            for name in where.call(expression).names:
                scope = call.module.program.class_named(name)
                if scope is not None and "__getitem__" in scope.bindings:
                    return expression, where, scope
    return None


def _written(
    train: Call,
    other: Call | None,
    names: Sequence[str],
    *,
    classes: bool,
    ignored: float | None,
) -> CarriedRows:
    dataset = _dataset(train)
    if dataset is None:
        return _of_arrays(train, other, names, classes=classes, ignored=ignored)
    node, module, scope = dataset
    assert isinstance(scope.node, ast.ClassDef)
    by_place = _are_tuples(scope, names)
    notes = []
    functions = [("train_rows", node, module, scope)]
    evaluated = _dataset(other) if other is not None else None
    if evaluated is None:
        notes.append(_NO_OTHER)
        functions.append(("eval_rows", node, module, scope))
    else:
        functions.append(("eval_rows", *evaluated))
    if any(word in ast.unparse(_method(scope)) for word in ("random", "RandomState", "rng")):
        notes.append("rows are drawn at random: let them depend on their number alone")
    _check_batches(train)
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
        ignored=int(ignored) if classes and ignored is not None else None,
        column_of=_column_of(train) if classes else "",
        imports=code.imports,
        names=tuple(names),
        definitions=code.definitions,
        of_arrays=False,
        adapter=adapter,
        by_place=by_place,
        functions=made,
    )


def _file(
    train: Call, notes: Iterable[str], *, ignored: int | None, **values: object
) -> CarriedRows:
    """Return the file with the rows of a loader. `ignored`: the class that does not count."""
    text = written_text("own_rows.py.j2", ignored=ignored, **values)
    ast.parse(text)
    return CarriedRows(
        text=text,
        place=train.module.span(train.node),
        shuffle=_shuffle(train),
        notes=tuple(notes),
        ignores=ignored is not None,
    )


def _check_batches(train: Call) -> None:
    if "collate_fn" in train.bound() or "batch_sampler" in train.bound():
        raise ForeignError("the loader has a function of its own that makes its batches")


def _of_arrays(
    train: Call,
    other: Call | None,
    names: Sequence[str],
    *,
    classes: bool,
    ignored: float | None,
) -> CarriedRows:
    """Return the rows of a loader whose data set is some arrays."""
    _check_batches(train)
    arrays = arrays_of(train)
    if len(arrays) != len(names):
        raise ForeignError(f"a row has {len(arrays)} arrays, not {', '.join(names)}")
    notes = [] if other is not None and arrays_of(other) else [_NO_OTHER]
    evaluated = arrays_of(other) if other is not None and not notes else arrays
    return _file(
        train,
        notes,
        ignored=int(ignored) if classes and ignored is not None else None,
        column_of=_column_of(train) if classes else "",
        imports=("import numpy as np",),
        names=tuple(names),
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


def _is_seen(call: Call) -> bool:
    """Whether the rows of a loader are of a class of the program, or arrays."""
    return _dataset(call) is not None or bool(array_nodes(call))


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


def _shuffle(call: Call) -> bool | None:
    match call.argument("shuffle", Known(value=False)):
        case Known(value=bool() as shuffle) if "sampler" not in call.bound():
            return shuffle
    return None
