"""Cases that are counted: what the scripts of this folder share."""
import pathlib
import subprocess
import sys


class Cases:
    """Runs cases, prints a line for each, and at the end how many passed and failed."""

    def __init__(self):
        self.passed = self.failed = 0

    def run(self, name, function, *arguments):
        """A case: it fails with the exception of the function. What the function returns is printed beside it."""
        try:
            text = function(*arguments) or ""
        except Exception as error:  # noqa: BLE001  whatever a tool raises is the result of the case
            self.failed += 1
            print(f"{name:28} WRONG {type(error).__name__}: {error}", flush=True)
        else:
            self.passed += 1
            print(f"{name:28} right {text}", flush=True)

    def program(self, *command):
        """Cases of a program that prints lines with "right" and "WRONG", as cases.h does."""
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="", flush=True)
        lines = done.stdout.splitlines()
        right, wrong = (sum(f" {word}" in line for line in lines) for word in ("right", "WRONG"))
        self.passed += right
        self.failed += wrong
        if done.returncode != 0 and wrong == 0 or right + wrong == 0:
            self.failed += 1
            print(f"{command[0]} ended with {done.returncode} after {right + wrong} cases   WRONG", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(0 if self.failed == 0 and self.passed > 0 else 1)


def both_directions(read, write, program, folder):
    """PROGRAM writes files, which read(folder, cases) has to read; write(folder) writes some, which PROGRAM has to read."""
    ours, theirs = pathlib.Path(folder, "capstan"), pathlib.Path(folder, "python")
    for path in (ours, theirs):
        path.mkdir(parents=True, exist_ok=True)
    cases = Cases()
    subprocess.run([program, "write", ours], check=True)
    print("Files of Capstan, read by the tools:", flush=True)
    read(ours, cases)
    write(theirs)
    print("Files of the tools, read by Capstan:", flush=True)
    cases.program(program, "read", theirs)
    cases.finish()


def equal(what, got, wanted):
    """Raises an exception with both if they differ."""
    if got != wanted:
        raise AssertionError(f"{what}: {got!r} instead of {wanted!r}")
