#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job on a filesystem of a loop device: filled, soaked, sampled, and every record agrees with the others."""

import os
import time

from harness import (DAEMON, MIB, Service, assert_rrd_equals, assert_stamps_grow_on_the_interval, device_written_bytes,
                     loop_filesystem, main, run, work_folder)


def whole_run(engine):
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device):
        target = mount / "candidate"
        target.mkdir()
        (target / "precious.txt").write_text("mine")
        with Service(folder, target, size="128MiB", files=64, threads=8, queue_depth=64, duration="6s", engine=engine,
                     discard=True) as service:
            os.sync()
            before = device_written_bytes(device)
            service.start()
            done = service.wait_done()
            after = device_written_bytes(device)
            run_id = service.run_id()
            samples = service.samples()
            [record] = service.runs()
            summed = sum(sample["write_bytes"] for sample in samples)
            # The samples, the run, the live state and the kernel tell one story.
            assert summed == record["written_bytes"] == done["written_bytes"], (summed, record["written_bytes"], done)
            journal = service.journal_rows("select sum(write_bytes), count(*) from samples")
            assert journal == [(summed, len(samples))], journal
            seen = after - before
            assert abs(seen - summed) <= 0.01 * summed, f"the device saw {seen}, we wrote {summed}"
            filled = sum(sample["write_bytes"] for sample in samples if sample["phase"] == "fill")
            assert 128 * MIB <= filled, filled
            assert record["extent_bytes"] == record["fill_done_bytes"] == 128 * MIB, record
            assert_stamps_grow_on_the_interval(samples, 1)
            assert_rrd_equals(service, run_id, samples, 1)
            soak = [s for s in samples if s["phase"] == "soak"]
            assert all(s["state"] == "measured" for s in soak), soak
            assert 5 <= sum(s["elapsed_s"] for s in soak) <= 9, soak
            whole = [s for s in soak if "partial" not in s["flags"]]
            assert len(whole) >= 4, soak
            for sample in whole:
                assert sample["write_bytes"] == sample["write_ios"] * 16384, sample
                assert 0 < sample["lat_p50_ns"] <= sample["lat_p99_ns"] <= sample["lat_max_ns"], sample
                assert 40 < sample["inflight_mean"] <= 64.5, sample
                assert sample["temp_c"] is None and sample["errors"] == 0, sample
            assert record["engine"] == engine and record["state"] == "done" and record["phase"] == "done", record
            assert record["direct"].startswith("statx"), record["direct"]
            assert record["pre_state"] in ("trimmed", "unknown"), record
            host = record["host"]
            assert host["filesystem"] == "ext4" and "rw" in host["mount_options"], host
            assert host["kernel"] == os.uname().release and host["memory_bytes"] > MIB, host
            assert record["config"]["block_bytes"] == 16384 and record["config"]["threads"] == 8, record["config"]
            assert record["capacity_bytes"] == 512 * MIB, record["capacity_bytes"]
            rates = sorted(s["write_bytes"] / s["elapsed_s"] for s in whole if not s["flags"])
            assert record["summary"]["samples"] == len(rates), record["summary"]
            median = record["summary"]["median_write_bytes_per_s"]
            assert abs(median - rates[(len(rates) - 1) // 2]) < 1 if rates else median is None, (median, rates)
            assert record["summary"]["verdict"] == "NO VERDICT", record["summary"]
            # Ours are 64 files of equal size beside a marker, and what was there stays.
            names = sorted(os.listdir(target))
            assert names == sorted([".drivesoak", "precious.txt"] + [f"drivesoak-{i:02}.dat" for i in range(64)]), names
            assert {(target / f"drivesoak-{i:02}.dat").stat().st_size for i in range(64)} == {2 * MIB}
            assert all((target / f"drivesoak-{i:02}.dat").stat().st_blocks * 512 >= 2 * MIB for i in range(64))
            assert (target / "precious.txt").read_text() == "mine"
            # A run that is done does not start again by itself.
            assert service.stop() == 0
            service.start()
            time.sleep(1.5)
            assert service.drive()["state"] == "done" and len(service.runs()) == 1
            assert sum(s["write_bytes"] for s in service.samples()) == summed
            assert service.stop() == 0


def test_io_uring():
    whole_run("io_uring")


def test_libaio():
    whole_run("libaio")


def test_fill_is_a_share_of_the_drive():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount, size=None, fill="25%", files=16) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            [record] = service.runs()
            assert record["extent_bytes"] == 128 * MIB, record["extent_bytes"]
            assert any("25.0 % of the drive's capacity" in e["text"] for e in service.events()), service.events()
            service.stop()


def test_check_writes_nothing():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        service = Service(folder, mount)
        assert "67108864 bytes in 8 files" in run(DAEMON, "-t", "-c", str(service.config))
        assert os.listdir(mount) == ["lost+found"] and not service.state.exists()


if __name__ == "__main__":
    main(globals())
