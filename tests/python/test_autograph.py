"""AutoGraph: statements on tensors in traced functions do what they do eagerly."""
import numpy as np
import pytest

import capstan as tf


def early_return(x):
    """Has a docstring."""
    if x > 0:
        return x * 2
    elif x > -1:
        return x * 3
    return -x


def while_with_break(x):
    i = 0.0
    while tf.reduce_sum(x) < 100:
        x = x * 2
        i += 1
        if i > 3:
            break
    return x + i


def for_over_rows(x):
    total = 0.0
    for row in x:
        if row > 1 and not row > 3 or row == 0:
            total += row
        else:
            continue
    return total


def count(x):
    total = 0
    for i in tf.range(tf.cast(tf.abs(x), tf.int32)):
        if i == 2:
            continue
        for j in range(2):
            total += i * j
    return total


def expression(x):
    y = x if x > 0 else -x
    return {"y": y, "rest": [a for a in range(3) if a > 1][0]}


def helper(a):
    if a > 1:
        b = a * 10
    else:
        b = a
    return b


def nested(x):
    def inner(v):
        w = v
        if v > 2:
            w = helper(v)
        return w
    return inner(x) + helper(x)


def plain(x, flag=True):
    n = 0
    while n < 3:
        n += 1
        if not flag:
            break
    for name in ("a", "b"):
        if name == "b":
            x = x + n
    return x if flag else -x


def state_of_several(x):
    a, b = x, 0.0
    if x > 0:
        a = a + 1
        b = 5.0
        only_here = a
        b = b + only_here * 0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        if x > 1:
            y = y * 3
    return a, b, tape.gradient(y, x)


@pytest.mark.parametrize("function", [early_return, while_with_break, for_over_rows, count, expression, nested, plain])
@pytest.mark.parametrize("value", [-3.0, -0.5, 0.0, 1.0, 2.5, 5.0])
def test_traced_is_eager(function, value):
    x = tf.constant([value, 1.0, 2.0]) if function in (while_with_break, for_over_rows) else tf.constant(value)
    traced = tf.function(function)
    expected, found = function(x), traced(x)
    for a, b in zip(tf.nest.flatten(expected), tf.nest.flatten(found)):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-6)
    traced(x * 0 + 7)
    assert traced.experimental_get_tracing_count() == 1


def test_gradients_go_through_branches():
    f = tf.function(lambda x: early_return(x))
    for value, slope in ((2.0, 2.0), (-0.5, 3.0), (-5.0, -1.0)):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert tape.gradient(y, x).numpy() == slope


def test_methods_and_closures():
    limit = 3.0

    class Cut:
        def __init__(self):
            self.factor = 2.0

        @tf.function
        def __call__(self, x):
            if x > limit:
                x = x * self.factor
            return x

    class Sub(Cut):
        @tf.function
        def __call__(self, x):
            y = super().__call__(x)
            if y > 100:
                y = y * 0
            return y
    assert Cut()(tf.constant(4.0)).numpy() == 8 and Sub()(tf.constant(1.0)).numpy() == 1
    assert Sub()(tf.constant(60.0)).numpy() == 0


def test_errors_name_what_is_undefined():
    @tf.function
    def one_branch(x):
        if x > 0:
            q = x
        return q

    @tf.function
    def not_before(x):
        while x < 10:
            y = x
            x = x + 1
        return y

    @tf.function
    def texts(x):
        if x > 0:
            name = "a"
        else:
            name = "b"
        return name
    for f, text in ((one_branch, "'q'"), (not_before, "'y'"), (texts, "'name'")):
        with pytest.raises((ValueError, UnboundLocalError), match=text):
            f(tf.constant(1.0))


def test_errors_have_the_lines_of_the_source():
    @tf.function
    def f(x):
        if x > 0:
            x = tf.matmul(x, x)
        return x
    line = f.python_function.__code__.co_firstlineno + 3
    with pytest.raises(ValueError) as found:
        f(tf.constant(1.0))
    lines = []
    trace = found.value.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    assert (__file__, line) in lines


def test_what_is_not_converted():
    @tf.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x
    with pytest.raises(tf.TraceError):
        f(tf.constant(1.0))
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.function(early_return)(tf.constant(-0.5)).numpy() == -1.5
    finally:
        tf.config.run_functions_eagerly(False)


def test_state_of_several_names():
    found = tf.function(state_of_several)(tf.constant(2.0))
    assert [v.numpy() for v in found] == [3, 5, 12]


def test_comparisons_in_a_row():
    calls = []

    def middle(x):
        calls.append(1)
        return x * 2.0

    @tf.function
    def f(x, y):
        if 0.0 < middle(x) < y or not -1.0 <= x <= 1.0:
            return x
        return y if 1.0 < y < 2.0 < 3.0 else -y

    for x, y in ((0.25, 1.0), (0.75, 1.0), (0.75, 1.5), (2.0, 1.0), (-3.0, 0.0), (-0.5, 1.5)):
        expected = x if 0.0 < 2 * x < y or not -1.0 <= x <= 1.0 else y if 1.0 < y < 2.0 else -y
        assert float(f(tf.constant(x), tf.constant(y))) == expected
    assert len(calls) == 1  # what stands in the middle is computed once
    assert not _chained_plain(3) and _chained_plain(1) and calls == [1]


@tf.function
def _plain_chain(n, x):
    return x if 0 < n < 2 else -x


def _chained_plain(n):
    return float(_plain_chain(n, tf.constant(1.0))) > 0


def test_variables_of_loops_in_branches():
    @tf.function
    def f(x, rows, n):
        if x > 0.0:
            for row in rows:
                x += row
            for i in tf.range(n):
                x += tf.cast(i, tf.float32)
        else:
            for i in tf.range(n):
                x -= 1.0
        return x

    rows, n = tf.constant([1.0, 2.0]), tf.constant(3)
    assert float(f(tf.constant(1.0), rows, n)) == 7.0 and float(f(tf.constant(-1.0), rows, n)) == -4.0

    @tf.function
    def after(rows):
        for row in rows:
            pass
        return row

    with pytest.raises(UnboundLocalError, match="'row' has no value here"):
        after(rows)


class Held:
    """An object with attributes."""

    def __init__(self, value):
        self.value = value


def test_attributes_and_items_are_state():
    @tf.function
    def branches(x):
        held, items, rows = Held(x), {"a": x}, [x, x * 2.0]
        if x > 0.0:
            held.value = x * 2.0
            items["b"] = x
            rows[0] = x * 5.0
        else:
            held.value -= 1.0
            items["b"] = -x
        return held.value, items["b"], rows[0] + rows[1]

    for x in (0.5, -0.5):
        expected = (x * 2, x, x * 7) if x > 0 else (x - 1, -x, x * 3)
        assert [float(r) for r in branches(tf.constant(x))] == [float(e) for e in expected]

    @tf.function
    def loops(n):
        held, items = Held(tf.constant(1.0)), {"sum": tf.constant(0.0)}
        for i in tf.range(n):
            held.value = held.value * 2.0
            if held.value > 3.0:
                items["sum"] += held.value
        while held.value > 1.0:
            held.value /= 4.0
        return held.value, items["sum"]

    assert [float(r) for r in loops(tf.constant(4))] == [1.0, 28.0] and [float(r) for r in loops(tf.constant(0))] == [1.0, 0.0]

    @tf.function
    def one_branch(x):
        held = Held(x)
        if x > 0.0:
            held.other = x
        return held.other

    with pytest.raises(AttributeError, match="no attribute 'other'"):
        one_branch(tf.constant(1.0))


def test_deleted_names():
    @tf.function
    def f(x):
        y = x * 2.0
        z = y if y > 0.0 else -y
        del y
        if z > 1.0:
            return z
        return z + 1.0

    assert [float(f(tf.constant(x))) for x in (1.0, -0.25)] == [2.0, 1.5]


def test_many_exits_are_converted_in_time(tmp_path):
    # What follows a branch that may leave stood in both branches once, so twenty of them made a million copies.
    lines = ["def f(x, flag):"]
    for i in range(20):
        lines += [f"    if flag == {i}:", f"        if x > {i}.0:", f"            return x * {i}.0", f"        x = x + {i}.0"]
    path = tmp_path / "exits.py"
    path.write_text("\n".join([*lines, "    return x", ""]))
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    traced = tf.function(names["f"])
    for flag in (0, 1, 19, 20):
        assert float(traced(tf.constant(1.5), flag)) == float(names["f"](tf.constant(1.5), flag))

    @tf.function
    def loop(n, x):
        total = tf.constant(0.0)
        for i in tf.range(n):
            if i > 1:
                if x < 0.0:
                    continue
                total += 1.0
            if i > 3:
                if total > 2.5:
                    break
                total += 0.5

            def weight(value):
                return value * 2.0
            total += weight(0.125)
        return total

    assert [float(loop(tf.constant(6), tf.constant(x))) for x in (1.0, -1.0)] == [4.0, 0.5]
