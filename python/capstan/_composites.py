"""What ops make of texts, RaggedTensors and SparseTensors, of which the library has no tensors."""
from . import _core, _ragged_ops, _texts
from .ragged import RaggedTensor
from .sparse import SparseTensor, expand_dims, concat


def _kinds(given):
    for value in given.values():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            yield type(one)


def call_op(name, given):
    """An op on such arguments; `given` has all arguments by name. Raises TypeError for one that takes none."""
    kinds = set(_kinds(given))
    if RaggedTensor in kinds:
        return _ragged_ops.call_op(name, given)
    if SparseTensor in kinds:
        raise TypeError(f"{name}: an argument is a SparseTensor\n  help: tf.sparse has what can be done with one; "
                        "tf.sparse.to_dense() makes a tensor of it")
    return _texts.call_op(name, given)


def stacked(items):
    """Objects of one class as rows of one: what batches of datasets are."""
    if isinstance(items[0], RaggedTensor):
        return RaggedTensor.from_rows(list(items))
    if isinstance(items[0], SparseTensor):
        return concat(0, [expand_dims(item, 0) for item in items], expand_nonconcat_dims=True)
    return _texts.stacked(items)


_core.set_composites([_texts.TextTensor, RaggedTensor, SparseTensor], call_op, stacked)
