from timm.models.registry import made


def create_model(name, pretrained=False, **settings):
    return made[name](**settings)
