"""tf.TensorArray: outside of functions, in functions, in loops and branches on tensors. Values are TensorFlow's."""
import numpy as np
import pytest

import capstan as tf


def close(made, expected):
    np.testing.assert_allclose(np.asarray(made), expected)


def test_writes_and_reads():
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    for i in range(3):
        array = array.write(i, 10.0 * (i + 1))
    close(array.read(1), 20)
    close(array.read(1), 20)
    close(array.stack(), [10, 20, 30])
    close(array.gather([2, 0]), [30, 10])
    array = array.write(1, 7)  # a number takes the dtype of the array
    assert int(array.size()) == 3 and array.element_shape == () and array.dtype == tf.float32


def test_takes_tensors_apart_and_joins_elements():
    rows = tf.reshape(tf.range(6.0), [3, 2])
    close(tf.TensorArray(tf.float32, 3).unstack(rows).read(1), [2, 3])
    close(tf.TensorArray(tf.float32, 3).unstack(rows).concat(), range(6))
    close(tf.TensorArray(tf.float32, 3).scatter([2, 0], [[1.0, 2.0], [3.0, 4.0]]).stack(), [[3, 4], [0, 0], [1, 2]])
    pieces = tf.TensorArray(tf.float32, 2, infer_shape=False).split(tf.range(5.0), [2, 3])
    close(pieces.read(0), [0, 1])
    close(pieces.read(1), [2, 3, 4])
    close(tf.TensorArray(tf.float32, 3).write(1, [3.0, 4.0]).stack(), [[0, 0], [3, 4], [0, 0]])
    assert tf.TensorArray(tf.float32, 0, element_shape=[2]).stack().shape == (0, 2)


@pytest.mark.parametrize("use, error, text", [
    (lambda a: a.write(5, 1.0), tf.errors.OutOfRangeError, "write to index 5 .* size is: 2"),
    (lambda a: a.write(-1, 1.0), tf.errors.OutOfRangeError, "negative"),
    (lambda a: a.read(2), tf.errors.OutOfRangeError, "read from index 2 but array size is: 2"),
    (lambda a: a.read(0), ValueError, "element_shape"),
    (lambda a: a.write(0, tf.constant(1)), tf.errors.InvalidArgumentError, "float32 .* int32"),
    (lambda a: a.write(0, [1.0]).write(1, [1.0, 2.0]), ValueError, "Incompatible shape"),
    (lambda a: a.unstack(tf.zeros([3, 2])), ValueError, "3 tensors .* size 2"),
    (lambda a: a.write(0, 1.0).write(1, 2.0).concat(), tf.errors.InvalidArgumentError, "scalar shape at index 0"),
    (lambda a: a.split(tf.range(5.0), [2, 2]), tf.errors.InvalidArgumentError, "sum of lengths is 4"),
    (lambda a: (lambda b: (b.read(0), b.read(0)))(a.write(0, 1.0)), tf.errors.InvalidArgumentError, "twice"),
])
def test_wrong_use_is_an_error(use, error, text):
    array = tf.TensorArray(tf.float32, 2)
    with pytest.raises(error, match=text):
        use(array)


def test_is_carried_by_loops_over_tensors():
    @tf.function
    def fibonacci(n):
        array = tf.TensorArray(tf.float32, size=8)
        a, b = tf.constant(0.0), tf.constant(1.0)
        for i in tf.range(n):
            array = array.write(i, a)
            a, b = b, a + b
        return array.stack()

    @tf.function
    def squares(n):
        i, array = tf.constant(0), tf.TensorArray(tf.int32, size=5)
        while i < n:
            array = array.write(i, i * i)
            i += 1
        return array.stack(), array.read(2), array.gather([1, 3]), array.size()

    @tf.function
    def nested(n):
        array = tf.TensorArray(tf.int32, size=9)
        for i in tf.range(n):
            for j in tf.range(n):
                array = array.write(i * 3 + j, i * 10 + j)
        return array.stack()

    @tf.function
    def two(n):
        a, b = tf.TensorArray(tf.float32, size=3), tf.TensorArray(tf.float32, size=3)
        for i in tf.range(n):
            a, b = a.write(i, 1.0), b.write(i, [2.0, 3.0])
        return a.stack(), b.concat()
    close(fibonacci(tf.constant(7)), [0, 1, 1, 2, 3, 5, 8, 0])
    close(fibonacci(tf.constant(2)), [0, 1, 0, 0, 0, 0, 0, 0])
    for made, expected in zip(squares(tf.constant(4)), ([0, 1, 4, 9, 0], 4, [1, 9], 5)):
        close(made, expected)
    close(nested(tf.constant(3)), [0, 1, 2, 10, 11, 12, 20, 21, 22])
    close(two(tf.constant(2))[0], [1, 1, 0])
    close(two(tf.constant(2))[1], [2, 3, 2, 3, 0, 0])


def test_is_carried_by_branches():
    @tf.function
    def both(p):
        array = tf.TensorArray(tf.float32, size=2)
        if p:
            array = array.write(0, [1.0, 2.0])
        else:
            array = array.write(1, [3.0, 4.0])
        return array.stack()

    @tf.function
    def first(p):
        array = tf.TensorArray(tf.float32, size=2)
        if p:
            array = array.write(0, [1.0, 2.0])
        return array.write(1, [5.0, 6.0]).stack()

    @tf.function
    def second(p):
        array = tf.TensorArray(tf.float32, size=2)
        if p:
            pass
        else:
            array = array.write(0, [1.0, 2.0])
        return array.write(1, [5.0, 6.0]).stack()

    @tf.function
    def in_loop(n):
        array = tf.TensorArray(tf.float32, size=6)
        for i in tf.range(n):
            if i % 2 == 0:
                array = array.write(i, tf.cast(i, tf.float32))
        return array.stack()
    close(both(tf.constant(True)), [[1, 2], [0, 0]])
    close(both(tf.constant(False)), [[0, 0], [3, 4]])
    close(first(tf.constant(True)), [[1, 2], [5, 6]])
    close(first(tf.constant(False)), [[0, 0], [5, 6]])
    close(second(tf.constant(True)), [[0, 0], [5, 6]])
    close(second(tf.constant(False)), [[1, 2], [5, 6]])
    close(in_loop(tf.constant(5)), [0, 0, 2, 0, 4, 0])


def test_leaves_a_loop_early():
    @tf.function
    def run(x, end):
        array, s = tf.TensorArray(tf.float32, size=6), tf.constant(0.0)
        for i in tf.range(6):
            s += x
            array = array.write(i, s)
            if s > end:
                break
        return array.stack(), s
    made, s = run(tf.constant(1.0), tf.constant(3.5))
    close(made, [1, 2, 3, 4, 0, 0])
    close(s, 4)


def test_gives_gradients():
    w = tf.Variable(2.0)

    def powers(numbers):
        array, h = tf.TensorArray(tf.float32, size=4), tf.constant(1.0)
        for i in numbers:
            h = h * w
            array = array.write(i, h)
        return tf.reduce_sum(array.stack() ** 2)

    @tf.function
    def traced(n):
        with tf.GradientTape() as tape:
            array, h = tf.TensorArray(tf.float32, size=4), tf.constant(1.0)
            for i in tf.range(n):
                h = h * w
                array = array.write(i, h)
            y = tf.reduce_sum(array.stack() ** 2)
        return y, tape.gradient(y, w)
    with tf.GradientTape() as tape:
        y = powers(range(3))
    close(y, 84)
    close(tape.gradient(y, w), 228)
    for made, expected in zip(traced(tf.constant(3)), (84, 228)):
        close(made, expected)


def test_while_loops_take_arrays():
    def run(n, size, dynamic=False):
        return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, 2.0 * tf.cast(i, tf.float32))),
                             (tf.constant(0), tf.TensorArray(tf.float32, size=size, dynamic_size=dynamic)))[1].stack()
    close(run(3, 0, True), [0, 2, 4])
    close(tf.function(run)(tf.constant(3), 4), [0, 2, 4, 0])


def test_arrays_that_loops_over_tensors_make_longer():
    @tf.function
    def run(n):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(n):
            array = array.write(i, 1.0)
        return array.stack()
    with pytest.warns(UserWarning, match="run runs without a trace.* an array cannot become longer"):
        close(run(tf.constant(3)), [1, 1, 1])

    @tf.function
    def beyond(n):
        array = tf.TensorArray(tf.float32, size=2)
        for i in tf.range(n):
            array = array.write(i, 1.0)
        return array.stack()
    close(beyond(tf.constant(2)), [1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="2"):
        beyond(tf.constant(3))


def test_a_write_in_a_function_leaves_the_array_as_it_was():
    @tf.function
    def run(x):
        array = tf.TensorArray(tf.float32, size=1, clear_after_read=False).write(0, x)
        later = array.write(0, 2 * x)
        return array.read(0), later.read(0)
    for made, expected in zip(run(tf.constant(3.0)), (3, 6)):
        close(made, expected)
