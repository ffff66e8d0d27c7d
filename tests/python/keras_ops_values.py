"""What functions of keras.ops give, for Keras and for this package alike: values, shapes and dtypes.

    python keras_ops_values.py      in an environment with keras 3.15 and tensorflow-cpu 2.21: writes keras_ops_values.json
"""
import json
import os
import pathlib

import numpy as np

PATH = pathlib.Path(__file__).parent / "keras_ops_values.json"

_rng = np.random.default_rng(0)
NAMES = {
    "np": np, "x": _rng.normal(size=(2, 3)).astype("float32"), "y": _rng.normal(size=(2, 3)).astype("float32"),
    "p": _rng.uniform(0.1, 0.9, (2, 3)).astype("float32"), "d": _rng.normal(size=(2, 3)), "i": np.array([[3, -1, 2], [0, 5, 4]], "int32"),
    "j": np.array([[1, 2, 3], [4, 2, 7]], "int32"), "t": np.array([[True, False, True], [False, False, True]]),
    "m": _rng.normal(size=(3, 3)).astype("float32"), "q": np.array([1.0, np.nan, -np.inf], "float32"),
    "c": (_rng.normal(size=(2, 3)) + 1j * _rng.normal(size=(2, 3))).astype("complex64"),
    "image": _rng.random((2, 6, 6, 3)).astype("float32"), "kernel": _rng.normal(size=(3, 3, 3, 4)).astype("float32"),
    "line": _rng.normal(size=(2, 7, 3)).astype("float32"), "tap": _rng.normal(size=(3, 3, 4)).astype("float32"),
}
NAMES["s"] = NAMES["m"] @ NAMES["m"].T + 3 * np.eye(3, dtype="float32")

_FLOATING = """arccos arcsin arctan arctanh cos cosh exp expm1 sin sinh tan tanh reciprocal sinc exp2 cbrt deg2rad rad2deg sigmoid
        softplus softsign silu log_sigmoid hard_sigmoid hard_silu tanh_shrink sparse_sigmoid sparse_plus selu relu relu6
        leaky_relu elu celu gelu soft_shrink hard_shrink hard_tanh squareplus erf ceil floor trunc sign fabs square negative
        absolute abs signbit nan_to_num isfinite isinf isnan round sum mean var std max min prod all any count_nonzero
        cumsum cumprod argmax argmin ravel flip sort argsort logsumexp""".split()
_TWO = """add subtract multiply divide true_divide divide_no_nan floor_divide mod fmod maximum minimum fmax fmin equal not_equal
        greater greater_equal less less_equal logical_and logical_or logical_xor arctan2 hypot logaddexp logaddexp2
        isclose""".split()

EXPRESSIONS = [f"ops.{name}(x * 0.5)" for name in _FLOATING] + [
    f"ops.{name}({arg})" for name in "sin exp sum mean max prod cumsum argmax square abs sort std floor all any".split()
    for arg in "it"] + [f"ops.{name}(i)" for name in "sign negative round relu".split()] + [
    f"ops.{name}({pair})" for name in _TWO for pair in ("x, y", "i, j", "i, 2", "x, 2")] + [
    f"ops.{name}({pair})" for name in ("add", "multiply", "divide", "maximum", "power") for pair in (
        "i, 2.5", "t, 1", "i, x", "d, x", "d, 1.5", "1, 2", "1.5, 2")] + """
    ops.log(p)|ops.log1p(p)|ops.log2(p)|ops.log10(p)|ops.sqrt(p)|ops.rsqrt(p)|ops.arccosh(1 + p)|ops.arcsinh(x)|ops.erfinv(p)
    ops.power(p, y)|ops.power(i, 2)|ops.clip(x, -0.5, 0.5)|ops.clip(i, 0, 3)|ops.real(c)|ops.imag(c)|ops.conj(c)|ops.angle(c)
    ops.abs(c)|ops.bitwise_and(i, j)|ops.bitwise_or(i, j)|ops.bitwise_xor(i, j)|ops.bitwise_not(i)|ops.bitwise_left_shift(j, 2)
    ops.bitwise_right_shift(j, 1)|ops.isposinf(q)|ops.isneginf(q)|ops.isnan(q)|ops.nan_to_num(q)|ops.nansum(q)|ops.nanmax(q)
    ops.sum(x, axis=1, keepdims=True)|ops.mean(x, axis=(0, 1))|ops.max(x, axis=-1)|ops.min(i, axis=0)|ops.amax(x, axis=0)
    ops.var(d, axis=1)|ops.average(x, axis=0, weights=np.array([1.0, 3.0], "float32"))|ops.median(x, axis=1)|ops.ptp(x, axis=1)
    ops.quantile(x, 0.3, axis=1)|ops.percentile(x, 30, axis=1)|ops.bincount(np.array([1, 2, 2, 5], "int32"))|ops.logsumexp(x, axis=1)
    ops.digitize(x, np.array([-1.0, 0.0, 1.0], "float32"))|ops.searchsorted(np.array([1.0, 2.0, 3.0], "float32"), np.array([0.5, 2.5], "float32"))
    ops.matmul(x, m)|ops.dot(x, m)|ops.inner(x, y)|ops.outer(x, y)|ops.vdot(x, y)|ops.tensordot(x, m, axes=1)|ops.einsum("ij,kj->ik", x, y)
    ops.kron(x, y)|ops.cross(x, y)|ops.trace(m)|ops.diagonal(m)|ops.diag(x[0])|ops.diag(m, k=1)|ops.diagflat(x)|ops.tril(m)|ops.triu(m, k=1)
    ops.ones((2, 3))|ops.zeros((2,), dtype="int32")|ops.full((2, 2), 7)|ops.full_like(i, 3)|ops.ones_like(i)|ops.zeros_like(x)|ops.eye(3)
    ops.eye(2, 3, k=1)|ops.identity(2)|ops.tri(3)|ops.arange(5)|ops.arange(1, 6, 2)|ops.arange(0.0, 1.0, 0.25)|ops.linspace(0, 1, 5)
    ops.linspace(0.0, 1.0, 4, endpoint=False)|ops.logspace(0, 2, 3)|ops.meshgrid(x[0], y[0])|ops.reshape(x, (3, 2))|ops.transpose(x)
    ops.transpose(image, (0, 3, 1, 2))|ops.swapaxes(image, 1, 2)|ops.moveaxis(image, -1, 1)|ops.expand_dims(x, 1)|ops.squeeze(x[:1])
    ops.concatenate([x, y], axis=0)|ops.concatenate([x, i], axis=1)|ops.stack([x, y], axis=1)|ops.hstack([x, y])|ops.vstack([x, y])
    ops.split(x, 3, axis=1)|ops.split(image, [1, 4], axis=1)|ops.array_split(x, 2, axis=1)|ops.append(x, y)|ops.tile(x, (2, 1))|ops.repeat(x, 2, axis=1)
    ops.pad(x, ((1, 0), (0, 2)))|ops.pad(x, ((1, 1), (1, 1)), mode="reflect")|ops.roll(x, 1, axis=1)|ops.rot90(x)|ops.flip(x, axis=1)|ops.take(x, [2, 0], axis=1)
    ops.take_along_axis(x, np.array([[0], [2]], "int32"), axis=1)|ops.where(t, x, y)|ops.where(t, x, 0)|ops.where(t, i, 1.5)|ops.nonzero(t)
    ops.select([t, x > 0], [x, y], default=2.0)|ops.argsort(x, axis=0)|ops.sort(x, axis=0)|ops.diff(x)|ops.broadcast_to(x[0], (4, 3))
    ops.array([1, 2])|ops.array([1.0, 2])|ops.convert_to_tensor([True, False])|ops.cast(x, "int32")|ops.cast(i, "float64")|ops.size(x)|ops.copy(x)
    ops.get_item(x, 1)|ops.unravel_index(np.array([1, 5], "int32"), (2, 3))|ops.trapezoid(x)|ops.correlate(x[0], y[0])
    ops.softmax(x)|ops.log_softmax(x, axis=0)|ops.glu(image[0, 0, :, :2])|ops.threshold(x, 0.1, 7.0)|ops.normalize(x)|ops.normalize(x, order=1)
    ops.one_hot(np.array([0, 2], "int32"), 3)|ops.multi_hot(np.array([[0, 2]], "int32"), 4)|ops.moments(x, axes=[0])|ops.moments(image, axes=[1, 2], keepdims=True)
    ops.binary_crossentropy(t.astype("float32"), p)|ops.binary_crossentropy(t.astype("float32"), x, from_logits=True)
    ops.categorical_crossentropy(t.astype("float32"), p)|ops.categorical_crossentropy(p, x, from_logits=True)
    ops.sparse_categorical_crossentropy(np.array([0, 2], "int32"), p)|ops.sparse_categorical_crossentropy(np.array([0, 2], "int32"), x, from_logits=True)
    ops.batch_normalization(x, x[0], p[0], -1, offset=y[0], scale=p[1])|ops.layer_normalization(x, p[0], y[0])|ops.rms_normalization(x, p[0])
    ops.max_pool(image, 2)|ops.max_pool(image, 3, strides=2, padding="same")|ops.average_pool(image, 2, strides=1)|ops.max_pool(line, 2)
    ops.conv(image, kernel)|ops.conv(image, kernel, strides=2, padding="same")|ops.conv(line, tap, dilation_rate=2)|ops.conv(line, tap, padding="same")
    ops.depthwise_conv(image, kernel[:, :, :, :2])|ops.separable_conv(image, kernel[:, :, :, :1], kernel[:1, :1, :, :])
    ops.conv_transpose(image, kernel.transpose(0, 1, 3, 2), strides=2)|ops.conv_transpose(image, kernel.transpose(0, 1, 3, 2), strides=2, padding="same")
    ops.conv_transpose(line, tap.transpose(0, 2, 1), strides=3)|ops.conv_transpose(image, kernel.transpose(0, 1, 3, 2), strides=2, output_padding=1)
    ops.dot_product_attention(image, image, image)|ops.dot_product_attention(image, image, image, is_causal=True)|ops.psnr(image, image * 0.9, 1.0)
    ops.top_k(x, 2)|ops.in_top_k(np.array([0, 2], "int32"), x, 2)|ops.segment_sum(x, np.array([1, 1], "int32"), 3)|ops.segment_max(x, np.array([0, 1], "int32"), 2)
    ops.qr(m)[1] ** 2|ops.extract_sequences(x, 2, 1)|ops.fft((x, y))|ops.fft2((m, m))|ops.rfft(x)|ops.irfft(ops.rfft(line[:, :6, 0]))|ops.stft(line[:, :, 0], 4, 2, 4)
    ops.norm(x)|ops.norm(x, axis=1)|ops.norm(x, ord=1, axis=1)|ops.norm(m, ord=2)|ops.norm(m, ord="nuc")|ops.logdet(s)|ops.view_as_complex(x[:, :2])|ops.view_as_real(c)
    ops.cholesky(s)|ops.det(s)|ops.inv(s)|ops.solve(s, m)|ops.solve_triangular(ops.cholesky(s), m, lower=True)|ops.eigh(s)[0]|ops.svd(m)[1]|ops.linalg.pinv(m)
    ops.scatter(np.array([[1], [3]], "int32"), x, (4, 3))|ops.scatter_update(x, np.array([[0, 1], [1, 2]], "int32"), np.array([7.0, 8.0], "float32"))
    ops.slice(x, [0, 1], [2, 2])|ops.slice_update(x, [0, 1], np.zeros((2, 2), "float32"))|ops.unstack(x)|ops.stop_gradient(x)|ops.shape(x)|ops.ndim(x)
    ops.cond(True, lambda: x, lambda: y)|ops.switch(1, [lambda a: a, lambda a: a * 2], x)|ops.map(lambda a: a * 2, x)|ops.vectorized_map(lambda a: ops.sum(a), x)
    ops.scan(lambda c, a: (c + a, c * 1.0), np.zeros(3, "float32"), x)|ops.fori_loop(0, 3, lambda i, v: v * 2, 1.5)|ops.while_loop(lambda n, v: n < 3, lambda n, v: (n + 1, v * 2), (0, 1.0))
    ops.image.resize(image, (4, 3))|ops.image.resize(image, (9, 9), interpolation="nearest")|ops.image.rgb_to_grayscale(image)|ops.image.rgb_to_hsv(image)
    ops.image.hsv_to_rgb(image)|ops.image.pad_images(image, 1, 2, 0, 1)|ops.image.pad_images(image, 1, 2, target_height=9, target_width=8)
    ops.image.crop_images(image, 1, 2, 0, 1)|ops.image.crop_images(image, top_cropping=1, left_cropping=2, target_height=4, target_width=3)
    ops.image.extract_patches(image, 2)|ops.image.extract_patches(image, (3, 3), strides=1, padding="same")|ops.image.affine_transform(image, np.array([1, 0.1, 0, 0, 1, 0.5, 0, 0], "float32"))
    ops.slogdet(m)|ops.lstsq(m, x[0])|ops.lstsq(m, m)|ops.image.sobel_edges(image)|ops.polar(p, x)|ops.swish(x)
    ops.abs(ops.eig(s)[0])|ops.nn.relu(x)|ops.numpy.add(x, y)|ops.linalg.det(s)|ops.saturate_cast(x * 300, "uint8")
    """.replace("\n", "|").split("|")
EXPRESSIONS = [text.strip() for text in EXPRESSIONS if text.strip()]


def _short(number):
    return float(f"{number:.9g}") if isinstance(number, float) else number


def leaves(value):
    """[shape, dtype, numbers] of the tensors in a result; complex numbers as their parts."""
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    if not hasattr(value, "dtype"):
        return [value]
    array = np.asarray(value)
    dtype = getattr(value.dtype, "name", str(value.dtype))
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    return [[list(array.shape), dtype, [None if v != v else str(v) if abs(v) == float("inf") else v
                                        for v in map(_short, array.ravel().tolist())]]]


def values(ops):
    """{expression: leaves}."""
    return {text: leaves(eval(text, {**NAMES, "ops": ops})) for text in EXPRESSIONS}


if __name__ == "__main__":
    os.environ["KERAS_BACKEND"] = "tensorflow"
    from keras import ops
    PATH.write_text(json.dumps(values(ops), separators=(",", ":")).replace('],"', '],\n"') + "\n")
