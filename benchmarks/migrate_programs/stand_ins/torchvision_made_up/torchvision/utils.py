def save_image(*ignored, **more):
    pass


make_grid = save_image
