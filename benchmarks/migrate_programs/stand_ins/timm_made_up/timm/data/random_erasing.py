class RandomErasing:
    def __init__(self, *ignored, **more):
        pass

    def __call__(self, image):
        return image
