import numpy
import torch
from PIL import Image


class ImageFolder(torch.utils.data.Dataset):
    """96 images of noise in 4 classes."""

    classes = ("a", "b", "c", "d")

    def __init__(self, root, transform=None, **more):
        self.transform = transform or (lambda image: image)

    def __len__(self):
        return 96

    def __getitem__(self, index):
        noise = numpy.random.RandomState(index).randint(0, 255, (40, 40, 3), "uint8")
        return self.transform(Image.fromarray(noise)), index % 4


FakeData = CIFAR10 = CIFAR100 = LSUN = MNIST = ImageFolder
