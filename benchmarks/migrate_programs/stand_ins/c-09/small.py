import models_mae


def mae_small(**more):
    sizes = {"embed_dim": 16, "depth": 1, "num_heads": 2}
    decoder = {f"decoder_{name}": size for name, size in sizes.items()}
    return models_mae.MaskedAutoencoderViT(32, 8, **sizes, **decoder, **more)


models_mae.mae_small = mae_small
