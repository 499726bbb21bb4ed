import models.convnext as convnext


@convnext.register_model
def convnext_small_made_up(**settings):
    return convnext.ConvNeXt(depths=[1, 1, 1, 1], dims=[8, 8, 8, 8], **settings)
