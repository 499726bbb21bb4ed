import torch
from torchvision import transforms


class Mixup:
    """Rows without mixing; their labels become one of `num_classes`, smoothed."""

    def __init__(self, num_classes=1000, label_smoothing=0.1, **more):
        self.count, self.off = num_classes, label_smoothing

    def __call__(self, images, labels):
        one = torch.nn.functional.one_hot(labels, self.count).float()
        return images, one * (1 - self.off) + self.off / self.count


def create_transform(input_size, is_training=False, **more):
    steps = [transforms.RandomResizedCrop(input_size), transforms.ToTensor()]
    return transforms.Compose([*steps, transforms.Normalize([0.5], [0.25])])
