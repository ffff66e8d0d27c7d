"""tf.image's functions that draw, from the stream of the process or from two seeds."""
from . import _modules, _ops, _streams
from ._convert import convert_to_tensor, dims
from ._dtypes import float32, int32

OPS = _ops.OPS


def _of_process(seed):
    def draw(shape, low=0.0, high=1.0, dtype=float32):
        return _modules.uniform(shape, low, high, dtype, seed)
    return draw


def _of_seeds(seed):
    def draw(shape, low=0.0, high=1.0, dtype=float32):
        return _streams.stateless_uniform(shape, seed, low, high, dtype)
    return draw


def _flipped(op, image, draw):
    image = convert_to_tensor(image)
    if image.shape.rank == 3:
        return OPS["where"](draw([]) < 0.5, OPS[op](image), image)
    coins = _ops.reshape(OPS["round"](draw([image.shape[0]])), [-1, 1, 1, 1])
    return OPS["where"](coins == 1.0, OPS[op](image), image)


def _brightened(name, image, max_delta, draw):
    if max_delta < 0:
        raise ValueError(f"{name}: max_delta {max_delta} must not be negative")
    image = convert_to_tensor(image)
    if not image.dtype.is_floating:
        raise ValueError(f"{name}: the image must be floating\n  help: tf.image.convert_image_dtype(image, tf.float32)")
    return image + _ops.cast(draw([], -float(max_delta), float(max_delta)), image.dtype)


def _factor(name, image, lower, upper, draw):
    if not 0 <= lower < upper:
        raise ValueError(f"{name}: lower {lower} and upper {upper} must be 0 <= lower < upper")
    return _ops.cast(draw([], float(lower), float(upper)), image.dtype)


def _contrasted(name, image, lower, upper, draw):
    image = convert_to_tensor(image)
    factor = _factor(name, image, lower, upper, draw)
    mean = OPS["reduce_mean"](image, [-3, -2], True)
    return (image - mean) * factor + mean


def _saturated(name, image, lower, upper, draw):
    image = convert_to_tensor(image)
    return OPS["image_adjust_saturation"](image, _factor(name, image, lower, upper, draw))


def _hued(name, image, max_delta, draw):
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"{name}: max_delta {max_delta} must be from 0 to 0.5")
    image = convert_to_tensor(image)
    return OPS["image_adjust_hue"](image, _ops.cast(draw([], -float(max_delta), float(max_delta)), image.dtype))


def _cropped(name, value, size, draw):
    value, size = convert_to_tensor(value), dims(size)
    if len(size) != value.shape.rank or any(n > have for n, have in zip(size, value.shape)):
        raise ValueError(f"{name}: {list(size)} does not fit into {tuple(value.shape)}")
    limits = [have - n + 1 for n, have in zip(size, value.shape)]
    begin = draw([len(size)], 0, 2**31 - 1, int32) % convert_to_tensor(limits, dtype=int32)
    for axis, (n, limit) in enumerate(zip(size, limits)):
        if limit > 1:
            value = _ops.gather(value, begin[axis] + _ops.range(n), axis=axis)
    return value


def random_flip_left_right(image, seed=None):
    """The image, or each image of a batch, mirrored with a chance of a half."""
    return _flipped("image_flip_left_right", image, _of_process(seed))


def stateless_random_flip_left_right(image, seed):
    """The image, or each image of a batch, mirrored with a chance of a half, by two seeds."""
    return _flipped("image_flip_left_right", image, _of_seeds(seed))


def random_flip_up_down(image, seed=None):
    """The image, or each image of a batch, upside down with a chance of a half."""
    return _flipped("image_flip_up_down", image, _of_process(seed))


def stateless_random_flip_up_down(image, seed):
    """The image, or each image of a batch, upside down with a chance of a half, by two seeds."""
    return _flipped("image_flip_up_down", image, _of_seeds(seed))


def random_brightness(image, max_delta, seed=None):
    """The image with a number added that is drawn between -max_delta and max_delta."""
    return _brightened("random_brightness", image, max_delta, _of_process(seed))


def stateless_random_brightness(image, max_delta, seed):
    """The image with a number added that is drawn between -max_delta and max_delta, by two seeds."""
    return _brightened("stateless_random_brightness", image, max_delta, _of_seeds(seed))


def random_contrast(image, lower, upper, seed=None):
    """The image with its distance from the mean times a number that is drawn."""
    return _contrasted("random_contrast", image, lower, upper, _of_process(seed))


def stateless_random_contrast(image, lower, upper, seed):
    """The image with its distance from the mean times a number that is drawn, by two seeds."""
    return _contrasted("stateless_random_contrast", image, lower, upper, _of_seeds(seed))


def random_saturation(image, lower, upper, seed=None):
    """The image with its saturation times a number that is drawn."""
    return _saturated("random_saturation", image, lower, upper, _of_process(seed))


def stateless_random_saturation(image, lower, upper, seed):
    """The image with its saturation times a number that is drawn, by two seeds."""
    return _saturated("stateless_random_saturation", image, lower, upper, _of_seeds(seed))


def random_hue(image, max_delta, seed=None):
    """The image with its hue turned by a number that is drawn between -max_delta and max_delta."""
    return _hued("random_hue", image, max_delta, _of_process(seed))


def stateless_random_hue(image, max_delta, seed):
    """The image with its hue turned by a number that is drawn between -max_delta and max_delta, by two seeds."""
    return _hued("stateless_random_hue", image, max_delta, _of_seeds(seed))


def random_crop(value, size, seed=None, name=None):
    """A part of this size at a place that is drawn."""
    return _cropped("random_crop", value, size, _of_process(seed))


def stateless_random_crop(value, size, seed, name=None):
    """A part of this size at a place that is drawn by two seeds."""
    return _cropped("stateless_random_crop", value, size, _of_seeds(seed))


NAMES = {name: value for name, value in globals().items() if name.startswith(("random_", "stateless_"))}
