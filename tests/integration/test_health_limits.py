#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a drive says of its wear, its spare and its heat stops or pauses a run, across kills; and what it no longer says is
told. The drives are loop devices; what they say is what a program in smartctl's place prints, seen by the service alone."""

import contextlib
import json
import os
import pathlib
import time

from harness import MIB, Skip, device_written_bytes, loop_device, main, wait_for, work_folder
from test_device import DeviceService

SIZE = 96 * MIB
SMARTCTL = pathlib.Path("/usr/sbin/smartctl")
INTERVAL_S = 10  # the shortest there is
NAMES = ("worn", "spare", "hot", "mute", "both")


def smartctl_json(used=7, spare=100, temp=40, firmware="FW1", unsafe=3, errors=2):
    """As smartctl 7.3 prints an NVMe drive behind a bridge; None: it is not there."""
    log = {"critical_warning": 0, "temperature": temp, "available_spare": spare, "available_spare_threshold": 5,
           "percentage_used": used, "data_units_read": 11, "data_units_written": 5000, "host_reads": 90, "host_writes": 120,
           "controller_busy_time": 1, "power_cycles": 6, "power_on_hours": 100, "unsafe_shutdowns": unsafe, "media_errors": errors,
           "num_err_log_entries": 0, "warning_temp_time": 0, "critical_comp_time": 0}
    answer = {"json_format_version": [1, 0], "smartctl": {"version": [7, 3], "exit_status": 0},
              "device": {"name": "/dev/sda", "type": "sntjmicron", "protocol": "NVMe"}, "model_name": "RIG WORN SSD",
              "serial_number": "RIGWORN1", "firmware_version": firmware, "smart_status": {"passed": True},
              "nvme_smart_health_information_log": {key: value for key, value in log.items() if value is not None}}
    return json.dumps(answer)


class Rig:
    """Drives of one service, each on a loop device of its own, and what each says of itself."""

    def __init__(self, folder, devices, keys):
        self.folder, self.devices = folder, devices
        self.program = folder / "smartctl"
        self.asked = folder / "asked"
        # The last argument is the node; what it says lies in a file of its name, and it may take its time.
        self.program.write_text(f'#!/bin/sh\necho "$*" >>{self.asked}\nfor node; do :; done\n'
                                f'says={folder}/says/"${{node##*/}}"\n'
                                '[ ! -e "$says.slow" ] || sleep "$(cat "$says.slow")"\nexec cat "$says"\n')
        self.program.chmod(0o755)
        (folder / "says").mkdir()
        for name in devices:
            self.say(name)
        sections = ""
        for name, device in devices.items():
            image = folder / name / "disk.img"
            values = {"device": device, "serial": f"loop:{image}", "size": "16MiB", "threads": 1, "rate": "4MiB",
                      "settle-time": "0", "duration": "0", "probe-phase": "0", "verify": "never",
                      "probe": "smartctl:sntjmicron", "health-interval": f"{INTERVAL_S}s", **keys.get(name, {})}
            lines = "".join(f"    {key} = {DeviceService._text(value)}\n" for key, value in values.items())
            sections += f'drive "{name}" {{\n{lines}}}\n'
        wrapper = ("unshare", "--mount", "sh", "-c", f'mount --bind {self.program} {SMARTCTL} && exec "$@"', "sh")
        self.service = DeviceService(folder, devices["worn"], image=folder / "worn/disk.img", wrapper=wrapper)
        text = self.service.config.read_text()
        self.service.config.write_text(text[:text.index('drive "')] + sections)

    def say(self, name, **values):
        path = self.folder / "says" / self.devices[name].rsplit("/", 1)[1]
        path.with_suffix(".new").write_text(smartctl_json(**values))
        path.with_suffix(".new").rename(path)

    def slow_down(self, name, seconds):
        (self.folder / "says" / (self.devices[name].rsplit("/", 1)[1] + ".slow")).write_text(str(seconds))

    def arm(self, *names):
        for name in names:
            tail = str(self.folder / name / "disk.img")[-6:]
            answer = self.service.client("arm", name, "--serial-tail", tail)
            assert answer.returncode == 0, answer

    def drive(self, name):
        return next(d for d in self.service.api("status")["drives"] if d["name"] == name)

    def wait_drive(self, name, condition, seconds, what):
        try:
            return wait_for(lambda: (lambda d: d if condition(d) else None)(self.drive(name)), seconds, f"{name}: {what}")
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.drive(name)}\n{self.service.log()}") from error

    def told(self, name, words):
        """The journal is a moment behind."""
        return wait_for(lambda: self.events(name, words), 5, f"{name}: {words}")

    def events(self, name, words):
        return [e for e in self.service.events() if e["drive"] == name and words in e["text"]]

    def readings(self, name):
        # A run is in the journal a moment after its phase shows.
        status, body = self.service.get(f"/api/v1/runs/{self.drive(name)['run']}/health")
        assert status in (200, 404), (status, body)
        return json.loads(body)["readings"] if status == 200 else []

    def written(self):
        return {name: device_written_bytes(device) for name, device in self.devices.items()}


@contextlib.contextmanager
def rig(keys):
    if not SMARTCTL.exists():
        raise Skip("smartctl is not installed: another program can't be put in its place")
    with work_folder() as folder, contextlib.ExitStack() as stack:
        devices = {}
        for name in NAMES:
            (folder / name).mkdir()
            devices[name] = stack.enter_context(loop_device(folder / name, SIZE))
        it = Rig(folder, devices, keys)
        with it.service:
            yield it


def assert_told_at_once(rig_, name, words, crossed_s, is_crossed):
    """The event is that of the first reading that shows it, and that reading came within the interval."""
    [event] = wait_for(lambda: rig_.events(name, words), 5, f"{name}: {words}")
    first = next(r["t_s"] for r in rig_.readings(name) if is_crossed(r))
    assert abs(event["t_s"] - first) < 1.5, (event, first)
    assert event["t_s"] - crossed_s < INTERVAL_S + 3, (event, crossed_s)
    return event


def test_limits_stop_and_pause_across_kills():
    keys = {"worn": {"wear-limit": "3%"}, "spare": {"spare-floor": "10%"}, "hot": {"max-temperature": "60C"},
            "mute": {"wear-limit": "5%"}, "both": {"wear-limit": "3%", "max-temperature": "60C", "verify": "end"}}
    with rig(keys) as it:
        service = it.service
        it.arm(*NAMES)
        service.start()
        for name in NAMES:
            it.wait_drive(name, lambda d: d["phase"] == "soak", 30, "the soak")
            wait_for(lambda n=name: it.readings(n), 10, "the reading of the start")
        crossed_s = time.time()
        it.say("worn", used=10)
        it.say("spare", spare=9)
        it.say("hot", temp=71)
        it.say("both", temp=71)
        it.say("mute", used=None, firmware="FW2")
        it.slow_down("mute", 2.3)
        worn = it.wait_drive("worn", lambda d: d["state"] == "done", INTERVAL_S + 8, "the stop")
        assert worn["reason"] == "the run used 3 % of the drive's life (7 to 10 %), its wear-limit is 3 %", worn
        assert_told_at_once(it, "worn", "its wear-limit is 3 %", crossed_s, lambda r: r["percent_used"] == 10)
        spare = it.wait_drive("spare", lambda d: d["state"] == "done", INTERVAL_S, "the stop")
        assert spare["reason"] == "the drive's spare is 9 %, below spare-floor, 10 %", spare
        assert_told_at_once(it, "spare", "below spare-floor", crossed_s, lambda r: r["spare_pct"] == 9)
        hot = it.wait_drive("hot", lambda d: d["state"] == "paused", INTERVAL_S, "the pause")
        assert "too hot: the drive has 71" in hot["reason"] and "the limit is 60" in hot["reason"], hot
        assert_told_at_once(it, "hot", "the run pauses", crossed_s, lambda r: r["temp_c"] == 71)
        it.wait_drive("both", lambda d: d["state"] == "paused", INTERVAL_S, "the pause")
        # Wear that is no longer told stops nothing, and that is said once; so is the new firmware.
        wait_for(lambda: it.events("mute", "does not tell how worn it is any more: wear-limit can't hold"), INTERVAL_S,
                 "that wear is not told")
        it.wait_drive("mute", lambda d: d["state"] == "running" and d["percent_used"] is None, 5, "to run on")
        [event] = it.events("mute", "firmware changed from FW1 to FW2")
        assert event["severity"] == "warning" and event["kind"] == "health", event
        # A reading that takes 2.3 s from the middle of a second touches three samples, or four; those before it are free of it.
        samples = service.samples(it.drive("mute")["run"])
        polled = [i for i, s in enumerate(samples) if "health-poll" in s["flags"]]
        slow = [i for i in polled if i >= 4]
        assert 3 <= len(slow) <= 4 and slow == list(range(slow[0], slow[0] + len(slow))), samples
        # What the drive says is in the RRD as well, the errors of its media too.
        values = {name: service.rrd_values(it.drive("mute")["run"], name, 1).values()
                  for name in ("temp_c", "used_pct", "spare_pct", "media_errors", "errors")}
        known = {name: {v for v in of if v is not None} for name, of in values.items()}
        assert known == {"temp_c": {40}, "used_pct": {7}, "spare_pct": {100}, "media_errors": {2}, "errors": {0}}, known
        # The error log is evidence: of the start and the end of a run, and of no reading between.
        asked = [line.split() for line in it.asked.read_text().splitlines()]
        of_worn = ["--log=error" in words for words in asked if words[-1] == it.devices["worn"]]
        assert of_worn == [True, False, True], asked
        kept = service.journal_rows("SELECT length(pages) FROM health JOIN runs USING (run) WHERE id = ?",
                                    worn["run"])
        assert len(kept) == 3 and all(length > 500 for (length,) in kept), kept
        runs = {name: it.drive(name)["run"] for name in NAMES}
        service.kill()

        # The drive wears on while nobody looks.
        it.say("mute", used=20, unsafe=4, firmware="FW2")
        it.say("hot", temp=None)
        it.say("both", temp=71, used=10)
        before = it.written()
        service.start()
        for name, state in (("worn", "done"), ("spare", "done"), ("hot", "paused"), ("mute", "done"), ("both", "paused")):
            drive = it.wait_drive(name, lambda d, s=state: d["state"] == s, 20, f"to be {state}")
            assert drive["run"] == runs[name], drive
        assert worn["reason"] in it.drive("worn")["reason"], it.drive("worn")
        mute = it.drive("mute")
        assert mute["reason"] == "the run used 13 % of the drive's life (7 to 20 %), its wear-limit is 5 %", mute
        assert it.told("mute", "unsafe shutdowns (power): 1 more, 4 in all"), service.events()
        assert it.told("mute", "tells how worn it is again: wear-limit holds"), service.events()
        assert len(it.events("mute", "firmware changed")) == 1, "not told again"
        # An unknown temperature does not end a pause for heat.
        wait_for(lambda: it.events("hot", "does not tell how warm it is any more"), 5, "that heat is not told")
        time.sleep(2)
        assert it.drive("hot")["state"] == "paused", it.drive("hot")
        # A hot drive that is worn as well waits for its verification until it is cool.
        assert it.drive("both")["state"] == "paused" and "too hot" in it.drive("both")["reason"], it.drive("both")
        after = it.written()
        for name in ("worn", "spare", "hot", "both"):
            assert after[name] == before[name], (name, before, after)
        it.say("hot", temp=54)
        it.say("both", temp=54, used=10)
        it.wait_drive("hot", lambda d: d["state"] == "running", INTERVAL_S + 5, "to go on")
        assert it.told("hot", "cool again at 54 C"), service.events()
        wait_for(lambda: it.written()["hot"] > before["hot"], 10, "writes of the drive that has cooled down")

        both = it.wait_drive("both", lambda d: d["state"] == "done", 20, "its verification")
        assert "the run used 3 % of the drive's life (7 to 10 %)" in both["reason"], both
        [record] = [r for r in service.runs() if r["id"] == runs["both"]]
        assert it.written()["both"] == before["both"] and record["state"] == "done", record
        assert [e for e in service.events() if e["run"] == runs["both"] and "0 bad blocks" in e["text"]], service.events()
        # With a higher limit and a new consent a new run begins, and wears from where the drive is now.
        assert service.stop() == 0
        text = service.config.read_text()
        service.config.write_text(text.replace('wear-limit = "3%"', 'wear-limit = "4%"'))
        service.start()
        time.sleep(1)
        assert it.drive("worn")["state"] == "done" and it.written()["worn"] == before["worn"], "a run that is over stays over"
        it.arm("worn")
        assert service.client("start", "worn").returncode == 0
        again = it.wait_drive("worn", lambda d: d["phase"] == "soak" and d["state"] == "running", 20, "a new run")
        assert again["run"] != runs["worn"], again
        wait_for(lambda: it.readings("worn"), 10, "its first reading")
        assert it.readings("worn")[0]["percent_used"] == 10, it.readings("worn")
        assert it.written()["worn"] > before["worn"]
        assert service.stop() == 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        raise Skip("needs root")
    main(globals())
