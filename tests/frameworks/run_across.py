"""Train a program and what it was migrated to, from the same weights; print every loss.

Arguments: `source` and a folder with folders of programs, or a framework and that folder. A
program's folder has `weights.npz` with weights by neutral names, see `carried_weights`.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.carried_weights import fill


def weights_in(folder: Path) -> dict[str, np.ndarray]:
    return dict(np.load(folder / "weights.npz"))


def of_source(folder: Path) -> list[float]:
    """Run the program as it is, but with given weights."""
    losses: list[float] = []

    def filled(model: Any) -> None:
        fill(model, "torch", weights_in(folder))

    watch = types.ModuleType("watch")
    vars(watch).update(filled=filled, losses=losses)
    sys.modules["watch"] = watch
    text = (folder / "train.py").read_text()
    text = re.sub(r"^( *)model = .*\)$", r"\g<0>\n\1watch.filled(model)", text, flags=re.M)
    text = re.sub(
        r"^( *)loss\.backward\(\)$", r"\g<0>\n\1watch.losses.append(loss.item())", text, flags=re.M
    )
    code = compile(f"import watch\n{text}", "train.py", "exec")
    exec(code, {"__name__": "__main__"})
    return losses


def of_target(folder: Path, framework: str) -> list[float]:
    """Run the new script, whose model gets the same weights."""
    place = folder / "out" / framework
    sys.path.insert(0, str(place))
    try:
        own: Any = importlib.import_module("own_model")
        build = own.build_model

        def build_model(*given: Any) -> Any:
            model = build(*given)
            fill(model, framework, weights_in(folder))
            return model

        own.build_model = build_model
        train: Any = importlib.import_module("train")
        output = folder / f"run-{framework}"
        code = train.main(["--output", str(output)])
        assert code in (0, None), code
        lines = (output / "trace.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines]
    finally:
        sys.path.remove(str(place))
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(place)):
                del sys.modules[name]


def main() -> None:
    side, root = sys.argv[1], Path(sys.argv[2]).absolute()
    found = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        os.chdir(folder)
        found[folder.name] = of_source(folder) if side == "source" else of_target(folder, side)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
