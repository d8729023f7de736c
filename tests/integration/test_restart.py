#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The service ends at any moment and goes on with the same run in the same phase; the outage is a span, not zeros."""

import subprocess
import time

from harness import (MIB, Service, assert_rrd_equals, assert_stamps_grow_on_the_interval, loop_filesystem, main,
                     wait_for, work_folder)


def assert_one_story(service, downs):
    samples = service.samples()
    assert_stamps_grow_on_the_interval(samples, 1)
    spans = [s for s in samples if s["state"] == "down"]
    assert len(spans) == downs, spans
    for span in spans:
        assert span["write_bytes"] is None and span["write_ios"] is None and span["lat_p99_ns"] is None, span
        assert span["elapsed_s"] > 0, span
    assert_rrd_equals(service, service.run_id(), samples, 1)

    # The service goes on meanwhile: the two are asked one after the other until no sample falls between them.
    def agree():
        [record] = service.runs()
        return record["written_bytes"] == sum(s["write_bytes"] for s in service.samples() if s["state"] != "down")

    wait_for(agree, 10, "the record and its samples to agree")
    return samples


def end(service, how):
    if how == "kill":
        service.kill()
    else:
        assert service.stop() == 0


def restart_in_soak(how):
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount, size="64MiB") as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(4)
            run_id = service.run_id()
            for outage in (0.1, 2.5, 0.7):
                end(service, how)
                time.sleep(outage)
                before = time.time()
                service.start()
                service.wait_drive(lambda d: d["state"] == "running" and d["phase"] == "soak", 10, "the soak again")
                assert time.time() - before < 5, "the run must go on at once"
                count = len(service.samples())
                service.wait_samples(count + 3)
                assert service.run_id() == run_id
            samples = assert_one_story(service, 3)
            first_outage = min(s["t_s"] for s in samples if s["state"] == "down")
            assert all(s["phase"] == "soak" for s in samples if s["t_s"] >= first_outage), "it must not fill again"
            long_outage = max(s["elapsed_s"] for s in samples if s["state"] == "down")
            assert 2.3 < long_outage < 6, long_outage
            assert not [s for s in samples if s["state"] == "zero"], samples
            resumed = [e for e in service.events() if e["kind"] == "resumed"]
            assert len(resumed) == 3 and all("phase soak" in e["text"] for e in resumed), resumed
            service.stop()


def test_sigterm_in_soak():
    restart_in_soak("term")


def test_kill_in_soak():
    restart_in_soak("kill")


def restart_in_fill(how):
    with work_folder() as folder, loop_filesystem(folder, 3072 * MIB) as (mount, _):
        with Service(folder, mount, size="2GiB", duration="4s") as service:
            service.start()
            service.wait_phase("fill")
            service.wait_samples(1)
            done_before = service.runs()[0]["fill_done_bytes"]
            phase_before = service.drive()["phase"]
            end(service, how)
            service.start()
            service.wait_done(120)
            samples = assert_one_story(service, 1)
            assert phase_before == "fill"
            filled = sum(s["write_bytes"] for s in samples if s["phase"] == "fill" and s["state"] != "down")
            # What was completed and recorded is not written twice; the soak's first part shares a sample with the fill.
            assert done_before > 0
            [record] = service.runs()
            assert record["fill_done_bytes"] == 2048 * MIB, record
            assert filled < 2048 * MIB * 1.9, filled
            service.stop()


def test_sigterm_in_fill():
    restart_in_fill("term")


def test_kill_in_fill():
    restart_in_fill("kill")


def test_changed_settings_refuse_the_drive_and_say_so():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            service.stop()
            text = service.config.read_text()
            service.config.write_text(text.replace('settle-time = "0"', 'settle-time = "0"\n    threads = 3'))
            test = subprocess.run([service.daemon, "-t", "-c", str(service.config)], capture_output=True, text=True, check=False)
            assert test.returncode == 78 and "is threads=3; put it back" in test.stderr, test
            service.start(wait=False)
            assert service.process.wait(20) == 78, service.log()
            assert "frozen" in service.log() and "threads=3" in service.log(), service.log()
            service.config.write_text(text)
            service.start()
            service.wait_drive(lambda d: d["state"] == "running", 10, "the run again")
            service.stop()


def test_other_contents_refuse_the_drive():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(2)
            service.stop()
            marker = mount / ".drivesoak"
            marker.write_text(marker.read_text().replace("run=cand-2", "run=cand-1"))
            service.start(wait=False)
            assert service.process.wait(20) == 78, service.log()
            assert "does not carry this run" in service.log(), service.log()


def test_a_lost_or_damaged_rrd_is_rebuilt():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount) as service:
            service.start()
            service.wait_phase("soak")
            service.wait_samples(4)
            run_id = service.run_id()
            rrd = service.state / "runs" / f"{run_id}.rrd"
            for number, damage in enumerate(("missing", "short", "zeroed")):
                service.stop()
                if damage == "missing":
                    rrd.unlink()
                elif damage == "short":
                    rrd.write_bytes(rrd.read_bytes()[:1000])
                else:
                    rrd.write_bytes(bytes(rrd.stat().st_size))
                service.start()
                count = len(service.samples(run_id))
                service.wait_samples(count + 2)
                assert_one_story(service, number + 1)
            service.stop()


if __name__ == "__main__":
    main(globals())
