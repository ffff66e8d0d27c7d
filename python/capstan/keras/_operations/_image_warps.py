"""keras.ops.image: images looked at elsewhere than at their pixels. All has gradients, as in Keras on TensorFlow."""
import itertools
import math

import capstan as tf

from ._core import cast, convert_to_tensor
from ._nn import _channels_last
from ._rules import is_float_dtype, result_type

_INTERPOLATIONS = ("nearest", "bilinear")
_LINEAR, _CUBIC = ("linear", "bilinear", "trilinear", "triangle"), ("cubic", "bicubic", "tricubic")
_EPSILON = 1000.0 * 2.0 ** -23


def _images_of(function, images, data_format):
    """What a function of images [batch, height, width, channels] makes of those, or of one."""
    images = convert_to_tensor(images)
    if len(images.shape) not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received "
                         f"input with shape: images.shape={images.shape}")
    single = len(images.shape) == 3
    x, back = _channels_last(tf.expand_dims(images, 0) if single else images, data_format)
    y = back(function(x))
    return tf.squeeze(y, axis=[0]) if single else y


def _in_floats(function, x, rounds=True):
    """What a function of floating numbers makes of others; back in their dtype, to the nearest one."""
    y = function(x if x.dtype in (tf.float32, tf.float64) else cast(x, "float32"))
    return cast(tf.round(y) if rounds and not is_float_dtype(x.dtype) else y, x.dtype)


def _warped(images, transform, interpolation, fill_mode, fill_value):
    """Images [batch, height, width, channels], warped as tf.image.affine_transform does."""
    return _in_floats(lambda x: tf.image.affine_transform(x, cast(transform, x.dtype), interpolation, fill_mode,
                                                         float(fill_value)), images)


def _points(name, points):
    points = convert_to_tensor(points, "float32")
    if len(points.shape) not in (2, 3) or tuple(points.shape)[-2:] != (4, 2):
        raise ValueError(f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. Received shape: "
                         f"{points.shape}")
    return points


def compute_homography_matrix(start_points, end_points):
    """The eight numbers of the projective maps that bring four end points (x, y) to four start points: [batch, 8]."""
    start, end = _points("start_points", start_points), _points("end_points", end_points)
    x, y = end[..., 0], end[..., 1]
    one, none = tf.ones_like(x), tf.zeros_like(x)
    to_x, to_y = start[..., 0], start[..., 1]
    # u (c0 x + c1 y + 1) = a0 x + a1 y + a2, and the same for v, of each point.
    rows = tf.concat([tf.stack([x, y, one, none, none, none, -to_x * x, -to_x * y], -1),
                      tf.stack([none, none, none, x, y, one, -to_y * x, -to_y * y], -1)], -2)
    return tf.reshape(tf.linalg.solve(rows, tf.expand_dims(tf.concat([to_x, to_y], -1), -1)), [-1, 8])


def perspective_transform(images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None):
    """Images warped so that the start points (x, y) come to the end points."""
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(f"Invalid value for argument `interpolation`. Expected of one {set(_INTERPOLATIONS)}. Received: "
                         f"interpolation={interpolation}")

    def brought(x):
        start, end = _points("start_points", start_points), _points("end_points", end_points)
        if start.shape != end.shape:
            raise ValueError("start_points and end_points must have the same shape. Received start_points.shape="
                             f"{start.shape}, end_points.shape={end.shape}")
        return _warped(x, compute_homography_matrix(start, end), interpolation, "constant", fill_value)
    return _images_of(brought, images, data_format)


def _inside(index, length, fill_mode):
    """Positions along an axis that are on it, for any."""
    if fill_mode == "wrap":
        return tf.math.floormod(index, length)
    if fill_mode == "reflect":  # d c b a | a b c d | d c b a
        place = tf.math.floormod(index, 2 * length)
        return tf.minimum(place, 2 * length - 1 - place)
    if fill_mode == "mirror" and length > 1:  # d c b | a b c d | c b a
        place = tf.math.floormod(index, 2 * length - 2)
        return tf.minimum(place, 2 * length - 2 - place)
    return tf.clip_by_value(index, 0, length - 1)


def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0.0):
    """The tensor at coordinates [rank, ...], at the nearest element (order 0) or linear between them (order 1).

    Outside it goes on as `fill_mode` says: "constant" (fill_value), "nearest", "wrap", "mirror" (without the edge twice),
    "reflect" (with it), as scipy.ndimage's "grid-constant", "nearest", "grid-wrap", "mirror" and "reflect".
    """
    inputs = convert_to_tensor(inputs)
    coordinates = convert_to_tensor(coordinates)
    lengths = list(inputs.shape)
    if len(coordinates.shape) < 2:
        raise ValueError("Invalid coordinates rank: expected at least rank 2. Received input with shape: "
                         f"{coordinates.shape}")
    if coordinates.shape[0] != len(lengths):
        raise ValueError("First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs with shape: "
                         f"{inputs.shape} and coordinate leading dim of {coordinates.shape[0]}")
    if fill_mode not in ("constant", "nearest", "wrap", "mirror", "reflect"):
        raise ValueError("Invalid value for argument `fill_mode`. Expected one of {'constant', 'nearest', 'wrap', "
                         f"'mirror', 'reflect'}}. Received: fill_mode={fill_mode}")
    if order not in (0, 1):
        raise NotImplementedError("map_coordinates currently requires order<=1")

    def sampled(x):
        corners = []  # of each axis: the positions on it, whether they are, and their weights
        for at, length in zip(tf.unstack(cast(coordinates, x.dtype)), lengths):
            low = tf.floor(at) if order == 1 else tf.round(at)
            sides = [(low, 1 - (at - low)), (low + 1, at - low)] if order == 1 else [(low, None)]
            indices = [(cast(side, "int32"), weight) for side, weight in sides]
            corners.append([(_inside(i, length, fill_mode), tf.logical_and(i >= 0, i < length), weight)
                            for i, weight in indices])
        total = 0
        for corner in itertools.product(*corners):
            value = tf.gather_nd(x, tf.stack([index for index, _, _ in corner], -1))
            if fill_mode == "constant":
                on_all = corner[0][1]
                for _, is_on, _ in corner[1:]:
                    on_all = tf.logical_and(on_all, is_on)
                value = tf.where(on_all, value, tf.cast(fill_value, value.dtype))
            for _, _, weight in corner:
                value = value if weight is None else value * weight
            total = total + value
        return total
    return _in_floats(sampled, inputs)


def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    """Images [batch, height, width, channels], each pixel the mean of those around it under a Gaussian."""
    def window(length, deviation):
        weights = [math.exp(-0.5 * ((i - (length - 1) / 2) / deviation) ** 2) for i in range(length)]
        return [weight / sum(weights) for weight in weights]

    def blurred(x):
        channels = x.shape[-1]
        # The first length and deviation are those of rows in the window, as Keras has them.
        across, down = window(int(kernel_size[0]), float(sigma[0])), window(int(kernel_size[1]), float(sigma[1]))
        table = tf.reshape(tf.constant([d * a for d in down for a in across], x.dtype),
                           [int(kernel_size[0]), int(kernel_size[1]), 1, 1])
        return tf.nn.depthwise_conv2d(x, tf.tile(table, [1, 1, channels, 1]), [1, 1, 1, 1], "SAME")
    return _images_of(lambda x: _in_floats(blurred, x), images, data_format)


def _weights(method, distance):
    """What elements at distances from a sample count, before they are made to add up to 1."""
    if method in _LINEAR:
        return tf.maximum(tf.zeros_like(distance), 1 - distance)
    if method in _CUBIC:
        near = ((1.5 * distance - 2.5) * distance) * distance + 1.0
        far = ((-0.5 * distance + 2.5) * distance - 4.0) * distance + 2.0
        return tf.where(distance < 1.0, near, tf.where(distance < 2.0, far, tf.zeros_like(distance)))
    radius = 3.0 if method == "lanczos3" else 5.0
    angle = math.pi * tf.maximum(distance, 1e-3)
    value = radius * tf.sin(angle) * tf.sin(angle / radius) / tf.square(angle)
    inner = tf.where(distance > 1e-3, value, tf.ones_like(value))
    return tf.where(distance > radius, tf.zeros_like(inner), inner)


def scale_and_translate(images, output_shape, scale, translation, spatial_dims, method, antialias=True):
    """Images scaled and moved along axes, as jax.image.scale_and_translate does: a product with weights along each."""
    if method not in (*_LINEAR, *_CUBIC, "lanczos3", "lanczos5"):
        raise ValueError(f"Invalid value for argument `method`. Received: method={method}")
    images, scale, translation = map(convert_to_tensor, (images, scale, translation))
    kind = result_type(scale.dtype, translation.dtype, "float32")
    scale, translation = cast(scale, kind), cast(translation, kind)
    rank = len(images.shape)

    def moved(x):
        for number, axis in enumerate(spatial_dims):
            axis %= rank
            rows, columns = x.shape[axis], int(output_shape[axis])
            step = 1.0 / scale[number]
            width = tf.maximum(step, tf.ones_like(step)) if antialias else tf.ones_like(step)
            at = (cast(tf.range(columns), kind) + 0.5) * step - translation[number] * step - 0.5
            distance = tf.abs(tf.expand_dims(at, 0) - tf.expand_dims(cast(tf.range(rows), kind), 1)) / width
            weights = _weights(method, distance)
            total = tf.reduce_sum(weights, axis=0, keepdims=True)
            some = tf.abs(total) > _EPSILON
            weights = tf.where(some, weights / tf.where(some, total, tf.ones_like(total)), tf.zeros_like(weights))
            is_on = tf.expand_dims(tf.logical_and(at >= -0.5, at <= rows - 0.5), 0)
            weights = cast(tf.where(is_on, weights, tf.zeros_like(weights)), x.dtype)
            x = tf.tensordot(x, weights, [[axis], [0]])
            x = tf.transpose(x, [*range(axis), rank - 1, *range(axis, rank - 1)])
        return x
    if is_float_dtype(images.dtype):
        return _in_floats(moved, images)
    low, high = cast(tf.reduce_min(images), "float32"), cast(tf.reduce_max(images), "float32")
    return cast(tf.clip_by_value(tf.round(moved(cast(images, "float32"))), low, high), images.dtype)
