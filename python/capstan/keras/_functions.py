"""Functions of Keras beside its classes: metrics of single examples, layers as functions, and what prepares data."""
import numpy as np

from .. import _ops
from .._convert import convert_to_tensor, refuse
from ..data import Dataset


def _matches(a, b):
    return _ops.cast(_ops.equal(a, b), "float32")


def binary_accuracy(y_true, y_pred, threshold=0.5):
    """1 where a prediction is on the side of the threshold that its label says."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    predicted = _ops.cast(y_pred > threshold, y_pred.dtype)
    return _matches(_ops.cast(y_true, y_pred.dtype), predicted)


def categorical_accuracy(y_true, y_pred):
    """1 for the examples whose largest prediction stands where their largest label does."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    return _matches(_ops.OPS["argmax"](y_true, -1), _ops.OPS["argmax"](y_pred, -1))


def sparse_categorical_accuracy(y_true, y_pred):
    """1 for the examples whose largest prediction is that of their class."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if len(y_true.shape) == len(y_pred.shape) and y_true.shape[-1] == 1:
        y_true = _ops.OPS["squeeze"](y_true, [-1])
    return _matches(_ops.cast(y_true, "int64"), _ops.OPS["argmax"](y_pred, -1))


def top_k_categorical_accuracy(y_true, y_pred, k=5):
    """1 for the examples whose class has one of the k largest predictions; labels are rows with a one."""
    y_true = convert_to_tensor(y_true)
    return sparse_top_k_categorical_accuracy(_ops.OPS["argmax"](y_true, -1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5, from_sorted_ids=False):
    """The same for labels that are class numbers."""
    refuse("sparse_top_k_categorical_accuracy", from_sorted_ids=(from_sorted_ids, False))
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    shape = list(y_pred.shape)[:-1]
    flat = _ops.OPS["reshape"](y_pred, [-1, y_pred.shape[-1]])
    labels = _ops.OPS["reshape"](_ops.cast(y_true, "int32"), [-1])
    found = _ops.cast(_ops.OPS["in_top_k"](labels, flat, int(k)), "float32")
    return _ops.OPS["reshape"](found, shape)


METRICS = {f.__name__: f for f in (binary_accuracy, categorical_accuracy, sparse_categorical_accuracy,
                                   top_k_categorical_accuracy, sparse_top_k_categorical_accuracy)}


def layer_functions(classes):
    """add([a, b]) and its like, which make a layer and call it."""
    def concatenate(inputs, axis=-1, **kwargs):
        """Inputs side by side along an axis, as the layer Concatenate."""
        return classes["Concatenate"](axis=axis, **kwargs)(inputs)

    def dot(inputs, axes=-1, **kwargs):
        """Products of rows of two inputs, as the layer Dot."""
        return classes["Dot"](axes=axes, **kwargs)(inputs)

    def of(name):
        def merge(inputs, **kwargs):
            return classes[name](**kwargs)(inputs)
        merge.__name__ = merge.__qualname__ = name.lower()
        merge.__doc__ = f"What the layer {name} makes of inputs."
        return merge
    made = {name.lower(): of(name) for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")}
    return made | {"concatenate": concatenate, "dot": dot}


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """Lists of different lengths as rows of one array, padded and cut in front or behind."""
    if padding not in ("pre", "post") or truncating not in ("pre", "post"):
        raise ValueError(f"pad_sequences: padding {padding!r} and truncating {truncating!r} are 'pre' or 'post'")
    lengths = [len(s) for s in sequences]
    length = max(lengths, default=0) if maxlen is None else int(maxlen)
    inner = next((np.asarray(s).shape[1:] for s in sequences if len(s)), ())
    padded = np.full((len(lengths), length) + inner, value, dtype)
    for row, sequence in zip(padded, sequences):
        kept = np.asarray(sequence[-length:] if truncating == "pre" else sequence[:length], dtype) if length else []
        if len(kept) and kept.shape[1:] != inner:
            raise ValueError(f"pad_sequences: elements have the shapes {inner} and {kept.shape[1:]}")
        if len(kept):
            row[slice(-len(kept), None) if padding == "pre" else slice(0, len(kept))] = kept
    return padded


def normalize(x, axis=-1, order=2):
    """An array with rows of norm 1; rows of zeros stay."""
    x = np.asarray(x)
    norm = np.atleast_1d(np.linalg.norm(x, order, axis))
    norm[norm == 0] = 1
    return x / np.expand_dims(norm, axis)


def load_img(path, color_mode="rgb", target_size=None, interpolation="nearest", keep_aspect_ratio=False):
    """A PNG or JPEG file as an array uint8[height, width, channels]."""
    from .. import _modules, files
    channels = {"grayscale": 1, "rgb": 3, "rgba": 4}
    if color_mode not in channels:
        raise ValueError(f"load_img: color_mode {color_mode!r} is none of {sorted(channels)}")
    refuse("load_img", keep_aspect_ratio=(keep_aspect_ratio, False))
    image = files.load_image(path, channels[color_mode])
    if target_size is not None:
        image = _modules.image.resize(image, list(target_size), method=interpolation)
        image = _ops.OPS["saturate_cast"](_ops.OPS["round"](_ops.cast(image, "float32")), "uint8")
    return image.numpy()


def img_to_array(img, data_format=None, dtype=None):
    """An image as an array float32[height, width, channels]."""
    refuse("img_to_array", data_format=(data_format, None, "channels_last"))
    array = np.asarray(img, dtype or "float32")
    if array.ndim not in (2, 3):
        raise ValueError(f"img_to_array: an image has 2 or 3 axes, not the shape {array.shape}")
    return array[..., None] if array.ndim == 2 else array


def save_img(path, x, data_format=None, file_format=None, scale=True):
    """Writes an array [height, width, channels] as a PNG or JPEG file, by the end of the path; with `scale` from its
    least to its largest element."""
    from .. import files
    refuse("save_img", data_format=(data_format, None, "channels_last"))
    x = np.asarray(x, "float32")
    if scale:
        x = x - x.min()
        x = x / x.max() * 255 if x.max() > 0 else x
    end = file_format or str(path).rpartition(".")[2].lower()
    if end not in ("png", "jpg", "jpeg"):
        raise ValueError(f"save_img: {end!r} is neither png nor jpg")
    (files.save_png if end == "png" else files.save_jpeg)(path, np.clip(x, 0, 255).astype("uint8"))


def split_dataset(dataset, left_size=None, right_size=None, shuffle=False, seed=None, preferred_backend=None):
    """Two datasets of the elements of one, or of the rows of arrays: a share of them or so many."""
    if left_size is None and right_size is None:
        raise ValueError("split_dataset: one of left_size and right_size must be given")
    rows = list(dataset if isinstance(dataset, Dataset) else Dataset.from_tensor_slices(dataset))
    if shuffle:
        np.random.default_rng(seed).shuffle(rows)

    def count(size):
        return int(round(size * len(rows))) if isinstance(size, float) else int(size)
    left = count(left_size) if left_size is not None else len(rows) - count(right_size)
    right = count(right_size) if right_size is not None else len(rows) - left
    if left < 0 or right < 0 or left + right > len(rows):
        raise ValueError(f"split_dataset: {left} and {right} elements of {len(rows)}")
    parts = rows[:left], rows[left:left + right]
    return tuple(Dataset.from_generator(lambda part=part: iter(part)) for part in parts)


def pack_x_y_sample_weight(x, y=None, sample_weight=None):
    """What a step of fit() takes."""
    if y is None:
        return (x,) if isinstance(x, (tuple, list, dict)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data):
    """The three parts of what a step of fit() takes; None for those that are not there."""
    data = tuple(data) if isinstance(data, list) else data
    if not isinstance(data, tuple):
        return data, None, None
    if len(data) > 3:
        raise ValueError(f"unpack_x_y_sample_weight: data has {len(data)} parts, more than x, y and sample_weight")
    return data + (None,) * (3 - len(data))


UTILS = {f.__name__: f for f in (pad_sequences, normalize, load_img, img_to_array, save_img, split_dataset,
                                 pack_x_y_sample_weight, unpack_x_y_sample_weight)}
