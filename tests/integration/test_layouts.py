#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every layout in layouts.py: the dangerous ones refused and unchanged, the legitimate ones not refused."""

import os
import subprocess

import fixtures
from harness import MIB, Skip, main, work_folder
from layouts import DANGEROUS, LEGITIMATE, PROBE, SIGNED, Bench


def probe(path, *options):
    """([hard], [soft]) of the guard alone. Three looks at openers, closer together than in the service."""
    answer = subprocess.run([PROBE, "--pause", "250", *options, str(path)], check=False, capture_output=True, text=True)
    lines = answer.stdout.splitlines()
    assert answer.returncode in (0, 1, 2), answer
    return ([line[5:] for line in lines if line.startswith("hard ")],
            [line[5:] for line in lines if line.startswith("soft ")])


def edges(path):
    """First, middle and last MiB of what is tried and could be written."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        return [os.pread(fd, MIB, offset) for offset in (0, size // 2, max(size - MIB, 0))]
    except OSError:
        return None
    finally:
        os.close(fd)


def try_layouts(layouts, judge):
    if os.geteuid() != 0:
        raise Skip("needs root for loop devices")
    wrong, left_out = [], []
    for name, make, *words in layouts:
        with work_folder() as folder, Bench(folder) as bench:
            try:
                path = make(bench) or bench.device
                before = edges(path)
                complaint = judge(probe(path), words[0] if words else ())
                if edges(path) != before:
                    complaint = "was changed"
            except FileNotFoundError as error:
                complaint = None
                left_out.append(f"{name} ({error})")
            except (AssertionError, OSError, subprocess.CalledProcessError) as error:
                complaint = f"{error} {getattr(error, 'stderr', '')}"
        if complaint and "unknown filesystem type" in complaint:
            left_out.append(f"{name} (this kernel lacks the filesystem)")
        elif complaint:
            wrong.append(f"{name}: {complaint}")
    if left_out:
        print("left out: " + "; ".join(left_out))
    assert not wrong, "\n" + "\n".join(wrong)


def missing(words, findings):
    text = "; ".join(findings)
    return [word for word in words if word not in text]


def judge_dangerous(findings, words):
    hard, soft = findings
    if missing(words, hard):
        return f"hard {hard} lacks {missing(words, hard)}; soft {soft}"
    return None


def judge_signed(findings, words):
    hard, soft = findings
    if hard or missing(words, soft):
        return f"hard {hard}, soft {soft}; expected {words}"
    return None


def judge_legitimate(findings, _words):
    hard, soft = findings
    return f"hard {hard}, soft {soft}" if hard or soft else None


def test_dangerous_layouts_are_refused_by_the_guard():
    try_layouts(DANGEROUS, judge_dangerous)


def test_data_is_shown_by_the_guard():
    try_layouts(SIGNED, judge_signed)


def test_legitimate_layouts_pass_the_guard():
    try_layouts(LEGITIMATE, judge_legitimate)


def test_dangerous_machines_are_refused_by_the_guard():
    try_machines(fixtures.DANGEROUS, judge_dangerous)


def test_legitimate_machines_pass_the_guard():
    try_machines(fixtures.LEGITIMATE, judge_legitimate)


def try_machines(machines, judge):
    """What neither loop devices nor this kernel can show: trees that stand for /sys, /proc and /etc."""
    wrong = []
    for name, disk, lines, *words in machines:
        with work_folder() as folder:
            fixtures.make(folder, lines)
            complaint = judge(probe(disk, "--root", str(folder), "--state", "/var/lib/drivesoak"),
                              words[0] if words else ())
        if complaint:
            wrong.append(f"{name}: {complaint}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_there_are_enough_of_them():
    assert len(DANGEROUS) + len(SIGNED) + len(fixtures.DANGEROUS) >= 60
    assert len(LEGITIMATE) + len(fixtures.LEGITIMATE) >= 20
    print(f"{len(DANGEROUS)} dangerous, {len(SIGNED)} with data, {len(LEGITIMATE)} legitimate on loop devices; "
          f"{len(fixtures.DANGEROUS)} dangerous, {len(fixtures.LEGITIMATE)} legitimate machines")


if __name__ == "__main__":
    main(globals())
