#!/usr/bin/env python3
"""Runs programs on the same workloads in turn and prints one table, with each time beside that of the first program.

    compare.py --threads 1 2 --rounds 3 \\
        --run build/release/benchmarks/kernel_workloads \\
        --run "python3 benchmarks/peers/pytorch_kernels.py"

Slow and fast moments of the machine hit all programs alike; the minimum over the rounds counts. Where the first program
has a workload `fma`, what counts in floating-point operations is given as a share of it, too. A check value that differs
from that of the first program by more than 1e-3 of it is said and makes the exit status 1.
"""
import argparse
import json
import shlex
import subprocess
import sys


def run(command, workloads, threads, seconds):
    cores = ",".join(str(core) for core in range(threads))
    line = ["taskset", "-c", cores, *shlex.split(command), "--workload", workloads, "--threads", str(threads),
            "--seconds", str(seconds)]
    done = subprocess.run(line, capture_output=True, text=True)
    lines = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    if not lines:
        sys.exit(f"{command} printed no result:\n{done.stderr[-2000:]}")
    return {line["workload"]: line for line in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="append", required=True, help="a program and its options; may be repeated")
    parser.add_argument("--workloads", default="all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()

    best = {}  # (threads, workload) -> [line of each program]
    for number in range(args.rounds):
        for threads in args.threads:
            for i, command in enumerate(args.run):
                print(f"round {number + 1} of {args.rounds}, {threads} threads: {command}", file=sys.stderr, flush=True)
                for name, line in run(command, args.workloads, threads, args.seconds).items():
                    if "min_us" not in line:
                        continue
                    row = best.setdefault((threads, name), [None] * len(args.run))
                    if row[i] is None or line["min_us"] < row[i]["min_us"]:
                        row[i] = line

    wrong = False
    headings = [shlex.split(command)[-1].rsplit("/", 1)[-1] for command in args.run]
    print(f"{'workload':18} threads  " + "  ".join(f"{heading + ' us':>22}" for heading in headings) + "   of fma  notes")
    for (threads, name), row in sorted(best.items(), key=lambda item: item[0][0]):
        first, peak = row[0], best.get((threads, "fma"), [None])[0]
        cells, notes = [], []
        for line in row:
            if line is None:
                cells.append(f"{'-':>22}")
                continue
            ratio = f" ({line['min_us'] / first['min_us']:.2f})" if first and line is not first else ""
            cells.append(f"{line['min_us']:.1f}{ratio}".rjust(22))
            if first and line["check"] is not None and abs(line["check"] - first["check"]) > 1e-3 * abs(first["check"]):
                notes.append(f"check {line['check']} is not {first['check']}")
                wrong = True
        counts = name.startswith(("matmul", "conv"))
        share = f"{peak['min_us'] / first['min_us']:8.2f}" if peak and first and counts else " " * 8
        single = best.get((1, name), [None])[0]
        if threads > 1 and single and first:
            notes.insert(0, f"{single['min_us'] / first['min_us']:.2f} times one thread")
        print(f"{name:18} {threads:7}  {'  '.join(cells)} {share}  {', '.join(notes)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
