# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU guest with Debian's kernel and drives that can be slowed, broken, frozen and pulled while it runs.

Guest boots, kills and commands it; Drive is one drive with its image, on the NVMe, AHCI, PIIX IDE or virtio driver.
Whatever is waited for has a limit, and whatever is started is ended by its own pid."""

import atexit
import base64
import contextlib
import functools
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from harness import BUILD, MIB, run, wait_for, work_folder
from kernel import kernel, need_tools

BOOT_SECONDS = 120
BOOT_IDLE_SECONDS = 8  # where nothing else runs it is 5
BUSES = {"nvme": ("rp0", "rp1", "rp2", "rp3"), "sata": tuple(f"ide.{n}" for n in range(6)), "ide": ("pix.0", "pix.1")}


class Lines:
    """JSON lines over a unix socket that QEMU listens on; a thread sorts what comes."""

    def __init__(self, path, seconds=20):
        self.socket = socket.socket(socket.AF_UNIX)
        # settimeout() would hold for the thread that reads, too.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 20, 0))
        self.arrived = threading.Condition()
        self.messages = []
        self.closed = False

        def connect():
            try:
                self.socket.connect(str(path))
                return True
            except OSError:
                return False

        wait_for(connect, seconds, f"{path} to listen")
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self):
        with contextlib.suppress(OSError), self.socket.makefile("rb") as file:
            for line in file:
                with self.arrived, contextlib.suppress(ValueError):
                    self.messages.append(json.loads(line))
                    self.arrived.notify_all()
        with self.arrived:
            self.closed = True
            self.arrived.notify_all()

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def take(self, wanted, seconds, what):
        """The first message for which wanted(message) holds, taken out."""
        end = time.monotonic() + seconds
        with self.arrived:
            while True:
                for message in self.messages:
                    if wanted(message):
                        self.messages.remove(message)
                        return message
                left = end - time.monotonic()
                if self.closed or left <= 0:
                    raise AssertionError(f"{'closed' if self.closed else f'{seconds} s'} before {what}")
                self.arrived.wait(left)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Drive:
    """A drive of the guest. backing: "file", or "nbd": served by an nbdkit of its own, which can be frozen."""

    def __init__(self, name, kind, serial, size=256 * MIB, backing="file", is_plugged=True):
        self.name, self.kind, self.serial, self.size, self.backing = name, kind, serial, size, backing
        self.bus, self.is_plugged = None, is_plugged
        self.image = self.guest = self.server = None
        self.errors = 0

    def open(self, guest):
        self.guest = guest
        self.image = guest.folder / f"{self.name}.img"
        if not self.image.exists():
            with open(self.image, "wb") as file:
                file.truncate(self.size)
        if self.is_plugged and self.kind in BUSES:
            taken = {drive.bus for drive in guest.drives}
            # An NVMe drive without a slot of its own can't be pulled.
            self.bus = next((bus for bus in BUSES[self.kind] if bus not in taken), "pcie.0")

    def serve(self):
        """Start the nbdkit behind the drive; the socket's path."""
        path = self.guest.sockets / f"{self.name}.nbd"
        path.unlink(missing_ok=True)
        self.server = subprocess.Popen(("nbdkit", "--exit-with-parent", "-f", "-U", str(path), "file", str(self.image)),
                                       stderr=subprocess.DEVNULL)
        wait_for(path.exists, 20, "nbdkit")
        return path

    def file_node(self):
        node = {"node-name": f"{self.name}-file"}
        if self.backing == "nbd":
            return {**node, "driver": "nbd", "server": {"type": "unix", "path": str(self.serve())}}
        # The host stays up when the guest is killed, so nothing needs its disk's flushes.
        return {**node, "driver": "file", "filename": str(self.image), "discard": "unmap", "cache": {"no-flush": True}}

    def top_node(self, below):
        return {"driver": "throttle", "node-name": f"{self.name}-top", "throttle-group": f"{self.name}-tg", "file": below,
                "discard": "unmap"}

    def arguments(self):
        nodes = (self.file_node(), {"driver": "raw", "node-name": f"{self.name}-raw", "file": f"{self.name}-file"},
                 self.top_node(f"{self.name}-raw"))
        yield from ("-object", f"throttle-group,id={self.name}-tg")
        for node in nodes:
            yield from ("-blockdev", json.dumps(node))
        if self.is_plugged:
            yield from ("-device", json.dumps(self.device()))

    def model_text(self):
        return "QEMU NVMe Ctrl" if self.kind == "nvme" else f"RIG {self.kind.upper()} SSD"

    def device(self):
        device = {"id": self.name, "drive": f"{self.name}-top", "serial": self.serial}
        if self.kind == "nvme":
            return {**device, "driver": "nvme", "bus": self.bus}
        if self.kind == "virtio":
            return {**device, "driver": "virtio-blk-pci"}
        return {**device, "driver": "ide-hd", "bus": self.bus, "model": self.model_text(),
                "ver": "RIG1", "rotation_rate": 1}

    def throttle(self, per_second, limit="iops-total"):
        """By one of QEMU's limits; 0: as fast as it goes."""
        limits = {"iops-total": 0, "iops-write": 0, "bps-write": 0, limit: per_second}
        self.guest.qmp("qom-set", path=f"/objects/{self.name}-tg", property="limits", value=limits)

    def fail_writes(self, errno=5):
        self.errors += 1
        node = f"{self.name}-errors{self.errors}"
        rule = {"event": "none", "iotype": "write", "errno": errno, "once": False}
        self.guest.qmp("blockdev-add", **{"driver": "blkdebug", "node-name": node, "image": f"{self.name}-raw",
                                          "inject-error": [rule]})
        self.guest.qmp("blockdev-reopen", options=[self.top_node(node)])

    def mend(self):
        self.guest.qmp("blockdev-reopen", options=[self.top_node(f"{self.name}-raw")])
        self.guest.qmp("blockdev-del", **{"node-name": f"{self.name}-errors{self.errors}"})

    def freeze(self):
        self.server.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.server.send_signal(signal.SIGCONT)

    def unplug(self):
        """NVMe only; the image stays with QEMU."""
        self.guest.qmp("device_del", id=self.name)
        self.guest.control.take(lambda m: m.get("event") == "DEVICE_DELETED" and m["data"].get("device") == self.name, 30,
                                f"{self.name} to be gone")

    def plug(self, bus=None, contents=None):
        """NVMe only: in again, on another port, or with another drive's contents."""
        device = self.device()
        device["bus"] = self.bus = bus or self.bus
        if contents:
            device["drive"] = f"{contents.name}-top"
        self.guest.qmp("device_add", **device)

    def delete(self):
        """SATA only: the kernel lets go of it, guest.rescan() finds it again."""
        self.guest.run(f"echo 1 >/sys/block/{self.kernel_name()}/device/delete")

    def swap(self, other):
        """Another drive's contents from now on."""
        self.guest.qmp("blockdev-reopen", options=[self.top_node(f"{other.name}-raw")])

    def written_bytes(self):
        """What the guest wrote to it since QEMU started."""
        stats = self.guest.qmp("query-blockstats")
        [mine] = [entry for entry in stats if entry.get("node-name") == f"{self.name}-top"]
        return mine["stats"]["wr_bytes"]

    def kernel_name(self):
        """Of the present drive with this serial, "" without one."""
        return self.guest.disks().get(self.serial, "")

    def written(self, offset, length):
        """Bytes of the image."""
        with open(self.image, "rb") as file:
            file.seek(offset)
            return file.read(length)

    def close(self):
        if self.server:
            self.server.kill()
            self.server.wait()
            self.server = None


class Guest:
    """with Guest(folder, drives) as guest: guest.boot(). A disk for the state is always there, on /run/state."""

    def __init__(self, folder, drives, install):
        self.folder, self.drives, self.install = pathlib.Path(folder), [], install
        self.vmlinux, self.initramfs = kernel()
        self.share = self.folder / "share"
        self.share.mkdir(exist_ok=True)
        # The name of a unix socket is at most 107 bytes long.
        self.sockets = pathlib.Path(tempfile.mkdtemp(prefix="drivesoak-vm-"))
        self.process = self.agent = self.control = None
        self.patience = 1.0  # how much longer than usual all takes, for others run beside us
        self.numbers = itertools.count(1)
        for drive in (Drive("state", "virtio", "RIGSTATE", 1024 * MIB), *drives):
            drive.open(self)
            self.drives.append(drive)
        run("mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=1,nodiscard", "-F", str(self.drives[0].image))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.sockets, ignore_errors=True)

    def arguments(self):
        sockets = self.sockets
        yield from ("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                    "-machine", "q35", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max", "-smp", "2", "-m", "1G",
                    "-kernel", str(self.vmlinux), "-initrd", str(self.initramfs),
                    "-append", "console=ttyS0 quiet panic=-1 random.trust_cpu=on nvme_core.io_timeout=120",
                    "-serial", f"file:{self.folder}/console",
                    "-chardev", f"socket,id=qmp,path={sockets}/qmp,server=on,wait=off", "-mon", "chardev=qmp,mode=control",
                    "-chardev", f"socket,id=agent,path={sockets}/agent,server=on,wait=off", "-device", "virtio-serial-pci",
                    "-device", "virtserialport,chardev=agent,name=agent",
                    "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                    "-virtfs", f"local,path={self.install},mount_tag=install,security_model=none,readonly=on",
                    "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none",
                    "-device", "piix3-ide,id=pix")
        for number, bus in enumerate(BUSES["nvme"]):
            yield from ("-device", f"pcie-root-port,id={bus},chassis={number + 1},slot={number + 1}")
        for drive in self.drives:
            yield from drive.arguments()

    def boot(self):
        for name in ("qmp", "agent"):
            (self.sockets / name).unlink(missing_ok=True)
        begun = time.monotonic()
        with open(self.folder / "qemu.log", "ab") as log:
            self.process = subprocess.Popen(("setpriv", "--pdeathsig", "KILL", *self.arguments()), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        try:
            self.agent = Lines(self.sockets / "agent")
            self.control = Lines(self.sockets / "qmp")
            self.control.take(lambda m: "QMP" in m, 20, "QEMU's greeting")
            self.qmp("qmp_capabilities")
            self.agent.take(lambda m: m["id"] == 0, BOOT_SECONDS, "the guest's agent")
            self.run(f"mkdir /run/state && mount -t ext4 /dev/{self.drives[0].kernel_name()} /run/state")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail('qemu.log')}\n{self.tail('console')}") from error
        self.patience = max(1.0, (time.monotonic() - begun) / BOOT_IDLE_SECONDS)
        return self

    def kill(self):
        """As if the power went away, but for what the drives' own write caches would lose."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        for lines in (self.agent, self.control):
            if lines:
                lines.close()
        self.agent = self.control = None
        for drive in self.drives:
            drive.close()

    def tail(self, name, count=40):
        with contextlib.suppress(OSError):
            text = (self.folder / name).read_text(errors="replace")
            return "\n".join(line for line in text.splitlines()[-count:] if line)
        return ""

    def qmp(self, command, seconds=20, **arguments):
        number = next(self.numbers)
        self.control.send({"execute": command, "arguments": arguments, "id": number})
        answer = self.control.take(lambda m: m.get("id") == number, seconds, f"{command}'s answer")
        assert "return" in answer, (command, arguments, answer)
        return answer["return"]

    def ask(self, operation, seconds=30, **request):
        number = next(self.numbers)
        self.agent.send({"id": number, "op": operation, "timeout": seconds, **request})
        try:
            answer = self.agent.take(lambda m: m["id"] == number, seconds + 10, f"the answer to {operation} {request}")
        except AssertionError as error:
            ended = f"QEMU ended with {self.process.poll()}" if self.process.poll() is not None else "QEMU runs"
            raise AssertionError(f"{error}; {ended}\n{self.tail('qemu.log')}\n{self.tail('console')}") from error
        if "error" in answer:
            raise AssertionError(f"in the guest: {operation} {request}: {answer['error']}")
        return answer

    def try_run(self, command, seconds=30, stdin=""):
        """(exit status, standard output, standard error) of a command: words, or a line for bash."""
        answer = self.ask("run", seconds, command=command, stdin=stdin)
        return answer["code"], answer["stdout"], answer["stderr"]

    def run(self, command, seconds=30, stdin=""):
        code, out, err = self.try_run(command, seconds, stdin)
        assert code == 0, (command, code, out, err)
        return out

    def disks(self):
        """{serial: kernel name} of all whole disks."""
        return self.ask("disks")["disks"]

    def rescan(self):
        self.run("for host in /sys/class/scsi_host/*/scan; do echo '- - -' >$host; done", 60)

    def read(self, path, offset, length, direct=True):
        return base64.b64decode(self.ask("read", path=path, offset=offset, bytes=length, direct=direct)["data"])


@functools.lru_cache(maxsize=1)
def make_install():
    """make install into a folder that is removed at the end; (the folder, the prefix of the programs in it)."""
    folder = tempfile.mkdtemp(prefix="drivesoak-test-install-", dir=BUILD)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    try:
        # Where /lib is a link a folder of that name would lie over all that is behind it.
        run("make", "-s", "install", f"DESTDIR={folder}", "systemdsystemunitdir=/usr/lib/systemd/system", cwd=BUILD, env=environment, timeout=300)
    except subprocess.CalledProcessError as error:
        raise AssertionError(error.stdout + error.stderr) from error
    prefix = re.search(r"^prefix = (.*)$", (BUILD / "Makefile").read_text(), re.MULTILINE).group(1)
    return folder, prefix


@contextlib.contextmanager
def machine(*drives):
    """(a guest that runs, with these drives and the installed programs, their prefix)."""
    need_tools()
    install, prefix = make_install()
    with work_folder() as folder, Guest(folder, drives, install) as guest:
        guest.boot()
        yield guest, prefix
