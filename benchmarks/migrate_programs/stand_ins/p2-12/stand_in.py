"""A made-up corpus where the program downloads one, then the program itself."""

import os
import runpy
import sys
from pathlib import Path

import numpy

os.chdir("junior_class/chapter-5-NLP/code")
random = numpy.random.RandomState(1)
words = [f"word{number}" for number in range(40)] + ["movie", "one", "chip"]
Path("data").mkdir(exist_ok=True)
Path("data/text8.txt").write_text(" ".join(random.choice(words, 60000)))
sys.path.insert(0, ".")
runpy.run_path("train.py", run_name="__main__")
