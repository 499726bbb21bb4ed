"""The adapters: third-party trainers as contestants of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.messages.output import OutputFile, write_files
from crosscast.recipe.document import Recipe
from crosscast_parity.adapters.limits import limits

SCRIPTS = Path(__file__).parent / "scripts"
SHARED = {name: name for name in ("train.py", "rates.py")}
"""Files of `scripts` that every contestant has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One trainer.

    `framework`: whose emitted script lends data, model and optimizer. `packages`: distributions
    that its interpreter needs beside the framework. `requires`: the same with versions. `files`:
    name in the folder to a file of `scripts`.
    """

    name: str
    title: str
    framework: str
    packages: tuple[str, ...]
    requires: tuple[str, ...]
    files: Mapping[str, str]

    def limits(self, recipe: Recipe) -> tuple[Diagnostic, ...]:
        """Return the fields that it treats in its own way (CC737) or lacks (CC738, an error)."""
        return tuple(limits(self.name, recipe))

    def write(self, recipe: Recipe, folder: Path) -> tuple[Diagnostic, ...]:
        """Write the folder of a contestant; `train.py` in it honours the contract of the scripts.

        Args:
            recipe: what to train.
            folder: made when missing; what was written there before is replaced.

        Returns:
            Notes and warnings, those of the compiler included.

        Raises:
            DiagnosticError: CC738 for a recipe that the trainer has no way to express, and what
                the compiler refuses.
        """
        diagnostics = self.limits(recipe)
        if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
            raise DiagnosticError(*diagnostics)
        (compiled,) = compile_recipe(recipe.without_tracking(), [self.framework])
        files = {
            "emitted.py": compiled.files["train.py"],
            "model.py": compiled.files["model.py"],
            **{n: file for n, file in compiled.files.items() if n.startswith("runtime/")},
            "settings.json": OutputFile(json.dumps(self._settings(recipe), indent=2) + "\n"),
            "requirements.txt": OutputFile(
                compiled.files["requirements.txt"].text + "".join(f"{r}\n" for r in self.requires)
            ),
        }
        for name, source in {**SHARED, **self.files}.items():
            files[name] = OutputFile((SCRIPTS / source).read_text(encoding="utf-8"))
        write_files(folder, files, force=True)
        return (*diagnostics, *compiled.diagnostics)

    def _settings(self, recipe: Recipe) -> dict[str, Any]:
        scaling = recipe.loss_scaling
        return {
            "packages": self.packages,
            "requires": self.requires,
            "precision": recipe.precision.compute_dtype,
            "normalize_by": recipe.accumulation.normalize_by,
            "clipping": recipe.clipping.model_dump(mode="json"),
            "optimizer": recipe.optimizer.model_dump(mode="json"),
            "loss_scaling": scaling.model_dump(mode="json") if scaling.mode == "dynamic" else None,
        }


_TORCH_ROWS = {"torch_rows.py": "torch_rows.py"}
_ADAPTERS = (
    Adapter(
        name="accelerate",
        title="Accelerate",
        framework="torch",
        packages=("accelerate",),
        requires=("accelerate>=1.10",),
        files={"loop.py": "accelerate_loop.py", **_TORCH_ROWS},
    ),
    Adapter(
        name="transformers",
        title="HF Trainer",
        framework="torch",
        packages=("transformers", "accelerate"),
        requires=("transformers>=5.0", "accelerate>=1.10"),
        files={"loop.py": "transformers_loop.py", **_TORCH_ROWS},
    ),
    Adapter(
        name="lightning",
        title="Lightning Trainer",
        framework="torch",
        packages=("lightning",),
        requires=("lightning>=2.5",),
        files={"loop.py": "lightning_loop.py", **_TORCH_ROWS},
    ),
    Adapter(
        name="keras",
        title="Keras fit",
        framework="tensorflow",
        packages=(),
        requires=(),
        files={"loop.py": "keras_loop.py"},
    ),
)
ADAPTERS: Mapping[str, Adapter] = {adapter.name: adapter for adapter in _ADAPTERS}
"""By name, as in `--add NAME=PYTHON,adapter=accelerate`."""
