"""The commands `crosscast check` and `crosscast show`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import JSON, options_of
from crosscast.cli.screens import show, show_head
from crosscast.messages.console import print_diagnostics, print_json

if TYPE_CHECKING:
    from crosscast.api.recipes import Check, LoadedRecipe


@options_of("recipes.check")
def check_command(check: Callable[..., Check], *, json: Annotated[bool, JSON] = False) -> int:
    """Check recipes and report all problems."""
    report = check()
    if json:
        print_diagnostics(report.diagnostics, as_json=True)
    else:
        show(report)
    return report.exit_code


@options_of("recipes.show")
def show_command(
    show_recipe: Callable[..., LoadedRecipe], *, json: Annotated[bool, JSON] = False
) -> None:
    """Print a recipe with every default and derived value written out."""
    shown = show_recipe()
    if json:
        print_diagnostics(shown.open)
        print_json(shown.to_json())
        return
    show_head(shown)
    print_diagnostics(shown.open)
    print(shown.text, end="")
