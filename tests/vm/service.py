# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed drivesoakd in the guest, with one section a drive, and everything it says about them."""

import concurrent.futures
import json
import signal
import time

from harness import wait_for

STATE = "/run/state/drivesoak"
CONFIG = "/run/drivesoak.conf"
RUNTIME = "/run/drivesoak"
PORT = 8734
DEFAULTS = {"size": "48MiB", "threads": 2, "queue-depth": 8, "settle-time": "0", "probe-phase": "0", "duration": "0",
            "verify": "never"}


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f'"{value}"'


class Service:
    """sections: {name: {key: value}} beside DEFAULTS; a Drive under "drive" is named by its serial and a link that
    nobody makes, for no udev runs in the guest."""

    def __init__(self, guest, prefix, sections, interval="1s", top=""):
        self.guest, self.daemon, self.client = guest, f"{prefix}/sbin/drivesoakd", f"{prefix}/bin/drivesoak"
        self.interval, self.top = interval, top
        self.sections = {name: self.section(**values) for name, values in sections.items()}
        self.pid = None
        self.starts = 0
        self.started_s = 0

    @staticmethod
    def section(drive=None, directory=None, **values):
        keys = {"directory": directory} if directory else {}
        if drive:
            prefix = "nvme-QEMU_NVMe_Ctrl" if drive.kind == "nvme" else "ata-RIG_SSD"
            # Wear that can't be read asks for a budget.
            keys = {"device": f"/dev/disk/by-id/{prefix}_{drive.serial}", "serial": drive.serial, "write-budget": "1TiB"}
        else:
            keys["files"] = 4
        keys.update(DEFAULTS)
        keys.update({key.replace("_", "-"): value for key, value in values.items()})
        return {key: value for key, value in keys.items() if value is not None}

    def write_config(self):
        text = (f'state-directory = "{STATE}"\nruntime-directory = "{RUNTIME}"\nsample-interval = "{self.interval}"\n'
                f'web {{ listen = {{ "127.0.0.1:{PORT}" }} }}\n{self.top}\n')
        for name, keys in self.sections.items():
            lines = "\n".join(f"    {key} = {text_of(value)}" for key, value in keys.items())
            text += f'drive "{name}" {{\n{lines}\n}}\n'
        self.guest.ask("write", path=CONFIG, text=text)
        return self

    def check(self):
        """(exit status, output) of drivesoakd -t."""
        code, out, err = self.guest.try_run([self.daemon, "-t", "-c", CONFIG], 60)
        return code, out + err

    def arm(self, *names):
        for name, (code, out, err) in self.try_arm_all(names).items():
            assert code == 0, (name, code, out, err)

    def try_arm_all(self, names):
        """At once: each looks for other users of its disk for seconds."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return dict(zip(names, pool.map(self.try_arm, names)))

    def try_arm(self, name):
        tail = self.sections[name]["serial"][-6:]
        return self.guest.try_run([self.client, "arm", name, "--serial-tail", tail, "-c", CONFIG],
                                  60 * self.guest.patience)

    def start(self, wait=True):
        self.starts += 1
        self.guest.run(f"mkdir -p {RUNTIME}")
        self.started_s = time.monotonic()
        self.pid = self.guest.ask("spawn", command=[self.daemon, "-c", CONFIG], log=f"/run/share/log{self.starts}")["pid"]
        if wait:
            self.wait_listening()
        return self

    def wait_for(self, condition, seconds, what):
        return wait_for(condition, seconds * self.guest.patience, what)

    def wait_listening(self):
        def listening():
            if self.exit_status() is not None:
                raise AssertionError(f"ended with {self.exit_status()}:\n{self.log()}")
            return "web: http://" in self.log()

        self.wait_for(listening, 30, "the web server")

    def exit_status(self, seconds=0):
        return self.guest.ask("poll", pid=self.pid, wait=seconds)["code"]

    def log(self):
        """Of the last start."""
        path = self.guest.share / f"log{self.starts}"
        return path.read_text(errors="replace") if path.exists() else ""

    def kill(self):
        self.guest.ask("signal", pid=self.pid, signal=signal.SIGKILL)
        self.exit_status(20)

    def stop(self, seconds=20):
        """The exit status after SIGTERM."""
        self.guest.ask("signal", pid=self.pid, signal=signal.SIGTERM)
        code = self.exit_status(seconds)
        assert code is not None, f"still there {seconds} s after SIGTERM:\n{self.log()}"
        return code

    def api(self, path):
        answer = self.guest.ask("http", 20, host=f"127.0.0.1:{PORT}", path=f"/api/v1/{path}")
        assert answer["status"] == 200, (path, answer)
        return json.loads(answer["body"])

    def now_s(self):
        """By the guest's clock; on a busy machine the newest sample that can be had is older."""
        return self.api("status")["now_s"]

    def command(self, *words):
        """Output of a client's command."""
        return self.guest.run([self.client, *words, "-c", CONFIG], 60)

    def drive(self, name):
        return next(drive for drive in self.api("status")["drives"] if drive["name"] == name)

    def wait_drive(self, name, condition, seconds, what):
        def look():
            drive = self.drive(name)
            return drive if condition(drive) else None

        try:
            return self.wait_for(look, seconds, f"{name}: {what}")
        except AssertionError as error:
            log = "\n".join(self.log().splitlines()[-40:])
            raise AssertionError(f"{error}; drive: {self.drive(name)}\n{log}\n{self.guest.tail('console', 15)}") from error

    def wait_state(self, name, state, seconds=30):
        return self.wait_drive(name, lambda d: d["state"] == state, seconds, f"state {state}")

    def wait_phase(self, name, phase, seconds=60):
        return self.wait_drive(name, lambda d: d["phase"] == phase, seconds, f"phase {phase}")

    def runs(self, name):
        """Of a drive, newest first."""
        return [run for run in self.api("runs")["runs"] if run["drive"] == name]

    def events(self, name=None, kind=None):
        return [event for event in self.api("events")["events"] if name in (None, event["drive"]) and
                kind in (None, event["kind"])]

    def wait_event(self, name, kind, seconds=30, count=1):
        """The newest of at least so many."""
        def look():
            events = self.events(name, kind)
            return max(events, key=lambda event: event["t_s"]) if len(events) >= count else None

        try:
            return self.wait_for(look, seconds, f"{name}: event {kind}")
        except AssertionError as error:
            raise AssertionError(f"{error}; events: {self.events(name)}\n{self.log()[-4000:]}") from error

    def samples(self, name):
        """Of the newest run, as dicts by column name; the record of a run follows its start."""
        runs = self.runs(name)
        if not runs:
            return []
        answer = self.api(f"runs/{runs[0]['id']}/samples.json")
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    def wait_samples(self, name, count, seconds=60, **equal):
        """So many samples with these values."""
        def look():
            samples = [s for s in self.samples(name) if all(s[key] == value for key, value in equal.items())]
            return samples if len(samples) >= count else None

        return self.wait_for(look, seconds, f"{name}: {count} samples with {equal}")
