"""A bench for the scaling law: runs of one process once, then several with a bug in them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from crosscast.emit.folders import compile_to_folders
from crosscast.recipe.document import Recipe
from crosscast_parity.scaling_law.judgement import Judge
from crosscast_parity.scaling_law.recipes import Subject, make_subject
from crosscast_parity.scaling_law.report import ShapeReport
from crosscast_parity.scaling_law.runs import Maker, Settings
from crosscast_parity.scaling_law.scenes import Scene, scenes_of

Edits = Sequence[tuple[str, str]]
STALL = 240.0


def subject_of(recipe: Recipe, windows: int = 8, place: Path = Path()) -> Subject:
    return make_subject(
        recipe, processes=None, windows=windows, stress=False, keep_model=False, folder=place
    )


class Bench:
    """The runs of one process of a recipe on a target, and a judge who knows them.

    `place`: folder of the recipe, where its own model is.
    """

    def __init__(
        self, folder: Path, recipe: Recipe, target: str, stall: float = STALL, place: Path = Path()
    ) -> None:
        self.folder = folder
        self.subject = subject_of(recipe, place=place)
        self.settings = Settings(
            folder=folder / "clean",
            compile_to=compile_to_folders,
            on_progress=lambda progress: None,
            stall=stall,
        )
        self.settings.folder.mkdir()
        self.maker = Maker(self.subject, target, self.settings)
        self.maker.compile()
        self.maker.write_inputs()
        self.plain, self.overflow = scenes_of(self.subject)
        self.alone = self.maker.alone((self.plain, self.overflow))
        ends = {key: made.outcome for key, made in self.alone.items()}
        assert all(outcome.complete for outcome in ends.values()), ends
        self.judge = Judge(self.subject, self.maker.inputs, self.alone, (self.plain, self.overflow))

    def run(self, name: str, scene: Scene, edits: Edits = ()) -> ShapeReport:
        """Run the recipe's own shape in processes, with some text of the script replaced."""
        shape = self.subject.shapes[-1]
        emitted = self.maker.emitted(shape)
        changed = self.folder / "scripts" / name
        shutil.copytree(emitted, changed)
        for old, new in edits:
            (path,) = (path for path in changed.rglob("*.py") if old in path.read_text())
            path.write_text(path.read_text().replace(old, new))
        made = self.maker.together(scene, shape, emitted=changed, name=name)
        return self.judge.report(scene, shape, made)
