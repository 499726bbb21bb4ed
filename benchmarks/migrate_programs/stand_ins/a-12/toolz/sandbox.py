def unzip(rows):
    return zip(*rows, strict=True)
