import torch


class SoftTargetCrossEntropy(torch.nn.CrossEntropyLoss):
    pass


class LabelSmoothingCrossEntropy(torch.nn.CrossEntropyLoss):
    def __init__(self, smoothing=0.1):
        super().__init__(label_smoothing=smoothing)
