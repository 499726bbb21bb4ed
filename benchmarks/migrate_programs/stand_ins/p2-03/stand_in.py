"""Made-up pictures and readers of one process, then the program for few epochs."""

import runpy
import sys
import types

import numpy
import paddle
from PIL import Image

sys.modules["cv2"] = types.ModuleType("cv2")
Image.ANTIALIAS = getattr(Image, "LANCZOS", 1)
random = numpy.random.RandomState(1)
with open("data/train_data.txt", "w") as listed:
    for number in range(64):
        pixels = random.randint(0, 100, (100, 100, 3)) + 12 * (number % 10)
        Image.fromarray(pixels.astype("uint8")).save("data/%d.png" % number)
        listed.write("./data/%d.png\t%d\n" % (number, number % 10))
paddle.reader.xmap_readers = lambda mapper, reader, *rest: paddle.reader.map_readers(mapper, reader)
text = open("train.py", encoding="utf-8").read().replace("epochs_num = 1000", "epochs_num = 10")
text = text.replace("batch_id != 0 and batch_id % 15 == 0", "True")
exec(compile(text, "train.py", "exec"), {"__name__": "__main__"})
