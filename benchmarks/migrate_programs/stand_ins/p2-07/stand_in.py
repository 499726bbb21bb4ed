"""Made-up pictures and a silent log writer, then the program itself."""

import os
import pickle
import runpy
import sys
import types
from pathlib import Path

import numpy


class LogWriter:
    def __init__(self, **settings):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def add_scalar(self, **values):
        print(values)


sys.modules["visualdl"] = types.ModuleType("visualdl")
sys.modules["visualdl"].LogWriter = LogWriter
os.chdir("CV/PaddleFSL")
random = numpy.random.RandomState(1)
Path("data/CIFAR-FS").mkdir(parents=True, exist_ok=True)
labels = numpy.repeat(numpy.arange(8), 24)
images = random.randint(0, 60, (len(labels), 32, 32, 3)) + 20 * labels[:, None, None, None]
for part in ("train", "val", "test"):
    with Path(f"data/CIFAR-FS/CIFAR_FS_{part}.pickle").open("wb") as file:
        pickle.dump({"data": images.astype("uint8"), "labels": labels.tolist()}, file)
sys.argv = sys.argv[1:]
sys.path.insert(0, ".")
runpy.run_path("train.py", run_name="__main__")
