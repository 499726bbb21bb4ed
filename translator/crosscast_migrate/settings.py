"""Recipe fields set on the command line: `optimizer.learning_rate=1e-4`."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.yaml_source import parse


def parse_settings(texts: Sequence[str]) -> dict[str, object]:
    """Return field to value of `PATH=VALUE` texts, with values in YAML syntax.

    Raises:
        DiagnosticError: CC970 for another syntax.
    """
    settings: dict[str, object] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        parts = path.strip().split(".")
        if not equals or not all(part.isidentifier() or part.isdigit() for part in parts):
            raise DiagnosticError(_wrong(text))
        try:
            data = parse(f"value: {value.strip()}\n", "--set").data
        except DiagnosticError:
            raise DiagnosticError(_wrong(text)) from None
        if not isinstance(data, dict) or set(data) != {"value"}:
            raise DiagnosticError(_wrong(text))
        setting = data["value"]
        settings[path.strip()] = list(setting) if isinstance(setting, tuple) else setting
    return settings


def _wrong(text: str) -> Diagnostic:
    return Diagnostic(
        code="CC970",
        message=f"--set {text!r} is not FIELD=VALUE",
        hint="for example --set schedule.total_steps=1000",
    )
