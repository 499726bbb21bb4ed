"""Recipes of drawn sizes, and what the memory model says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

from crosscast.memory.estimate import estimate
from crosscast.memory.records import COMPONENTS, PHASES, Device, Estimate
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import find_target
from recipe_texts import recipe_of

DEVICES: st.SearchStrategy[Device] = st.sampled_from(("cpu", "cuda", "hopper"))


def estimated(recipe: Recipe, target: str, device: Device = "cpu") -> Estimate:
    return estimate(recipe, find_target(target), device=device)


def part(found: Estimate, name: str) -> int:
    """Bytes of a component."""
    return sum(component.bytes for component in found.components if component.name == name)


def adds_up(found: Estimate) -> None:
    """Assert that the components are what the peak consists of."""
    assert sum(component.bytes for component in found.components) == found.peak_bytes
    assert all(component.bytes > 0 for component in found.components)
    names = [component.name for component in found.components]
    assert names == [name for name in COMPONENTS if name in names]
    assert found.peak_phase in PHASES
    assert 0 < found.fixed_bytes <= found.forward_bytes <= found.peak_bytes < found.total


@st.composite
def small_berts(draw: st.DrawFn, choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Draw the fields of a recipe; `choices` are texts of further fields."""
    heads = draw(st.integers(1, 4))
    model = {
        "kind": "bert",
        "layers": draw(st.integers(1, 3)),
        "hidden_size": heads * draw(st.integers(1, 16)),
        "attention_heads": heads,
        "intermediate_size": draw(st.integers(1, 64)),
        "vocab_size": draw(st.integers(200, 500)),
        "labels": 3,
        "dropout": draw(st.sampled_from((0.0, 0.1))),
    }
    return {
        "model": "{" + ", ".join(f"{name}: {value}" for name, value in model.items()) + "}",
        "accumulation": f"{{steps: {draw(st.integers(1, 3))}}}",
        "data": f"{{source: synthetic, sequence_length: {draw(st.integers(9, 64))}}}",
        **{name: draw(st.sampled_from(texts)) for name, texts in choices.items()},
    }


def sized(fields: Mapping[str, str], rows: int, checkpointing: bool = False) -> Recipe:
    """Return the recipe of fields, with a micro-batch of some rows."""
    batch = f"{{micro_batch_size: {rows}}}"
    flag = str(checkpointing).lower()
    return recipe_of(**{**fields, "batch": batch, "activation_checkpointing": flag})


def grows(
    peak: Callable[[Recipe], int], fields: dict[str, str], rows: int, more: int, checkpointing: bool
) -> None:
    """Assert that neither more rows nor longer ones need less."""
    here = peak(sized(fields, rows, checkpointing))
    assert peak(sized(fields, rows + more, checkpointing)) >= here
    longer = fields | {"data": "{source: synthetic, sequence_length: 70}"}
    assert peak(sized(longer, rows, checkpointing)) >= here
