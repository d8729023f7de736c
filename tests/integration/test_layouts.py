#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every layout in layouts.py: the dangerous ones refused and unchanged, the legitimate ones not refused."""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import subprocess

import fixtures
from harness import CLIENT, DAEMON, MIB, Service, Skip, main, run, work_folder
from layouts import DANGEROUS, DISK_BYTES, LEGITIMATE, PROBE, SIGNED, Bench

WORKERS = 4


def probe(path, *options):
    """([hard], [soft]) of the guard alone. Three looks at openers, closer together than in the service."""
    answer = subprocess.run([PROBE, "--pause", "250", *options, str(path)], check=False, capture_output=True, text=True)
    lines = answer.stdout.splitlines()
    assert answer.returncode in (0, 1, 2) and not answer.stderr, answer
    return ([line[5:] for line in lines if line.startswith("hard ")],
            [line[5:] for line in lines if line.startswith("soft ")])


def edges(path):
    """First, middle and last MiB of what is tried and could be written."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        return [os.pread(fd, MIB, offset) for offset in (0, size // 2, max(size - MIB, 0))]
    except OSError:
        return None
    finally:
        os.close(fd)


def try_layout(layout, judge):
    """What is wrong with it; None when nothing is."""
    name, make, *words = layout
    with work_folder() as folder, Bench(folder) as bench:
        try:
            return judge(bench, make, words[0] if words else ())
        except FileNotFoundError as error:
            print(f"left out: {name} ({error})")
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            complaint = f"{error!r} {getattr(error, 'stderr', '')}"
            if "unknown filesystem type" not in complaint:
                return complaint
            print(f"left out: {name} (not in this kernel)")
    return None


def try_layouts(layouts, judge):
    """Several at once: most of the time is waiting."""
    if os.geteuid() != 0:
        raise Skip("needs root for loop devices")
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        complaints = list(pool.map(lambda layout: try_layout(layout, judge), layouts))
    wrong = [f"{layout[0]}: {complaint}" for layout, complaint in zip(layouts, complaints) if complaint]
    assert not wrong, "\n" + "\n".join(wrong)


def guard_alone(judge):
    """Make the layout, ask the guard, compare the edges."""
    def try_it(bench, make, words):
        path = make(bench) or bench.device
        before = edges(path)
        complaint = judge(probe(path), words)
        return complaint if edges(path) == before else "was changed"

    return try_it


def missing(words, findings):
    text = "; ".join(findings)
    return [word for word in words if word not in text]


def judge_dangerous(findings, words):
    hard, soft = findings
    if missing(words, hard):
        return f"hard {hard} lacks {missing(words, hard)}; soft {soft}"
    return None


def judge_signed(findings, words):
    hard, soft = findings
    if hard or missing(words, soft):
        return f"hard {hard}, soft {soft}; expected {words}"
    return None


def judge_legitimate(findings, _words):
    hard, soft = findings
    return f"hard {hard}, soft {soft}" if hard or soft else None


def test_dangerous_layouts_are_refused_by_the_guard():
    try_layouts(DANGEROUS, guard_alone(judge_dangerous))


def test_data_is_shown_by_the_guard():
    try_layouts(SIGNED, guard_alone(judge_signed))


def test_legitimate_layouts_pass_the_guard():
    try_layouts(LEGITIMATE, guard_alone(judge_legitimate))


# The front door: the service and its client with a config that names the device.

class Door(Service):
    def __init__(self, folder, path, **keys):
        values = {"directory": None, "files": None, "device": str(path), "serial": self.serial_of(path),
                  "size": "1MiB", "threads": 2, "queue_depth": 2, "duration": "1h"}
        values.update(keys)
        super().__init__(folder, path, **values)
        self.tail = (values["serial"] or "none")[-6:]

    @staticmethod
    def serial_of(path):
        name = os.path.basename(path)
        if not re.fullmatch("/dev/loop[0-9]+", str(path)):
            return "SERIAL-OF-A-DRIVE"
        with contextlib.suppress(OSError):
            return "loop:" + pathlib.Path(f"/sys/block/{name}/loop/backing_file").read_text().rstrip("\n")
        return "loop:/none.img"

    def command(self, *arguments):
        answer = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60,
                                stdin=subprocess.DEVNULL)
        return answer.returncode, answer.stdout + answer.stderr

    def test(self):
        return self.command(DAEMON, "-t", "-c", str(self.config))

    def arm(self):
        return self.command(CLIENT, "arm", self.name, "--serial-tail", self.tail, "-c", str(self.config))

    def start_and_see(self, seconds=8):
        """What the service says within some seconds; it may wait for a drive that is not there."""
        self.start(wait=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        if self.process.poll() is None:
            self.kill()
        return self.log(self.log_from)


# Where an earlier rung than the guard's refuses, and what it says.
DOOR_WORDS = {
    "two loop devices on one file": ["both have the serial loop:"],
    "two loop devices on halves of one file": ["both have the serial loop:"],
    "loop device without a file": ["has no medium, or no file attached"],
    "no capacity": ["has no medium, or no file attached"],
    "a partition": ["is a kernel name that may be another drive"],
    "a link to a partition": ["is the partition loop", "give the whole disk"],
    "a dangling link": ["is not there, and no disk has the serial"],
    "a link that leads to itself": ["is not there, and no disk has the serial"],
    "a character device": ["is a kernel name that may be another drive"],
    "a plain file": ["is not allowed; allowed is a link in /dev/disk/by-id"],
    "a directory": ["is not allowed; allowed is a link in /dev/disk/by-id"],
    "a FIFO": ["is not allowed; allowed is a link in /dev/disk/by-id"],
    "a path with .. to a mounted disk": ["is not allowed; allowed is a link in /dev/disk/by-id"],
}
# The config takes a loop device by its own name only.
GUARD_ONLY = {"by a link"}


def door_refuses(bench, make, words):
    """The blank disk is armed, then the layout comes. -t, arm and the service must refuse it and leave it alone."""
    with Door(bench.folder, bench.device) as door:
        code, text = door.arm()
        assert code == 0, text
    path = make(bench) or bench.device
    before = edges(path)
    with Door(bench.folder, path) as door:
        answers = [door.test(), door.arm()]
        said = [text for _, text in answers]
        if "exclusively" not in words:
            said.append(door.start_and_see())
    if edges(path) != before:
        return f"was changed: {said}"
    if 0 in [code for code, _ in answers]:
        return f"was accepted: {answers}"
    if missing(words, said[:1]) and missing(words, said[1:2]):
        return f"{words} are not in {said}"
    return None


def test_dangerous_layouts_are_refused_at_the_door():
    layouts = [(name, make, DOOR_WORDS.get(name, words)) for name, make, words in DANGEROUS]
    try_layouts(layouts, door_refuses)


def door_wants_consent(bench, make, words):
    """Not without arming; arming shows what is there and writes nothing; then it may run."""
    path = make(bench) or bench.device
    before = edges(path)
    with Door(bench.folder, path) as door:
        first, said = door.test(), door.start_and_see()
        armed, then = door.arm(), door.test()
    if edges(path) != before:
        return f"was changed: {first} {said} {armed}"
    if first[0] != 78 or "is not armed" not in first[1] or "is not armed" not in said:
        return f"was not refused before it was armed: {first} {said}"
    if armed[0] != 0 or missing(words, [armed[1]]):
        return f"could not be armed or did not show {words}: {armed}"
    return None if then[0] == 0 and "would fill" in then[1] else f"was refused after it was armed: {then}"


def test_data_is_shown_at_the_door_and_then_not_refused():
    try_layouts(SIGNED, door_wants_consent)


def test_legitimate_layouts_pass_the_door():
    try_layouts([layout for layout in LEGITIMATE if layout[0] not in GUARD_ONLY], door_wants_consent)


# What only the door can know: consent, and which drive is meant.

CONSENT = []


def after_arming(name, *words):
    """The blank disk is armed; then the function is called, and the path it returns tried (None: the same disk)."""
    return lambda change: CONSENT.append((name, change, words))


@after_arming("never armed", "is not armed")
def _(bench):
    (bench.folder / "state/claims/cand.claim").unlink()


@after_arming("armed a day ago", "expired")
def _(bench):
    run(PROBE, "--claim", str(bench.folder / "state"), "cand", "expired")


@after_arming("armed for another drive", "another drive")
def _(bench):
    run(PROBE, "--claim", str(bench.folder / "state"), "cand", "other-drive")


@after_arming("armed with other contents", "holds other data")
def _(bench):
    run(PROBE, "--claim", str(bench.folder / "state"), "cand", "other-contents")


@after_arming("armed and taken over by another run", "run")
def _(bench):
    run(PROBE, "--claim", str(bench.folder / "state"), "cand", "other-run")


@after_arming("a damaged claim", "damaged")
def _(bench):
    claim = bench.folder / "state/claims/cand.claim"
    data = bytearray(claim.read_bytes())
    data[len(data) // 2] ^= 1
    claim.write_bytes(data)


@after_arming("half a claim", "damaged")
def _(bench):
    claim = bench.folder / "state/claims/cand.claim"
    os.truncate(claim, claim.stat().st_size // 2)


@after_arming("the claim of another drive, renamed", "of another drive")
def _(bench):
    with Door(bench.folder, bench.device, name="other") as door:
        code, text = door.arm()
        assert code == 0, text
    claims = bench.folder / "state/claims"
    os.rename(claims / "other.claim", claims / "cand.claim")


@after_arming("a claim that is a link", "cand.claim")
def _(bench):
    claim = bench.folder / "state/claims/cand.claim"
    os.rename(claim, bench.folder / "elsewhere")
    claim.symlink_to(bench.folder / "elsewhere")


@after_arming("a filesystem made after arming", "holds other data")
def _(bench):
    run("mkfs.ext4", "-q", bench.device)


@after_arming("a partition table made after arming", "holds other data")
def _(bench):
    bench.sign("gpt-backup-only")


@after_arming("data in the middle that came after arming", "holds other data")
def _(bench):
    bench.write(DISK_BYTES // 2, MIB)


@after_arming("grown after arming", "another drive")
def _(bench):
    os.truncate(bench.image, 2 * os.stat(bench.image).st_size)
    run("losetup", "--set-capacity", bench.device)


@after_arming("shrunk after arming", "another drive")
def _(bench):
    os.truncate(bench.image, os.stat(bench.image).st_size // 2)
    run("losetup", "--set-capacity", bench.device)


@after_arming("another disk under the same name and path", "another drive")
def _(bench):
    size = os.stat(bench.image).st_size
    bench.detach(bench.device, bench.image)
    bench.image.rename(bench.folder / "old.img")
    with open(bench.image, "wb") as file:
        file.truncate(size)
    return bench.loop(bench.image)


def door_refuses_without_consent(bench, change, words):
    with Door(bench.folder, bench.device) as door:
        code, text = door.arm()
        assert code == 0, text
    path = change(bench) or bench.device
    before = edges(path)
    with Door(bench.folder, path) as door:
        code, said = door.test()
        log = door.start_and_see()
    if edges(path) != before:
        return f"was changed: {said}"
    if code != 78 or missing(words, [said]) or missing(words, [log]):
        return f"{code} {said} {log}, expected {words}"
    return None


def test_consent_is_for_one_drive_with_its_contents_for_a_day():
    try_layouts(CONSENT, door_refuses_without_consent)


def door_refuses_the_config(bench, keys, words):
    before = edges(bench.device)
    with Door(bench.folder, bench.device, **keys) as door:
        answers = [door.test(), door.arm()]
        answers.append((1, door.start_and_see()))
    if edges(bench.device) != before:
        return f"was changed: {answers}"
    if 0 in [code for code, _ in answers] or any(missing(words, [text]) for _, text in answers):
        return f"{answers}, expected {words}"
    return None


CONFIGS = [
    ("wrong serial", {"serial": "loop:/tmp/other.img"}, ["loop:/tmp/other.img"]),
    ("serial of another kind", {"serial": "S5Y1NX0R123456"}, ["serial"]),
    ("no serial", {"serial": None}, ["serial"]),
    ("bare name of a SATA disk", {"device": "/dev/sda", "serial": "X12345"}, ["give its link in /dev/disk/by-id"]),
    ("bare name of an NVMe disk", {"device": "/dev/nvme0n1", "serial": "X1234"}, ["give its link in /dev/disk/by-id"]),
    ("a kernel name without /dev", {"device": "sda", "serial": "X12345"}, ["device"]),
    ("a pattern", {"device": "/dev/disk/by-id/*", "serial": "X12345"}, ["/dev/disk/by-id/*"]),
    ("a link that leaves its folder", {"device": "/dev/disk/by-id/../../sda", "serial": "X12345"}, ["device"]),
]


def test_configs_that_name_no_drive_for_sure_are_refused():
    try_layouts(CONFIGS, door_refuses_the_config)


def test_a_second_instance_is_told_who_holds_the_drive():
    with work_folder() as folder, Bench(folder) as bench:
        with Door(bench.folder, bench.device) as first:
            code, text = first.arm()
            assert code == 0, text
            first.start()
            first.wait_phase("soak")
            other = bench.path("other")
            other.mkdir()
            with Door(other, bench.device) as second:
                for code, text in (second.test(), second.arm()):
                    assert code in (77, 78) and f"is open in PID {first.process.pid} (drivesoakd)" in text, (code, text)
                assert f"PID {first.process.pid} (drivesoakd)" in second.start_and_see(10)
            assert first.drive()["state"] == "running", first.drive()
            first.stop()


def test_the_state_directory_is_never_on_a_target():
    with work_folder() as folder, Bench(folder) as bench:
        run("mkfs.ext4", "-q", bench.device)
        where = bench.mount(bench.device)
        (where / "state").mkdir()
        (bench.folder / "state").symlink_to(where / "state")
        with Door(bench.folder, bench.device) as door:
            for code, text in (door.test(), door.arm()):
                assert code in (77, 78) and "carries the state directory" in text, (code, text)


def test_dangerous_machines_are_refused_by_the_guard():
    try_machines(fixtures.DANGEROUS, judge_dangerous)


def test_legitimate_machines_pass_the_guard():
    try_machines(fixtures.LEGITIMATE, judge_legitimate)


def try_machines(machines, judge):
    """What neither loop devices nor this kernel can show: trees that stand for /sys, /proc and /etc."""
    wrong = []
    for name, disk, lines, *words in machines:
        with work_folder() as folder:
            fixtures.make(folder, lines)
            complaint = judge(probe(disk, "--root", str(folder), "--state", "/var/lib/drivesoak"),
                              words[0] if words else ())
        if complaint:
            wrong.append(f"{name}: {complaint}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_there_are_enough_of_them():
    assert len(DANGEROUS) + len(SIGNED) + len(fixtures.DANGEROUS) >= 60
    assert len(LEGITIMATE) + len(fixtures.LEGITIMATE) >= 20
    print(f"{len(DANGEROUS)} dangerous, {len(SIGNED)} with data, {len(LEGITIMATE)} legitimate on loop devices; "
          f"{len(fixtures.DANGEROUS)} dangerous, {len(fixtures.LEGITIMATE)} legitimate machines")


if __name__ == "__main__":
    main(globals())
