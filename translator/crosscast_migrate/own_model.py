"""The file for the user's model: a function to fill in, with the calls found in the source."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.targets.backend import load_backend
from crosscast_migrate.written_code import written_text

MODULE = "own_model"
FILE = f"{MODULE}.py"
TEST_FILE = f"test_{FILE}"
FACTORY = f"{MODULE}:build_model"


def stub(backend: str, seen: Sequence[tuple[str, str]], reason: str = "") -> str:
    """Return the text of the file, whose function raises an error until it is filled in.

    Args:
        backend: name; without a framework there are no type annotations.
        seen: locations and texts of the source's calls of its model.
        reason: why the model was not read.
    """
    backend_framework = load_backend(backend).framework
    framework = None if backend_framework is None else backend_framework.own_model
    lines = ['"""Your model. train.py imports build_model from here."""', ""]
    if framework is not None:
        lines += [framework.imported, "", ""]
    lines.append(f"def build_model(){f' -> {framework.returns}' if framework else ''}:")
    fresh = framework.fresh if framework is not None else "with fresh weights"
    lines.append(f'    """Return a model {fresh}.')
    if framework is not None:
        lines += ["", "    train.py calls it as", f"    {framework.called};"]
        lines.append(f"    it returns {framework.answer}, not probabilities.")
    if reason:
        lines += ["", "    It was not migrated:", f"    {_plain(reason)}."[:88]]
    if seen:
        lines += ["", "    The source calls its model here:", ""]
        lines += [f"    {_plain(place)}: {_plain(text)}"[:88].rstrip() for place, text in seen]
    lines += ['    """', "    raise NotImplementedError("]
    lines.append(f'        "{FILE}: write build_model(): migration does not carry the model"')
    lines.append("    )")
    return "\n".join(lines) + "\n"


def stub_test(backend: str) -> str:
    """Return a test that fails until the function is filled in; empty where nobody wrote one."""
    framework = load_backend(backend).framework
    test = framework.own_model.test if framework is not None else None
    if test is None:
        return ""
    return written_text(
        "own_model_test.py.j2", imported=test.imported, weights=test.learns, call=test.outputs
    )


def _plain(text: str) -> str:
    """Return source text escaped for an ASCII docstring."""
    shown = "".join(c if c.isascii() and c.isprintable() else "?" for c in text)
    return shown.replace("\\", "/").replace('"', "'")
