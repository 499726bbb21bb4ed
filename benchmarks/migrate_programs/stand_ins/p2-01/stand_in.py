"""Made-up digits, and a CPU where the program names a GPU; then the program itself."""

import runpy
import sys
from pathlib import Path

import numpy
import paddle
from PIL import Image


def digits(count):
    def reader():
        random = numpy.random.RandomState(1)
        for _ in range(count):
            label = random.randint(10)
            image = random.uniform(-1, 0, 784).astype("float32")
            image[label * 78 : label * 78 + 78] += 1
            yield image, int(label)

    return reader


class Digits:
    train = staticmethod(lambda: digits(64 * 22))
    test = staticmethod(lambda: digits(128))


paddle.dataset.mnist = Digits
Image.ANTIALIAS = getattr(Image, "LANCZOS", 1)
picture = Path("dygraph/mnist/image/infer_3.png")
picture.parent.mkdir(exist_ok=True)
Image.fromarray(numpy.zeros((28, 28), "uint8")).save(picture)
for package in (paddle, getattr(paddle, "fluid", None)):
    if hasattr(package, "CUDAPlace"):
        package.CUDAPlace = lambda number, cpu=package.CPUPlace: cpu()

sys.argv = sys.argv[1:]
sys.path.insert(0, str(Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
