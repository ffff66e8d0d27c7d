"""Functions of Keras beside its classes: metrics of single examples, and layers as functions."""
from .. import _ops
from .._convert import convert_to_tensor, refuse


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
    largest = _ops.OPS["argmax"](y_pred, -1)
    if y_true.dtype.is_floating:  # a label of 0.5 is no class
        return _matches(y_true, _ops.cast(largest, y_true.dtype))
    return _matches(_ops.cast(y_true, "int64"), largest)


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
