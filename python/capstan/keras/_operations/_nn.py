"""keras.ops.nn: activations, convolutions, pooling, losses, normalisation and attention."""

import numpy as np

import capstan as tf

from . import _numpy as knp
from ._by_numpy import by_numpy
from ._core import cast, convert_to_tensor
from ._numpy import _floating
from ._rules import epsilon, result_type, standardize_data_format, standardize_dtype

OPS = tf._ops.OPS


def _activation(name, op):
    def function(x):
        return op(_floating(x))
    function.__name__ = function.__qualname__ = name
    return function


for _name in "sigmoid softplus softsign silu log_sigmoid hard_sigmoid hard_silu tanh_shrink sparse_sigmoid sparse_plus selu tanh".split():
    globals()[_name] = _activation(_name, OPS[_name])
hard_tanh = _activation("hard_tanh", OPS["hard_tanh"])


def relu(x):
    return tf.nn.relu(convert_to_tensor(x))


def relu6(x):
    return tf.nn.relu6(convert_to_tensor(x))


def leaky_relu(x, negative_slope=0.2):
    return tf.nn.leaky_relu(_floating(x), alpha=negative_slope)


def soft_shrink(x, threshold=0.5):
    x = _floating(x)
    return tf.where(x > threshold, x - threshold, tf.where(x < -threshold, x + threshold, tf.zeros_like(x)))


def hard_shrink(x, threshold=0.5):
    x = _floating(x)
    return tf.where(tf.abs(x) > threshold, x, tf.zeros_like(x))


def squareplus(x, b=4):
    x = _floating(x)
    return (x + tf.sqrt(tf.square(x) + b)) / 2.0


def elu(x, alpha=1.0):
    x = _floating(x)
    return tf.where(x > 0.0, x, alpha * tf.expm1(tf.minimum(x, tf.zeros_like(x))))


def celu(x, alpha=1.0):
    x = _floating(x)
    return tf.maximum(x, tf.zeros_like(x)) + alpha * tf.expm1(tf.minimum(x, tf.zeros_like(x)) / alpha)


def gelu(x, approximate=True):
    return tf.nn.gelu(_floating(x), approximate=approximate)


def glu(x, axis=-1):
    x = convert_to_tensor(x)
    if x.shape[axis] % 2 != 0:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}")
    first, second = tf.split(x, 2, axis=axis)
    return first * tf.sigmoid(second)


def threshold(x, threshold, default_value):
    x = _floating(x)
    return tf.where(x > threshold, x, convert_to_tensor(default_value, x.dtype))


def _along(x, axis, op):
    """An op along the last axis, along one or several axes or all."""
    x = _floating(x)
    if axis is None:
        return tf.reshape(op(tf.reshape(x, [-1])), x.shape)
    if isinstance(axis, int):
        return op(x, axis=axis)
    axes = [a % len(x.shape) for a in axis]
    rest = [i for i in range(len(x.shape)) if i not in axes]
    moved = tf.transpose(x, rest + axes)
    y = op(tf.reshape(moved, list(moved.shape)[:len(rest)] + [-1]))
    order = rest + axes
    return tf.transpose(tf.reshape(y, moved.shape), [order.index(i) for i in range(len(order))])


def softmax(x, axis=-1):
    return _along(x, axis, tf.nn.softmax)


def log_softmax(x, axis=-1):
    return _along(x, axis, tf.nn.log_softmax)


def sparsemax(x, axis=-1):
    return OPS["sparsemax"](_floating(x), axis=axis)


# --- windows ---

def _tuple(value, n):
    return [value] * n if isinstance(value, int) else list(value)


def _channels_last(x, data_format):
    """The images with channels last, and what turns a result back."""
    data_format = standardize_data_format(data_format)
    x = convert_to_tensor(x)
    if data_format == "channels_last":
        return x, lambda y: y
    rank = len(x.shape)
    return tf.transpose(x, [0] + list(range(2, rank)) + [1]), lambda y: tf.transpose(
        y, [0, rank - 1] + list(range(1, rank - 1)))


def _pool(kind, inputs, pool_size, strides, padding, data_format):
    x, back = _channels_last(inputs, data_format)
    n = len(x.shape) - 2
    size = _tuple(pool_size, n)
    steps = size if strides is None else _tuple(strides, n)
    op = getattr(tf.nn, f"{kind}_pool{n}d")
    wide = _floating(x)
    return cast(back(op(wide, size, steps, padding.upper())), x.dtype)


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool("max", inputs, pool_size, strides, padding, data_format)


def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool("avg", inputs, pool_size, strides, padding, data_format)


def _adaptive(op, inputs, output_size, data_format):
    x, back = _channels_last(inputs, data_format)
    return back(OPS[op](x, _tuple(output_size, len(x.shape) - 2)))


def adaptive_average_pool(inputs, output_size, data_format=None):
    return _adaptive("adaptive_average_pool", inputs, output_size, data_format)


def adaptive_max_pool(inputs, output_size, data_format=None):
    return _adaptive("adaptive_max_pool", inputs, output_size, data_format)


def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    x, back = _channels_last(inputs, data_format)
    kernel = convert_to_tensor(kernel)
    n = len(x.shape) - 2
    steps, spread = _tuple(strides, n), _tuple(dilation_rate, n)
    kind = result_type(x.dtype, kernel.dtype)
    x, kernel = cast(x, kind), cast(kernel, kind)
    if x.shape[-1] % kernel.shape[-2] != 0:
        raise ValueError("The number of input channels must be evenly divisible by kernel's in_channels. Received "
                         f"input channels {x.shape[-1]} and kernel in_channels {kernel.shape[-2]}. ")
    if n == 1:  # as images of one row, which take dilations
        if padding == "causal":
            x = tf.pad(x, [[0, 0], [(kernel.shape[0] - 1) * spread[0], 0], [0, 0]])
            padding = "valid"
        y = tf.nn.conv2d(tf.expand_dims(x, 1), tf.expand_dims(kernel, 0), [1] + steps, padding.upper(),
                         dilations=[1] + spread)
        return back(tf.squeeze(y, axis=[1]))
    op = tf.nn.conv2d if n == 2 else tf.nn.conv3d
    steps = steps if n == 2 else [1] + steps + [1]
    spread = spread if n == 2 else [1] + spread + [1]
    return back(op(x, kernel, steps, padding.upper(), dilations=spread))


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    x, back = _channels_last(inputs, data_format)
    kernel = convert_to_tensor(kernel)
    n = len(x.shape) - 2
    steps, spread = _tuple(strides, n), _tuple(dilation_rate, n)
    if n > 2:
        raise ValueError("`inputs` rank must be 3 (1D conv) or 4 (2D conv). Received: {}.".format(len(x.shape)))
    channels, multiplier = kernel.shape[-2], kernel.shape[-1]
    # As many groups as channels.
    kernel = tf.reshape(kernel, list(kernel.shape)[:-2] + [1, channels * multiplier])
    return back(conv(x, kernel, steps, padding, "channels_last", spread))


def separable_conv(inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None,
                   dilation_rate=1):
    y = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(y, pointwise_kernel, 1, "valid", data_format, 1)


def _transposed_length(length, kernel, step, spread, more, padding):
    """How long an axis of a transposed convolution's result is, `more` the output_padding of the axis or None."""
    extent = (kernel - 1) * spread + 1
    if more is None:
        return length * step + (max(extent - step, 0) if padding == "valid" else 0)
    return (length - 1) * step + extent + more - (0 if padding == "valid" else 2 * (extent // 2))


def conv_transpose(inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1):
    x, back = _channels_last(inputs, data_format)
    kernel = convert_to_tensor(kernel)
    n = len(x.shape) - 2
    steps, spread = _tuple(strides, n), _tuple(dilation_rate, n)
    more = [None] * n if output_padding is None else _tuple(output_padding, n)
    lengths = [_transposed_length(*of_axis, padding)
               for of_axis in zip(list(x.shape)[1:-1], list(kernel.shape)[:n], steps, spread, more)]
    shape = [x.shape[0]] + lengths + [kernel.shape[-2]]
    # The gradient of a convolution by its images.
    if n == 1:
        shape, x, kernel = [shape[0], 1] + shape[1:], tf.expand_dims(x, 1), tf.expand_dims(kernel, 0)
        steps, spread = [1] + steps, [1] + spread
    op = OPS["conv2d_backprop_input"] if n < 3 else OPS["conv3d_backprop_input"]
    y = op(kernel, x, shape, steps, padding.upper(), spread)
    return back(tf.squeeze(y, axis=[1]) if n == 1 else y)


# --- classes ---

def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with capstan")
    x = convert_to_tensor(x)
    x = cast(x, "int32") if standardize_dtype(x.dtype) not in ("int32", "int64") else x
    rank = len(x.shape)
    return cast(tf.one_hot(x, num_classes, axis=axis if axis >= 0 else axis + rank + 1), dtype or "float32")


def multi_hot(inputs, num_classes, axis=-1, dtype=None, sparse=False):
    x = convert_to_tensor(inputs)
    reduction = 1 if len(x.shape) > 1 else 0
    if axis not in (-1, len(x.shape) - 1) and len(x.shape) > 1:
        reduction = 1
    return knp.max(one_hot(cast(x, "int32"), num_classes, axis=axis, dtype=dtype, sparse=sparse), axis=reduction)


# --- losses ---

def _check_classes(target, output):
    if len(target.shape) != len(output.shape):
        raise ValueError("Arguments `target` and `output` must have the same rank (ndim). Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    if len(target.shape) < 1:
        raise ValueError("Arguments `target` and `output` must be at least rank 1. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    for a, b in zip(target.shape, output.shape):
        if a != b:
            raise ValueError("Arguments `target` and `output` must have the same shape. Received: "
                             f"target.shape={target.shape}, output.shape={output.shape}")


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    _check_classes(target, output)
    target = cast(target, output.dtype)
    if from_logits:
        log_prob = tf.nn.log_softmax(output, axis=axis)
    else:
        output = output / tf.reduce_sum(output, axis=axis, keepdims=True)
        log_prob = tf.log(tf.clip_by_value(output, epsilon(), 1.0 - epsilon()))
    return -tf.reduce_sum(target * log_prob, axis=axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = convert_to_tensor(target, "int64"), convert_to_tensor(output)
    if len(target.shape) == len(output.shape) and target.shape[-1] == 1:
        target = tf.squeeze(target, axis=[-1])
    if len(output.shape) < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}")
    last = axis % len(output.shape)
    if tuple(target.shape) != tuple(n for i, n in enumerate(output.shape) if i != last):
        raise ValueError("Arguments `target` and `output` must have the same shape up until the last dimension: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    if last != len(output.shape) - 1:
        output = knp.moveaxis(output, last, -1)
    if from_logits:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(target, output)
    output = output / tf.reduce_sum(output, axis=-1, keepdims=True)
    log_prob = tf.log(tf.clip_by_value(output, epsilon(), 1.0 - epsilon()))
    return -tf.reduce_sum(one_hot(target, output.shape[-1], dtype=output.dtype) * log_prob, axis=-1)


def binary_crossentropy(target, output, from_logits=False):
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    if tuple(target.shape) != tuple(output.shape):
        raise ValueError("Arguments `target` and `output` must have the same shape. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    target = cast(target, output.dtype)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(target, output)
    output = tf.clip_by_value(output, epsilon(), 1.0 - epsilon())
    return -(target * tf.log(output) + (1.0 - target) * tf.log(1.0 - output))


# --- normalisation ---

def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with capstan.")
    x = convert_to_tensor(x)
    narrow = standardize_dtype(x.dtype) == "bfloat16"
    wide = cast(x, "float32") if narrow else x
    mean, variance = tf.nn.moments(wide, list(axes) if not isinstance(axes, int) else [axes], keepdims=keepdims)
    return (cast(mean, x.dtype), cast(variance, x.dtype)) if narrow else (mean, variance)


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = convert_to_tensor(x)
    shape = [1] * len(x.shape)
    shape[axis] = -1

    def row(v):
        return None if v is None else tf.reshape(convert_to_tensor(v, x.dtype), shape)
    factor = tf.rsqrt(row(variance) + epsilon)
    if scale is not None:
        factor = factor * row(scale)
    shift = -row(mean) * factor
    if offset is not None:
        shift = shift + row(offset)
    return x * factor + shift


# --- sequences ---

def ctc_loss(target, output, target_length, output_length, mask_index=0):
    target, output = convert_to_tensor(target, "int32"), convert_to_tensor(output)
    output = cast(output, result_type(output.dtype, "float32"))
    return tf.nn.ctc_loss(target, tf.transpose(output, [1, 0, 2]), convert_to_tensor(target_length, "int32"),
                          convert_to_tensor(output_length, "int32"), blank_index=mask_index)


ctc_decode = by_numpy("nn", "ctc_decode")


def psnr(x1, x2, max_val):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    if tuple(x1.shape) != tuple(x2.shape):
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation. ")
    error = tf.reduce_mean(tf.square(x1 - x2))
    return 20.0 * knp.log10(convert_to_tensor(max_val, x1.dtype)) - 10.0 * knp.log10(error)


# --- attention ---

def dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, flash_attention=None,
                          attn_logits_soft_cap=None):
    if flash_attention:
        raise ValueError("Flash attention is not supported in capstan.")
    query, key, value = (convert_to_tensor(x) for x in (query, key, value))
    if len(query.shape) != 4 or len(key.shape) != 4 or len(value.shape) != 4:
        raise ValueError("`dot_product_attention` only supports 4D inputs. Received: "
                         f"query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}.")
    kind = result_type(query.dtype, key.dtype, value.dtype, float)
    query, key, value = cast(query, kind), cast(key, kind), cast(value, kind)
    scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale
    if key.shape[2] != query.shape[2]:  # heads of keys and values that several queries share
        times = query.shape[2] // key.shape[2]
        key, value = (tf.repeat(x, times, axis=2) for x in (key, value))
    logits = tf.einsum("BTNH,BSNH->BNTS", query, key) * scale
    if attn_logits_soft_cap is not None:
        logits = tf.tanh(logits / attn_logits_soft_cap) * attn_logits_soft_cap
    if bias is not None:
        logits = logits + cast(convert_to_tensor(bias), kind)
    allowed = None if mask is None else convert_to_tensor(mask, "bool")
    if is_causal:
        causal = tf.constant(np.tri(query.shape[1], key.shape[1], dtype=bool)[None, None])
        allowed = causal if allowed is None else tf.logical_and(allowed, causal)
    if allowed is not None:
        low = knp._dtype_limits(logits.dtype)[0] * 0.7
        logits = tf.where(allowed, logits, convert_to_tensor(low, kind))
    wide = cast(logits, "float32") if standardize_dtype(kind) == "bfloat16" else logits
    return tf.einsum("BNTS,BSNH->BTNH", cast(tf.nn.softmax(wide), kind), value)


# --- patches ---

def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    x = convert_to_tensor(x)
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (_tuple(v, 2) for v in (kernel_size, dilation, padding, stride))
    x = tf.pad(x, [[0, 0], [0, 0], [ph, ph], [pw, pw]])
    rows = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1
    columns = (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    parts = [x[:, :, i * dh:i * dh + sh * (rows - 1) + 1:sh, j * dw:j * dw + sw * (columns - 1) + 1:sw]
             for i in range(kh) for j in range(kw)]
    patches = tf.stack(parts, axis=2)
    return tf.reshape(patches, [x.shape[0], x.shape[1] * kh * kw, rows * columns])


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    x = convert_to_tensor(x)
    (oh, ow), (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (
        _tuple(v, 2) for v in (output_size, kernel_size, dilation, padding, stride))
    rows = (oh + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    columns = (ow + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    channels = x.shape[1] // (kh * kw)
    parts = tf.reshape(x, [x.shape[0], channels, kh * kw, rows, columns])
    row = (np.arange(kh)[:, None, None, None] * dh + np.arange(rows)[None, None, :, None] * sh)
    column = (np.arange(kw)[None, :, None, None] * dw + np.arange(columns)[None, None, None, :] * sw)
    at = (row * (ow + 2 * pw) + column).reshape(-1).astype("int32")
    flat = tf.transpose(tf.reshape(parts, [x.shape[0] * channels, -1]))
    image = tf.transpose(tf.unsorted_segment_sum(flat, tf.constant(at), (oh + 2 * ph) * (ow + 2 * pw)))
    image = tf.reshape(image, [x.shape[0], channels, oh + 2 * ph, ow + 2 * pw])
    return image[:, :, ph:ph + oh, pw:pw + ow]


def depth_to_space(x, block_size, data_format="channels_last"):
    x, back = _channels_last(x, data_format)
    return back(tf.nn.depth_to_space(x, block_size))


def space_to_depth(x, block_size, data_format="channels_last"):
    x, back = _channels_last(x, data_format)
    return back(tf.nn.space_to_depth(x, block_size))


