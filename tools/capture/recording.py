# SPDX-License-Identifier: Apache-2.0
"""Recordings of launches (src/recording/FORMAT.md): read, and written as folders or zip archives, equal bytes for equal content."""
import datetime
import hashlib
import json
import os
import re
import subprocess
import zipfile

LINES, DATA = "recording.jsonl", "data/"
DATA_MEMBERS = ("module", "before", "after", "data")  # that name a data file
# Where arrays lie: below what a process uses itself, each in pages of its own, as cuMemAddressReserve has them.
FIRST_ADDRESS, PAGE = 0x0A00_0000_0000, 2 << 20


class Recording:
    """A header, records and data files by name."""

    def __init__(self, header, records=(), data=()):
        self.header, self.records, self.data = dict(header), list(records), dict(data)
        self.names = {content: name for name, content in self.data.items()}

    def add_data(self, name, content):
        """The name of the file that has these bytes."""
        found = self.names.setdefault(bytes(content), name)
        if found == name and self.data.setdefault(name, bytes(content)) != content:
            raise ValueError(f"data '{name}' is there already, with other bytes")
        return found

    def keep(self, content):
        """The name of a data file that has these bytes, which is made of them."""
        return self.add_data(hashlib.sha256(content).hexdigest()[:20], content)

    def write(self, path):
        """A zip archive, if the path ends so, or a new folder."""
        used = {name for record in self.records for name in data_names(record)}
        lines = "".join(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n" for line in [self.header, *self.records])
        files = {LINES: lines.encode(), **{DATA + name: content for name, content in self.data.items() if name in used}}
        if not str(path).endswith(".zip"):
            os.makedirs(os.path.join(path, DATA))
            for name in reversed(files):  # data files before the lines that name them
                with open(os.path.join(path, name), "wb") as file:
                    file.write(files[name])
            return
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                member = zipfile.ZipInfo(name)  # of 1980, whatever the day
                member.external_attr = 0o644 << 16
                archive.writestr(member, content, zipfile.ZIP_DEFLATED, 9)


def read(path):
    """The recording in a folder, or in a zip archive of one."""
    if os.path.isdir(path):
        names = [LINES, *(DATA + name for name in os.listdir(os.path.join(path, DATA)))]
        files = {}
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                files[name] = file.read()
    else:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    header, *records = map(json.loads, filter(str.strip, files[LINES].decode().splitlines()))
    return Recording(header, records, {name[len(DATA):]: content for name, content in files.items() if name.startswith(DATA)})


def data_names(value):
    """The data files that a record, or a part of it, names."""
    if isinstance(value, list):
        for one in value:
            yield from data_names(one)
    if isinstance(value, dict):
        for name, one in value.items():
            yield from [one] if name in DATA_MEMBERS and isinstance(one, str) else data_names(one)


def header(target, program):
    """That of what this machine's GPU does with ptxas's code."""
    def said(command, pattern):
        return re.search(pattern, subprocess.run(command, capture_output=True, text=True, check=True).stdout)[1]
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return {"format": "recording-1", "target": target, "source": "hardware", "program": program, "device": said(query, "(.*),"),
            "driver": said(query, ", (.*)"), "toolkit": "ptxas " + said(["ptxas", "--version"], "release.* V([0-9.]+)"),
            "date": str(datetime.date.today())}


class Layout:
    """Arrays get addresses, in their order; `parts` is the memory of a launch."""

    def __init__(self, recording, prefix=""):
        self.recording, self.prefix, self.parts, self.next = recording, prefix, [], FIRST_ADDRESS

    def add(self, name, before, **about):
        """A part of memory, of whose bytes afterwards nothing is known so far."""
        content = bytes(before)
        part = {"address": hex(self.next), "bytes": len(content), "name": name, **about,
                "before": self.recording.add_data(f"{self.prefix}{name}.before", content), "after": None}
        self.parts.append(part)
        self.next += -(-max(len(content), 1) // PAGE) * PAGE
        return part

    def leave(self, part, after):
        """The bytes of a part after the launch."""
        name = self.recording.add_data(f"{self.prefix}{part['name']}.after", bytes(after))
        part["after"] = name
        if name == part["before"]:
            del part["after"]

    def address(self, name):
        return int(next(part["address"] for part in self.parts if part["name"] == name), 16)
