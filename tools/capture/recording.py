# SPDX-License-Identifier: Apache-2.0
"""Recordings of launches (src/recording/FORMAT.md): read, and written as zip archives, equal bytes for equal content."""
import datetime
import json
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

    def write(self, path):
        """A zip archive."""
        used = {name for record in self.records for name in data_names(record)}
        lines = "".join(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n" for line in [self.header, *self.records])
        with zipfile.ZipFile(path, "w") as archive:
            files = {LINES: lines.encode(), **{DATA + name: content for name, content in self.data.items() if name in used}}
            for name, content in files.items():
                member = zipfile.ZipInfo(name)  # of 1980, whatever the day
                member.external_attr = 0o644 << 16
                archive.writestr(member, content, zipfile.ZIP_DEFLATED, 9)


def read(path):
    """The recording in a zip archive."""
    with zipfile.ZipFile(path) as archive:
        header, *records = map(json.loads, archive.read(LINES).splitlines())
        data = {name[len(DATA):]: archive.read(name) for name in archive.namelist() if name.startswith(DATA)}
    return Recording(header, records, data)


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
