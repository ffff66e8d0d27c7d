"""Between Python, NumPy and tensors: all dtypes, ranks, strides and sizes, both ways."""
import gc
import pickle
import weakref

import numpy as np
import pytest

import capstan as tf

DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool", "complex64", "complex128"]
SHAPES = [(), (1,), (0,), (3,), (2, 3), (2, 0, 3), (1, 1, 1), (2, 3, 4), (1, 2, 1, 2, 1), (2,) * 8]


def array_of(dtype, shape):
    numbers = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) - 2
    if dtype == "bool":
        return numbers > 0
    return (np.abs(numbers) if dtype == "uint8" else numbers).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_arrays_keep_dtype_shape_and_elements(dtype, shape):
    array = array_of(dtype, shape)
    tensor = tf.constant(array)
    assert tensor.dtype == dtype and tuple(tensor.shape) == shape
    back = tensor.numpy()
    assert back.dtype == dtype and back.shape == shape
    np.testing.assert_array_equal(back, array)
    assert isinstance(back, np.generic) == (shape == ())


@pytest.mark.parametrize("view", [lambda a: a.T, lambda a: a[::2], lambda a: a[::-1], lambda a: a[:, 1:3],
                                  lambda a: np.broadcast_to(a[0], (5, 4)), lambda a: a[..., None],
                                  lambda a: a.astype(">f4"), lambda a: np.asfortranarray(a), lambda a: a[2:2]])
def test_strides_and_byte_orders(view):
    array = view(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.testing.assert_array_equal(tf.constant(array).numpy(), array)


@pytest.mark.parametrize("narrow, wide", [("int8", "int32"), ("int16", "int32"), ("uint16", "int32"),
                                          ("uint32", "int64"), ("uint64", "int64"), ("float16", "float32"),
                                          ("longdouble", "float64")])
def test_other_dtypes_widen(narrow, wide):
    array = np.array([0, 1, 100]).astype(narrow)
    tensor = tf.constant(array)
    assert tensor.dtype == wide
    np.testing.assert_array_equal(tensor.numpy(), array.astype(wide))


def test_python_numbers_have_tensorflows_dtypes():
    assert tf.constant(1.5).dtype == tf.float32
    assert tf.constant(1).dtype == tf.int32
    assert tf.constant(2**40).dtype == tf.int64
    assert tf.constant(True).dtype == tf.bool
    assert tf.constant(1j).dtype == tf.complex128
    assert tf.constant(np.float64(3)).dtype == tf.float64
    assert tf.constant(np.int64(3)).dtype == tf.int64
    assert tf.constant(np.bool_(True)).dtype == tf.bool
    assert tf.constant([1, 2.5]).dtype == tf.float32
    assert tf.constant([1, 2**40]).dtype == tf.int64
    assert tf.constant([]).dtype == tf.float32
    assert tf.constant([1, 2], dtype=tf.float64).dtype == tf.float64
    assert tf.constant([[1, 2], [3, 4]]).shape == (2, 2)
    assert tf.constant(2.0, shape=[2, 2]).numpy().tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert tf.constant([1, 2, 3, 4], shape=(2, 2)).numpy().tolist() == [[1, 2], [3, 4]]


def test_lists_of_tensors_are_packed():
    x = tf.constant(2.0)
    packed = tf.convert_to_tensor([x, 3, [4.0][0]])
    np.testing.assert_array_equal(packed.numpy(), np.array([2, 3, 4], np.float32))
    np.testing.assert_array_equal(tf.convert_to_tensor([[x, x], [1, 2]]).numpy(), [[2, 2], [1, 2]])


def test_what_is_beside_a_tensor_takes_its_dtype():
    v = tf.Variable(0.5)
    integers = np.arange(3)
    assert (v * integers).dtype == tf.float32
    assert (integers - v).dtype == tf.float32 and isinstance(integers - v, tf.Tensor)
    assert (np.float64(2) * tf.constant(1.0)).dtype == tf.float32
    assert (tf.constant(1.0) * [1, 2]).numpy().tolist() == [1, 2]
    assert (tf.constant(1) + np.int64(3)).dtype == tf.int32
    assert (2 ** tf.constant(3.0)).numpy() == 8
    assert (7 // tf.constant(2)).numpy() == 3 and (tf.constant(7) / 2).numpy() == 3.5
    assert (tf.constant(7) / 2).dtype == tf.float64
    for wrong in (1.5, np.ones(2), True):
        with pytest.raises(TypeError):
            tf.constant([1, 2]) + wrong


def test_numpy_is_a_copy_and_views_are_not():
    tensor = tf.constant(np.arange(3.0, dtype=np.float32))
    copy = tensor.numpy()
    copy[0] = 7
    assert tensor.numpy()[0] == 0
    view = np.asarray(memoryview(tensor))
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view[0] = 1
    address = view.ctypes.data
    del tensor
    assert view.tolist() == [0, 1, 2] and view.ctypes.data == address


def test_a_view_of_a_variable_never_changes():
    v = tf.Variable(np.zeros(1000, np.float32))
    view = np.asarray(v.value())
    v.assign_add(np.ones(1000, np.float32))
    assert view.sum() == 0 and v.numpy().sum() == 1000


def test_arrays_are_copied_in():
    array = np.zeros(3, np.float32)
    tensor = tf.constant(array)
    array[:] = 1
    assert tensor.numpy().sum() == 0


def test_dlpack_both_ways():
    tensor = tf.constant(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(np.from_dlpack(tensor), tensor.numpy())
    assert tensor.__dlpack_device__() == (1, 0)


def test_memory_can_be_shared():
    array = np.arange(1000, dtype=np.float32)
    tensor = tf.asarray(array, copy=False)
    assert np.asarray(memoryview(tensor)).ctypes.data == array.ctypes.data
    np.testing.assert_array_equal((tensor + 1).numpy(), array + 1)
    v = tf.Variable(tensor)
    v.assign_add(tensor)
    assert array[1] == 1 and v.numpy()[1] == 2
    shared = tf.from_dlpack(array)
    assert np.asarray(memoryview(shared)).ctypes.data == array.ctypes.data
    r = weakref.ref(array)
    del array, tensor
    assert r() is not None and shared.numpy()[2] == 2
    del shared
    gc.collect()
    assert r() is None
    assert tf.asarray([1, 2]).dtype == tf.int32
    with pytest.raises((ValueError, BufferError)):
        tf.asarray(np.ones((4, 4))[:, 1], copy=False)


def test_shared_memory_is_let_go_of():
    arrays = [np.ones(100_000, np.float32) for _ in range(20)]
    references = [weakref.ref(a) for a in arrays]
    f = tf.function(lambda x: tf.reduce_sum(x * 2 + 1))
    for array in arrays:
        f(tf.asarray(array, copy=False))
    del array, arrays
    gc.collect()
    assert [r() for r in references] == [None] * 20


def test_protocols():
    tensor = tf.constant([[1.5, 2.5]])
    assert f"{tensor[0, 0]:.3f}" == "1.500"
    assert float(tensor[0, 1]) == 2.5 and int(tf.constant(3)) == 3 and bool(tf.constant(True))
    assert [10, 20, 30][tf.constant(1)] == 20
    assert len(tensor) == 1 and [row.numpy().tolist() for row in tensor] == [[1.5, 2.5]]
    assert tensor.tolist() == [[1.5, 2.5]]
    assert np.sum(tensor) == 4.0
    assert repr(tf.constant(2.0)) == "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"
    assert str(tf.constant([1, 2])) == "tf.Tensor([1 2], shape=(2,), dtype=int32)"
    assert repr(tf.Variable(1.0, name="v")) == "<tf.Variable 'v' shape=() dtype=float32, numpy=1.0>"


def test_shapes():
    shape = tf.zeros((2, 3, 4)).shape
    assert shape == (2, 3, 4) and shape.as_list() == [2, 3, 4] and shape.rank == 3
    assert isinstance(shape[1:], tf.TensorShape) and shape[-1] == 4
    assert repr(shape) == "TensorShape([2, 3, 4])" and shape.num_elements() == 24
    assert shape == [2, 3, 4] and [2, 3, 4] == shape and shape == (2, 3, 4) and shape != [2, 3, 5] and shape != "a"
    assert not shape != [2, 3, 4] and {shape: 1}[tf.TensorShape([2, 3, 4])] == 1
    assert tf.TensorShape([None, 3]).is_compatible_with([5, 3])
    assert not tf.TensorShape([None, 3]).is_fully_defined()
    assert pickle.loads(pickle.dumps(shape)) == shape
    with pytest.raises(ValueError):
        shape.assert_is_compatible_with([2, 3])


def test_pickles():
    tensor = pickle.loads(pickle.dumps(tf.constant([1, 2])))
    assert tensor.dtype == tf.int32 and tensor.numpy().tolist() == [1, 2]
    v = pickle.loads(pickle.dumps(tf.Variable([1.0], name="w", trainable=False)))
    assert v.name == "w" and not v.trainable and v.numpy().tolist() == [1.0]
    assert pickle.loads(pickle.dumps(tf.float32)) is tf.float32


def test_indices():
    array = np.arange(24).reshape(2, 3, 4)
    tensor = tf.constant(array)
    for index in (0, -1, slice(None), (1, slice(1, None, 2)), (..., 0), (None, 1), (slice(None, None, -1),),
                  (0, 1, 2), (slice(5), None, ..., -1)):
        np.testing.assert_array_equal(tensor[index].numpy(), array[index])
    np.testing.assert_array_equal(tensor[tensor > 5].numpy(), array[array > 5])


def test_dtypes():
    assert tf.as_dtype("float32") is tf.float32 and tf.as_dtype(np.int64) is tf.int64 and tf.float32 == np.float32
    assert tf.float32 == "float32" and tf.float32 != tf.float64 and repr(tf.int32) == "tf.int32"
    assert tf.as_dtype(float) is tf.float32 and tf.as_dtype(int) is tf.int32 and tf.as_dtype(bool) is tf.bool
    with pytest.raises(TypeError):
        tf.as_dtype("float17")
    assert tf.cast([1.7, -1.7], tf.int32).numpy().tolist() == [1, -1]
    assert tf.constant([1.5], tf.bfloat16).numpy().dtype == np.float32
