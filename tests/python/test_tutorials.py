"""The tutorials' scripts, as they are, with their stored outputs: `#` in a template stands for a number."""
import json
import os
import pathlib
import re
import runpy
import struct

import numpy as np
import pytest

import capstan as tf

FOLDER = pathlib.Path(__file__).parent / "tutorials"
GOLDEN = json.loads((pathlib.Path(__file__).parent / "tutorials.json").read_text())
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
# Both texts name the remedy; ours is another one.
OTHER_TEXT = {"07_consumed_tape": "Error: ", "15_two_gradients_non_persistent": "RuntimeError: "}
# What the stored run printed beside the script: here it is read from the script's variables.
NO_OUTPUT = {"22_persistent", "25_hinge"}
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf"


@pytest.fixture(scope="module", autouse=True)
def as_tensorflow():
    tf.install_as_tensorflow()


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """128 pictures for training and 64 for the test, whose bright row is the label, as the files of MNIST."""
    folder = tmp_path_factory.mktemp("mnist")
    generator = np.random.default_rng(0)
    for name, count in (("train", 128), ("t10k", 64)):
        labels = generator.integers(0, 10, count).astype(np.uint8)
        images = generator.integers(0, 40, (count, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels):
            image[2 * label:2 * label + 4] = 250
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">iiii", 2051, count, 28, 28) + images.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">ii", 2049, count) + labels.tobytes())
    return folder


def run(script, capsys):
    capsys.readouterr()
    variables = runpy.run_path(str(FOLDER / f"{script}.py"), run_name="__main__")
    return variables, capsys.readouterr().out.splitlines()


def template(line):
    return re.sub(NUMBER, "#", line)


def test_there_are_all_scripts():
    assert SCRIPTS == sorted(GOLDEN)


@pytest.mark.parametrize("script", [s for s in SCRIPTS if GOLDEN[s]["kind"] == "exact" and s not in NO_OUTPUT])
def test_prints_what_tensorflow_prints(script, capsys):
    _, lines = run(script, capsys)
    expected = GOLDEN[script]["prints"]
    if script in OTHER_TEXT:
        lines = [line for line in lines if not line.startswith("  help: ")]
    assert len(lines) in (len(expected), len(expected) - 1)  # some stored runs printed a last line of their own
    for line, wanted in zip(lines, expected):
        if script in OTHER_TEXT and wanted.startswith(OTHER_TEXT[script]):
            assert line.startswith(OTHER_TEXT[script])
            continue
        assert template(line) == template(wanted)
        ours, theirs = (re.findall(NUMBER, text) for text in (line, wanted))
        np.testing.assert_allclose(np.array(ours, float), np.array(theirs, float), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("script", [s for s in SCRIPTS
                                    if GOLDEN[s]["kind"] != "exact" and s != "10_mnist_cnn"])
def test_prints_numbers_like_tensorflows(script, capsys):
    tf.random.set_seed(3)
    _, lines = run(script, capsys)
    found = {}
    for line in lines:
        found.setdefault(template(line), []).append([float(n) for n in re.findall(NUMBER, line)])
    seen = 0
    for entry in GOLDEN[script].get("spread", []):
        shape = template(entry["line"])
        numbers = [float(n) for n in re.findall(NUMBER, entry["line"])]
        for values in found.get(shape, []):
            fixed = list(numbers)
            open_numbers = []
            for value, token in zip(values, re.findall(NUMBER + "|#", entry["line"])):
                if token == "#":
                    open_numbers.append(value)
                elif fixed and value != fixed.pop(0):
                    break
            else:
                seen += 1
                for value, stored in zip(open_numbers, entry["numbers"]):
                    spread = max(stored["greatest"] - stored["least"], 1e-3 * abs(stored["mean"]), 1e-3)
                    assert stored["least"] - 2 * spread <= value <= stored["greatest"] + 2 * spread, entry["line"]
    assert seen > 0


def test_persistent_tape_serves_twice(capsys):
    variables, _ = run("22_persistent", capsys)
    assert variables["dy1_dx"].numpy() == variables["dy2_dx"].numpy() == 48.0


def test_hinge_loss_ends_where_tensorflows_does(capsys):
    variables, _ = run("25_hinge", capsys)
    last = [float(n) for n in re.findall(NUMBER, GOLDEN["25_hinge"]["prints"][1])]
    np.testing.assert_allclose(variables["loss"].numpy(), last[0], rtol=1e-4)
    np.testing.assert_allclose(variables["W"].numpy(), [[last[1]]], rtol=1e-4)
    np.testing.assert_allclose(variables["b"].numpy(), last[2], rtol=1e-4)


def test_network_of_the_notebook_learns(digits, capsys, monkeypatch):
    monkeypatch.setenv("CAPSTAN_MNIST", str(digits))
    tf.random.set_seed(1)
    variables, lines = run("10_mnist_cnn", capsys)
    assert variables["model"].count_params() == 258794
    assert [line for line in lines if line.startswith("[INFO] starting epoch 25/25...took")]
    assert re.fullmatch(r"\[INFO\] test accuracy: [01]\.\d{4}", lines[-1])
    predictions = variables["model"](variables["trainX"][:64], training=True)
    right = np.argmax(predictions.numpy(), -1) == np.argmax(variables["trainY"][:64], -1)
    assert right.mean() > 0.9


@pytest.mark.parametrize("script", ["03_training_step", "23_linear_regression", "27_function_step"])
def test_runs_with_functions_run_eagerly(script, capsys):
    tf.config.run_functions_eagerly(True)
    try:
        run(script, capsys)
    finally:
        tf.config.run_functions_eagerly(False)


def test_command_line(tmp_path):
    import subprocess
    import sys
    script = tmp_path / "script.py"
    script.write_text("import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nimport keras\n"
                      "print(tf.__name__, Dense(2)(tf.ones([1, 3])).shape, keras.layers.Dense is Dense)\n")
    out = subprocess.run([sys.executable, "-m", "capstan.as_tensorflow", str(script)], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in __import__("sys").path if p)})
    assert out.stdout == "capstan (1, 2) True\n", out.stderr
