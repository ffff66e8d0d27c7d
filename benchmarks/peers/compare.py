#!/usr/bin/env python3
"""Runs programs on the same workloads in turn and prints a table, with each time beside that of the first program.

    compare.py --threads 1 2 --rounds 3 --markdown compare.md \\
        --run build/release/benchmarks/shared_workloads \\
        --run "python3 benchmarks/peers/pytorch_peer.py --mode compile"

Each round runs every program once per workload, so that slow and fast moments of the machine hit all alike; the fastest
round counts. Every run is a process of its own, pinned to as many cores as it has threads: what fails or uses up the
memory is a reason below the table, and the others go on. Where there is a workload `fma`, the floating-point operations
of the first program are given as a share of it, too.

Check values that differ from those of the first program are said, and make the exit status 1.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys

# A first loss, a norm or a mean differs by rounding alone. Later losses can differ by more: in cnn_adam a unit lies so
# near the kink of its ReLU that rounding decides whether it has a gradient, which changes the third loss by 2 %.
FIRST_TOLERANCE = 1e-3
LATER_TOLERANCE = 3e-2


def run(command, workload, threads, args):
    """The line that the program prints, or one that says why it does not."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    line = {"workload": workload, "threads": threads}
    try:
        done = subprocess.run(
            [*shlex.split(command), "--workload", workload, "--threads", str(threads), "--seconds", str(args.seconds)],
            capture_output=True, text=True, timeout=args.timeout, preexec_fn=lambda: os.sched_setaffinity(0, cores))
    except subprocess.TimeoutExpired:
        return {**line, "failed": f"it takes more than {args.timeout} s"}
    except OSError as error:
        return {**line, "failed": str(error)}
    for text in reversed(done.stdout.splitlines()):
        if text.startswith("{"):
            return json.loads(text)
    reason = (done.stderr.strip().splitlines() or ["no output"])[-1][:200]
    return {**line, "failed": f"exit status {done.returncode}: {reason}"}


def workload_names(command):
    done = subprocess.run([*shlex.split(command), "--workload", "list"], capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout:
        sys.exit(f"{command} does not say which workloads it has:\n{done.stderr[-2000:]}")
    return done.stdout.split()


def measure(args, workloads):
    """(threads, workload) -> the line of each program in its fastest round."""
    best = {(threads, workload): [None] * len(args.run) for threads in args.threads for workload in workloads}
    for number in range(args.rounds):
        for (threads, workload), row in best.items():
            for i, command in enumerate(args.run):
                if row[i] and "failed" in row[i]:
                    continue  # It would fail again, perhaps after minutes.
                line = run(command, workload, threads, args)
                print(f"round {number + 1} of {args.rounds}, {threads} threads, {workload}, {command}: "
                      f"{line.get('min_us', line.get('failed'))}", file=sys.stderr, flush=True)
                if row[i] is None or line.get("min_us", float("inf")) < row[i]["min_us"]:
                    row[i] = line
    return best


def difference(check, expected):
    """How a check differs from that of the first program, or None. A check is nothing, a number, or several."""
    values, references = (c if isinstance(c, list) else [c] for c in (check, expected))
    if len(values) != len(references) or (None in values) != (None in references):
        return f"check {check} is not {expected}"
    for i, (value, reference) in enumerate(zip(values, references)):
        tolerance = LATER_TOLERANCE if i else FIRST_TOLERANCE
        # Written so that a NaN differs.
        if value is not None and not abs(value - reference) <= tolerance * abs(reference):
            return f"check {check} is not {expected}"
    return None


def judge(best):
    """Adds to each line `ratio`, its time over that of the first program, and `wrong` where its check differs."""
    for first, *others in best.values():
        for line in others:
            if "min_us" in first and "min_us" in line:
                line["ratio"] = round(line["min_us"] / first["min_us"], 4)
                wrong = difference(line.get("check"), first.get("check"))
                if wrong:
                    line["wrong"] = wrong


def cell(line):
    if "failed" in line:
        return "-"
    ratio = line.get("ratio")
    text = f"{line['min_us']:.4g}" + ("" if ratio is None else f" ({ratio:.2f})" if ratio < 10 else f" ({ratio:.0f})")
    return text + (" wrong" if "wrong" in line else "")


def remarks(best, threads, workload):
    """What can be said of the first program alone: title -> text."""
    def time_of(count, name):
        return best.get((count, name), [{}])[0].get("min_us")

    time, single, peak = time_of(threads, workload), time_of(1, workload), time_of(threads, "fma")
    found = {}
    if peak:
        found["of fma"] = f"{peak / time:.2f}" if time and workload.startswith(("matmul", "conv")) else ""
    if threads > 1 and any(count == 1 for count, _ in best):
        found["speedup"] = f"{single / time:.2f}" if time and single else ""
    return found


def table(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = ["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]
    lines = []
    for name, *cells in rows:
        padded = [name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(cells, widths[1:]))]
        lines.append(f"| {' | '.join(padded)} |")
    return [lines[0], f"|{'|'.join(rule)}|", *lines[1:]]


def reasons(title, key, best, names):
    """A list of what lines have under `key`, with the workloads that have the same together."""
    together = {}
    for (_, workload), row in best.items():
        for name, line in zip(names, row):
            if key in line:
                together.setdefault((name, line[key]), {})[workload] = None
    items = [f"- {name}, {', '.join(workloads)}: {reason}" for (name, reason), workloads in together.items()]
    return ["", title, "", *items] if items else []


def markdown(best, names, machine, args):
    text = ["# Comparison", "",
            f"{machine['processor']}, {machine['cores']} cores, {machine['date']}; the fastest of {args.rounds} rounds "
            f"of {args.seconds} s. Microseconds per unit; in brackets the time over that of the first column: more "
            "than 1 is slower than it."]
    for threads in args.threads:
        rows = []
        for (count, workload), row in best.items():
            if count == threads:
                said = remarks(best, threads, workload)
                rows.append([workload, *map(cell, row), *said.values()])
        text += ["", f"## Threads: {threads}", "", *table([["workload", *names, *said], *rows])]
    text += reasons("Not measured:", "failed", best, names) + reasons("Wrong:", "wrong", best, names)
    return "\n".join(text) + "\n"


def this_machine():
    try:
        models = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    except OSError:
        models = []
    return {"processor": models[0] if models else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "date": datetime.date.today().isoformat()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="append", required=True, help="a program and its options; may be repeated")
    parser.add_argument("--workloads", default="all", help="names with commas between them; all: of the first program")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="each gives a table; 1 unless given")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is run in turn; 3 unless given")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="that a workload is measured for in a round; 0.5 unless given")
    parser.add_argument("--timeout", type=float, default=600,
                        help="seconds that one program may take for one workload; 600 unless given")
    parser.add_argument("--markdown", type=pathlib.Path, help="a file for the table")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all that was measured")
    args = parser.parse_args()

    best = measure(args, workload_names(args.run[0]) if args.workloads == "all" else args.workloads.split(","))
    judge(best)
    # A program that measured nothing has not said its name, and two builds of a library have the same.
    names = [next((row[i]["implementation"] for row in best.values() if "implementation" in row[i]), command)
             for i, command in enumerate(args.run)]
    names = [name if names.count(name) == 1 else command for name, command in zip(names, args.run)]
    machine = this_machine()
    text = markdown(best, names, machine, args)
    print(text, end="")
    if args.markdown:
        args.markdown.write_text(text)
    if args.json:
        lines = [{"command": command, **line} for row in best.values() for command, line in zip(args.run, row)]
        result = {"machine": machine, "rounds": args.rounds, "seconds": args.seconds, "results": lines}
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if any("wrong" in line for row in best.values() for line in row) else 0


if __name__ == "__main__":
    sys.exit(main())
