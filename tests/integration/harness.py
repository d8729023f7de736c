# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the real service on real files and look at everything it leaves: API, journal, RRD, files, events.

A test is a script whose functions named test_* are run in order by main(); it prints TAP-like lines and exits 0, 1, or
77 when the machine lacks what every test of it needs."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = pathlib.Path(os.environ.get("DRIVESOAK_BUILD", ".")).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DAEMON = str(BUILD / "drivesoakd")
CLIENT = str(BUILD / "drivesoak")
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BUSY_PERCENT = 40  # of the time somebody waits for a CPU: more than the tests alone do


class Skip(Exception):
    """What the test needs is not there."""


def main(namespace):
    failed = passed = skipped = 0
    wanted = sys.argv[1:]
    for name, function in list(namespace.items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        start = time.monotonic()
        try:
            try_test(name, function)
            passed += 1
            print(f"ok {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except Skip as reason:
            skipped += 1
            print(f"skip {name}: {reason}", flush=True)
        except Exception:  # the next test still says something
            failed += 1
            traceback.print_exc()
            print(f"not ok {name}", flush=True)
    sys.exit(1 if failed else 77 if skipped and not passed else 0)


def try_test(name, function):
    """Once; once more where others had the CPUs, for what is done in real time has no time then. Both are told."""
    try:
        function()
    except Skip:
        raise
    except Exception:
        pressure = cpu_pressure()
        if pressure < BUSY_PERCENT:
            raise
        traceback.print_exc()
        print(f"again {name}: somebody waited for a CPU in {pressure:.0f} % of the last minute", flush=True)
        function()


def cpu_pressure():
    """Percent of the last minute in which somebody waited for a CPU; 0 where the kernel does not tell."""
    try:
        first = pathlib.Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return 0
    return float(first.split("avg60=")[1].split()[0])


def wait_for(condition, seconds, what):
    """The first true answer of condition(); an AssertionError that says what was waited for."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


@contextlib.contextmanager
def work_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="drivesoak-test-", dir=BUILD))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def loop_device(folder, size_bytes):
    """A loop device of our own over a sparse file; its name, detached afterwards."""
    if os.geteuid() != 0:
        raise Skip("needs root for a loop device")
    image = folder / "disk.img"
    with open(image, "wb") as file:
        file.truncate(size_bytes)
    try:
        device = run("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skip(f"no loop device: {error}") from error
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=False)


@contextlib.contextmanager
def loop_filesystem(folder, size_bytes, mkfs=("mkfs.ext4", "-q", "-m", "0")):
    """(mount point, device) of a fresh filesystem on a loop device."""
    with loop_device(folder, size_bytes) as device:
        run(*mkfs, device)
        mount = folder / "mount"
        mount.mkdir()
        run("mount", device, str(mount))
        try:
            yield mount, device
        finally:
            # io_uring lets go of its files a moment after the process has ended.
            wait_for(lambda: subprocess.run(["umount", str(mount)], check=False, stderr=subprocess.DEVNULL).returncode
                     == 0, 10, f"{mount} to be free")


class Service:
    """drivesoakd on a config of its own. keys: of the drive section; top: further lines before it."""

    daemon = DAEMON

    def __init__(self, folder, target, interval="1s", top="", name="cand", wrapper=(), user=None, **keys):
        self.folder, self.target, self.name = pathlib.Path(folder), pathlib.Path(target), name
        self.state = self.folder / "state"
        self.config = self.folder / "drivesoak.conf"
        self.log_path = self.folder / "log"
        self.wrapper, self.user = list(wrapper), user
        self.process = None
        self.url = None
        self.log_from = 0
        values = {"directory": str(target), "size": "64MiB", "files": 8, "settle-time": "0", "duration": "0",
                  "probe-phase": "0", "verify": "never"}
        values.update({key.replace("_", "-"): value for key, value in keys.items()})
        values = {key: value for key, value in values.items() if value is not None}
        lines = [f"    {key} = {self._text(value)}" for key, value in values.items()]
        self.config.write_text(
            f'state-directory = "{self.state}"\nruntime-directory = "{self.folder}/run"\n'
            f'sample-interval = "{interval}"\nweb {{ listen = {{ "127.0.0.1:0" }} }}\n{top}\n'
            f'drive "{name}" {{\n' + "\n".join(lines) + "\n}\n"
        )

    @staticmethod
    def _text(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if isinstance(value, int) else f'"{value}"'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def start(self, wait=True):
        self.log_from = self.log_path.stat().st_size if self.log_path.exists() else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.wrapper + [self.daemon, "-c", str(self.config)], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, user=self.user)
        return self.wait_web() if wait else self

    def wait_web(self):
        def listening():
            if self.process.poll() is not None:
                raise AssertionError(f"ended with {self.process.returncode}:\n{self.log()}")
            for line in self.log(self.log_from).splitlines():
                if "web: http://" in line:
                    return line.split("web: ")[1].strip()
            return None

        self.url = wait_for(listening, 20, "the web server")
        return self

    def log(self, from_byte=0):
        return self.log_path.read_bytes()[from_byte:].decode(errors="replace")

    def stop(self, seconds=20):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        """(status, bytes) of a GET."""
        connection = http.client.HTTPConnection(self.url.split("//")[1].split("/")[0], timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def api(self, path):
        status, body = self.get("/api/v1/" + path)
        assert status == 200, (path, status, body[:300])
        return json.loads(body)

    def drive(self):
        return self.api("status")["drives"][0]

    def wait_drive(self, condition, seconds, what):
        def look():
            drive = self.drive()
            return drive if condition(drive) else None

        try:
            return wait_for(look, seconds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; drive: {self.drive()}\n{self.log()}") from error

    def wait_phase(self, phase, seconds=60):
        return self.wait_drive(lambda drive: drive["phase"] == phase, seconds, f"phase {phase}")

    def wait_done(self, seconds=60):
        return self.wait_drive(lambda drive: drive["state"] == "done", seconds, "the end of the run")

    def samples(self, run_id=None):
        """All samples of a run as dicts by column name."""
        answer = self.api(f"runs/{run_id or self.run_id()}/samples.json")
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    def events(self):
        return self.api("events")["events"]

    def runs(self):
        return self.api("runs")["runs"]

    def run_id(self):
        return self.runs()[0]["id"]

    def wait_samples(self, count, seconds=60):
        def look():
            try:
                samples = self.samples()
            except (AssertionError, IndexError, OSError):
                return None
            return samples if len(samples) >= count else None

        return wait_for(look, seconds, f"{count} samples")

    def journal_rows(self, query, *values):
        with contextlib.closing(sqlite3.connect(f"file:{self.state}/journal.db?mode=ro", uri=True)) as journal:
            return journal.execute(query, values).fetchall()

    def rrd_values(self, run_id, source, step):
        """{t_s: value} of the full-resolution archive; values below 1e11 are exact in rrdtool's print."""
        path = str(self.state / "runs" / f"{run_id}.rrd")
        last = int(run("rrdtool", "last", path))
        out = run("rrdtool", "fetch", path, "AVERAGE", "-r", str(step), "-s", str(last - 3600), "-e", str(last))
        lines = out.splitlines()
        column = lines[0].split().index(source)
        values = {}
        for line in lines[2:]:
            t_s, _, rest = line.partition(":")
            text = rest.split()[column]
            values[int(t_s)] = None if "nan" in text else float(text)
        return values


def device_written_bytes(device):
    name = device.rsplit("/", 1)[1]
    return int(pathlib.Path(f"/sys/block/{name}/stat").read_text().split()[6]) * 512


def assert_stamps_grow_on_the_interval(samples, interval):
    """Every stamp but a down row's is a multiple of the interval, and they strictly grow."""
    for before, after in zip(samples, samples[1:]):
        assert after["t_s"] > before["t_s"], (before, after)
    for sample in samples:
        assert sample["state"] == "down" or sample["t_s"] % interval == 0, sample


def assert_rrd_equals(service, run_id, samples, interval):
    """For every sample the RRD's write_bytes is the journal's, exactly; it follows the journal a moment later."""
    last = int(max(s["t_s"] for s in samples if s["state"] != "down"))
    values = wait_for(lambda: (lambda v: v if v.get(last) is not None else None)(
        service.rrd_values(run_id, "write_bytes", interval)), 10, "the RRD to follow the journal")
    compared = 0
    for sample in samples:
        if sample["state"] == "down":
            continue
        assert values.get(int(sample["t_s"])) == sample["write_bytes"], (sample, values.get(int(sample["t_s"])))
        compared += 1
    assert compared
    return compared
