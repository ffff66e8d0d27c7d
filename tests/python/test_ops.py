"""Ops: all of the library by name, with TensorFlow's signatures, in every form that an argument can have."""
import inspect

import numpy as np
import pytest

import capstan as tf
from capstan import _core, _ops

ELEMENTWISE = [name for name, inputs, count, outputs, fields in _core.list_ops()
               if count in (1, 2) and outputs == 1 and not fields and inputs[0] in ("x", "a") and name in tf.math.__all__
               and not name.startswith("segment_") and name not in ("lbeta", "invert_permutation")]


def test_every_op_of_the_library_is_a_function():
    for name, inputs, count, outputs, fields in _core.list_ops():
        op = _ops.OPS[name]
        signature = inspect.signature(op)
        assert "name" in signature.parameters, name
        assert op.__doc__ and op.__name__ == name
        required = [p for p in signature.parameters.values() if p.default is p.empty]
        assert len(required) >= (0 if count == 0 else len(inputs)), name


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_forms_of_arguments(name):
    op = _ops.OPS[name]
    parameters = [p for p in inspect.signature(op).parameters if p != "name"]
    is_logical = name.startswith("logical_")
    values = [np.array([True, False]) if is_logical else np.array([0.25, 0.5], np.float32) for _ in parameters]
    expected = op(*[tf.constant(v) for v in values]).numpy()
    forms = {
        "arrays": op(*values), "lists": op(*[v.tolist() for v in values]),
        "variables": op(*[tf.Variable(v) for v in values]),
        "keywords": op(**dict(zip(parameters, values))), "named": op(*values, name="x"),
        "function": tf.function(op)(*values),
        "rows": tf.vectorized_map(lambda rows: op(*rows), tuple(tf.constant(v) for v in values)),
    }
    for form, result in forms.items():
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6, err_msg=form)
    for wrong in (None, "text", {}, object()):
        with pytest.raises(TypeError):
            op(*[wrong] * len(parameters))


def test_attributes_by_position_and_keyword():
    x = tf.constant(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    assert tf.reduce_sum(x, 0).numpy().tolist() == tf.reduce_sum(x, axis=[0]).numpy().tolist() == [3, 5, 7]
    assert tf.reduce_sum(x, axis=tf.constant(1), keepdims=True).shape == (2, 1)
    assert tf.reduce_sum(x, axis=np.int64(-1)).shape == (2,) and tf.reduce_sum(x, axis=()).shape == (2, 3)
    assert tf.reshape(x, (3, -1)).shape == tf.reshape(x, np.array([3, 2])).shape == (3, 2)
    assert tf.reshape(x, tf.shape(tf.zeros((6,)))).shape == (6,)
    assert tf.one_hot([0, 2], 3).numpy().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert tf.argmax(x, axis=1, output_type=tf.int32).dtype == tf.int32 and tf.argmax(x, 1).dtype == tf.int64


def test_functions_that_are_no_ops():
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert [p.shape for p in tf.split(x, 3, axis=1)] == [(2, 1)] * 3
    assert [p.shape[1] for p in tf.split(x, [1, -1], 1)] == [1, 2]
    assert tf.where(x > 3, x, 0.0).numpy().sum() == 15 and tf.where(x > 5).numpy().tolist() == [[1, 2]]
    assert tf.range(3).dtype == tf.int32 and tf.range(0.0, 1.0, 0.25).numpy().tolist() == [0, 0.25, 0.5, 0.75]
    assert tf.range(5, 1, -2).numpy().tolist() == [5, 3] and len(tf.range(3, 3)) == 0
    assert tf.fill([2, 2], 3).numpy().tolist() == [[3, 3], [3, 3]]
    assert tf.einsum("ij,kj->ik", x, x).shape == (2, 2) and (x @ tf.transpose(x)).shape == (2, 2)
    assert tf.concat([x, x], -1).shape == (2, 6) and tf.stack([x, x], 1).shape == (2, 2, 3)
    clipped, norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0]), None], 1.0)
    assert norm.numpy() == 5 and clipped[1] is None and clipped[0].numpy().tolist() == pytest.approx([0.6, 0.8])
    assert tf.gather(x, 1).numpy().tolist() == [4, 5, 6] and tf.gather(x, [0], axis=1).shape == (2, 1)
    assert tf.nn.softmax([1.0, 1.0]).numpy().tolist() == [0.5, 0.5]
    assert tf.linalg.det([[2.0, 0.0], [0.0, 3.0]]).numpy() == pytest.approx(6)
    assert tf.math.special.dawsn(0.0).numpy() == 0 and tf.signal.fft(tf.constant([1j, 0])).shape == (2,)
    assert tf.random.uniform([3], 0, 10, dtype=tf.int32).dtype == tf.int32
    assert tf.nn.max_pool(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape == (1, 2, 2, 1)
    channels = tf.reshape(tf.range(12.0), (1, 1, 2, 6))
    assert tf.nn.max_pool(channels, (1, 1, 1, 3), (1, 1, 1, 3), "VALID").numpy().ravel().tolist() == [2, 5, 8, 11]
    with pytest.raises(tf.errors.InvalidArgumentError, match="in whole groups"):
        tf.nn.max_pool(channels, [1, 1, 1, 4], [1, 1, 1, 4], "VALID")
    assert tf.eye(2).numpy().tolist() == [[1, 0], [0, 1]] and tf.zeros_like(x, dtype=tf.int32).dtype == tf.int32
    values, places = tf.math.top_k(x, k=1)
    assert values.numpy().tolist() == [[3], [6]] and places.numpy().tolist() == [[2], [2]]


def test_svd_without_vectors_is_a_tensor():
    x = tf.constant([[3.0, 0.0], [0.0, 4.0]])
    assert tf.linalg.svd(x, compute_uv=False).numpy().tolist() == [4.0, 3.0]
    s, u, v = tf.linalg.svd(x)
    np.testing.assert_allclose((u.numpy() * s.numpy()) @ v.numpy().T, x.numpy(), atol=1e-6)


def test_dtypes_of_results():
    small = tf.constant([1, 3], tf.uint8)
    assert (small / tf.constant([2, 4], tf.uint8)).dtype == tf.float32 and (small / 2).numpy().tolist() == [0.5, 1.5]
    assert tf.truediv(small, small).dtype == tf.float32 and (tf.constant(1) / 2).dtype == tf.float64
    assert tf.math.segment_mean(tf.constant([-1, -4, 7]), [0, 0, 1]).numpy().tolist() == [-2, 7]
    assert tf.one_hot([0, 2], 3).dtype == tf.float32 and tf.one_hot([0], 3, dtype=tf.int64).dtype == tf.int64
    assert tf.one_hot([0, 2], 3, on_value=5).dtype == tf.int32
    assert tf.one_hot([0], 2, on_value=True, off_value=False).numpy().tolist() == [[True, False]]
    assert tf.one_hot([0], 2, on_value=5.0, off_value=tf.constant(2.0)).numpy().tolist() == [[5, 2]]
    with pytest.raises(TypeError, match="on_value is float32, but off_value is int32"):
        tf.one_hot([0], 2, on_value=1.0, off_value=2)


def test_sums_of_rows_and_attributes_of_rows():
    assert tf.add_n(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist() == [4, 6]
    assert not hasattr(tf.constant(1.0), "values") and not hasattr(tf.constant(1.0), "indices")
