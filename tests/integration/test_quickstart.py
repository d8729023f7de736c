#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""./quickstart as a newcomer runs it: from a clean copy of the sources, everything in one folder, nothing left behind."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

from harness import SOURCE, Skip, main, wait_for, work_folder

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
NOBODY = 65534


def copy_of_the_sources(folder):
    """What is tracked, as it is now; outside of a checkout all that is no product of a build."""
    tree = folder / "tree"
    tree.mkdir()
    listing = subprocess.run(["git", "-C", str(SOURCE), "ls-files", "-z"], capture_output=True, check=False)
    if listing.returncode == 0 and listing.stdout:
        for name in listing.stdout.decode().split("\0"):
            if name and (SOURCE / name).exists():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(SOURCE / name, tree / name)
    else:
        shutil.copytree(SOURCE, tree, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("build*", "check-results", "quickstart-data", "autom4te.cache"))
    return tree


def snapshot(tree):
    found = {}
    for path in sorted(tree.rglob("*")):
        stat = path.lstat()
        found[str(path.relative_to(tree))] = (stat.st_mode, stat.st_size, stat.st_mtime_ns)
    return found


def processes_of(folder):
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if os.readlink(process / "exe").startswith(str(folder)) or os.readlink(process / "cwd").startswith(str(folder)):
                found.append((process / "cmdline").read_bytes())
    return found


class Quickstart:
    """One call of ./quickstart in a process group of its own, as a terminal gives it."""

    def __init__(self, tree, data, *arguments, environment=None, user=None):
        self.data, self.output = data, ""
        home = data.parent / "home"
        home.mkdir(exist_ok=True)
        self.home = home
        values = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home),
                  "DRIVESOAK_QUICKSTART_DIR": str(data), **(environment or {})}
        if user:
            os.chown(home, user, user)
        self.process = subprocess.Popen(
            ["./quickstart", *arguments], cwd=tree, env=values, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True, user=user, group=user,
            extra_groups=[] if user else None)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.output += line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def url(self, seconds=240):
        def look():
            assert self.process.poll() is None, self.output
            return re.search(r"Live at (http://\S+)", self.output)

        return wait_for(look, seconds, "the page")[1]

    def get(self, path):
        connection = http.client.HTTPConnection(self.url().split("//")[1].rstrip("/"), timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status == 200, (path, answer.status)
        return body

    def drive(self):
        return json.loads(self.get("/api/v1/status"))["drives"][0]

    def wait_drive(self, condition, what):
        self.url()  # building takes its time before that
        return wait_for(lambda: (lambda d: d if condition(d) else None)(self.drive()), 60, what)

    def end(self, code, seconds=120):
        assert self.process.wait(seconds) == code, self.output
        self.reader.join(5)
        wait_for(lambda: not processes_of(self.data), 3, f"no process left, but {processes_of(self.data)}")
        assert not (self.data / "target").exists(), "the gigabyte must be gone"
        assert os.listdir(self.home) == [], f"something lies in HOME or TMPDIR: {os.listdir(self.home)}"
        return self.output

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def journal(self, query):
        with contextlib.closing(sqlite3.connect(f"file:{self.data}/state/journal.db?mode=ro", uri=True)) as journal:
            return journal.execute(query).fetchall()


def number_of(summary, name):
    match = re.search(rf"^ +{name} +([\d.]+) (\w+)", summary, re.MULTILINE)
    assert match, (name, summary)
    return float(match[1]) * UNITS[match[2]]


def near(shown, exact):
    """Three digits are shown."""
    return abs(shown - exact) <= 0.006 * exact


@contextlib.contextmanager
def fresh():
    with work_folder() as folder:
        yield copy_of_the_sources(folder), folder / "data"


def check_finished_run(quickstart, summary):
    [(total, count)] = quickstart.journal("select sum(write_bytes), count(*) from samples")
    # Whole samples of the soak; where the host was the limit in all of them (flag 8), the summary shows those.
    rows = quickstart.journal("select write_bytes, elapsed_ns, flags from samples"
                              " where state in ('measured', 'zero') and phase = 'soak' and flags in (0, 8)")
    counted = [row for row in rows if row[2] == 0] or rows
    rates = sorted(row[0] * 1e9 / row[1] for row in counted)
    [(run_id, written, status)] = quickstart.journal("select id, written_bytes, status from runs")
    assert status == "done" and written == total and count >= 5, (status, written, total, count)
    assert f"Run {run_id}:" in summary and "NO VERDICT" in summary, summary
    assert near(number_of(summary, "Written"), total), (summary, total)
    assert 4 <= len(rows) <= 6, rows
    assert near(number_of(summary, "median"), rates[(len(rates) - 1) // 2]), (summary, rates)
    report = (quickstart.data / "report.html").read_text()
    assert run_id in report and "Throughput" in report and 'class="ln"' in report, "the run and its timeline"
    assert not re.search(r"https?://|<script|<link|<img|@import|url\((?!#)", report), "the report must stand alone"
    assert str(quickstart.data) in summary


def interrupted(tree, data, phase):
    with Quickstart(tree, data, "--seconds", "60") as quickstart:
        quickstart.wait_drive(lambda d: d["phase"] == phase and (phase == "fill" or d["last_sample_s"]), phase)
        if phase == "soak":
            time.sleep(2.5)
        quickstart.interrupt()
        output = quickstart.end(130, 30)
        assert "Run quickstart-" in output and "NO VERDICT" in output, output
        assert "Report: " in output and (data / "report.html").exists(), output
        [(recorded, status)] = quickstart.journal("select phase, status from runs")
        assert (recorded, status) == (phase, "running"), (recorded, status)
        [(total, count)] = quickstart.journal("select sum(write_bytes), count(*) from samples")
        assert count >= 1 and near(number_of(output, "Written"), total), output


def test_from_clean_sources_to_the_report_and_interrupted():
    with fresh() as (tree, data):
        before = snapshot(tree)
        with Quickstart(tree, data, "--seconds", "5") as quickstart:
            quickstart.wait_drive(lambda d: d["phase"] == "soak" and d["last_sample_s"], "the soak")
            run_id = quickstart.drive()["run"]
            # A second one would take the first one's records away.
            with Quickstart(tree, data, "--seconds", "1") as second:
                assert second.process.wait(30) == 75, second.output
                second.reader.join(5)
                assert "another quickstart is running" in second.output, second.output
            assert run_id.encode() in quickstart.get("/") and b"quickstart" in quickstart.get("/drive/quickstart")
            assert b'id="charts"' in quickstart.get(f"/run/{run_id}")
            wait_for(lambda: any(json.loads(quickstart.get(f"/api/v1/runs/{run_id}/series"))["fields"]
                                 ["write_bytes_per_s"]["mean"]), 10, "a point of the series")
            check_finished_run(quickstart, quickstart.end(0))
        # The second time it is built already, and the earlier records make room.
        start = time.monotonic()
        interrupted(tree, data, "soak")
        assert time.monotonic() - start < 30
        # A fill long enough to be met.
        template = tree / "conf" / "quickstart.conf"
        original, stat = template.read_text(), template.stat()
        template.write_text(original.replace('"1GiB"', '"9GiB"'))
        interrupted(tree, data, "fill")
        template.write_text(original)
        os.utime(template, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert snapshot(tree) == before, "the sources must stay as they were"
        foreign_files_and_an_occupied_port(tree, data)
        as_another_user(tree, data)


def foreign_files_and_an_occupied_port(tree, data):
    (data / "target").mkdir()
    precious = data / "target" / "precious.txt"
    precious.write_text("mine")
    with Quickstart(tree, data, "--seconds", "1") as quickstart:
        assert quickstart.process.wait(60) == 73, quickstart.output
        quickstart.reader.join(5)
        assert "not ours" in quickstart.output and str(data / "target") in quickstart.output, quickstart.output
    assert precious.read_text() == "mine"
    precious.unlink()
    with socket.socket() as taken, contextlib.suppress(OSError):
        # Somebody else may have it already.
        taken.bind(("127.0.0.1", 8734))
        taken.listen()
        with Quickstart(tree, data, "--seconds", "1") as quickstart:
            assert not quickstart.url().rstrip("/").endswith(":8734"), quickstart.url()
            # What a user puts beside our files while it runs stays too.
            wait_for(precious.parent.exists, 10, "the target")
            precious.write_text("mine")
            assert quickstart.process.wait(60) == 0, quickstart.output
            quickstart.reader.join(5)
            assert "Left: " in quickstart.output, quickstart.output
    assert os.listdir(data / "target") == ["precious.txt"] and precious.read_text() == "mine"
    precious.unlink()


def as_another_user(tree, data):
    """No root is needed once the packages are there."""
    if os.geteuid() != 0:
        return
    for path in [tree, *tree.rglob("*")]:
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    own = data.parent / "own"
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    data.parent.chmod(0o755)
    if subprocess.run(["test", "-x", str(tree / "quickstart")], user=NOBODY, group=NOBODY, extra_groups=[],
                      check=False).returncode != 0:
        print("# not run as another user: the folder can't be reached by it", flush=True)
        return
    # What is built already stands for a build of its own.
    for name in ("source", "build"):
        shutil.copytree(data / name, own / "data" / name, symlinks=True)
    (own / "data" / ".quickstart").touch()
    for path in [own, *own.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    with Quickstart(tree, own / "data", "--seconds", "1", user=NOBODY) as quickstart:
        output = quickstart.end(0)
        assert "NO VERDICT" in output and (own / "data" / "report.html").exists(), output


def test_wrong_options_exit_64_and_help_0():
    with fresh() as (tree, data):
        for arguments in (["--bogus"], ["--seconds"], ["--seconds", "0"], ["--seconds", "5s"], ["--seconds=-1"],
                          ["--seconds=99999999"], ["extra"]):
            answer = subprocess.run(["./quickstart", *arguments], cwd=tree, capture_output=True, text=True, check=False,
                                    env={**os.environ, "DRIVESOAK_QUICKSTART_DIR": str(data)})
            assert answer.returncode == 64 and answer.stderr, (arguments, answer)
        answer = subprocess.run(["./quickstart", "--help"], cwd=tree, capture_output=True, text=True, check=True)
        assert "Usage:" in answer.stdout
        assert not data.exists() and not (tree / "quickstart-data").exists()


def test_deps_only_installs():
    with fresh() as (tree, data):
        before = snapshot(tree)
        answer = subprocess.run(["./quickstart", "--deps"], cwd=tree, capture_output=True, text=True, check=False,
                                env={**os.environ, "DRIVESOAK_QUICKSTART_DIR": str(data)})
        assert answer.returncode == 0 and answer.stdout == "", answer
        assert not data.exists() and snapshot(tree) == before


def test_missing_packages_without_root_are_named():
    if os.geteuid() != 0:
        raise Skip("needs root to become another user")
    with fresh() as (tree, _):
        tools = tree.parent / "tools"
        tools.mkdir()
        for name in ("bash", "dirname", "id"):
            (tools / name).symlink_to(shutil.which(name))
        (tools / "dpkg-query").write_text('#!/bin/bash\n[[ $* == *zlib1g-dev* ]] || echo -n installed\n')
        for path in [tools / "dpkg-query", tree.parent, tree, tree / "quickstart"]:
            path.chmod(0o755)
        try:
            answer = subprocess.run(["./quickstart", "--deps"], cwd=tree, capture_output=True, text=True, check=False,
                                    env={"PATH": str(tools)}, user=NOBODY, group=NOBODY, extra_groups=[])
        except PermissionError as error:
            raise Skip(f"the folder can't be reached by another user: {error}") from error
        assert answer.returncode == 69 and "apt-get install zlib1g-dev\n" in answer.stderr, answer


def test_a_folder_of_somebody_else_is_refused_and_stays():
    with fresh() as (tree, data):
        (data / "state").mkdir(parents=True)
        (data / "state" / "precious.txt").write_text("mine")
        before = snapshot(data)
        answer = subprocess.run(["./quickstart"], cwd=tree, capture_output=True, text=True, check=False,
                                env={**os.environ, "DRIVESOAK_QUICKSTART_DIR": str(data)})
        assert answer.returncode == 73 and "not ours" in answer.stderr, answer
        assert snapshot(data) == before


def test_a_relative_folder_inside_the_tree_is_the_callers():
    with fresh() as (tree, _):
        (tree / "sub").mkdir()
        # The copy must not hold itself; a wrong compiler ends it right behind that.
        answer = subprocess.run(["../quickstart"], cwd=tree / "sub", capture_output=True, text=True, check=False,
                                env={**os.environ, "DRIVESOAK_QUICKSTART_DIR": "mine", "CC": "/nonexistent"})
        assert answer.returncode == 70, answer
        data = tree / "sub" / "mine"
        assert (data / "source" / "quickstart").exists() and not (data / "source" / "sub" / "mine").exists()
        assert str(data / "build.log") in answer.stderr, answer.stderr


if __name__ == "__main__":
    main(globals())
