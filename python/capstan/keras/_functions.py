"""Functions of Keras beside its classes: metrics of single examples, and layers as functions."""
from .. import _core
from .._convert import refuse


def binary_accuracy(y_true, y_pred, threshold=0.5):
    """1 where a prediction is on the side of the threshold that its label says."""
    return _core.binary_accuracy(y_true, y_pred, float(threshold))


def categorical_accuracy(y_true, y_pred):
    """1 for the examples whose largest prediction stands where their largest label does."""
    return _core.categorical_accuracy(y_true, y_pred)


def sparse_categorical_accuracy(y_true, y_pred):
    """1 for the examples whose largest prediction is that of their class."""
    return _core.sparse_categorical_accuracy(y_true, y_pred)


def top_k_categorical_accuracy(y_true, y_pred, k=5):
    """1 for the examples whose class has one of the k largest predictions; labels are rows with a one."""
    return _core.top_k_categorical_accuracy(y_true, y_pred, int(k))


def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5, from_sorted_ids=False):
    """The same for labels that are class numbers."""
    refuse("sparse_top_k_categorical_accuracy", from_sorted_ids=(from_sorted_ids, False))
    return _core.sparse_top_k_categorical_accuracy(y_true, y_pred, int(k))


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
