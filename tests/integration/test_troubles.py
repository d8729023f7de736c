#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A target that fills up, an io_uring that is refused, a wrong config, slow clients: each is said, none stops the rest."""

import errno
import fcntl
import os
import pathlib
import signal
import socket
import struct
import subprocess
import threading
import time

from harness import (BUILD, DAEMON, MIB, Service, Skip, assert_stamps_grow_on_the_interval, loop_filesystem, main,
                     wait_for, work_folder)

REFUSER = str(BUILD / "tests/integration/refuse-io-uring")


def test_more_than_fits_is_planned_down_with_a_note():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with Service(folder, mount, size="1GiB", duration="2s") as service:
            service.start()
            service.wait_done()
            [record] = service.runs()
            assert 100 * MIB < record["extent_bytes"] < 256 * MIB, record
            [note] = [e for e in service.events() if "GiB were asked for" in e["text"]]
            assert "keeps" in note["text"], note
            free = os.statvfs(mount)
            assert free.f_bavail * free.f_frsize >= 15 * MIB, "the reserve must be left"
            service.stop()


def test_a_disk_that_fills_up_ends_the_fill_at_the_level_reached():
    with work_folder() as folder, loop_filesystem(folder, 1024 * MIB) as (mount, _):
        target = mount / "candidate"
        target.mkdir()
        # Few files: what is not reserved yet can be taken away by another.
        with Service(folder, target, size="800MiB", files=8, duration="3s") as service:
            hog = mount / "hog"
            stop = threading.Event()

            def eat():
                with open(hog, "wb") as file:
                    file.truncate(0)
                    grown = 0
                    while not stop.is_set():
                        try:
                            os.posix_fallocate(file.fileno(), grown, 16 * MIB)
                            grown += 16 * MIB
                        except OSError as error:
                            assert error.errno == errno.ENOSPC
                            return

            eater = threading.Thread(target=eat)
            service.start(wait=False)
            wait_for(lambda: (target / "drivesoak-00.dat").exists(), 10, "the first file")
            eater.start()
            time.sleep(0.2)
            service.wait_web()
            service.wait_done(60)
            stop.set()
            eater.join()
            [record] = service.runs()
            assert record["state"] == "done", record
            assert 0 < record["fill_done_bytes"] < 800 * MIB, record
            assert record["extent_bytes"] == record["fill_done_bytes"], record
            ended = [e for e in service.events() if e["text"].startswith("the fill ended at")]
            assert len(ended) == 1 and "No space left on device" in ended[0]["text"], service.events()
            written = sum((target / f"drivesoak-{i:02}.dat").stat().st_size for i in range(8))
            assert written == record["fill_done_bytes"], (written, record["fill_done_bytes"])
            soak = [s for s in service.samples() if s["phase"] == "soak"]
            assert sum(s["errors"] for s in soak) == 0 and sum(s["write_bytes"] for s in soak) > 0, soak
            service.stop()


def refused(error):
    if not os.path.exists(REFUSER):
        raise Skip("refuse-io-uring is not built")
    with work_folder() as folder:
        target = folder / "target"
        target.mkdir()
        with Service(folder, target, size="64MiB", duration="2s", wrapper=[REFUSER, error]) as service:
            service.start()
            service.wait_done()
            [record] = service.runs()
            assert record["engine"] == "libaio" and record["config"]["engine"] == "auto", record
            notes = [e["text"] for e in service.events() if "io_uring" in e["text"]]
            assert notes and ("not permitted" if error == "EPERM" else "not in this kernel") in notes[0], notes
            assert sum(s["write_bytes"] for s in service.samples() if s["phase"] == "soak") > MIB, record
            service.stop()


def test_io_uring_not_permitted():
    refused("EPERM")


def test_io_uring_not_in_the_kernel():
    refused("ENOSYS")


def test_io_uring_asked_for_and_refused_fails_the_run_with_the_reason():
    if not os.path.exists(REFUSER):
        raise Skip("refuse-io-uring is not built")
    with work_folder() as folder:
        target = folder / "target"
        target.mkdir()
        with Service(folder, target, engine="io_uring", wrapper=[REFUSER, "EPERM"]) as service:
            service.start()
            drive = service.wait_drive(lambda d: d["state"] == "failed", 20, "the failure")
            assert "io_uring" in drive["reason"] and "seccomp" in drive["reason"], drive
            service.stop()


def test_without_root_and_with_little_locked_memory():
    with work_folder() as folder:
        target = folder / "target"
        target.mkdir()
        user = 65534 if os.geteuid() == 0 else None
        if user:
            os.chmod(folder, 0o777)
            os.chown(target, user, user)
        with Service(folder, target, size="64MiB", queue_depth=1024, threads=8, duration="3s",
                     wrapper=["prlimit", "--memlock=8388608"], user=user) as service:
            service.log_path.touch()
            service.start()
            service.wait_done()
            [record] = service.runs()
            assert record["engine"] in ("io_uring", "libaio"), record
            assert sum(s["errors"] for s in service.samples()) == 0
            service.stop()


def test_a_wrong_config_is_refused_whole_and_nothing_is_written():
    with work_folder() as folder:
        target = folder / "target"
        target.mkdir()
        service = Service(folder, target)
        service.config.write_text(
            f'state-directory = "{service.state}"\nsample-interval = "400s"\nbogus = 1\n'
            f'drive "a" {{\n    directory = "{target}"\n    fill = "120%"\n    threads = 0\n}}\n'
            'drive "b" {\n    device = "/dev/sda"\n    size = "1GiB"\n')
        for option in ([], ["-t"], ["-p"]):
            answer = subprocess.run([DAEMON, *option, "-c", str(service.config)], capture_output=True, text=True,
                                    check=False)
            assert answer.returncode == 78, answer
            for line in (2, 3, 6, 7, 9):
                assert f"{service.config}:{line}: " in answer.stderr, (line, answer.stderr)
        assert not service.state.exists() and os.listdir(target) == []


def test_a_missing_target_is_said_by_t_and_at_start():
    with work_folder() as folder:
        service = Service(folder, folder / "nowhere")
        answer = subprocess.run([DAEMON, "-t", "-c", str(service.config)], capture_output=True, text=True, check=False)
        assert answer.returncode == 78 and "nowhere" in answer.stderr, answer
        with service:
            service.start(wait=False)
            assert service.process.wait(20) == 78
            assert "nowhere" in service.log(), service.log()


def test_a_command_that_cannot_be_run_is_said_by_t_and_at_start():
    with work_folder() as folder:
        target, plain, fine = folder / "target", folder / "plain", folder / "fine"
        target.mkdir()
        plain.write_text("#!/bin/sh\n")
        fine.write_text("#!/bin/sh\n")
        fine.chmod(0o755)
        service = Service(folder, target)
        commands = {"gone": (folder / "nowhere", "No such file or directory"), "folder": (target, "Is a directory"),
                    "plain": (plain, "Permission denied"), "fine": (fine, None)}
        service.config.write_text(service.config.read_text() + "".join(
            f'notify "{name}" {{ command = {{ "{path}", "-x" }} }}\n' for name, (path, _) in commands.items()))
        test = subprocess.run([DAEMON, "-t", "-c", str(service.config)], capture_output=True, text=True, check=False)
        assert test.returncode == 0, test
        with service:
            service.start()
            for said in (test.stderr, service.log()):
                for name, (path, why) in commands.items():
                    lines = [line for line in said.splitlines() if f'notify "{name}": command: ' in line]
                    assert [f"{path}: {why}; alerts can't be told" in line for line in lines] == [True] * bool(why), said
            service.stop()


def test_a_second_service_is_refused():
    with work_folder() as folder:
        target = folder / "target"
        target.mkdir()
        with Service(folder, target) as first:
            first.start()
            answer = subprocess.run([DAEMON, "-c", str(first.config)], capture_output=True, text=True, check=False)
            assert answer.returncode == 75 and "another drivesoakd" in answer.stderr, answer
            first.stop()


def hold_rrd_lock(path, seconds):
    with open(path, "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        time.sleep(seconds)


def test_samples_are_never_late_for_clients_or_a_locked_rrd():
    with work_folder() as folder:
        target = folder / "target"
        target.mkdir()
        with Service(folder, target) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            host, port = service.url.split("//")[1].rstrip("/").split(":")
            # Half a request each, never finished; and a client that never reads its answer.
            sockets = []
            for index in range(20):
                client = socket.create_connection((host, int(port)))
                client.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n" + (b"\r\n" if index % 2 else b""))
                sockets.append(client)
            rrd = service.state / "runs" / f"{service.run_id()}.rrd"
            # Another process: locks of the same one do not exclude each other.
            pid = os.fork()
            if pid == 0:
                hold_rrd_lock(rrd, 5)
                os._exit(0)
            before = len(service.samples())
            time.sleep(6)
            os.waitpid(pid, 0)
            samples = service.samples()[before:]
            assert 5 <= len(samples) <= 7, samples
            assert all(abs(s["elapsed_s"] - 1) < 0.1 and "partial" not in s["flags"] for s in samples), samples
            for client in sockets:
                client.close()

            def caught_up():
                values = service.rrd_values(service.run_id(), "write_bytes", 1)
                return all(values.get(int(s["t_s"])) == s["write_bytes"] for s in samples)

            wait_for(caught_up, 30, "the RRD to catch up")
            service.stop()


def throttle_folder():
    base = pathlib.Path("/sys/fs/cgroup/blkio")
    if not (base / "blkio.throttle.write_iops_device").exists() and not (base / "tasks").exists():
        raise Skip("no blkio controller (cgroup v1)")
    return base


def test_a_drive_that_stalls_gives_samples_on_time():
    base = throttle_folder()
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device):
        group = base / f"drivesoak-test-{os.getpid()}"
        group.mkdir()
        try:
            number = os.stat(device).st_rdev
            limit = group / "blkio.throttle.write_iops_device"
            with Service(folder, mount, queue_depth=32, threads=2) as service:
                service.start()
                service.wait_phase("soak")
                (group / "cgroup.procs").write_text(str(service.process.pid))
                service.wait_samples(3)
                # One write in ten seconds is as good as none.
                limit.write_text(f"{os.major(number)}:{os.minor(number)} 1")
                seen = len(service.samples())
                service.wait_samples(seen + 6)
                limit.write_text(f"{os.major(number)}:{os.minor(number)} 0")
                slow = service.samples()[seen + 2:seen + 6]
                assert all(s["write_ios"] <= 2 for s in slow), slow
                assert all(abs(s["elapsed_s"] - 1) < 0.1 for s in slow), slow
                assert max(s["stall_ns"] for s in slow) > 0.4e9, slow
                service.wait_drive(lambda d: (d["write_bytes_per_s"] or 0) > MIB, 20, "the recovery")
                assert_stamps_grow_on_the_interval(service.samples(), 1)
                service.stop()
        finally:
            wait_for(lambda: not (group / "cgroup.procs").read_text(), 10, "the group to empty")
            group.rmdir()


FIFREEZE, FITHAW = 0xC0045877, 0xC0045878


def test_a_stall_is_reported_as_long_as_it_was():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount, queue_depth=32, threads=2) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(4)
            handle = os.open(mount, os.O_RDONLY)
            asked = time.monotonic()
            fcntl.ioctl(handle, FIFREEZE, 0)
            frozen = time.monotonic()
            time.sleep(2.0)
            fcntl.ioctl(handle, FITHAW, 0)
            thawed = time.monotonic()
            os.close(handle)
            seen = len(service.samples())
            service.wait_samples(seen + 3)
            stall_s = max(s["stall_ns"] for s in service.samples() if s["stall_ns"] is not None) / 1e9
            # It began while the freeze was being set up, and ended with the thaw.
            assert thawed - frozen - 0.05 <= stall_s <= thawed - asked + 0.05, (stall_s, frozen - asked, thawed - frozen)
            zeros = [s for s in service.samples() if s["state"] == "zero"]
            assert zeros and all(s["write_bytes"] == 0 for s in zeros), service.samples()
            service.stop()


def test_what_is_written_is_incompressible_and_every_sector_differs():
    with work_folder() as folder:
        target = folder / "target"
        target.mkdir()
        with Service(folder, target, size="32MiB", files=2, duration="2s", queue_depth=8, threads=2) as service:
            service.start()
            service.wait_done()
            service.stop()
            data = (target / "drivesoak-00.dat").read_bytes()
            import zlib
            assert len(zlib.compress(data, 6)) > 0.99 * len(data)
            sectors = {data[at:at + 4096] for at in range(0, len(data), 4096)}
            assert len(sectors) == len(data) // 4096
            # The sector number stands in each stamp (engine/payload.h).
            numbers = [struct.unpack_from("<Q", data, at + 8)[0] for at in range(0, len(data), 4096)]
            assert numbers == list(range(len(numbers)))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    main(globals())
