"""A made-up corpus where the program downloads one, then the program itself."""

import os
import runpy
import sys

import numpy

os.chdir("junior_class/chapter-5-NLP/code")
random = numpy.random.RandomState(1)
words = ["word%d" % number for number in range(40)] + ["movie", "one", "chip"]
os.makedirs("data", exist_ok=True)
with open("data/text8.txt", "w") as corpus:
    corpus.write(" ".join(random.choice(words, 60000)))
sys.path.insert(0, ".")
runpy.run_path("train.py", run_name="__main__")
