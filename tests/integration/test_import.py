#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`drivesoak analyse` and `drivesoak import` as programs: beside a service that runs, and without one."""

import json
import os
import subprocess
import threading

from harness import CLIENT, MIB, SOURCE, Service, Skip, main, run, work_folder


def service_of(folder):
    target = folder / "target"
    target.mkdir()
    return Service(folder, target)

SYSBENCH = "[ {t}s ] reads: 0.00 MiB/s writes: {mib:.2f} MiB/s fsyncs: 0.00/s latency (ms,95%): 0.125\n"


def write_sysbench(path, rates, interval=10):
    with open(path, "w", encoding="ascii") as log:
        log.write("sysbench 1.0.20 (using bundled LuaJIT 2.1.0)\nDoing random write test\nThreads started!\n\n")
        for at, mib in enumerate(rates, 1):
            log.write(SYSBENCH.format(t=at * interval, mib=mib))
    return str(path)


def client(*arguments):
    return subprocess.run([CLIENT, *arguments], capture_output=True, text=True, check=False)


def test_analyse_prints_a_line_a_file_and_names_the_broken_one():
    with work_folder() as folder:
        good = write_sysbench(folder / "good.log", [100, 200, 300, 0, 400])
        bad = folder / "bad.csv"
        bad.write_text("t_s,write_bytes_per_s\n10,5\n20,none\n")
        holes = folder / "holes.csv"
        holes.write_text("t_s,write_bytes_per_s\n10,5\n20,\n30,7\n60,9\n")
        answer = client("analyse", "--json", good, str(bad), str(holes))
        assert answer.returncode == 65, answer
        assert answer.stderr == f'drivesoak: {bad}:3: write_bytes_per_s: no number that can be: "none"\n', answer.stderr
        first, second = [json.loads(line) for line in answer.stdout.splitlines()]
        assert first["file"] == good and first["format"] == "sysbench-1.0" and first["samples"] == 5, first
        assert first["interval_s"] == 10 and first["gaps"] == [], first
        write = first["write"]
        assert write["median_bytes_per_s"] == 200 * MIB and write["mean_bytes_per_s"] == 200 * MIB, write
        assert write["min_bytes_per_s"] == 0 and write["max_bytes_per_s"] == 400 * MIB, write
        assert write["p1_bytes_per_s"] == 0 and write["stalled_s"] == 10, write
        assert write["lat_p99_ns"] is None, write
        assert second["read"] is None and second["samples"] == 3, second
        assert second["gaps"] == [{"from_s": 10, "to_s": 20}, {"from_s": 30, "to_s": 50}], second
        assert client("analyse", str(folder / "none.log")).returncode == 66
        assert client("analyse").returncode == 64
        text = run(CLIENT, "analyse", good)
        assert "median        200 MiB/s" in text and "Stalled for 10 s" in text, text


def test_standard_input_is_a_file_too():
    with work_folder() as folder:
        good = write_sysbench(folder / "good.log", [1, 2, 3])
        with open(good, encoding="ascii") as log:
            answer = subprocess.run([CLIENT, "analyse", "--json", "-"], stdin=log, capture_output=True, text=True, check=True)
        assert json.loads(answer.stdout)["samples"] == 3, answer.stdout
        with open(good, encoding="ascii") as log:
            piped = subprocess.run([CLIENT, "analyse", "--json", "-"], input=log.read(), capture_output=True, text=True,
                                   check=True)
        assert json.loads(piped.stdout)["write"] == json.loads(answer.stdout)["write"]


def test_a_month_of_samples_is_analysed_in_a_second():
    with work_folder() as folder:
        path = folder / "month.csv"
        with open(path, "w", encoding="ascii") as csv:
            csv.write("t_s,write_bytes_per_s\n")
            for at in range(1, 30 * 8640 + 1):
                csv.write(f"{at * 10},{300000000 + at % 97 * 1000000}\n")
        before = os.times()
        answer = json.loads(run(CLIENT, "analyse", "--json", str(path)))
        after = os.times()
        assert answer["samples"] == 259200, answer
        used = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"30 days of samples in {used:.2f} s of CPU")
        assert used < 3, used


FALLS = [100] * 70 + [10] * 6 + [100] * 60 + [0] * 5 + [100] * 60 + [20] + [100] * 60


def test_falls_are_found_as_a_service_would_have_found_them():
    with work_folder() as folder:
        answer = json.loads(run(CLIENT, "analyse", "--json", write_sysbench(folder / "x.log", FALLS)))
        found = [(fall["from_s"], fall["to_s"], fall["detected_s"], fall["kind"]) for fall in answer["collapses"]]
        assert found == [(700, 760, 730, "collapse"), (1360, 1410, 1380, "stall")], answer["collapses"]
        assert [fall["depth_pct"] for fall in answer["collapses"]] == [90, 100], answer["collapses"]
        assert answer["steady"]["reached"] is False and "extent" in answer["steady"]["why_not"], answer["steady"]
        hours = len(FALLS) / 360
        assert abs(answer["write"]["collapses_per_h"] - 2 / hours) < 1e-9, answer["write"]
        # A fall in the first minutes, before a service would have had a baseline.
        answer = json.loads(run(CLIENT, "analyse", "--json", write_sysbench(folder / "y.log", [100] * 20 + [5] * 6 + [100] * 20)))
        assert [(fall["from_s"], fall["to_s"]) for fall in answer["collapses"]] == [(200, 260)], answer["collapses"]
        # A log that tells no reads, in another interval.
        csv = folder / "m.csv"
        csv.write_text("t_s,write_bytes_per_s\n" + "".join(
            f"{at * 60},{10 if 100 < at <= 103 else 300000000}\n" for at in range(1, 160)))
        fall, = json.loads(run(CLIENT, "analyse", "--json", str(csv)))["collapses"]
        assert (fall["from_s"], fall["to_s"], fall["kind"]) == (6000, 6180, "collapse"), fall
        assert fall["baseline_bytes_per_s"] == 300000000, fall
        # From fresh to a lower level for good: a cliff, which alerts nobody.
        answer = json.loads(run(CLIENT, "analyse", "--json", write_sysbench(folder / "z.log", [400] * 100 + [100] * 400)))
        assert answer["collapses"] == [], answer["collapses"]
        assert [(event["t_s"], event["kind"]) for event in answer["events"]] == [(1000, "cliff")], answer["events"]
        # Then a collapse that stays: what would have alerted is one, and the new level an event.
        rates = [400] * 100 + [100] * 400 + [10] * 2400
        answer = json.loads(run(CLIENT, "analyse", "--json", write_sysbench(folder / "shift.log", rates)))
        assert [(fall["from_s"], fall["kind"]) for fall in answer["collapses"]] == [(5000, "collapse")], answer["collapses"]
        assert [event["kind"] for event in answer["events"]] == ["cliff", "level-shift"], answer["events"]
        rates = [100] * 12 * 360 + [70] * 4 * 360
        answer = json.loads(run(CLIENT, "analyse", "--json", write_sysbench(folder / "slower.log", rates)))
        assert answer["collapses"] == [] and [event["kind"] for event in answer["events"]] == ["degraded"], answer["events"]


def test_falls_in_what_was_recorded():
    """Held to 20 MB/s from 300 to 360 s and to a write a second from 600 to 640 s; from 750 to 760 s it was a dip."""
    recorded = SOURCE.parent / "shared" / "data" / "recorded"
    if not recorded.is_dir():
        raise Skip("no recorded logs")
    answer = json.loads(run(CLIENT, "analyse", "--json", str(recorded / "sysbench-1.0-10s-throttled.txt")))
    assert [(fall["from_s"], fall["to_s"]) for fall in answer["collapses"]] == [(300, 360), (600, 640)], answer
    assert answer["events"] == [], answer
    answer = json.loads(run(CLIENT, "analyse", "--json", str(recorded / "iostat-xmt-10s-throttled.txt")))
    start = answer["from_s"]
    assert [(fall["from_s"] - start, fall["to_s"] - start) for fall in answer["collapses"]] == [(310, 370), (610, 650)], answer


def import_log(state, path, name, *options):
    answer = client("import", path, "--name", name, *state, *options)
    assert answer.returncode == 0, answer
    return answer.stdout.strip()


def test_an_import_stands_beside_the_runs_of_a_service_that_runs():
    with work_folder() as folder, service_of(folder) as service:
        service.start()
        service.wait_phase("soak")
        log = write_sysbench(folder / "x.log", [100] * 30 + [0] * 3 + [300] * 30)
        config = ("-c", str(service.config))
        run_id = import_log(config, log, "evo840", "--start", "1796000000")
        assert run_id == "evo840-20261130T005320Z", run_id

        own, = [record for record in service.runs() if record["source"] == "own"]
        record = service.api(f"runs/{run_id}")
        assert record["source"] == "imported" and record["state"] == "done" and record["drive"] == "evo840", record
        for key in ("model", "serial", "capacity_bytes", "extent_bytes", "fill_done_bytes", "pre_state", "seed", "host",
                    "price", "engine"):
            assert record[key] is None, (key, record[key])
        assert record["config"]["format"] == "sysbench-1.0" and record["config"]["imported_from"] == "x.log", record
        assert record["started_s"] == 1796000000 and record["ended_s"] == 1796000630, record
        assert record["written_bytes"] == (30 * 100 + 30 * 300) * 10 * MIB, record
        summary = record["summary"]
        assert summary["samples"] == 63 and summary["median_write_bytes_per_s"] == 100 * MIB, summary
        assert summary["stalled_s"] == 30 and summary["lat_p99_ns"] is None, summary

        samples = service.samples(run_id)
        assert [sample["t_s"] for sample in samples] == list(range(1796000010, 1796000631, 10))
        assert samples[30]["state"] == "zero" and samples[30]["write_bytes"] == 0, samples[30]
        assert samples[0]["write_ios"] is None and samples[0]["lat_p50_ns"] is None, samples[0]
        compared = service.api(f"compare?runs={run_id},{own['id']}")["runs"]
        assert [record["id"] for record in compared] == [run_id, own["id"]], compared
        for path in ("/runs", f"/run/{run_id}", f"/compare?runs={run_id},{own['id']}", f"/drive/evo840"):
            status, body = service.get(path)
            assert status == 200 and b"evo840" in body and b"nan" not in body.lower().replace(b"finance", b""), path
        _, body = service.get(f"/run/{run_id}")
        assert b"imported from x.log" in body and b"not in the log" in body and b"none yet" not in body, body
        status, picture = service.get(f"/graph/{run_id}/timeline.svg")
        assert status == 200 and b"<svg" in picture, picture[:300]
        values = service.rrd_values(run_id, "write_bytes", 10)
        assert values[1796000010] == 1000 * MIB and values[1796000310] == 0, values
        notes = service.api(f"runs/{run_id}/events")["events"]
        assert [(note["kind"], note["t_s"], note["until_s"]) for note in notes] == [
            ("stall", 1796000300, 1796000330), ("note", 1796000000, None)], notes
        assert "x.log" in notes[1]["text"], notes
        assert notes[0]["cause"] == "unknown" and "a log tells nothing of the machine" in notes[0]["evidence"], notes

        # The service's own samples go on, and nothing of the import is taken for one.
        count = len(service.samples(own["id"]))
        service.wait_drive(lambda drive: drive["run"] == own["id"] and len(service.samples(own["id"])) > count + 1, 20,
                           "more samples")
        assert "lost" not in service.log(), service.log()


IOSTAT = "Device r/s rkB/s w/s wkB/s %util\nvda 0.00 0.00 5.00 1000.00 50.00\n\n"


def test_what_an_import_is_refused_for():
    with work_folder() as folder:
        service = service_of(folder)
        service.state.mkdir()
        config = ("-c", str(service.config))
        log = write_sysbench(folder / "x.log", [100] * 9)
        import_log(config, log, "other", "--start", "1796000000")
        again = client("import", log, "--name", "other", "--start", "1796000000", *config)
        assert again.returncode == 73 and "is in the journal already" in again.stderr, again
        own = client("import", log, "--name", service.name, *config)
        assert own.returncode == 64 and "is a drive of the configuration" in own.stderr, own
        assert client("import", log, *config).returncode == 64
        assert client("import", log, "--name", "../x", *config).returncode == 64
        bad = folder / "bad.log"
        bad.write_text(open(log, encoding="ascii").read() + "[ 100s ] reads: oh\n[ 110s ] reads: oh\n")
        broken = client("import", str(bad), "--name", "broken", *config)
        assert broken.returncode == 65 and broken.stderr.startswith(f"drivesoak: {bad}:14: "), broken
        untimed = folder / "untimed.log"
        untimed.write_text("Linux 6.1.0 (host) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n" + IOSTAT * 9)
        answer = client("import", str(untimed), "--name", "untimed", *config)
        assert answer.returncode == 64, answer
        assert answer.stderr == (f"drivesoak: {untimed}: tells no times (iostat without -t): --interval TIME is needed, "
                                 "as in 10s\n"), answer
        assumed = json.loads(run(CLIENT, "analyse", "--json", str(untimed)))
        assert assumed["interval_s"] is None and "the interval is not known and taken for 1 s" in assumed["warnings"], assumed
        import_log(config, str(untimed), "untimed", "--interval", "10s", "--start", "1796000000")
        runs = json.loads(run(CLIENT, "runs", "--json", *config))["runs"]
        assert [record["drive"] for record in runs] == ["untimed", "other"], runs


def test_an_import_is_no_run_to_go_on_with():
    """A drive that gets the name of an import later begins a run of its own."""
    with work_folder() as folder, service_of(folder) as service:
        service.state.mkdir()
        log = write_sysbench(folder / "x.log", [100] * 9)
        imported = import_log(("--state", str(service.state)), log, service.name)
        service.start()
        service.wait_phase("soak")
        assert service.drive()["run"] != imported, service.drive()
        assert {record["source"] for record in service.runs()} == {"own", "imported"}, service.runs()
        table = run(CLIENT, "summary", service.name, "-c", str(service.config))
        assert service.drive()["run"] in table, table


def test_a_long_import_delays_no_sample_for_good():
    """The lock of the journal is held for seconds: what the service measures meanwhile waits, and is stored."""
    with work_folder() as folder, service_of(folder) as service:
        service.start()
        service.wait_phase("soak")
        own = service.run_id()
        log = write_sysbench(folder / "x.log", [300.25] * 200000)
        importer = threading.Thread(target=import_log, args=(("-c", str(service.config)), log, "long", "--start", "1700000000"))
        importer.start()
        importer.join(60)
        assert not importer.is_alive()
        count = len(service.samples(own))
        service.wait_drive(lambda _: len(service.samples(own)) > count + 2, 20, "more samples")
        samples = service.samples(own)
        for before, after in zip(samples, samples[1:]):
            assert after["t_s"] - before["t_s"] == 1, (before, after)


def test_an_import_can_be_exported_reported_and_imported_again():
    with work_folder() as folder:
        state = ("--state", str(folder))
        log = write_sysbench(folder / "x.log", [100, 200, 300])
        first = import_log(state, log, "first", "--start", "1796000000")
        for form in ("csv", "json"):
            path = folder / f"x.{form}"
            run(CLIENT, "export", first, "--format", form, "-o", str(path), *state)
            answer = json.loads(run(CLIENT, "analyse", "--json", str(path)))
            assert answer["format"] == "drivesoak" and answer["samples"] == 3, answer
            assert answer["write"]["median_bytes_per_s"] == 200 * MIB, answer
            import_log(state, str(path), f"again-{form}")
        runs = json.loads(run(CLIENT, "runs", "--json", *state))["runs"]
        assert len(runs) == 3 and len({record["written_bytes"] for record in runs}) == 1, runs
        run(CLIENT, "report", "first", "again-csv", "-o", str(folder / "r.html"), *state)
        html = (folder / "r.html").read_text()
        assert "imported from x.log" in html and "EiB" not in html and "18446744073709551615" not in html, html
        assert ">nan" not in html.lower(), html


OWN = """t_s,elapsed_s,state,flags,phase,write_bytes,write_ios,read_bytes,read_ios,errors
1700000001,1,measured,,soak,100000000,1,0,0,0
1700000002,1,measured,host-limit,soak,100000000,1,0,0,0
"""


def test_what_a_log_cannot_tell_of_the_host_is_unknown():
    with work_folder() as folder:
        state = ("--state", str(folder))
        log = write_sysbench(folder / "x.log", [100, 200, 300])
        own = folder / "own.csv"
        own.write_text(OWN)
        calm = folder / "calm.csv"
        calm.write_text(OWN.replace("host-limit", ""))
        again = folder / "again.csv"
        first = import_log(state, log, "log", "--start", "1796000000")
        run(CLIENT, "export", first, "--format", "csv", "-o", str(again), *state)
        for name, path, expected in (("log", log, None), ("own", own, 50), ("calm", calm, 0), ("again", again, None)):
            answer = json.loads(run(CLIENT, "analyse", "--json", str(path)))
            assert answer["write"]["host_limited_pct"] == expected, (name, answer["write"])
            if name != "log":
                import_log(state, str(path), name)
            summary, = [record["summary"] for record in json.loads(run(CLIENT, "runs", "--json", *state))["runs"]
                        if record["drive"] == name]
            assert summary["host_limited_pct"] == expected, (name, summary)
            assert summary["whole_soak"]["host_limited_pct"] == expected, (name, summary)
            text = run(CLIENT, "summary", name, *state)
            assert ("Host-limited    unknown" in text) == (expected is None), text


if __name__ == "__main__":
    main(globals())
