import torch


def resnet18(pretrained=False, num_classes=1000, **more):
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, num_classes),
    )


resnet50 = resnet18
