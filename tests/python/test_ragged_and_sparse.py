"""tf.RaggedTensor and tf.SparseTensor. Values are TensorFlow's."""
import numpy as np
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


# --- ops on RaggedTensors: values that TensorFlow 2.21 gives ---

ROWS = [[1.0, 2.0], [], [3.0]]


def test_operators_of_ragged_tensors():
    r, s = tf.ragged.constant(ROWS), tf.ragged.constant([[10.0, 20.0], [], [30.0]])
    assert (r + s).to_list() == [[11, 22], [], [33]] and (1 - r).to_list() == [[0, -1], [], [-2]]
    assert (tf.constant(2.0) * r).to_list() == (r * 2).to_list() == [[2, 4], [], [6]]
    assert (-r).to_list() == [[-1, -2], [], [-3]] and (r > 1.5).to_list() == [[False, True], [], [True]]
    assert (r + tf.constant([[1.0], [2.0], [3.0]])).to_list() == [[2, 3], [], [6]]
    assert ((r > 1) & (r < 3)).to_list() == [[False, True], [], [False]]
    assert tf.cast(r, tf.int32).to_list() == [[1, 2], [], [3]] and tf.square(r).to_list() == [[1, 4], [], [9]]
    assert tf.where(r > 1.5, r, r * 0).to_list() == [[0, 2], [], [3]]
    with pytest.raises(ValueError, match="rows of two RaggedTensors have other lengths"):
        r + tf.ragged.constant([[5.0], [6.0, 7.0], []])
    with pytest.raises(ValueError, match="does not broadcast"):
        r + tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with pytest.raises(TypeError, match="takes no RaggedTensor"):
        tf.linalg.matmul(r, r)


def test_sums_of_ragged_tensors():
    r, i = tf.ragged.constant(ROWS), tf.ragged.constant([[3, 1, 2], [5]])
    deep = tf.ragged.constant([[[1, 2], [3]], [], [[4]]])
    assert float(tf.reduce_sum(r)) == 6 and tf.reduce_sum(r, axis=0).numpy().tolist() == [4, 2]
    assert tf.reduce_sum(r, axis=1).numpy().tolist() == [3, 0, 3] and tf.reduce_max(i, axis=1).numpy().tolist() == [3, 5]
    assert tf.reduce_min(i, axis=0).numpy().tolist() == [3, 1, 2] and tf.reduce_prod(i, axis=-1).numpy().tolist() == [6, 5]
    means = tf.reduce_mean(r, axis=1).numpy()
    assert means[0] == 1.5 and np.isnan(means[1]) and means[2] == 3
    assert tf.reduce_any(i > 2, axis=1).numpy().tolist() == [True, True]
    assert tf.reduce_all(i > 2, axis=1).numpy().tolist() == [False, True]
    assert tf.reduce_sum(deep, axis=2).to_list() == [[3, 3], [], [4]]
    assert tf.reduce_sum(deep, axis=[1, 2]).numpy().tolist() == [6, 0, 4]
    with pytest.raises(IndexError):
        tf.reduce_sum(r, axis=2)


def test_ragged_tensors_are_joined_and_looked_up():
    r, q, i = tf.ragged.constant(ROWS), tf.ragged.constant([[5.0], [6.0, 7.0], []]), tf.ragged.constant([[3, 1, 2], [5]])
    assert tf.concat([r, q], axis=0).to_list() == ROWS + [[5], [6, 7], []]
    assert tf.concat([r, q], axis=1).to_list() == [[1, 2, 5], [6, 7], [3]]
    assert tf.concat([r, tf.constant([[9.0, 9.0]])], axis=0).to_list() == ROWS + [[9, 9]]
    assert tf.stack([r, q]).to_list() == [ROWS, [[5], [6, 7], []]]
    assert tf.gather(tf.constant([10, 20, 30, 40, 50, 60]), i).to_list() == [[40, 20, 30], [60]]
    assert tf.gather(r, [2, 0]).to_list() == [[3], [1, 2]]
    assert int(tf.size(r)) == 3 and int(tf.rank(r)) == 2
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.concat([r, i], axis=1)


def test_ragged_tensors_have_gradients_and_run_in_functions():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        sums = tf.reduce_sum(tf.RaggedTensor.from_row_lengths(v, [2, 0, 1]) * 2, axis=1)
        loss = tf.reduce_sum(sums * sums)
    assert tape.gradient(loss, v).numpy().tolist() == [24, 24, 24]
    f = tf.function(lambda x: tf.reduce_sum(x * 2, axis=1))
    assert f(tf.ragged.constant(ROWS)).numpy().tolist() == [6, 0, 6]
    assert f(tf.ragged.constant([[1.0]])).numpy().tolist() == [2]


def test_ragged_and_sparse_elements_of_datasets():
    ds = tf.data.Dataset.range(4).map(lambda i: tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]))
    assert [x.to_list() for x in ds.batch(2)] == [[[[1, 2], [3]]] * 2] * 2
    sparse = tf.data.Dataset.range(3).map(lambda i: tf.SparseTensor([[1]], [5], [3])).batch(2)
    assert [tf.sparse.to_dense(x).numpy().tolist() for x in sparse] == [[[0, 5, 0]] * 2, [[0, 5, 0]]]


def test_more_of_sparse_tensors():
    a, b = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3]), tf.SparseTensor([[0, 0], [1, 2]], [5.0, 6.0], [2, 3])

    def dense(x):
        return tf.sparse.to_dense(x).numpy().tolist()
    assert dense(tf.sparse.concat(0, [a, b])) == [[0, 1, 0], [2, 0, 0], [5, 0, 0], [0, 0, 6]]
    assert dense(tf.sparse.concat(1, [a, b])) == [[0, 1, 0, 5, 0, 0], [2, 0, 0, 0, 0, 6]]
    assert dense(tf.sparse.expand_dims(a, 0)) == [dense(a)] and dense(tf.sparse.transpose(a)) == [[0, 2], [1, 0], [0, 0]]
    assert dense(tf.sparse.reshape(a, [3, -1])) == [[0, 1], [0, 2], [0, 0]]
    assert dense(tf.sparse.slice(a, [0, 1], [2, 2])) == [[1, 0], [0, 0]] and dense(tf.sparse.eye(2, 3)) == [[1, 0, 0], [0, 1, 0]]
    assert tf.sparse.reduce_max(a, axis=1).numpy().tolist() == [1, 2]
    assert tf.sparse.reduce_max(a, axis=0, keepdims=True).numpy().tolist() == [[2, 1, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.sparse.concat(0, [a, tf.sparse.eye(2)])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.sparse.reshape(a, [4, -1])
    with pytest.raises(IndexError):
        tf.sparse.expand_dims(a, 4)
    r = tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 4]))
    assert r.to_list() == [[1, 2], [], [3]] and dense(r.to_sparse()) == [[1, 2], [0, 0], [3, 0]]
    with pytest.raises(ValueError, match="gaps"):
        tf.RaggedTensor.from_sparse(a)


def test_sets():
    a, b = tf.constant([[1, 5, 9]]), tf.constant([[5, 6, 9, 11]])
    assert tf.sets.union(a, b).values.numpy().tolist() == [1, 5, 6, 9, 11]
    assert tf.sets.intersection(a, b).values.numpy().tolist() == [5, 9]
    assert tf.sets.difference(a, b).values.numpy().tolist() == [1]
    assert tf.sets.difference(a, b, aminusb=False).values.numpy().tolist() == [6, 11]
    assert tf.sets.size(tf.sets.union(a, b)).numpy().tolist() == [5]
    texts = tf.sets.union(tf.constant([["b", "a"]]), tf.constant([["c", "a"]]))
    assert tf.sparse.to_dense(texts).numpy().tolist() == [[b"a", b"b", b"c"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="two or more axes"):
        tf.sets.union(tf.constant([1]), tf.constant([2]))
