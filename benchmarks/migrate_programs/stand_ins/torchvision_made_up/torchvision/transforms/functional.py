def center_crop(images, size):
    top, left = ((a - b) // 2 for a, b in zip(images.shape[-2:], size, strict=True))
    return images[..., top : top + size[0], left : left + size[1]]


def normalize(images, mean, std):
    return (images - mean[0]) / std[0]
