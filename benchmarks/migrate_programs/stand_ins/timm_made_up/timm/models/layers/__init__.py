import torch

from timm.models.layers.helpers import to_2tuple

trunc_normal_ = torch.nn.init.trunc_normal_


class DropPath(torch.nn.Identity):
    pass


class PatchEmbed(torch.nn.Module):
    def __init__(self, img_size=32, patch_size=16, in_chans=3, embed_dim=16, **more):
        super().__init__()
        self.img_size, self.patch_size = to_2tuple(img_size), to_2tuple(patch_size)
        self.grid_size = tuple(a // b for a, b in zip(self.img_size, self.patch_size, strict=True))
        self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.proj = torch.nn.Conv2d(in_chans, embed_dim, patch_size, stride=patch_size)

    def forward(self, images):
        return self.proj(images).flatten(2).transpose(1, 2)
