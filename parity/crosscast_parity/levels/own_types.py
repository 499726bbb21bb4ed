"""Level L0d: the types of every operation of a custom model, by the recipe and by what made them.

A recipe says in which type products run. Everything else follows from what autocast or a policy
makes of it, and from the casts that the model has itself. Such a cast may

- stand before a product, which autocast would round all the same, or among elementwise operations
  on the way there: then it stores what the backward pass keeps in half, and nothing else changes;
- take digits from what is added up, normalized or averaged, which autocast leaves in float32: then
  the model stores something that the recipe has in float32, unless `precision.ops` says half.

`plain`, `rounded` and `learned` of a call are those of `inside.lineage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.inside.emulate import HALF
from crosscast_parity.inside.manifest import CLASSES
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.type_manifest import Manifest, Operation, OrderedCall

LEVEL: Level = "L0d"
NAME = "operations"
SUMS = ("add", "sub")
MOST_NAMED = 3
"""Operations that are named where several are wrong."""
MATMUL = "matmul"
JUDGED = ("residual", "embeddings", "reductions")
"""Classes that must not take what a cast rounded. A lookup alone may be on its way to a product."""
BY_ITSELF = ": by the model's own cast or autocast, where the recipe has float32"
Calls = Sequence[OrderedCall]


def check_own_types(recipe: Recipe, manifest: Manifest, *, emulated: bool) -> list[Check]:
    """Judge all operations of the first forward pass of a custom model in half precision.

    Args:
        recipe: of the run; it computes something in half.
        manifest: what was recorded of the run.
        emulated: whether half precision was emulated; said in the wording.
    """
    if not _count(manifest):
        return [untested(LEVEL, NAME, "no operations were recorded")]
    order = [call for call in manifest.order if call.name != "cast"]
    problems = list(dict.fromkeys((*_problems(recipe, order), *_beyond(recipe, manifest))))
    if problems:
        named = list(_briefly(problems[:MOST_NAMED]))
        more = [f"{len(problems) - len(named)} more"] if len(problems) > len(named) else []
        words = "; ".join((*named, *more))
        checks = [Check(level=LEVEL, name=NAME, result="fail", wording=words)]
    else:
        words = "; ".join(_fine(recipe, manifest, order, emulated))
        checks = [Check(level=LEVEL, name=NAME, result="pass", wording=words)]
    return [*checks, *_rest(manifest, len(order))]


def _briefly(problems: Sequence[str]) -> Iterator[str]:
    """Give the reason that several have with the first of them alone."""
    told = False
    for problem in problems:
        yield problem.removesuffix(BY_ITSELF) if told else problem
        told = told or problem.endswith(BY_ITSELF)


def evaluated_operations(
    recipe: Recipe, manifest: Manifest
) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """Divide an evaluation into operations that are judged and those that cannot be.

    No gradient tells there which numbers depend on weights, but the model is the same.

    Returns:
        The products, without those that the forward pass computes of constants; other operations
        with half numbers that the forward pass does not have in the same types.
    """
    constant = {
        call.name
        for call in manifest.order
        if call.name in CLASSES[MATMUL] and call.output == "float32" and not call.learned
    }
    products = tuple(
        product
        for product in manifest.evaluation.get(MATMUL, ())
        if product.name not in constant or product.output == recipe.half
    )
    forward = (operation for alike in manifest.operations.values() for operation in alike)
    known = set(map(_signature, forward))
    unlike = tuple(
        operation
        for kind, alike in manifest.evaluation.items()
        for operation in alike
        if kind not in (MATMUL, "casts")
        and {*operation.inputs, operation.output} & {*HALF}
        and _signature(operation) not in known
    )
    return products, unlike


def _signature(operation: Operation) -> tuple[str, tuple[str, ...], str]:
    return operation.name, operation.inputs, operation.output


def class_of(call: OrderedCall) -> str:
    """Return the class of `precision.ops` in which a call is judged; sums of streams apart."""
    if call.lookups:
        return "embeddings"
    if call.name in SUMS and call.whole:
        return "residual"
    kind = next((kind for kind, names in CLASSES.items() if call.name in names), "pointwise")
    return "lookups" if kind == "embeddings" else kind


def _problems(recipe: Recipe, order: Calls) -> Iterator[str]:
    for call in order:
        kind = class_of(call)
        if call.output in HALF and call.output != recipe.half and call.learned:
            yield f"{_at(call)} ({kind}) in {call.output}, not {recipe.half}"
        elif kind == MATMUL:
            if call.output != recipe.half and call.learned:
                yield f"{_at(call)} (matmul) computed in {call.output}, not {recipe.half}"
        elif kind == "losses":
            if call.output in HALF or call.rounded:
                yield f"{_at(call)} (losses) {_how(call)}, not float32"
        elif kind in JUDGED and _is_rounded(call, kind) and not _stores_half(recipe, kind):
            yield f"{_at(call)} ({kind}) {_how(call)}{BY_ITSELF}"
    yield from _missing(recipe, order)


def _beyond(recipe: Recipe, manifest: Manifest) -> Iterator[str]:
    """Judge products whose order was not kept."""
    kept = Counter(
        (call.name, call.output) for call in manifest.order if call.name in CLASSES[MATMUL]
    )
    for operation in manifest.operations.get(MATMUL, ()):
        count = operation.count - kept[operation.name, operation.output]
        kept[operation.name, operation.output] -= operation.count - max(count, 0)
        if count > 0 and operation.output != recipe.half:
            yield f"{operation.name} (matmul) computed in {operation.output}, not {recipe.half}"


def _missing(recipe: Recipe, order: Calls) -> Iterator[str]:
    """Say that no sum is in half where the recipe has the residual stream in half."""
    sums = [call for call in order if class_of(call) == "residual" and call.learned]
    if recipe.precision.ops.residual != "half" or not sums:
        return
    if not any(call.output in HALF or call.rounded for call in order if class_of(call) in JUDGED):
        yield f"residual: all {len(sums)} sums are kept in float32, where the recipe has half"


def _stores_half(recipe: Recipe, kind: str) -> bool:
    """Whether the recipe lets a class be stored in half; what the stream gets is the stream's."""
    types = recipe.precision.ops
    return (
        recipe.precision.mode == "full"
        or types.residual == "half"
        or getattr(types, kind) != "float32"
    )


def _is_rounded(call: OrderedCall, kind: str) -> bool:
    """Whether something was rounded for a call; a kernel in half rounds a reduction's result."""
    return call.rounded or (kind != "reductions" and _is_made_half(call))


def _is_made_half(call: OrderedCall) -> bool:
    return call.output in HALF and call.plain == "float32"


def _at(call: OrderedCall) -> str:
    return f"{call.name}{f' of {call.place}' if call.place else ''}"


def _how(call: OrderedCall) -> str:
    rounded = " of what was cast to half" if call.rounded and call.output not in HALF else ""
    return f"in {call.output}{rounded}"


def _fine(recipe: Recipe, manifest: Manifest, order: Calls, emulated: bool) -> Iterator[str]:
    """Tell the types of a right model: products by the recipe, the rest by what made them."""
    how = ", as the script asks; rounded by the emulation" if emulated else ""
    yield f"{_count(manifest, (MATMUL,))} products in the types of the recipe{how}"
    others = [call for call in order if class_of(call) != MATMUL]
    own = [call for call in others if _is_made_half(call)]
    wide = sum(call.output == "float32" for call in others)
    types = f"{wide} in float32, {len(others) - wide} in {recipe.half}"
    yield f"{len(others)} other operations as autocast or policy and the recipe have them ({types})"
    if own:
        yield f"{len(own)} of them in {recipe.half} by the model's own casts, as {_at(own[0])}"
    float32 = [call for call in order if class_of(call) == MATMUL and call.output == "float32"]
    if float32:
        yield f"{len(float32)} products of constants in float32"


def _count(manifest: Manifest, kinds: Collection[str] = tuple(CLASSES)) -> int:
    """Count the operations of some classes, without casts."""
    by_kind = (manifest.operations.get(kind, ()) for kind in kinds if kind != "casts")
    return sum(operation.count for operations in by_kind for operation in operations)


def _rest(manifest: Manifest, count: int) -> Iterator[Check]:
    """Count the operations that were not judged, and name what hides some."""
    beyond = _count(manifest) - count
    words = [f"{beyond} operations whose order was not recorded"] if beyond > 0 else []
    if manifest.closed:
        words.append(f"what runs inside of {', '.join(manifest.closed)} was not seen")
    if words:
        yield untested(LEVEL, f"{NAME}, the rest", "; ".join(words))
