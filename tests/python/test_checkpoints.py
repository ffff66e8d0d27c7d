"""Checkpoints and pictures from Python."""
import os
import shutil

import numpy as np
import pytest

import capstan as tf


def model_and_optimizer(seed):
    tf.keras.utils.set_random_seed(seed)
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu", input_shape=(3,)), tf.keras.layers.Dense(1)])
    return model, tf.keras.optimizers.Adam(0.01)


def step(model, optimizer):
    x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - 1.0))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return float(loss)


def test_a_training_goes_on_as_if_it_had_not_stopped(tmp_path):
    model, optimizer = model_and_optimizer(1)
    counter = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=counter)
    for _ in range(3):
        step(model, optimizer)
        counter.assign_add(1)
    path = checkpoint.save(tmp_path / "new" / "folder" / "ckpt")
    assert path == str(tmp_path / "new" / "folder" / "ckpt-1") and checkpoint.save_counter == 1
    assert tf.train.latest_checkpoint(tmp_path / "new" / "folder") == path
    wanted = [step(model, optimizer) for _ in range(3)]

    other, its_optimizer = model_and_optimizer(2)
    its_counter = tf.Variable(0)
    again = tf.train.Checkpoint(model=other, optimizer=its_optimizer, step=its_counter)
    again.restore(path).assert_consumed()
    assert int(its_counter) == 3
    assert [step(other, its_optimizer) for _ in range(3)] == wanted


def test_names_in_lists_and_dicts(tmp_path):
    a, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    checkpoint = tf.train.Checkpoint(parts=[a, {"b": b}])
    path = checkpoint.write(tmp_path / "file")
    a.assign([0.0, 0.0])
    b.assign(0.0)
    checkpoint.read(path).assert_consumed()
    assert a.numpy().tolist() == [1.0, 2.0] and float(b) == 3.0


def test_what_does_not_fit(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(tmp_path / "file")
    a = tf.Variable(5.0)
    status = tf.train.Checkpoint(a=a).restore(path)
    with pytest.raises(AssertionError, match="b"):
        status.assert_consumed()
    status.assert_existing_objects_matched().expect_partial()
    assert float(a) == 1.0
    wrong = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="a"):
        tf.train.Checkpoint(a=wrong).restore(path)
    assert wrong.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="number is a int"):
        tf.train.Checkpoint(number=3).write(tmp_path / "other")
    with pytest.raises(OSError):
        tf.train.Checkpoint(a=a).restore(tmp_path / "missing")
    (tmp_path / "damaged").write_bytes((tmp_path / "file").read_bytes()[:-3])
    with pytest.raises(OSError, match="damaged"):
        tf.train.Checkpoint(a=a).restore(tmp_path / "damaged")
    nothing = tf.train.Checkpoint(a=a).restore(None)
    with pytest.raises(AssertionError):
        nothing.assert_consumed()


def test_a_manager_keeps_the_latest(tmp_path):
    value = tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(value=value), tmp_path, max_to_keep=2, step_counter=value,
                                         checkpoint_interval=2)
    assert manager.latest_checkpoint is None and manager.restore_or_initialize() is None
    written = []
    for _ in range(6):
        value.assign_add(1)
        written.append(manager.save())
    assert [path is not None for path in written] == [True, False] * 3
    assert manager.checkpoints == [path for path in written if path][-2:]
    value.assign(0)
    assert manager.restore_or_initialize() == manager.latest_checkpoint and int(value) == 5
    assert not os.path.exists(written[0])
    with tf.train.CheckpointManager(tf.train.Checkpoint(value=value), tmp_path / "b", 1, asynchronous=True) as other:
        path = other.save()
    assert os.path.exists(path)


def test_tensorflows_form(tmp_path):
    model, optimizer = model_and_optimizer(1)
    step(model, optimizer)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    prefix = checkpoint.write_tensorflow(tmp_path / "tf")
    assert os.path.exists(prefix + ".index")
    other, its_optimizer = model_and_optimizer(2)
    tf.train.Checkpoint(model=other, optimizer=its_optimizer).restore(prefix).assert_consumed()
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_pictures(tmp_path):
    model, _ = model_and_optimizer(1)
    model.compile("sgd", "mse")
    history = model.fit(np.ones((8, 3), np.float32), np.ones((8, 1), np.float32), epochs=3, verbose=0)
    assert "<svg" in history.curves_svg() and "loss" in history.curves_text() and "<svg" in history._repr_html_()
    text = tf.keras.utils.plot_model(model, tmp_path / "model.svg", show_shapes=True)
    assert "<svg" in text and (tmp_path / "model.svg").read_text() == text
    assert "digraph" in tf.keras.utils.plot_model(model, tmp_path / "model.dot")
    with pytest.raises(ValueError, match="ends with none of"):
        tf.keras.utils.plot_model(model, tmp_path / "model.bmp")
    if shutil.which("dot"):  # of Graphviz
        tf.keras.utils.plot_model(model, tmp_path / "model.png")
        assert (tmp_path / "model.png").read_bytes().startswith(b"\x89PNG")
    else:
        with pytest.raises(ImportError, match="install graphviz"):
            tf.keras.utils.plot_model(model, tmp_path / "model.png")


def test_files_of_tensors_and_images(tmp_path):
    files = tf.files
    tensors = {"a": tf.constant([[1.0, 2.0]]), "b/c": tf.constant([1, 2, 3])}
    files.save_safetensors(tmp_path / "w.safetensors", tensors, {"format": "pt"})
    found, metadata = files.load_safetensors(tmp_path / "w.safetensors", with_metadata=True)
    assert metadata == {"format": "pt"} and found["b/c"].numpy().tolist() == [1, 2, 3]
    files.save_hdf5(tmp_path / "w.h5", tensors)
    assert files.load_hdf5(tmp_path / "w.h5")["a"].numpy().tolist() == [[1.0, 2.0]]
    np.savez(tmp_path / "w.npz", x=np.arange(3))
    assert files.load_npz(tmp_path / "w.npz")["x"].numpy().tolist() == [0, 1, 2]
    tf.train.Checkpoint(v=tf.Variable(2.0)).write(tmp_path / "ckpt")
    assert any(float(t) == 2.0 for t in files.load_checkpoint(tmp_path / "ckpt").values() if t.shape == ())
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    files.save_png(tmp_path / "image.png", image)
    assert (files.load_image(tmp_path / "image.png").numpy() == image).all()
    files.save_jpeg(tmp_path / "image.jpg", image, quality=90)
    assert files.load_image(tmp_path / "image.jpg", channels=1).shape == (4, 4, 1)
    (tmp_path / "bad.safetensors").write_bytes(b"\xff" * 20)
    for load, name in ((files.load_safetensors, "bad.safetensors"), (files.load_image, "bad.safetensors"),
                       (files.load_torch, "bad.safetensors"), (files.load_npz, "missing")):
        with pytest.raises(OSError, match=name):
            load(tmp_path / name)


def test_datasets_of_folders_and_series(tmp_path):
    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for i in range(3):
            tf.files.save_png(tmp_path / label / f"{i}.png", np.full((8, 8, 3), 40 * i, np.uint8))
    data = tf.keras.utils.image_dataset_from_directory(tmp_path, image_size=(4, 4), batch_size=4, shuffle=False, verbose=0)
    assert data.class_names == ["cat", "dog"] and len(data.file_paths) == 6
    images, labels = next(iter(data))
    assert images.shape == (4, 4, 4, 3) and labels.numpy().tolist() == [0, 0, 0, 1]
    assert [y.shape[0] for _, y in data.map(lambda x, y: (x / 255.0, y))] == [4, 2]
    with pytest.raises(ValueError, match="labels"):
        tf.keras.utils.image_dataset_from_directory(tmp_path, labels=[1, 2])
    series = np.arange(10, dtype=np.float32)
    windows = tf.keras.utils.timeseries_dataset_from_array(series[:-3], series[3:], sequence_length=3, batch_size=2)
    x, y = next(iter(windows))
    assert x.numpy().tolist() == [[0, 1, 2], [1, 2, 3]] and y.numpy().tolist() == [3, 4]
    assert next(iter(tf.keras.utils.timeseries_dataset_from_array(series, None, 4))).shape == (7, 4)


def test_modules_generators_and_passes_over_datasets(tmp_path):
    class Parts(tf.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.size = tf.Variable([1.0, 2.0]), 3
            self.list = [tf.Variable(3.0), {"a": tf.Variable(4.0)}]
            self.again, self.call = self.weight, tf.function(lambda x: x)
            self.loss = tf.keras.losses.MeanSquaredError()  # has no state, as `size` has none
            self.concrete = self.call.get_concrete_function(tf.constant(1.0))

    def parts():
        numbers = tf.data.Dataset.range(50).map(lambda n: (n, {"twice": n * 2})).shuffle(8, seed=1).batch(3)
        return {"module": Parts(), "generator": tf.random.Generator.from_seed(3), "elements": iter(numbers)}

    def draw(have):
        return next(have["elements"])[1]["twice"].numpy().tolist(), have["generator"].normal([3]).numpy().tolist()

    first = parts()
    draw(first)
    first["module"].list[1]["a"].assign(7.0)
    path = tf.train.Checkpoint(**first).save(tmp_path / "ckpt")
    later = [draw(first) for _ in range(3)]
    second = parts()
    tf.train.Checkpoint(**second).restore(path).assert_consumed()
    assert [draw(second) for _ in range(3)] == later and second["module"].list[1]["a"].numpy() == 7
    with pytest.raises(TypeError, match="passes over datasets"):
        tf.train.Checkpoint(nothing=3).save(tmp_path / "other")
