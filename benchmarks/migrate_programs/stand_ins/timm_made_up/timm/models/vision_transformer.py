import torch

from timm.models.layers import PatchEmbed


class Attention(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv, self.proj = torch.nn.Linear(dim, 3 * dim), torch.nn.Linear(dim, dim)

    def forward(self, tokens):
        parts = self.qkv(tokens).chunk(3, dim=-1)
        return self.proj(torch.nn.functional.scaled_dot_product_attention(*parts))


class Block(torch.nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=4.0, norm_layer=torch.nn.LayerNorm, **more):
        super().__init__()
        self.norm, self.attn, self.mlp = norm_layer(dim), Attention(dim), torch.nn.Linear(dim, dim)

    def forward(self, tokens):
        tokens = tokens + self.attn(self.norm(tokens))
        return tokens + self.mlp(torch.nn.functional.gelu(tokens))


class VisionTransformer(torch.nn.Module):
    num_tokens = 1

    def __init__(
        self, num_classes=10, embed_dim=16, num_heads=1, embed_layer=PatchEmbed, depth=1, **more
    ):
        super().__init__()
        self.embed_dim = embed_dim
        self.patch_embed = embed_layer(img_size=32, embed_dim=embed_dim)
        self.cls_token = torch.nn.Parameter(torch.zeros(1, 1, embed_dim))
        count = self.patch_embed.num_patches + 1
        self.pos_embed = torch.nn.Parameter(torch.zeros(1, count, embed_dim))
        self.block = Block(embed_dim, num_heads)
        self.head = torch.nn.Linear(embed_dim, num_classes)

    def forward(self, images):
        tokens = self.patch_embed(images)
        first = self.cls_token.expand(len(tokens), -1, -1)
        return self.head(self.block(torch.cat([first, tokens], dim=1) + self.pos_embed)[:, 0])


def _cfg(*ignored, **more):
    return {}
