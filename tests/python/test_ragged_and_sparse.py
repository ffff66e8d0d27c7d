"""tf.RaggedTensor and tf.SparseTensor. Values are TensorFlow's."""
import pytest

import capstan as tf

from test_texts import c, plain, ragged


def test_ragged_tensors():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert plain([rows, rows.to_tensor(), rows.to_tensor(default_value=-1), rows.row_lengths(), rows.values, rows.row_splits]) == [
        ragged([1, 2], [], [3]), [[1, 2], [0, 0], [3, 0]], [[1, 2], [-1, -1], [3, -1]], [2, 0, 1], [1, 2, 3], [0, 2, 2, 3]]
    assert plain([rows[0], rows[1:], rows[:, :1], rows.bounding_shape(), rows.to_tensor(shape=[None, 1]), rows.value_rowids()]) == [
        [1, 2], ragged([], [3]), ragged([1], [], [3]), [3, 2], [[1], [0], [3]], [0, 0, 2]]
    assert rows.shape == (3, None) and rows.dtype == tf.int32 and len(rows) == 3 and rows.ragged_rank == 1
    deep = tf.ragged.constant([[[1], [2, 3]], [[4]]])
    assert plain([deep, deep.to_tensor(), deep.flat_values, deep.merge_dims(0, 1), deep.merge_dims(1, 2)]) == [
        ragged([[1], [2, 3]], [[4]]), [[[1, 0], [2, 3]], [[4, 0], [0, 0]]], [1, 2, 3, 4], ragged([1], [2, 3], [4]),
        ragged([1, 2, 3], [4])]
    R = tf.RaggedTensor
    assert plain([R.from_row_lengths([1, 2, 3], [2, 1]), R.from_value_rowids([1, 2, 3], [0, 0, 2]),
                  R.from_row_splits([1, 2, 3], [0, 1, 3]), R.from_tensor([[1, 0], [2, 3]], padding=0),
                  tf.ragged.stack([[1, 2], [3]]), tf.ragged.range([2, 3]), tf.ragged.map_flat_values(tf.square, rows),
                  tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])]) == [
        ragged([1, 2], [3]), ragged([1, 2], [], [3]), ragged([1], [2, 3]), ragged([1], [2, 3]), ragged([1, 2], [3]),
        ragged([0, 1], [0, 1, 2]), ragged([1, 4], [], [9]), ragged([1], [3, 4])]
    assert tf.ragged.constant([[1]], row_splits_dtype=tf.int32).row_splits.dtype == tf.int32


def test_sparse_tensors():
    x = tf.SparseTensor(indices=[[0, 0], [1, 2]], values=[1.0, 2.0], dense_shape=[2, 3])
    s = tf.sparse
    assert plain([s.to_dense(x), s.to_dense(x, default_value=-1.0), x.shape.as_list()]) == [
        [[1, 0, 0], [0, 0, 2]], [[1, -1, -1], [-1, -1, 2]], [2, 3]]
    assert plain([s.sparse_dense_matmul(x, c([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
                  s.sparse_dense_matmul(x, c([[1.0], [2.0]]), adjoint_a=True)]) == [[[1, 2], [10, 12]], [[1], [0], [4]]]
    assert plain([s.from_dense([[0, 1], [2, 0]]).indices, s.from_dense([[0, 1], [2, 0]]).values]) == [[[0, 1], [1, 0]], [1, 2]]
    assert plain(s.to_dense(s.reorder(tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 2])))) == [[2, 0], [1, 0]]
    assert plain([s.to_dense(s.add(x, x)), s.add(x, tf.ones([2, 3])), s.reduce_sum(x), s.reduce_sum(x, axis=1)]) == [
        [[2, 0, 0], [0, 0, 4]], [[2, 1, 1], [1, 1, 3]], 3, [1, 2]]
    assert plain([s.to_dense(x * c([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])), s.to_dense(s.map_values(tf.square, x)),
                  s.to_dense(s.retain(x, [True, False])), s.to_dense(tf.SparseTensor([[0]], ["a"], [2])),
                  s.to_indicator(tf.SparseTensor([[0, 0], [0, 1]], c([1, 3]), [1, 2]), 4)]) == [
        [[1, 0, 0], [0, 0, 12]], [[1, 0, 0], [0, 0, 4]], [[1, 0, 0], [0, 0, 0]], [b"a", b""], [[False, True, False, True]]]
    v, b = tf.Variable([1.0, 2.0]), tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        x = tf.SparseTensor([[0, 0], [1, 2]], v, [2, 3])
        y = tf.reduce_sum(s.sparse_dense_matmul(x, b) ** 2) + tf.reduce_sum(s.to_dense(x) ** 3)
    assert plain([tf.convert_to_tensor(g) for g in tape.gradient(y, [v, b])]) == [[13, 256], [[2, 4], [0, 0], [40, 48]]]
    for places in ([[1, 0], [0, 0]], [[5, 0], [6, 0]]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            s.to_dense(tf.SparseTensor(places, [1, 2], [2, 2]))
