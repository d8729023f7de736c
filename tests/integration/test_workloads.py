#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads, the probe, commits and the verification, through the service on real files."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import time

from harness import CLIENT, DAEMON, KIB, MIB, SOURCE, Service, loop_filesystem, main, run, work_folder

BLOCK = 16 * KIB


def small(folder, mount, **keys):
    values = {"size": "64MiB", "files": 4, "threads": 2, "queue_depth": 16, "duration": "3s", "probe_phase": "0",
              "verify": "never"}
    values.update(keys)
    return Service(folder, mount, **values)


def whole(samples, phase="soak"):
    return [s for s in samples if s["phase"] == phase and "partial" not in s["flags"] and s["state"] == "measured"]


def counted(samples):
    """A busy machine makes host-limited samples, which the figures leave out."""
    return [s for s in samples if s["flags"] == ""]


def assert_median(record, key, rates):
    found = record["summary"][key]
    if rates:
        assert abs(found - sorted(rates)[(len(rates) - 1) // 2]) < 1, (key, found, rates)
    else:
        assert found is None, (key, found)


def test_random_reads_read_what_was_filled():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, workload="random-read") as service:
            service.start()
            service.wait_done()
            samples = service.samples()
            soak = whole(samples)
            assert soak and all(s["read_bytes"] == s["read_ios"] * BLOCK and s["read_bytes"] > 0 for s in soak), soak
            assert all(s["write_bytes"] == 0 for s in soak), soak
            [record] = service.runs()
            assert record["written_bytes"] == 64 * MIB, record["written_bytes"]
            assert_median(record, "median_read_bytes_per_s", [s["read_bytes"] / s["elapsed_s"] for s in counted(soak)])
            service.stop()


def test_a_mix_has_its_share():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, workload="random-mixed", read_percent=60, verify="end") as service:
            service.start()
            service.wait_done()
            soak = whole(service.samples())
            reads, writes = sum(s["read_ios"] for s in soak), sum(s["write_ios"] for s in soak)
            assert 0.58 < reads / (reads + writes) < 0.62, (reads, writes)
            [record] = service.runs()
            assert record["verify"]["blocks"] == 64 * MIB // BLOCK and record["verify"]["corrupt"] == 0, record["verify"]
            service.stop()


def test_commits_are_counted_with_their_latency():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, threads=1, queue_depth=1, fsync_every=1) as service:
            service.start()
            service.wait_done()
            soak = whole(service.samples())
            assert soak, service.samples()
            for sample in soak:
                assert sample["commits"] > 0 and abs(sample["commits"] - sample["write_ios"]) <= 1, sample
                # The commit is the write and its flush.
                assert sample["commit_p50_ns"] > sample["lat_p50_ns"], sample
                assert sample["commit_p99_ns"] >= sample["commit_p50_ns"], sample
            [record] = service.runs()
            assert_median(record, "median_commits_per_s", [s["commits"] / s["elapsed_s"] for s in counted(soak)])
            service.stop()


def test_a_rate_is_kept():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, rate="16MiB") as service:
            service.start()
            service.wait_done()
            soak = whole(service.samples())
            rates = [s["write_bytes"] / s["elapsed_s"] / MIB for s in soak]
            # Never more; a busy machine may do less for a while.
            assert soak and max(rates) < 16.8 and max(rates) > 13, rates
            service.stop()


def test_the_probe_answers_depth_1_and_three_open_loops():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        # A drive of a known speed: the soak is held at 32 MiB/s, which the machine can do at any load.
        with small(folder, mount, rate="32MiB", duration="4s", probe_phase="3s") as service:
            service.start()
            service.wait_done()
            [record] = service.runs()
            steps = record["probe"]
            assert [s["kind"] for s in steps] == ["depth-1"] + ["open-loop"] * 3, steps
            assert [s["share_of_median"] for s in steps] == [None, 0.5, 0.7, 0.9], steps
            sustained = record["probe_median_ios_per_s"]
            assert 0.3 * 32 * MIB / BLOCK < sustained < 1.05 * 32 * MIB / BLOCK, sustained
            for step in steps[1:]:
                intended = step["share_of_median"] * sustained
                assert abs(step["intended_ios_per_s"] - intended) < 1, step
                assert abs(step["ios_per_s"] - step["intended_ios_per_s"]) < 0.2 * intended, step
            for step in steps:
                assert 0 < step["lat_p50_ns"] <= step["lat_p99_ns"] <= step["lat_p999_ns"] <= step["lat_max_ns"], step
                assert step["measured_s"] >= 1, step
            probe = [s for s in service.samples() if s["phase"] == "probe"]
            one = [s for s in probe if "partial" not in s["flags"] and s["inflight_mean"] < 1.05]
            assert one, probe
            # The probe is not the soak: the figures leave it out.
            assert record["summary"]["samples"] <= 5, record["summary"]
            service.stop()


def test_a_clean_run_verifies_clean():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, verify="end") as service:
            service.start()
            service.wait_done()
            [record] = service.runs()
            found = record["verify"]
            assert found["blocks"] == 64 * MIB // BLOCK and found["read_bytes"] == 64 * MIB, found
            assert found["ledger_coverage_pct"] == 100, found
            assert all(found[kind] == 0 for kind in ("corrupt", "torn", "misdirected", "stale", "unreadable")), found
            verifying = [s for s in service.samples() if s["phase"] == "verify"]
            assert sum(s["read_bytes"] for s in verifying) <= 64 * MIB
            service.stop()


def verify_offline(service):
    answer = subprocess.run([CLIENT, "verify", service.name, "--json", "-c", str(service.config)], capture_output=True,
                            text=True, check=False)
    return answer.returncode, json.loads(answer.stdout) if answer.stdout else None, answer.stderr


def test_after_a_kill_nothing_legal_is_reported():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, duration="0", size="32MiB") as service:
            for _ in range(3):
                service.start()
                service.wait_drive(lambda d: d["phase"] == "soak" and d["state"] == "running", 20, "the soak")
                service.wait_samples(2)
                time.sleep(0.7)
                service.kill()
                time.sleep(0.3)
                code, found, errors = verify_offline(service)
                assert code == 0 and found["blocks"] == 32 * MIB // BLOCK, (code, found, errors)
                assert all(found[k] == 0 for k in ("corrupt", "torn", "misdirected", "stale", "unreadable")), found


def test_each_kind_of_damage_is_named():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, duration="0", size="32MiB", files=1) as service:
            service.start()
            service.wait_phase("soak")
            time.sleep(0.5)
            service.stop()
            path = mount / "drivesoak-00.dat"
            before = path.read_bytes()
            service.start()
            service.wait_drive(lambda d: d["phase"] == "soak" and d["state"] == "running", 20, "the soak")
            time.sleep(2.5)
            service.stop()
            data = bytearray(path.read_bytes())
            changed = [b for b in range(len(data) // BLOCK)
                       if data[b * BLOCK:(b + 1) * BLOCK] != before[b * BLOCK:(b + 1) * BLOCK]]
            assert len(changed) > 20, len(changed)
            bit, torn, moved, stale = changed[0], changed[5], changed[10], changed[15]
            other = changed[19]
            data[bit * BLOCK + 9000] ^= 0x10
            data[torn * BLOCK + 8192:(torn + 1) * BLOCK] = before[torn * BLOCK + 8192:(torn + 1) * BLOCK]
            data[moved * BLOCK:(moved + 1) * BLOCK] = data[other * BLOCK:(other + 1) * BLOCK]
            data[stale * BLOCK:(stale + 1) * BLOCK] = before[stale * BLOCK:(stale + 1) * BLOCK]
            path.write_bytes(data)
            os.sync()
            code, found, errors = verify_offline(service)
            assert code == 1, (code, found, errors)
            assert {k: found[k] for k in ("corrupt", "torn", "misdirected", "stale")} == {
                "corrupt": 1, "torn": 1, "misdirected": 1, "stale": 1}, found
            places = {(b["kind"], b["offset_bytes"]) for b in found["bad_blocks"]}
            assert places == {("corrupt", bit * BLOCK), ("torn", torn * BLOCK), ("misdirected", moved * BLOCK),
                              ("stale", stale * BLOCK)}, places
            offsets = [b["offset_bytes"] for b in found["bad_blocks"]]
            assert offsets == sorted(offsets) and found["error"] is None and found["bad_blocks_omitted"] == 0, found
            # A file that lost its end.
            os.truncate(path, len(data) - BLOCK)
            code, found, errors = verify_offline(service)
            assert code == 1 and found["unreadable"] == 1, (code, found, errors)
            assert found["bad_blocks"][-1]["error"] == "the file ends before it", found


def test_after_a_power_loss_in_the_fill_only_what_was_flushed_is_judged():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, duration="0", size="32MiB", files=1) as service:
            service.start()
            service.wait_phase("soak")
            service.stop()
            with open(mount / "drivesoak-00.dat", "r+b") as file:
                file.seek(20 * MIB)
                file.write(bytes(BLOCK))
            os.sync()
            code, found, errors = verify_offline(service)
            assert code == 1 and found["corrupt"] == 1 and found["read_bytes"] == 32 * MIB, (code, found, errors)
            for durable, wanted in (8 * MIB, 0), (0, 66):
                with contextlib.closing(sqlite3.connect(service.state / "journal.db")) as journal, journal:
                    journal.execute("UPDATE runs SET phase = 'fill', boot_id = 'of an earlier boot', extent_bytes = 0, "
                                    "fill_durable_bytes = ?", (durable,))
                code, found, errors = verify_offline(service)
                assert code == wanted, (code, found, errors)
                assert not found or found["read_bytes"] == durable, found


def test_verify_is_refused_while_the_service_has_the_target():
    with work_folder() as folder, loop_filesystem(folder, 256 * MIB) as (mount, _):
        with small(folder, mount, duration="0", size="32MiB") as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            code, _, errors = verify_offline(service)
            assert code == 75 and "another drivesoakd" in errors, (code, errors)
            service.stop()


def test_every_profile_is_a_config_and_says_what_it_is():
    profiles = sorted((SOURCE / "conf/profiles").glob("*.conf"))
    assert {p.stem for p in profiles} == {"percona-2013", "commit-1", "commit-16", "rndrd-1", "rndrd-4", "rndrw-1",
                                          "rndrw-4", "rndwr-1", "rndwr-4"}
    printed = {p.stem: run(DAEMON, "-p", "-c", str(p)) for p in profiles}

    def has(profile, **keys):
        for key, value in keys.items():
            pattern = rf'{key.replace("_", "-")} = "?{re.escape(value)}"?\b'
            assert re.search(pattern, printed[profile]), (profile, key, value, printed[profile])

    has("percona-2013", threads="8", queue_depth="1024", files="64", block_size="16KiB", payload="zeros", engine="libaio",
        duration="50h", fsync_every="0", verify="never")
    has("commit-1", queue_depth="1", threads="1", fsync_every="1")
    has("commit-16", queue_depth="16", fsync_every="1")
    for count in ("1", "4"):
        has(f"rndrd-{count}", workload="random-read", threads=count, queue_depth=count)
        has(f"rndrw-{count}", workload="random-mixed", read_percent="60", threads=count, queue_depth=count)
        has(f"rndwr-{count}", workload="random-write", threads=count, queue_depth=count)


if __name__ == "__main__":
    main(globals())
