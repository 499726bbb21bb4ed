"""Made-up torchvision: images of noise, small networks, transforms that do little."""

from torchvision import datasets as datasets
from torchvision import models as models
from torchvision import transforms as transforms
from torchvision import utils as utils

__version__ = "0.0"
