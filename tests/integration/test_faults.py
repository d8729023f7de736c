#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong at three in the morning: failing blocks, a target that is taken away, a full state disk, a journal that
somebody removed, a clock that is behind, a drive that hangs. Each is said, nothing is lost, the other drives go on."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

from harness import (MIB, Service, Skip, assert_stamps_grow_on_the_interval, loop_filesystem, main, run, wait_for,
                     work_folder)


@contextlib.contextmanager
def mounted_memory(folder, size):
    """A filesystem in memory of our own, to be filled up."""
    if os.geteuid() != 0:
        raise Skip("needs root to mount")
    folder.mkdir()
    run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder))
    try:
        yield folder
    finally:
        wait_for(lambda: subprocess.run(["umount", str(folder)], check=False).returncode == 0, 10, "the memory to be free")


@contextlib.contextmanager
def failing_filesystem(folder):
    """ext4 on a disk of 512 MiB that has room for 200 MiB only: writes behind that fail, as bad blocks do."""
    with mounted_memory(folder / "memory", "200m") as memory:
        image, mount = memory / "disk.img", folder / "mount"
        with open(image, "wb") as file:
            file.truncate(512 * MIB)
        device = run("losetup", "--find", "--show", str(image)).strip()
        try:
            run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
            mount.mkdir()
            run("mount", device, str(mount))
            yield mount
            wait_for(lambda: subprocess.run(["umount", str(mount)], check=False, stderr=subprocess.DEVNULL).returncode
                     == 0, 10, "the mount to be free")
        finally:
            subprocess.run(["umount", "-l", str(mount)], check=False, stderr=subprocess.DEVNULL)
            subprocess.run(["losetup", "--detach", device], check=False)


def local_target(folder):
    target = folder / "target"
    target.mkdir()
    return target


def of_kind(service, kind):
    return [event for event in service.events() if event["kind"] == kind]


def test_failing_blocks_are_counted_until_there_are_too_many():
    with work_folder() as folder, failing_filesystem(folder) as mount:
        with Service(folder, mount, size="300MiB", files=4, discard=False, max_errors=500) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            assert service.drive()["state"] == "running", "failed blocks are data"
            failed = service.wait_drive(lambda d: d["state"] == "failed", 60, "the failure")
            wait_for(lambda: service.runs()[0]["ended_s"], 10, "the end of the run")
            samples, [record] = service.samples(), service.runs()
            errors = sum(sample["errors"] for sample in samples)
            assert 500 < errors, samples
            assert f"{sum(s['errors'] for s in samples[:-1])} I/O errors are more than max-errors 500" in failed["reason"], (
                failed, samples)
            assert "No space left on device" in failed["reason"] or "Input/output error" in failed["reason"], failed
            assert record["state"] == "failed" and record["reason"] == failed["reason"], record
            assert record["written_bytes"] == sum(sample["write_bytes"] for sample in samples), record
            texts = [event["text"] for event in of_kind(service, "error")]
            assert failed["reason"] in texts and any(text.startswith("write error at byte ") for text in texts), texts
            # A run that failed does not start again by itself.
            assert service.stop() == 0
            service.start()
            time.sleep(1.5)
            assert service.drive()["state"] == "failed" and len(service.samples()) == len(samples)
            service.stop()


def test_a_filesystem_that_turns_read_only_fails_the_run_with_the_reason():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device):
        trigger = pathlib.Path(f"/sys/fs/ext4/{device.rsplit('/', 1)[1]}/trigger_fs_error")
        if not trigger.exists():
            raise Skip("this ext4 cannot be told to fail")
        run("mount", "-o", "remount,errors=remount-ro", str(mount))
        with Service(folder, mount) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(3)
            trigger.write_text("1")
            failed = service.wait_drive(lambda d: d["state"] == "failed", 20, "the failure")
            assert "Read-only file system" in failed["reason"], failed
            assert service.stop() == 0


def test_a_target_that_is_taken_away_is_said():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        target = mount / "candidate"
        target.mkdir()
        with Service(folder, target) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            shutil.rmtree(target)
            drive = service.wait_drive(lambda d: d["reason"], 20, "the reason")
            assert drive["state"] == "running" and "removed, moved or unmounted" in drive["reason"], drive
            [event] = of_kind(service, "error")
            assert event["severity"] == "critical" and "can't be resumed" in event["text"], event
            assert all(sample["errors"] == 0 for sample in service.samples())
            assert service.stop() == 0
            service.start(wait=False)
            assert service.process.wait(20) == 78, service.log()


def test_a_target_that_is_not_mounted_is_named_so():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device):
        with Service(folder, mount) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            assert service.stop() == 0
            wait_for(lambda: subprocess.run(["umount", str(mount)], check=False).returncode == 0, 10, "the mount to be free")
            service.start(wait=False)
            assert service.process.wait(20) == 78, service.log()
            assert "the filesystem is not mounted, or the files were removed" in service.log(), service.log()
            [(text,)] = service.journal_rows("select text from events where kind = 'error'")
            assert text.startswith("refused: "), text
            assert os.listdir(mount) == [], "nothing may be written to what lies below"
            run("mount", device, str(mount))
            service.start()
            service.wait_drive(lambda d: d["state"] == "running" and d["phase"] == "soak", 10, "the run again")
            assert service.stop() == 0


def test_a_refused_drive_leaves_the_others_alone():
    with work_folder() as folder:
        service = Service(folder, local_target(folder))
        service.config.write_text(service.config.read_text() +
                                  f'drive "gone" {{\n    directory = "{folder}/nowhere"\n    size = "64MiB"\n}}\n')
        with service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(3)
            [good, gone] = service.api("status")["drives"]
            assert good["state"] == "running" and gone["state"] == "failed", (good, gone)
            assert "nowhere: No such file" in gone["reason"] and gone["run"] is None, gone
            assert gone["written_bytes"] is None, "what is not known is not 0"
            [event] = of_kind(service, "error")
            assert (event["drive"], event["run"], event["severity"]) == ("gone", None, "critical"), event
            assert event["text"] == gone["reason"], event
            assert service.stop() == 0


def fill_up(path):
    with open(path, "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(512))


def test_a_full_state_disk_loses_nothing_and_is_said_on_the_page():
    with work_folder() as folder, mounted_memory(folder / "state", "48m") as state:
        with Service(folder, local_target(folder), duration="20min") as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(3)
            fill_up(state / "hog")
            health = wait_for(lambda: (lambda h: h if h["archive"]["journal_failures"] else None)(
                json.loads(service.get("/healthz")[1])), 60, "the disk to be full")
            assert health["status"] == "degraded" and "full" in health["archive"]["last_error"], health
            for path in ("/", "/drive/cand", "/runs"):
                status, page = service.get(path)
                assert status == 200 and b"Records wait to be stored" in page and b"full" in page, (path, status)
            time.sleep(3)
            age = time.time() - service.drive()["last_sample_s"]
            assert age < 2.5, f"the tick must go on: the last sample is {age} s old"
            (state / "hog").unlink()
            wait_for(lambda: json.loads(service.get("/healthz")[1])["status"] == "ok", 40, "the records to be stored")
            assert b"Records wait" not in service.get("/")[1]
            samples = service.samples()
            assert_stamps_grow_on_the_interval(samples, 1)
            stamps = [int(sample["t_s"]) for sample in samples]
            assert stamps == list(range(stamps[0], stamps[-1] + 1)), "no sample may be missing"
            whole = samples[2:]
            assert all(abs(s["elapsed_s"] - 1) < 0.1 and s["flags"] in ("", "host-limit") for s in whole), whole
            assert service.stop() == 0


def test_a_journal_removed_while_running_is_written_again():
    with work_folder() as folder:
        with Service(folder, local_target(folder)) as service:
            service.start()
            service.wait_phase("soak")
            before = service.wait_samples(3)
            run_id = service.run_id()
            for name in service.state.glob("journal.db*"):
                name.unlink()
            wait_for(lambda: (service.state / "journal.db").exists(), 10, "the journal")
            after = service.wait_samples(len(before) + 2)
            assert after[:len(before)] == before, "what was stored must be there"
            [event] = of_kind(service, "error")
            assert "was removed while in use: written again with all its records" in event["text"], event
            assert service.stop() == 0
            service.start()
            service.wait_drive(lambda d: d["state"] == "running", 10, "the run again")
            assert service.run_id() == run_id and len(service.runs()) == 1
            assert service.stop() == 0


def test_sigterm_at_any_moment_ends_in_order():
    for delay in (0.03, 0.06, 0.12, 0.3, 0.6):
        for twice in (False, True):
            with work_folder() as folder, loop_filesystem(folder, 1024 * MIB) as (mount, _):
                with Service(folder, mount, size="256MiB", settle_time="1s" if twice else "0") as service:
                    service.start(wait=False)
                    wait_for(lambda: (service.state / "journal.db").exists(), 10, "the start")
                    time.sleep(delay)
                    service.process.send_signal(signal.SIGTERM)
                    if twice:
                        service.process.send_signal(signal.SIGTERM)
                    code = service.process.wait(20)
                    assert code == 0, (delay, twice, code, service.log())
                    service.start()
                    service.wait_phase("soak")
                    service.wait_samples(2)
                    assert service.stop() == 0
                    [(runs,)] = service.journal_rows("select count(*) from runs")
                    assert runs == 1, (delay, twice)


def test_settle_time_goes_on_after_a_restart():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount, settle_time="5s") as service:
            service.start()
            service.wait_phase("prepare")
            service.wait_samples(2)
            if service.runs()[0]["pre_state"] != "trimmed":
                raise Skip("this filesystem takes no FITRIM: nothing settles")
            assert service.stop() == 0
            service.start()
            service.wait_phase("soak")
            idle = sum(s["elapsed_s"] for s in service.samples() if s["phase"] == "prepare" and s["state"] == "paused")
            assert 4.5 <= idle <= 7.5, idle
            assert service.stop() == 0


def test_a_clock_behind_the_last_sample_is_said_and_stamps_go_on():
    with work_folder() as folder:
        with Service(folder, local_target(folder)) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(3)
            assert service.stop() == 0
            with contextlib.closing(sqlite3.connect(service.state / "journal.db")) as journal:
                journal.execute("pragma foreign_keys = off")
                journal.execute("update histograms set t_ms = t_ms + 7200000")
                journal.execute("update samples set t_ms = t_ms + 7200000")
                journal.commit()
            last = service.journal_rows("select max(t_ms) from samples")[0][0] / 1000
            service.start()
            count = len(service.samples())
            samples = service.wait_samples(count + 3)
            assert_stamps_grow_on_the_interval(samples, 1)
            assert last < samples[-1]["t_s"] < last + 10, (last, samples[-1])
            [event] = of_kind(service, "clock-step")
            assert "behind the last sample" in event["text"] and "h" in event["text"], event
            assert service.stop() == 0


class Notified:
    """The service manager's end of NOTIFY_SOCKET."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = str(folder / "notify")
        self.socket.bind(self.path)
        self.messages = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            self.messages += self.socket.recv(4096).decode().split("\n")


def test_the_service_manager_is_told():
    with work_folder() as folder:
        notified = Notified(folder)
        wrapper = ["env", f"NOTIFY_SOCKET={notified.path}", "WATCHDOG_USEC=2000000"]
        with Service(folder, local_target(folder), wrapper=wrapper) as service:
            service.start()
            wait_for(lambda: "READY=1" in notified.messages, 10, "READY=1")
            service.wait_phase("soak")
            service.wait_samples(6)
            assert service.stop() == 0
        wait_for(lambda: "STOPPING=1" in notified.messages, 5, "STOPPING=1")
        status = [m for m in notified.messages if m.startswith("STATUS=")]
        assert "STATUS=1 running, 0 stalled, 0 done, 0 failed" in status, notified.messages
        # Only what is news: the manager's queue holds few messages, and a full one would hold the tick.
        assert len(status) <= 3, status
        assert notified.messages.count("WATCHDOG=1") >= 3, notified.messages
        assert notified.messages.index("READY=1") < notified.messages.index("STOPPING=1"), notified.messages


def resources(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    [resident] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")]
    return resident * 1024, len(os.listdir(f"/proc/{pid}/fd"))


def test_memory_and_descriptors_stay_while_a_client_polls():
    with work_folder() as folder:
        with Service(folder, local_target(folder)) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            run_id = service.run_id()
            paths = ("/", "/drive/cand", "/compare", "/runs", "/events", "/api/v1/status", "/healthz",
                     f"/api/v1/runs/{run_id}/series?points=1000", f"/api/v1/runs/{run_id}/samples.csv",
                     f"/graph/{run_id}/timeline.svg", f"/graph/{run_id}/timeline.png", "/graph/jitter.svg")

            def poll(seconds):
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    for path in paths:
                        assert service.get(path)[0] == 200, path
                    time.sleep(0.2)
                return resources(service.process.pid)

            resident, descriptors = poll(10)
            seconds = int(os.environ.get("DRIVESOAK_GROWTH_SECONDS", "20"))
            later, open_later = poll(seconds)
            assert open_later <= descriptors + 2, (descriptors, open_later)
            assert later - resident < 2 * MIB, f"{later - resident} bytes more after {seconds} s"
            assert service.stop() == 0


def test_a_drive_that_hangs_at_sigterm_does_not_hold_the_end():
    base = pathlib.Path("/sys/fs/cgroup/blkio")
    if not (base / "blkio.throttle.write_iops_device").exists() and not (base / "tasks").exists():
        raise Skip("no blkio controller (cgroup v1)")
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device):
        group = base / f"drivesoak-hang-{os.getpid()}"
        group.mkdir()
        number = os.stat(device).st_rdev
        limit = group / "blkio.throttle.write_iops_device"
        try:
            with Service(folder, mount, queue_depth=32, threads=2) as service:
                service.start()
                service.wait_phase("soak")
                (group / "cgroup.procs").write_text(str(service.process.pid))
                service.wait_samples(3)
                limit.write_text(f"{os.major(number)}:{os.minor(number)} 1")
                service.wait_samples(len(service.samples()) + 2)
                sent = time.time()
                assert service.stop(20) == 0
                assert "hangs; ending without it" in service.log(), service.log()
                # The tick went on until the end, and the end is a sample.
                [(last_ms,)] = service.journal_rows("select max(t_ms) from samples")
                assert last_ms / 1000 >= sent + 7, (last_ms, sent)
        finally:
            limit.write_text(f"{os.major(number)}:{os.minor(number)} 0")
            wait_for(lambda: not (group / "cgroup.procs").read_text(), 40, "the group to empty")
            group.rmdir()


if __name__ == "__main__":
    main(globals())
