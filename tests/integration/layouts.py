# SPDX-License-Identifier: GPL-2.0-or-later
"""Disk layouts, dangerous and legitimate, made for real on loop devices of our own. A layout is a function that is
given a Bench, makes it, and returns the path to try (None: the bench's device). It says nothing about the way in:
test_layouts.py tries each through the guard alone and through the front door."""

import contextlib
import fcntl
import os
import pathlib
import random
import signal
import subprocess

from harness import BUILD, MIB, run, wait_for

PROBE = str(BUILD / "tests/integration/guard-probe")
DISK_BYTES = 64 * MIB
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81
DANGEROUS, SIGNED, LEGITIMATE = [], [], []


def dangerous(name, *words):
    """A layout that is refused whatever the user says; @words stand in the refusal."""
    return lambda make: DANGEROUS.append((name, make, words))


def signed(name, *words):
    """A layout that is refused until it is armed; @words are what the user is shown."""
    return lambda make: SIGNED.append((name, make, words))


def legitimate(name):
    """A layout that passes."""
    return lambda make: LEGITIMATE.append((name, make))


class Bench:
    """One disk to try, and whatever a layout needs beside it; all of it is undone at the end."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.stack = contextlib.ExitStack()
        self.count = 0

    def __enter__(self):
        self.image = self.file(DISK_BYTES)
        self.device = self.loop(self.image)
        return self

    def __exit__(self, *_):
        self.stack.close()

    def path(self, name):
        self.count += 1
        return self.folder / f"{self.count}-{name}"

    def file(self, size):
        image = self.path("disk.img")
        with open(image, "wb") as file:
            file.truncate(size)
        self.stack.callback(image.unlink, missing_ok=True)
        return image

    def loop(self, file, *options):
        device = run("losetup", "--find", "--show", *options, str(file)).strip()
        self.stack.callback(self.detach, device, file)
        return device

    @staticmethod
    def detach(device, file):
        """Somebody else may have it by now."""
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/sys/block/{device[5:]}/loop/backing_file").read_text().startswith(str(file)):
                subprocess.run(["losetup", "--detach", device], check=False, stderr=subprocess.DEVNULL)

    def disk(self, size=DISK_BYTES, *options):
        return self.loop(self.file(size), *options)

    @staticmethod
    def ext4(device):
        """One that the kernel leaves alone while it is mounted: whoever changes it then was not the kernel. It would make the
        bitmaps that mkfs leaves out, also in what others read of the disk, seconds after the mount."""
        run("mkfs.ext4", "-q", "-O", "^has_journal,^metadata_csum,^uninit_bg", "-E", "lazy_itable_init=0", device)

    def mount(self, device, *options):
        where = self.path("mount")
        where.mkdir()
        run("mount", *options, str(device), str(where))
        self.stack.callback(self.unmount, where)
        run("sync", "--file-system", str(where))
        return where

    @staticmethod
    def unmount(where):
        wait_for(lambda: subprocess.run(["umount", str(where)], check=False, stderr=subprocess.DEVNULL).returncode == 0
                 or not os.path.ismount(where), 10, f"{where} to be free")

    def swap_on(self, path):
        run("mkswap", str(path))
        run("swapon", str(path))
        self.stack.callback(subprocess.run, ["swapoff", str(path)], check=False)

    def process(self, *command):
        """A process that lives until the end; it has begun when it has printed a line."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)

        def end():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

        self.stack.callback(end)
        assert process.stdout.readline().strip() == "ready", command
        return process

    def hold(self, path, mode="rb"):
        return self.process("python3", "-c", "import sys, time\n"
                            f"f = open({str(path)!r}, {mode!r}, buffering=0)\nprint('ready', flush=True)\n"
                            "time.sleep(600)")

    def partitions(self, *sizes):
        """GPT on the bench's disk; paths of the partitions."""
        return self.partitions_of("label: gpt\n" + "".join(f"size={size}\n" for size in sizes), len(sizes))

    def partitions_of(self, script, count):
        """By a script of sfdisk. Not every kernel can read every table: partx tells it."""
        run("sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", self.device, input=script)
        # An earlier user of the loop device may have left some.
        self.forget_partitions(self.device)
        run("partx", "--add", self.device)
        self.stack.callback(self.forget_partitions, self.device)
        paths = [f"{self.device}p{i + 1}" for i in range(count)]
        wait_for(lambda: os.path.exists(paths[-1]), 5, paths[-1])
        return paths

    @staticmethod
    def forget_partitions(device):
        """The next user of the loop device would have them."""
        def forget():
            subprocess.run(["partx", "--delete", device], check=False, stderr=subprocess.DEVNULL)
            return not list(pathlib.Path(f"/sys/block/{device[5:]}").glob(f"{device[5:]}p*"))

        wait_for(forget, 10, f"the partitions of {device} to be free")

    def link(self, target):
        """Where the config allows one."""
        os.makedirs("/dev/disk/by-id", exist_ok=True)
        self.count += 1
        link = pathlib.Path(f"/dev/disk/by-id/{self.folder.name}-{self.count}")
        link.symlink_to(target)
        self.stack.callback(link.unlink)
        return link

    def sign(self, name, device=None):
        run(PROBE, "--sign", name, device or self.device)

    def write(self, offset, size, device=None):
        with open(device or self.device, "r+b", buffering=0) as disk:
            disk.seek(offset)
            disk.write(random.Random(offset).randbytes(size))
            os.fsync(disk.fileno())


# Mounted, in every way a disk can be.

@dangerous("mounted whole disk", "is mounted on", "(ext4)")
def _(bench):
    bench.ext4(bench.device)
    bench.mount(bench.device)


@dangerous("mounted read-only", "is mounted on")
def _(bench):
    bench.ext4(bench.device)
    bench.mount(bench.device, "-o", "ro")


@dangerous("mounted partition, GPT", "p2 is mounted on")
def _(bench):
    parts = bench.partitions("8MiB", "8MiB")
    bench.ext4(parts[1])
    bench.mount(parts[1])


@dangerous("mounted logical partition, MBR", "p5 is mounted on")
def _(bench):
    *_, part = bench.partitions_of("label: dos\n1 : size=4MiB\n2 : size=20MiB, type=E\n5 : size=8MiB\n", 5)
    bench.ext4(part)
    bench.mount(part)


@dangerous("mounted in another mount namespace", "is mounted on", "in the mount namespace of PID")
def _(bench):
    bench.ext4(bench.device)
    where = bench.path("hidden")
    where.mkdir()
    bench.process("unshare", "--mount", "sh", "-c",
                  f"mount {bench.device} {where} && sync -f {where} && echo ready && sleep 600")


@dangerous("partition mounted in another mount namespace", "p1 is mounted on", "in the mount namespace of PID")
def _(bench):
    [part] = bench.partitions("8MiB")
    bench.ext4(part)
    where = bench.path("hidden")
    where.mkdir()
    bench.process("unshare", "--mount", "sh", "-c",
                  f"mount {part} {where} && sync -f {where} && echo ready && sleep 600")


@dangerous("mounted where a bind mount hides it", "is mounted on")
def _(bench):
    bench.ext4(bench.device)
    where = bench.mount(bench.device)
    other = bench.path("other")
    other.mkdir()
    run("mount", "--bind", str(other), str(where))
    bench.stack.callback(bench.unmount, where)


@dangerous("mount point with blanks", "is mounted on", "with two blanks")
def _(bench):
    bench.ext4(bench.device)
    where = bench.path("with two blanks")
    where.mkdir()
    run("mount", bench.device, str(where))
    bench.stack.callback(bench.unmount, where)
    run("sync", "--file-system", str(where))


@dangerous("unmounted lazily while a file is open", "exclusively")
def _(bench):
    bench.ext4(bench.device)
    where = bench.mount(bench.device)
    (where / "file").touch()
    bench.hold(where / "file")
    run("umount", "--lazy", str(where))


@dangerous("mounted btrfs", "(btrfs)")
def _(bench):
    big = bench.disk(128 * MIB)
    run("mkfs.btrfs", "-q", big)
    bench.mount(big)
    return big


@dangerous("second device of a mounted btrfs", "is a member of the mounted btrfs")
def _(bench):
    first, second = bench.disk(128 * MIB), bench.disk(128 * MIB)
    run("mkfs.btrfs", "-q", "-d", "raid1", "-m", "raid1", first, second)
    run("btrfs", "device", "scan", first, second)
    bench.mount(first)
    return second


@dangerous("log device of a mounted XFS", "is mounted on", "(xfs)")
def _(bench):
    data, log = bench.disk(512 * MIB), bench.disk(128 * MIB)
    run("mkfs.xfs", "-q", "-l", f"logdev={log}", data)
    bench.mount(data, "-o", f"logdev={log}")
    return log


@dangerous("external journal of a mounted ext4", "exclusively")
def _(bench):
    data, journal = bench.disk(64 * MIB), bench.disk(64 * MIB)
    run("mkfs.ext4", "-q", "-b", "4096", "-O", "journal_dev", journal)
    run("mkfs.ext4", "-q", "-b", "4096", "-J", f"device={journal}", data)
    bench.mount(data)
    return journal


# Swap

@dangerous("swap", "is swap: swapoff")
def _(bench):
    bench.swap_on(bench.device)


@dangerous("swap on a partition", "p1 is swap: swapoff")
def _(bench):
    [part] = bench.partitions("8MiB")
    bench.swap_on(part)


# Open in other processes

@dangerous("open for reading in another process", "is open in PID", "(python3) of user root")
def _(bench):
    bench.hold(bench.device)


@dangerous("open for writing in another process", "is open in PID")
def _(bench):
    bench.hold(bench.device, "r+b")


@dangerous("open through a partition", "p2 is open in PID")
def _(bench):
    parts = bench.partitions("8MiB", "8MiB")
    bench.hold(parts[1])


@dangerous("open through a device node elsewhere", "is open in PID")
def _(bench):
    node = bench.path("node")
    os.mknod(node, 0o600 | 0o060000, os.stat(bench.device).st_rdev)
    bench.hold(node)


@dangerous("open through a node that was removed", "is open in PID")
def _(bench):
    node = bench.path("node")
    os.mknod(node, 0o600 | 0o060000, os.stat(bench.device).st_rdev)
    bench.hold(node)
    node.unlink()


@dangerous("open in the child of another process", "is open in PID")
def _(bench):
    bench.process("sh", "-c", f"(exec 3<{bench.device}; echo ready; sleep 600) & wait")


@dangerous("held exclusively by another process", "is open in PID")
def _(bench):
    bench.process("python3", "-c", "import os, time\n"
                  f"os.open({bench.device!r}, os.O_RDWR | os.O_EXCL)\nprint('ready', flush=True)\ntime.sleep(600)")


# Loop devices

@dangerous("loop over a block device", "lies on the device")
def _(bench):
    return bench.loop(bench.device)


@dangerous("another loop device lies on it", "lies below a loop device")
def _(bench):
    bench.loop(bench.device)


@dangerous("another loop device lies on its partition", "p1 lies below a loop device")
def _(bench):
    [part] = bench.partitions("8MiB")
    bench.loop(part)


@dangerous("two loop devices on one file", "is also that of loop")
def _(bench):
    bench.loop(bench.image)


@dangerous("two loop devices on one file by two names", "is also that of loop")
def _(bench):
    other = bench.path("hardlink")
    os.link(bench.image, other)
    bench.loop(other)


@dangerous("two loop devices on halves of one file", "is also that of loop")
def _(bench):
    image = bench.file(DISK_BYTES)
    bench.loop(image, "--offset", str(DISK_BYTES // 2))
    return bench.loop(image, "--sizelimit", str(DISK_BYTES // 2))


@dangerous("the file is mounted", "is mounted on")
def _(bench):
    bench.ext4(bench.device)
    bench.mount(bench.image, "-o", "loop")


@dangerous("the file is swap", "is swap: swapoff first")
def _(bench):
    image = bench.path("swapfile")
    with open(image, "wb") as file:
        file.write(bytes(8 * MIB))
    image.chmod(0o600)
    bench.stack.callback(image.unlink)
    device = bench.loop(image)
    bench.swap_on(image)
    return device


@dangerous("read-only loop device", "is read-only")
def _(bench):
    return bench.loop(bench.file(DISK_BYTES), "--read-only")


@dangerous("loop device without a file", "has no file")
def _(bench):
    # A number that nobody is given.
    number = 1000 + os.getpid() % 1000
    with open("/dev/loop-control", "rb") as control:
        fcntl.ioctl(control, LOOP_CTL_ADD, number)
    bench.stack.callback(lambda: fcntl.ioctl(open("/dev/loop-control", "rb"), LOOP_CTL_REMOVE, number))
    return f"/dev/loop{number}"


@dangerous("no capacity", "has no file")
def _(bench):
    image = bench.file(DISK_BYTES)
    device = bench.loop(image)
    os.truncate(image, 0)
    run("losetup", "--set-capacity", device)
    return device


# What is not a whole disk

@dangerous("a partition", "is a partition of loop")
def _(bench):
    return bench.partitions("8MiB")[0]


@dangerous("a link to a partition", "is a partition of loop")
def _(bench):
    return bench.link(bench.partitions("8MiB")[0])


@dangerous("a character device", "Block device required")
def _(_bench):
    return "/dev/null"


@dangerous("a plain file", "Block device required")
def _(bench):
    return bench.image


@dangerous("a directory", "Block device required")
def _(bench):
    return bench.folder


@dangerous("a FIFO", "Block device required")
def _(bench):
    fifo = bench.path("fifo")
    os.mkfifo(fifo)
    return fifo


@dangerous("a dangling link", "No such file or directory")
def _(bench):
    return bench.link("/dev/disk/by-id/nothing-here")


@dangerous("a link that leads to itself", "Too many levels of symbolic links")
def _(bench):
    link = bench.link("/dev/disk")
    link.unlink()
    link.symlink_to(link)
    return link


@dangerous("a link to a mounted disk", "is mounted on")
def _(bench):
    bench.ext4(bench.device)
    bench.mount(bench.device)
    return bench.link(bench.link(bench.device))


@dangerous("a path with .. to a mounted disk", "is mounted on")
def _(bench):
    bench.ext4(bench.device)
    bench.mount(bench.device)
    return f"/dev/disk/../../dev/{bench.device[5:]}" if os.path.isdir("/dev/disk") else \
        f"/dev/pts/../{bench.device[5:]}"


# Data: shown, and to be armed

SIGNATURES = [line.split("\t") for line in subprocess.run(
    [PROBE, "--sign", "?", "/dev/zero"], check=False, capture_output=True, text=True).stdout.splitlines()] \
    if os.path.exists(PROBE) else []

for _name, _words in SIGNATURES:
    signed(f"signature {_name}", _words)(lambda bench, name=_name: bench.sign(name))


@signed("ext4 by mkfs", "ext4 filesystem \"archive\", UUID")
def _(bench):
    run("mkfs.ext4", "-q", "-L", "archive", bench.device)


@signed("XFS by mkfs", "xfs filesystem")
def _(bench):
    big = bench.disk(512 * MIB)
    run("mkfs.xfs", "-q", big)
    return big


@signed("btrfs by mkfs", "btrfs filesystem")
def _(bench):
    big = bench.disk(128 * MIB)
    run("mkfs.btrfs", "-q", big)
    return big


@signed("swap by mkswap", "holds swap other")
def _(bench):
    run("mkswap", bench.device)


@signed("filesystem on a partition", "holds 2 partitions (gpt)", "in partition 2", "ext4 filesystem \"inner\"")
def _(bench):
    parts = bench.partitions("8MiB", "8MiB")
    run("mkfs.ext4", "-q", "-L", "inner", parts[1])


@signed("GPT whose start was overwritten", "holds gpt partition table")
def _(bench):
    bench.partitions("8MiB")
    with open(bench.device, "r+b") as disk:
        disk.write(bytes(MIB))


@signed("filesystem without its first KiB", "ext4 filesystem")
def _(bench):
    run("mkfs.ext4", "-q", bench.device)
    with open(bench.device, "r+b") as disk:
        disk.write(os.urandom(1024))


@signed("random data everywhere", "its first MiB and its last MiB not empty", "holds data in 100.0 % of")
def _(bench):
    bench.write(0, DISK_BYTES)


@signed("data in the first MiB only", "its first MiB not empty")
def _(bench):
    bench.write(512 * 1024, 512)


@signed("data in the last MiB only", "its last MiB not empty")
def _(bench):
    bench.write(DISK_BYTES - 512, 512)


@signed("data in the middle only", "holds data in 1.", "sampled blocks")
def _(bench):
    bench.write(DISK_BYTES // 2, MIB)


# Good ones

@legitimate("blank")
def _(_bench):
    pass


@legitimate("blank, blocks of 4 KiB")
def _(bench):
    return bench.disk(DISK_BYTES, "--sector-size", "4096")


@legitimate("blank, odd size")
def _(bench):
    return bench.disk(DISK_BYTES + 3 * 512)


@legitimate("blank, odd size in blocks of 4 KiB")
def _(bench):
    return bench.disk(DISK_BYTES + 7 * 4096, "--sector-size", "4096")


@legitimate("blank, direct loop")
def _(bench):
    return bench.disk(DISK_BYTES, "--direct-io=on")


@legitimate("blank, the smallest that makes sense")
def _(bench):
    return bench.disk(4 * MIB)


@legitimate("blank, large and sparse")
def _(bench):
    return bench.disk(64 * 1024 * MIB)


@legitimate("wiped after ext4")
def _(bench):
    run("mkfs.ext4", "-q", "-N", "16", bench.device)
    with open(bench.device, "r+b") as disk:
        disk.write(bytes(DISK_BYTES))
        os.fsync(disk.fileno())


@legitimate("discarded after XFS")
def _(bench):
    big = bench.disk(512 * MIB)
    run("mkfs.xfs", "-q", big)
    run("blkdiscard", "--force", big)
    return big


@legitimate("signature wiped and trimmed")
def _(bench):
    bench.sign("luks1")
    run("wipefs", "--all", "--quiet", bench.device)
    run("blkdiscard", bench.device)


@legitimate("blank with partition scanning on")
def _(bench):
    return bench.disk(DISK_BYTES, "--partscan")


@legitimate("blank beside a mounted partitioned disk")
def _(bench):
    parts = bench.partitions("8MiB", "8MiB")
    run("mkfs.ext4", "-q", parts[0])
    bench.mount(parts[0])
    return bench.disk()


@legitimate("blank beside a mounted btrfs of two")
def _(bench):
    first, second = bench.disk(128 * MIB), bench.disk(128 * MIB)
    run("mkfs.btrfs", "-q", first, second)
    run("btrfs", "device", "scan", first, second)
    bench.mount(first)


@legitimate("blank beside swap")
def _(bench):
    bench.swap_on(bench.disk())


@legitimate("the file lies on a mounted loop device")
def _(bench):
    big = bench.disk(128 * MIB)
    run("mkfs.ext4", "-q", big)
    image = bench.mount(big) / "disk.img"
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES)
    return bench.loop(image)


@legitimate("unmounted again")
def _(bench):
    where = bench.path("mount")
    where.mkdir()
    run("mkfs.ext4", "-q", bench.device)
    run("mount", bench.device, str(where))
    bench.unmount(where)
    with open(bench.device, "r+b") as disk:
        disk.write(bytes(DISK_BYTES))
        os.fsync(disk.fileno())


@legitimate("swapped off again")
def _(bench):
    run("mkswap", bench.device)
    run("swapon", bench.device)
    run("swapoff", bench.device)
    with open(bench.device, "r+b") as disk:
        disk.write(bytes(MIB))
        os.fsync(disk.fileno())


@legitimate("opened briefly by another process")
def _(bench):
    bench.process("sh", "-c", f"(exec 3<{bench.device}; sleep 0.3) & echo ready; sleep 600")


@legitimate("by a link")
def _(bench):
    return bench.link(bench.link(bench.device))


@legitimate("a few stray blocks below the threshold")
def _(bench):
    for block in range(4):
        bench.write(8 * MIB + block * 11 * MIB, 512)


@legitimate("detached and attached again")
def _(bench):
    image = bench.file(DISK_BYTES)
    first = bench.loop(image)
    bench.detach(first, image)
    wait_for(lambda: not os.path.exists(f"/sys/block/{first[5:]}/loop"), 5, "the loop device to be free")
    return bench.loop(image)


@legitimate("two disks of one size")
def _(bench):
    bench.disk()
