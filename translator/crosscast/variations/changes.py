"""Kinds of changes of one value of a recipe, and their application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

from crosscast.recipe import rules
from crosscast.recipe.document import Recipe

Data = dict[str, Any]


class Change(Protocol):
    """A kind of change of a value."""

    def values(self, current: Any) -> Iterator[Any]:
        """Yield other values; some may not be allowed in the field."""


@dataclass(frozen=True, slots=True)
class To:
    """Replace the value with fixed values."""

    others: tuple[Any, ...]

    def values(self, current: Any) -> Iterator[Any]:
        """Yield the values."""
        yield from self.others


@dataclass(frozen=True, slots=True)
class Times:
    """Multiply the value by factors; integers stay integers."""

    factors: tuple[float, ...]

    def values(self, current: Any) -> Iterator[Any]:
        """Yield the products, without rounding errors such as 1.0000000000000002e-06."""
        if not isinstance(current, int | float) or isinstance(current, bool):
            return
        for factor in self.factors:
            product = float(f"{current * factor:.12g}")
            yield round(product) if isinstance(current, int) else product


@dataclass(frozen=True, slots=True)
class Plus:
    """Add terms to the value."""

    terms: tuple[int, ...]

    def values(self, current: Any) -> Iterator[Any]:
        """Yield the sums."""
        if isinstance(current, int | float) and not isinstance(current, bool):
            yield from (current + term for term in self.terms)


@dataclass(frozen=True, slots=True)
class Flip:
    """Negate a boolean."""

    def values(self, current: Any) -> Iterator[Any]:
        """Yield the negated value."""
        if isinstance(current, bool):
            yield not current


@dataclass(frozen=True, slots=True)
class Roles:
    """No roles, one less, one more."""

    known: tuple[str, ...] = ("bias", "layer_norm", "embedding")

    def values(self, current: Any) -> Iterator[Any]:
        """Yield tuples of roles."""
        yield ()
        for role in self.known:
            if role in current:
                yield tuple(other for other in current if other != role)
            else:
                yield (*current, role)


@dataclass(frozen=True, slots=True)
class Groups:
    """No parameter groups, one less, or one with another rate or decay."""

    def values(self, current: Any) -> Iterator[Any]:
        """Yield tuples of groups."""
        if not current:
            return
        yield ()
        if len(current) > 1:
            yield tuple(reversed(current))
        for number, group in enumerate(current):
            before, after = current[:number], current[number + 1 :]
            yield (*before, *after)
            for change in self._changed_groups(group):
                yield (*before, {**group, **change}, *after)

    def _changed_groups(self, group: Mapping[str, Any]) -> Iterator[Data]:
        factor, decay = group["rate_factor"], group["weight_decay"]
        yield {"rate_factor": 1.0 if factor != 1.0 else 2.0}
        yield {"weight_decay": None if decay is not None else 0.0}
        if decay:
            yield {"weight_decay": 0.0}


@dataclass(frozen=True, slots=True)
class Weights:
    """No weights of classes, another one, the same in another order."""

    def values(self, current: Any) -> Iterator[Any]:
        """Yield tuples of weights."""
        if not current:
            return
        yield ()
        yield (2.0 * current[0], *current[1:])
        yield tuple(reversed(current))


def changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> Data:
    """Return a copy of the plain data of a recipe with other values at dotted paths.

    A path may end in the index of a tuple item, such as `optimizer.betas.1`.
    """
    result = dict(data)
    for path, value in changes.items():
        *sections, last = path.split(".")
        if last.isdigit():
            *sections, holder = sections
            items = list(value_at(result, ".".join([*sections, holder])))
            items[int(last)] = value
            last, value = holder, tuple(items)
        place = result
        for section in sections:
            place[section] = dict(place[section])  # do not modify the given data
            place = place[section]
        place[last] = value
    return result


def value_at(data: Data, path: str) -> Any:
    """Return the value at a dotted path.

    Raises:
        KeyError: There is no such field in this recipe.
    """
    place: Any = data
    for part in path.split("."):
        if isinstance(place, dict):
            place = place[part]
        elif isinstance(place, tuple | list):
            if int(part) >= len(place):
                raise KeyError(path)
            place = place[int(part)]
        else:
            raise KeyError(path)
    return place


def built(data: Mapping[str, Any]) -> tuple[Recipe, bool] | None:
    """Return the recipe of plain data and whether it is valid.

    None if a value is not allowed in its field.
    """
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError:
        return None
    return recipe, not rules.check(recipe)
