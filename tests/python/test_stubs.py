"""The type stubs in the tree are those of the package, and a type checker takes the tutorials with them."""
import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "capstan"


def test_stubs_are_current(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools" / "python_stubs.py", tmp_path], check=True)
    written = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.pyi")}
    in_tree = {path.relative_to(PACKAGE): path.read_text() for path in PACKAGE.rglob("*.pyi")}
    assert set(written) == set(in_tree)
    changed = [str(path) for path, text in written.items() if in_tree[path] != text]
    assert not changed, f"{changed} are old\n  help: python tools/python_stubs.py"


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_type_checker_takes_the_tutorials(tmp_path):
    scripts = sorted((ROOT / "tests" / "python" / "tutorials").glob("*.py"))
    assert len(scripts) > 20
    for script in scripts:
        text = script.read_text().replace("tensorflow.keras", "capstan.keras").replace("import tensorflow as tf",
                                                                                       "import capstan as tf")
        (tmp_path / ("tutorial_" + script.name)).write_text(text)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import capstan as tf\ntf.reduce_summ(tf.constant(1.0))\ntf.constant(1.0).shape.rankk\n")
    run = subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"),
                          "--follow-imports=silent", "--ignore-missing-imports", "--allow-redefinition",
                          *map(str, sorted(tmp_path.glob("*.py")))],
                         capture_output=True, text=True, env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"})
    lines = [line for line in run.stdout.splitlines() if ": error:" in line]
    assert [line.split(": error:")[0] for line in lines if "wrong.py" in line] == [f"{wrong}:2", f"{wrong}:3"], run.stdout
    # Adam(lr=..., decay=...) is Keras 2's, accepted at run time and unknown to the types, as in Keras 3.
    assert [line.split("argument ")[1].split(" for")[0] for line in lines if "10_mnist_cnn.py" in line] == [
        '"lr"', '"decay"']
    assert [line for line in lines if "wrong.py" not in line and "10_mnist_cnn.py" not in line] == [], run.stderr
