#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole devices as targets, on loop devices of our own: consent, layout, resume, absence, budget, commands."""

import contextlib
import os
import pathlib
import random
import subprocess
import time

from harness import (CLIENT, DAEMON, KIB, MIB, Service, Skip, device_written_bytes, loop_device, main, run, wait_for,
                     work_folder)

MARKER = b"drivesoak target: everything on this drive belongs to drivesoak\n"
SIZE = 256 * MIB


class DeviceService(Service):
    """The service with one loop device as its drive."""

    def __init__(self, folder, device, image=None, **keys):
        self.device = device
        self.image = image or folder / "disk.img"
        values = {"directory": None, "files": None, "device": device, "serial": f"loop:{self.image}", "size": "64MiB",
                  "threads": 2}
        values.update(keys)
        super().__init__(folder, device, **values)

    def client(self, *arguments, **options):
        return subprocess.run([CLIENT, *arguments, "-c", str(self.config)], capture_output=True, text=True, check=False,
                              **options)

    def arm(self):
        answer = self.client("arm", self.name, "--serial-tail", str(self.image)[-6:])
        assert answer.returncode == 0, answer
        return answer.stdout

    def boot_of(self, run_id):
        """The boot in which the run last wrote, as its record has it; "" when the drive may have been without power since."""
        return self.journal_rows("SELECT boot_id FROM runs WHERE id = ?", run_id)[0][0] or ""

    def start_refused(self):
        """What the service says that ends with 78 because nothing can run."""
        self.start(wait=False)
        code = self.process.wait(30)
        assert code == 78, (code, self.log())
        return self.log(self.log_from)

    def event_kinds(self):
        return [event["kind"] for event in self.events()]

    def event_texts(self, kind):
        return [event["text"] for event in self.events() if event["kind"] == kind]


@contextlib.contextmanager
def device_service(size_bytes=SIZE, **keys):
    with work_folder() as folder, loop_device(folder, size_bytes) as device:
        with DeviceService(folder, device, **keys) as service:
            yield service


def read_at(path, offset, length):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(length)


def write_at(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)
        file.flush()


def test_nothing_is_written_without_consent():
    with device_service() as service:
        before = device_written_bytes(service.device)
        assert "not armed" in service.start_refused()
        answer = subprocess.run([DAEMON, "-c", str(service.config), "-t"], capture_output=True, text=True, check=False)
        assert answer.returncode == 78 and "drivesoak arm cand" in answer.stderr, answer
        answer = service.client("arm", "cand", "--serial-tail", "wrong!")
        assert answer.returncode == 77 and "nothing was armed" in answer.stderr, answer
        answer = service.client("arm", "cand", stdin=subprocess.DEVNULL)
        assert answer.returncode == 64 and "--serial-tail" in answer.stderr, answer
        assert "not armed" in service.start_refused()
        assert device_written_bytes(service.device) == before


def test_arm_shows_and_saves_what_is_there():
    with device_service() as service:
        run("mkfs.ext4", "-q", "-L", "photos", service.device)
        head, tail = read_at(service.image, 0, MIB), read_at(service.image, SIZE - MIB, MIB)
        out = service.arm()
        assert "ext4" in out and "photos" in out, out
        assert "not the data" in out, out
        claims = service.state / "claims"
        assert (claims / "cand.head").read_bytes() == head and (claims / "cand.tail").read_bytes() == tail
        assert read_at(service.image, 0, MIB) == head, "arming writes nothing"
        assert (claims / "cand.claim").stat().st_mode & 0o777 == 0o600


def test_a_run_has_its_layout_and_its_record():
    with device_service(duration="3s", verify="end") as service:
        write_at(service.image, SIZE - 4 * KIB, b"old backup table")
        write_at(service.image, 100 * MIB, b"old data far behind")
        service.arm()
        service.start()
        service.wait_done(60)
        [record] = service.runs()
        assert record["serial"] == f"loop:{service.image}", record
        assert record["config"]["device"] == service.device
        assert record["written_bytes"] == sum(s["write_bytes"] for s in service.samples() if s["write_bytes"])
        assert record["fill_done_bytes"] == 64 * MIB, record
        service.stop()
        head = read_at(service.image, 0, MIB)
        assert head.startswith(MARKER) and f"run={record['id']}".encode() in head, head[:200]
        assert not any(head[4096:]), "zeros follow the marker"
        assert any(read_at(service.image, MIB, 4096)), "the extent begins at 1 MiB"
        assert any(read_at(service.image, 65 * MIB - 4096, 4096)), "and ends 64 MiB further"
        assert not any(read_at(service.image, 65 * MIB, 64 * MIB)), "what was there is discarded"
        assert not any(read_at(service.image, SIZE - MIB, MIB))
        verified = [text for text in service.log().splitlines() if "verified 64 MiB: 0 bad blocks" in text]
        assert verified, service.log()
        answer = service.client("verify", "cand")
        assert answer.returncode == 0, answer


def test_blocks_of_4096_bytes():
    with work_folder() as folder:
        image = folder / "disk.img"
        with open(image, "wb") as file:
            file.truncate(SIZE)
        device = run("losetup", "--find", "--show", "--direct-io=on", "--sector-size", "4096", str(image)).strip()
        try:
            with DeviceService(folder, device, duration="2s", verify="end") as service:
                service.arm()
                service.start()
                service.wait_done(60)
                assert any("0 bad blocks" in text for text in service.event_texts("note"))
                service.stop()
        finally:
            subprocess.run(["losetup", "--detach", device], check=False)


def test_a_killed_run_goes_on_in_its_phase():
    with device_service(size="160MiB", rate="32MiB") as service:
        service.arm()
        service.start()
        service.wait_phase("soak")
        service.wait_samples(3)
        run_id = service.run_id()
        for outage in (0.1, 1.5):
            service.kill()
            time.sleep(outage)
            began = time.time()
            service.start()
            service.wait_drive(lambda d: d["state"] == "running" and d["phase"] == "soak", 30, "the soak again")
            assert time.time() - began < 30
            service.wait_samples(len(service.samples()) + 2)
        assert service.run_id() == run_id
        samples = service.samples()
        first_outage = min(s["t_s"] for s in samples if s["state"] == "down")
        assert all(s["phase"] == "soak" for s in samples if s["t_s"] >= first_outage), "it must not fill again"
        assert len([e for e in service.events() if e["kind"] == "resumed"]) == 2
        assert service.stop() == 0


def test_a_kill_at_any_moment_of_the_start_keeps_the_claim():
    with device_service(rate="32MiB") as service:
        service.arm()
        for pause in range(12):
            service.start(wait=False)
            time.sleep(0.015 * pause)
            service.kill()
        service.start()
        drive = service.wait_drive(lambda d: d["state"] in ("running", "failed") and d["phase"] != "prepare", 30, "the run")
        assert drive["state"] == "running", drive
        assert len(service.runs()) == 1, service.runs()
        service.stop()


def test_a_killed_fill_goes_on_where_it_was():
    with device_service(size_bytes=2048 * MIB, size="1900MiB", engine="libaio") as service:
        service.arm()
        service.start()
        done = service.wait_drive(lambda d: d["phase"] == "fill" and (d["progress"] or 0) > 0.1, 30, "part of the fill")
        service.kill()
        service.start()
        again = service.wait_drive(lambda d: d["state"] == "running" and d["phase"] == "fill", 30, "the fill again")
        assert again["progress"] >= done["progress"], (done, again)
        service.wait_phase("soak", 90)
        filled = sum(s["write_bytes"] for s in service.samples() if s["state"] == "filling")
        # What was under way and not yet in a sample when it was killed is written twice, no more.
        assert filled < 1.5 * 1900 * MIB, filled
        assert service.stop() == 0


def test_other_contents_are_refused_and_left_alone():
    with device_service() as service:
        service.arm()
        service.start()
        service.wait_phase("soak")
        service.wait_samples(2)
        service.stop()
        # The marker is still there, but a tenth of the extent is somebody else's now.
        for offset in range(MIB, 65 * MIB, 10 * 64 * KIB):
            write_at(service.image, offset, b"\x5a" * 64 * KIB)
        before = device_written_bytes(service.device)
        log = service.start_refused()
        assert "stamps" in log and "nothing was written" in log, log
        assert device_written_bytes(service.device) == before
        # And without the marker.
        write_at(service.image, 0, b"\0" * 4096)
        before = device_written_bytes(service.device)
        assert "does not carry this run" in service.start_refused()
        assert device_written_bytes(service.device) == before


def test_a_claim_is_for_one_run():
    with device_service(duration="2s") as service:
        service.arm()
        service.start()
        service.wait_done()
        first = service.run_id()
        answer = service.client("start", "cand")
        assert answer.returncode == 0, answer
        drive = service.wait_drive(lambda d: d["state"] == "failed", 20, "the refusal")
        assert "armed for an earlier run" in drive["reason"], drive
        assert service.process.poll() is None, "the service stays"
        service.arm()
        assert service.client("start", "cand").returncode == 0
        service.wait_drive(lambda d: d["run"] not in (None, first) and d["state"] == "done", 60, "the second run")
        assert len(service.runs()) == 2
        service.stop()
        # A run that is over does not start again with the service.
        service.start()
        time.sleep(1.5)
        assert len(service.runs()) == 2 and service.drive()["state"] == "done", service.drive()
        service.stop()


def test_data_that_came_after_arming_is_refused():
    with device_service() as service:
        service.arm()
        run("mkfs.ext4", "-q", service.device)
        head = read_at(service.image, 0, MIB)
        assert "other data than when it was armed" in service.start_refused()
        assert read_at(service.image, 0, MIB) == head


def test_start_by_hand():
    with device_service(start="manual", duration="2s") as service:
        service.start()
        service.wait_drive(lambda d: d["state"] == "idle" and "drivesoak arm cand" in (d["reason"] or ""), 10, "idle")
        service.arm()
        service.stop()
        service.start()
        drive = service.wait_drive(lambda d: d["state"] == "armed", 10, "armed")
        assert "drivesoak start cand" in drive["reason"], drive
        assert not service.runs()
        assert service.client("start", "cand").returncode == 0
        service.wait_done()
        service.stop()


def test_pause_resume_stop_and_note():
    with device_service() as service:
        service.arm()
        service.start()
        service.wait_phase("soak")
        service.wait_samples(3)
        assert service.client("pause", "cand").returncode == 0
        service.wait_drive(lambda d: d["state"] == "paused", 10, "the pause")
        time.sleep(2.5)
        written = device_written_bytes(service.device)
        time.sleep(1.5)
        assert device_written_bytes(service.device) == written, "nothing is written in a pause"
        assert service.samples()[-1]["state"] == "paused", service.samples()[-1]
        # It stays paused when the service starts again.
        service.stop()
        service.start()
        drive = service.wait_drive(lambda d: d["state"] == "paused", 20, "the pause again")
        assert "paused by root" in drive["reason"], drive
        assert service.client("resume", "cand").returncode == 0
        service.wait_drive(lambda d: d["state"] == "running", 10, "the run")
        count = len(service.samples())
        service.wait_samples(count + 3)
        assert service.samples()[-1]["write_bytes"] > 0
        assert service.client("note", "cand", "swapped the fan").returncode == 0
        assert service.client("stop", "cand").returncode == 0
        drive = service.wait_done()
        assert "stopped by root" in drive["reason"], drive
        texts = service.event_texts("note")
        for words in ("swapped the fan", "paused by root", "stopped by root"):
            assert any(words in text for text in texts), (words, texts)
        assert any("resumed by root" in text for text in service.event_texts("resumed"))
        answer = service.client("pause", "cand")
        assert answer.returncode == 65 and "no run under way" in answer.stderr, answer
        assert service.client("pause", "other").returncode == 66
        service.stop()
        assert service.client("status").returncode == 69


def test_a_drive_that_is_not_there_is_waited_for():
    with work_folder() as folder:
        image = folder / "disk.img"
        with open(image, "wb") as file:
            file.truncate(SIZE)
        # A number that nobody who asks for a free one gets while it is detached.
        device = f"/dev/loop{200 + os.getpid() % 1000}"
        run("losetup", device, str(image))
        try:
            with DeviceService(folder, device) as service:
                service.arm()
                service.start()
                service.wait_phase("soak")
                service.wait_samples(2)
                run_id = service.run_id()
                service.stop()
                run("losetup", "--detach", device)
                service.start()
                drive = service.wait_drive(lambda d: d["state"] == "absent", 10, "absence")
                assert "waiting for it" in drive["reason"], drive
                wait_for(lambda: service.event_kinds().count("absent") == 1, 10, "the event of the absence")
                time.sleep(3)
                assert service.process.poll() is None, service.log()
                assert service.event_kinds().count("absent") == 1, "said once"
                # Without power meanwhile, for all one knows: also a start from here on takes it for a power loss.
                assert service.boot_of(run_id) == "", service.boot_of(run_id)
                run("losetup", device, str(image))
                service.wait_drive(lambda d: d["state"] == "running" and d["phase"] == "soak", 20, "the return")
                wait_for(lambda: service.event_kinds().count("returned") == 1, 10, "the event of the return")
                assert service.run_id() == run_id
                wait_for(lambda: service.boot_of(run_id) != "", 10, "the record of the return")
                service.stop()
        finally:
            subprocess.run(["losetup", "--detach", device], check=False, stderr=subprocess.DEVNULL)


def test_the_write_budget_holds_over_kills():
    budget = 400 * MIB
    dice = random.Random(2013)
    with device_service(size="64MiB", rate="12MiB", write_budget=f"{budget}B", engine="auto", verify="end") as service:
        before = device_written_bytes(service.device)
        service.arm()
        service.start()
        kills = 0
        for _ in range(20):
            time.sleep(dice.uniform(0.1, 1.2))
            if service.drive()["state"] == "done":
                break
            service.kill()
            kills += 1
            assert device_written_bytes(service.device) - before <= budget
            service.start()
        assert kills == 20, "the budget must outlast the kills for this test to say something"
        service.wait_done(120)
        assert any("budget" in text for text in service.event_texts("budget")), service.event_kinds()
        written = device_written_bytes(service.device) - before
        assert 0.5 * budget < written <= budget, (written, budget)
        [record] = service.runs()
        assert record["written_bytes"] <= budget
        service.stop()


def test_a_budget_below_the_fill_is_refused():
    with device_service(write_budget="32MiB") as service:
        answer = service.client("arm", "cand", "--serial-tail", str(service.image)[-6:])
        assert answer.returncode == 78 and "write-budget is less than the fill" in answer.stderr, answer


def test_a_refused_device_leaves_the_others_alone():
    with work_folder() as folder, loop_device(folder, SIZE) as device:
        other = folder / "other"
        other.mkdir()
        with DeviceService(folder, device) as service:
            text = service.config.read_text()
            service.config.write_text(text + f'drive "files" {{ directory = "{other}" size = "32MiB" files = 2 '
                                             'settle-time = "0" duration = "0" probe-phase = "0" }\n')
            service.start()

            def settled():
                states = {d["name"]: d for d in service.api("status")["drives"]}
                return states if states["cand"]["state"] == "failed" and states["files"]["phase"] == "soak" else None

            states = wait_for(settled, 30, "one refused, one running")
            assert "not armed" in states["cand"]["reason"]
            # Armed and started while the other one runs.
            service.arm()
            assert service.client("start", "cand").returncode == 0
            wait_for(lambda: all(d["state"] == "running" for d in service.api("status")["drives"]), 30, "both running")
            service.stop()


if __name__ == "__main__":
    if not pathlib.Path("/sys/block").is_dir():
        raise Skip("no sysfs")
    main(globals())
