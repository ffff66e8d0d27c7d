"""tf.distribute with one replica. The losses are TensorFlow's."""
import threading

import numpy as np
import pytest

import capstan as tf

D = tf.distribute
X = np.arange(32, dtype="float32").reshape(16, 2) / 32
Y = (X.sum(1, keepdims=True) > 1).astype("float32")


def test_custom_training():
    strategy = D.MirroredStrategy()
    size = 4 * strategy.num_replicas_in_sync
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(size))
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(4, "tanh", kernel_initializer="ones"),
                                     tf.keras.layers.Dense(1, kernel_initializer="ones")])
        loss_object = tf.keras.losses.BinaryCrossentropy(from_logits=True, reduction=None)
        mean, optimizer = tf.keras.metrics.Mean(), tf.keras.optimizers.SGD(0.5)

    def step(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(loss_object(y, model(x, training=True)), global_batch_size=size)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        mean.update_state(loss)
        return loss

    @tf.function
    def train(inputs):
        return strategy.reduce(D.ReduceOp.SUM, strategy.run(step, args=(inputs,)), axis=None)

    totals = [sum(float(train(batch)) for batch in batches) for _ in range(3)]
    np.testing.assert_allclose(totals, [3.06821, 1.60167, 1.46141], atol=2e-5)
    assert abs(float(mean.result()) - 0.51094) < 1e-5


def test_where_a_program_is():
    strategy = D.OneDeviceStrategy("/cpu:0")
    assert not D.has_strategy() and not D.in_cross_replica_context()
    assert D.get_strategy().num_replicas_in_sync == 1 and D.get_replica_context().replica_id_in_sync_group == 0
    others = []

    def inside():
        context = D.get_replica_context()
        assert context.strategy is strategy and not D.in_cross_replica_context()
        assert context.merge_call(lambda s, v: (s is strategy, D.in_cross_replica_context(), v), (3,)) == (True, True, 3)
        return context.all_reduce(D.ReduceOp.MEAN, tf.constant(3.0))
    with strategy.scope() as entered:
        assert entered is strategy is D.get_strategy() and D.has_strategy() and D.in_cross_replica_context()
        assert float(strategy.run(inside)) == 3
        thread = threading.Thread(target=lambda: others.append(D.has_strategy()))
        thread.start()
        thread.join()
        with pytest.raises(ZeroDivisionError):
            strategy.run(lambda: 1 / 0)
        assert D.in_cross_replica_context()
    assert not D.has_strategy() and others == [False]


def test_values_and_datasets():
    strategy = D.get_strategy()
    value = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    doubled = strategy.run(lambda v, factor: v * factor, (value,), {"factor": 2})
    np.testing.assert_array_equal(strategy.reduce("SUM", doubled, axis=0), [8, 12])
    np.testing.assert_array_equal(strategy.reduce(D.ReduceOp.MEAN, {"a": doubled}, axis=1)["a"], [3, 7])
    np.testing.assert_array_equal(strategy.gather(doubled, axis=0), doubled)
    assert strategy.experimental_local_results(doubled) == (doubled,)
    made = strategy.distribute_datasets_from_function(
        lambda context: tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2)))
    assert [batch.numpy().tolist() for batch in made] == [[0, 1], [2, 3]]
    assert strategy.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group) == 0
    v = tf.Variable(1.0)
    strategy.extended.update(v, lambda v, by: v.assign_add(by), (2.0,))
    assert v.numpy() == 3


@pytest.mark.parametrize("wrong, text", [
    (lambda: D.MirroredStrategy(["/gpu:0", "/gpu:1"]), "one device"),
    (lambda: D.MirroredStrategy(cross_device_ops=3), "CrossDeviceOps"),
    (lambda: D.get_strategy().reduce("PRODUCT", 1.0, None), "PRODUCT"),
    (lambda: D.get_strategy().gather(tf.constant([1.0]), 1), "axis 1"),
    (lambda: D.InputContext(num_replicas_in_sync=2).get_per_replica_batch_size(3), "not divisible"),
    (lambda: D.get_strategy().run(lambda: 1, options={}), "RunOptions"),
])
def test_what_is_refused(wrong, text):
    with pytest.raises((ValueError, TypeError), match=text):
        wrong()


def test_several_workers_are_refused(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1"]}}')
    assert D.MultiWorkerMirroredStrategy().num_replicas_in_sync == 1
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}}')
    with pytest.raises(ValueError, match="2 workers"):
        D.MultiWorkerMirroredStrategy()
