"""The notebooks of examples/python run, and print what is stored in them up to what is random."""
import json
import re

import numpy as np
import pytest

from notebooks import code_cells, notebooks, run, stored_output
from test_tutorials import NUMBER, digits, template  # noqa: F401

# Cells that draw their weights or their data, by what they hold: only the form of what they print is fixed.
RANDOM = re.compile(r"Dense\(|random|layers")


def test_there_are_four():
    assert len(notebooks()) == 4


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_prints_what_is_stored(path, digits, monkeypatch):  # noqa: F811
    monkeypatch.setenv("CAPSTAN_MNIST", str(digits))
    notebook = json.loads(path.read_text())
    for cell, text in zip(code_cells(notebook), run(notebook)):
        stored = stored_output(cell)
        source = "".join(cell["source"])
        if "time" in source:  # a line may be a wait of its own
            assert len(text.splitlines()) == len(stored.splitlines())
            continue
        assert [template(line) for line in text.splitlines()] == [template(line) for line in stored.splitlines()]
        if not RANDOM.search(source):
            ours, theirs = (np.array(re.findall(NUMBER, t), float) for t in (text, stored))
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
