"""Train a program and what it was migrated to, from the same weights; print every loss.

Arguments: `source`, a folder with folders of programs, and their framework; or the framework of
the new scripts and that folder. A program's folder has `weights.npz` with weights by neutral names,
see `carried_weights`.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.carried_weights import fill


def weights_in(folder: Path) -> dict[str, np.ndarray]:
    return dict(np.load(folder / "weights.npz"))


LOSSES: list[float] = []
"""Of the program that is running."""


def watch_keras() -> None:
    """Let `fit` of Keras tell the loss of every batch, not the mean of those so far."""
    import keras

    class Told(keras.callbacks.Callback):  # type: ignore[misc]  # it has no types
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.model.reset_metrics()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            LOSSES.append(float(logs["loss"]))

    fit = keras.Model.fit
    keras.Model.fit = lambda *given, **named: fit(*given, callbacks=[Told()], **named)


def watch_paddle() -> None:
    """Let `fit` of Paddle tell the loss of every batch."""
    import paddle

    class Told(paddle.callbacks.Callback):  # type: ignore[misc]  # it has no types
        def on_train_batch_end(self, step: int, logs: Any = None) -> None:
            LOSSES.append(float(logs["loss"][0]))

    fit = paddle.Model.fit
    paddle.Model.fit = lambda *given, **named: fit(*given, callbacks=[Told()], **named)


WATCHES = {"tensorflow": watch_keras, "paddle": watch_paddle}


class Watched(ast.NodeTransformer):
    """Gives the model its weights, and keeps the loss of every update of a loop."""

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        added = {
            "model": "import watch; watch.filled(model)",
            "loss": "import watch; watch.losses.append(float(loss))",
        }
        text = ast.unparse(node)
        word = text.partition(" = ")[0]
        watched = word == "model" or text.startswith("loss = train_step(")
        return [node, *(ast.parse(added[word]).body if watched else ())]

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        if ast.unparse(node) != "loss.backward()":
            return [node]
        return [node, *ast.parse("import watch; watch.losses.append(float(loss))").body]


def of_source(folder: Path, framework: str) -> list[float]:
    """Run the program as it is, but with given weights."""
    LOSSES.clear()

    def filled(model: Any) -> None:
        fill(getattr(model, "network", model), framework, weights_in(folder))

    watch = types.ModuleType("watch")
    vars(watch).update(filled=filled, losses=LOSSES)
    sys.modules["watch"] = watch
    tree = ast.parse((folder / "train.py").read_text())
    code = compile(ast.fix_missing_locations(Watched().visit(tree)), "train.py", "exec")
    exec(code, {"__name__": "__main__"})
    return list(LOSSES)


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
    if side == "source" and sys.argv[3] in WATCHES:
        WATCHES[sys.argv[3]]()
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        os.chdir(folder)
        is_source = side == "source"
        losses = of_source(folder, sys.argv[3]) if is_source else of_target(folder, side)
        found[folder.name] = losses
    print(json.dumps(found))


if __name__ == "__main__":
    main()
