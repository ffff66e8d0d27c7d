"""Runs the notebooks of examples/python without Jupyter: each code cell in one namespace, with what it prints.

    python notebooks.py --write    runs them and stores the outputs
"""
import contextlib
import io
import json
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def notebooks():
    return sorted(FOLDER.glob("*.ipynb"))


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored_output(cell):
    return "".join(text for output in cell["outputs"] for text in output.get("text", []))


def run(notebook):
    """What each code cell prints. A cell that raises an error ends the run, as in Jupyter."""
    names = {"__name__": "__main__"}
    printed = []
    for cell in code_cells(notebook):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("".join(cell["source"]), f"cell {len(printed)}", "exec"), names)
        printed.append(out.getvalue())
    return printed


def write():
    for path in notebooks():
        notebook = json.loads(path.read_text())
        for number, (cell, text) in enumerate(zip(code_cells(notebook), run(notebook)), 1):
            cell["execution_count"] = number
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text.splitlines(True)}] if text else []
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(path.name)


if __name__ == "__main__" and "--write" in sys.argv:
    os.chdir(FOLDER)
    write()
