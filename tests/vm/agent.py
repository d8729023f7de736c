# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs in the guest: takes requests from the host over a virtio-serial port, a line of JSON each, and answers in any order.

{"id": 1, "op": "run", "command": ..., "timeout": 10} -> {"id": 1, "code": 0, "stdout": "...", "stderr": "..."}
A request that hangs, on a drive that hangs, holds no other."""

import base64
import glob
import json
import os
import subprocess
import threading
import time


def do_run(request):
    command = request["command"]
    done = subprocess.run(command, shell=isinstance(command, str), executable="/bin/bash" if isinstance(command, str) else None,
                          input=request.get("stdin", ""), capture_output=True, text=True, errors="replace", check=False,
                          timeout=request["timeout"])
    return {"code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


CHILDREN = {}


def do_spawn(request):
    with open(request["log"], "ab") as log:
        child = subprocess.Popen(request["command"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True)
    CHILDREN[child.pid] = child
    return {"pid": child.pid}


def do_poll(request):
    """Exit status of a spawned process, null while it runs; waits up to "wait" seconds."""
    try:
        return {"code": CHILDREN[request["pid"]].wait(request["wait"])}
    except subprocess.TimeoutExpired:
        return {"code": None}


def do_signal(request):
    CHILDREN[request["pid"]].send_signal(request["signal"])
    return {}


def do_http(request):
    import http.client  # half of the time that this program needs to start

    connection = http.client.HTTPConnection(request["host"], timeout=request["timeout"])
    try:
        connection.request("GET", request["path"])
        answer = connection.getresponse()
        return {"status": answer.status, "body": answer.read().decode()}
    finally:
        connection.close()


def do_read(request):
    """Bytes of a file or a device, past the page cache when "direct" is set."""
    if not request.get("direct"):
        with open(request["path"], "rb") as file:
            file.seek(request["offset"])
            return {"data": base64.b64encode(file.read(request["bytes"])).decode()}
    dd = ("dd", f"if={request['path']}", "bs=4096", f"skip={request['offset'] // 4096}",
          f"count={request['bytes'] // 4096}", "iflag=direct", "status=none")
    return {"data": base64.b64encode(subprocess.run(dd, check=True, capture_output=True, timeout=20).stdout).decode()}


def do_write(request):
    with open(request["path"], "w", encoding="utf-8") as file:
        file.write(request["text"])
    return {}


def serial_of(disk):
    """By sysfs: NVMe and virtio say it plainly, SCSI in vital product data page 80h behind four bytes."""
    for path in (f"{disk}/device/serial", f"{disk}/serial", f"{disk}/device/vpd_pg80"):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            continue
        return (data[4:] if path.endswith("vpd_pg80") else data).decode(errors="replace").strip()
    return ""


def do_disks(_):
    return {"disks": {serial_of(disk): disk.rsplit("/", 1)[1] for disk in glob.glob("/sys/block/*") if serial_of(disk)}}


OPERATIONS = {"disks": do_disks, "run": do_run, "spawn": do_spawn, "poll": do_poll, "signal": do_signal, 
              "http": do_http, "read": do_read, "write": do_write}


def main():
    ports = [path for path in glob.glob("/sys/class/virtio-ports/*/name") if open(path).read().strip() == "agent"]
    device = "/dev/" + ports[0].split("/")[4]
    port = os.open(device, os.O_RDWR)
    lock = threading.Lock()

    def say(answer):
        data = json.dumps(answer).encode() + b"\n"
        with lock:
            while data:
                data = data[os.write(port, data):]

    def handle(request):
        try:
            answer = OPERATIONS[request["op"]](request)
        except Exception as error:  # the host decides what it means
            answer = {"error": f"{type(error).__name__}: {error}"}
        say({"id": request["id"], **answer})

    say({"id": 0, "hello": os.uname().release})
    pending = b""
    while True:
        data = os.read(port, 65536)
        if not data:  # nobody is connected
            time.sleep(0.05)
        pending += data
        *lines, pending = pending.split(b"\n")
        for line in lines:
            request = json.loads(line)
            if request["op"] == "poweroff":
                return
            threading.Thread(target=handle, args=(request,), daemon=True).start()


if __name__ == "__main__":
    main()
