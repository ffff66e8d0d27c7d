"""What a generator gives, as the tensors that its signature tells of."""
import numpy as np

from . import _core, _dtypes
from ._convert import TensorSpec, convert_to_tensor
from ._ops import cast


def tuple_like(structure, items):
    """A tuple of these items, or a named tuple if the structure is one."""
    return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)


def signature(types, shapes=None):
    """The specs of elements of these types and shapes: structures that are alike. Without shapes every shape is taken."""
    if isinstance(types, TensorSpec):
        return types
    if isinstance(types, dict):
        return {key: signature(item, shapes if shapes is None else shapes[key]) for key, item in types.items()}
    if isinstance(types, (tuple, list)):
        if shapes is not None and len(shapes) != len(types):
            raise ValueError(f"from_generator: {len(types)} output_types and {len(shapes)} output_shapes")
        return tuple_like(types, [signature(item, shapes if shapes is None else shapes[i]) for i, item in enumerate(types)])
    return TensorSpec(shapes, _dtypes.as_dtype(types))


def matching(item, spec):
    """The tensors of an item of a generator. Numbers are converted to the dtype of their spec, as by NumPy.

    A list is a tensor, not a structure. Errors: TypeError for another structure than that of the spec, ShapeError for
    another shape."""
    if isinstance(spec, dict):
        if not isinstance(item, dict) or item.keys() != spec.keys():
            raise _other_structure(item, spec)
        return {key: matching(item[key], part) for key, part in spec.items()}
    if isinstance(spec, tuple):
        if not isinstance(item, tuple) or len(item) != len(spec):
            raise _other_structure(item, spec)
        return tuple_like(spec, [matching(value, part) for value, part in zip(item, spec)])
    if isinstance(item, dict):
        raise _other_structure(item, spec)
    tensor = _converted(item, spec.dtype)
    if spec.shape is not None and not spec.shape.is_compatible_with(tensor.shape):
        raise _core.ShapeError(f"from_generator: an element has the shape {tuple(tensor.shape)}, and the signature says "
                               f"{tuple(spec.shape)}")
    return tensor


def _converted(value, dtype):
    if isinstance(value, _core.Tensor):
        return cast(value, dtype)
    if dtype.name in ("string", "bfloat16"):
        return convert_to_tensor(value, dtype=dtype)
    return convert_to_tensor(np.asarray(value, dtype=dtype.as_numpy_dtype))


def _other_structure(item, spec):
    return TypeError(f"from_generator: an element is {item!r}, and the signature says {spec!r}; a structure of several "
                     "tensors is a tuple or a dict, and a list is one tensor")
