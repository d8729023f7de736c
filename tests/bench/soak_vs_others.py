#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""drivesoakd beside sysbench fileio and fio on as many files of the same size with the same settings, in turn, several
rounds.

16 KiB random writes, 8 threads, 1024 in flight in all, direct. Prints medians and ratios; asserts nothing: machines are
shared and noisy. Usage: DRIVESOAK_BUILD=BUILD soak_vs_others.py [--rounds 5] [--seconds 10] [--size 1GiB] [--loop]
--loop takes a filesystem on a loop device in memory (needs root), else a folder of the build on the local disk."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import BUILD, GIB, Service, loop_filesystem, run  # noqa: E402

FILES, THREADS, DEPTH = 64, 8, 1024


def sysbench(folder, size, seconds):
    out = run("sysbench", "fileio", f"--threads={THREADS}", f"--time={seconds}", "--events=0", f"--file-num={FILES}",
              "--file-block-size=16384", f"--file-total-size={size}", "--file-test-mode=rndwr", "--file-io-mode=async",
              f"--file-async-backlog={DEPTH // THREADS}", "--file-extra-flags=direct", "--file-fsync-freq=0",
              "--file-fsync-end=off", "run", cwd=folder)
    return float(re.search(r"written, MiB/s:\s+([0-9.]+)", out).group(1)) * (1 << 20)


def fio(folder, engine, size, seconds):
    del size
    names = ":".join(f"test_file.{i}" for i in range(FILES))
    out = run("fio", "--name=soak", f"--filename={names}", "--rw=randwrite", "--bs=16k", "--direct=1",
              f"--ioengine={engine}", f"--iodepth={DEPTH // THREADS}", f"--numjobs={THREADS}", "--thread",
              "--norandommap", "--time_based", f"--runtime={seconds}", "--group_reporting", "--randrepeat=0",
              "--output-format=json", cwd=folder)
    return json.loads(out[out.index("{"):])["jobs"][0]["write"]["bw_bytes"]


def drivesoak(service, engine, seconds):
    service.config.write_text(re.sub(r'engine = "\w+"', f'engine = "{engine}"', service.config.read_text()))
    service.start()
    service.wait_drive(lambda d: d["state"] == "running" and d["phase"] == "soak", 120, "the soak")
    seen = len(service.samples())
    service.wait_samples(seen + seconds + 1, seconds + 30)
    samples = [s for s in service.samples()[seen:] if s["state"] == "measured" and "partial" not in s["flags"]]
    service.stop()
    return sum(s["write_bytes"] for s in samples) / sum(s["elapsed_s"] for s in samples)


@contextlib.contextmanager
def place(options):
    base = pathlib.Path(tempfile.mkdtemp(prefix="drivesoak-bench-", dir="/dev/shm" if options.loop else BUILD))
    try:
        if options.loop:
            with loop_filesystem(base, options.size * 3 // 2) as (mount, _):
                yield base, mount
        else:
            yield base, base
    finally:
        shutil.rmtree(base, ignore_errors=True)


def measure(options, base, mount):
    target, others = mount / "target", mount / "others"
    target.mkdir()
    others.mkdir()
    rates = {}
    with Service(base, target, size=f"{options.size}B", files=FILES, threads=THREADS, queue_depth=DEPTH,
                 engine="io_uring") as service:
        service.start()
        service.wait_phase("soak", 300)
        service.stop()
        # Files of their own: a run whose files somebody else has written to does not go on.
        for index in range(FILES):
            shutil.copyfile(target / f"drivesoak-{index:02}.dat", others / f"test_file.{index}")
        os.sync()
        tools = {
            "sysbench fileio": lambda: sysbench(others, options.size, options.seconds),
            "fio libaio": lambda: fio(others, "libaio", options.size, options.seconds),
            "fio io_uring": lambda: fio(others, "io_uring", options.size, options.seconds),
            "drivesoakd": lambda: drivesoak(service, "io_uring", options.seconds),
        }
        for number in range(options.rounds):
            order = list(tools)
            order = order[number % len(order):] + order[:number % len(order)]
            for name in order:
                rates.setdefault(name, []).append(tools[name]())
                print(f"round {number + 1} {name}: {rates[name][-1] / (1 << 20):.0f} MiB/s", file=sys.stderr)
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--size", type=lambda t: int(float(t.replace("GiB", "")) * GIB), default=GIB)
    parser.add_argument("--loop", action="store_true")
    options = parser.parse_args()
    with place(options) as (base, mount):
        rates = measure(options, base, mount)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    best_fio = max(medians["fio libaio"], medians["fio io_uring"])
    where = "ext4 on a loop device in memory" if options.loop else "local disk"
    print(f"{where}, {options.size / GIB:g} GiB in {FILES} files, 16 KiB, {THREADS} threads, {DEPTH} in flight, direct; "
          f"{options.rounds} rounds of {options.seconds} s; kernel {os.uname().release.split('-')[0]}")
    print("| tool | median MiB/s | lowest | highest | to the better fio |\n|---|---|---|---|---|")
    for name, values in rates.items():
        print(f"| {name} | {medians[name] / (1 << 20):.0f} | {min(values) / (1 << 20):.0f} | "
              f"{max(values) / (1 << 20):.0f} | {medians[name] / best_fio:.2f} |")


if __name__ == "__main__":
    main()
