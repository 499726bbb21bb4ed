"""Made-up pictures with masks and a configuration, then the program; cv2 reads by Pillow."""

import os
import runpy
import sys
import types
from pathlib import Path

import numpy
import PIL.Image

os.chdir("dygraph")
cv2 = types.ModuleType("cv2")
cv2.__getattr__ = lambda name: 0  # its constants, which nothing uses
cv2.COLOR_BGR2RGB = 4
cv2.imread = lambda path: numpy.asarray(PIL.Image.open(path).convert("RGB"))[..., ::-1]
cv2.cvtColor = lambda picture, code: picture[..., ::-1]
missing = {"cv2": cv2}
for name in ("filelock", "visualdl", "requests"):
    missing[name] = types.ModuleType(name)
missing["filelock"].FileLock = missing["visualdl"].LogWriter = None
for name, module in missing.items():
    sys.modules.setdefault(name, module)

rows = Path("made_up")
rows.mkdir(exist_ok=True)
random = numpy.random.RandomState(1)
lines = []
for number in range(8):
    mask = random.randint(0, 3, (8, 8)).repeat(8, 0).repeat(8, 1).astype("uint8")
    picture = mask[..., None] * 80 + random.randint(0, 40, (64, 64, 3))
    PIL.Image.fromarray(picture.astype("uint8")).save(rows / f"{number}.png")
    PIL.Image.fromarray(mask).save(rows / f"{number}_mask.png")
    lines.append(f"{number}.png {number}_mask.png")
(rows / "train.txt").write_text("\n".join(lines) + "\n")
(rows / "config.yml").write_text(
    """\
batch_size: 2
iters: 20
model:
  type: UNet
  num_classes: 3
train_dataset:
  type: Dataset
  dataset_root: made_up
  train_path: made_up/train.txt
  num_classes: 3
  mode: train
  transforms:
    - type: RandomHorizontalFlip
    - type: Normalize
optimizer:
  type: sgd
  momentum: 0.9
learning_rate:
  value: 0.01
  decay:
    type: poly
    power: 0.9
    end_lr: 0
loss:
  types:
    - type: CrossEntropyLoss
  coef: [1]
"""
)
sys.path.insert(0, ".")
sys.argv = ["train.py", "--config", "made_up/config.yml"]
runpy.run_path("train.py", run_name="__main__")
