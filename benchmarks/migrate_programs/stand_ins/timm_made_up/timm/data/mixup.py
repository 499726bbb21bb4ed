from timm.data import Mixup as Mixup
