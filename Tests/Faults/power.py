"""Cuts the power of a gateway: what it wrote and had not synced is there by chance, in sectors, torn and out of order, and so
are the names of its files. `power.c` notes what there is to undo."""

import os
import shutil
import struct
import subprocess
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.path.join(os.path.dirname(os.path.dirname(HERE)), ".build", "power")
WRITE, SYNC, NAME, UNNAME, RENAME, FOLDER, UNFOLDER = range(1, 8)
HEAD = struct.Struct("<IIQQQQ")
SECTOR = 512
# How much of what was not synced is there: nothing, all, what came before a moment, or each sector by itself.
WAYS = ("nothing", "all", "ordered", "mixed", "mixed")


class Record:
    def __init__(self, kind, inode, offset, size, number, said):
        self.kind, self.inode, self.offset, self.size, self.number, self.said = kind, inode, offset, size, number, said

    @property
    def texts(self):
        return [text.decode() for text in self.said.split(b"\0")[:-1]]


def library():
    """Built once for each state of its source."""
    source, built = os.path.join(HERE, "power.c"), os.path.join(PLACE, "libpower.so")
    if not os.path.exists(built) or os.path.getmtime(built) < os.path.getmtime(source):
        os.makedirs(PLACE, exist_ok=True)
        subprocess.run(
            ["clang", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    return built


class Power:
    def __init__(self, folder, chance):
        """A recording of the files in the folder; the log of it lies beside the folder."""
        self.folder, self.chance = os.path.realpath(folder), chance
        self.beside = tempfile.mkdtemp(prefix="vicinity-power-", dir=os.path.dirname(self.folder))
        self.log, self.save = os.path.join(self.beside, "log"), os.path.join(self.beside, "save")
        self.begin()

    def begin(self):
        shutil.rmtree(self.save, ignore_errors=True)
        os.mkdir(self.save)
        open(self.log, "wb").close()

    @property
    def through(self):
        names = {"LD_PRELOAD": library(), "POWER_ROOT": self.folder, "POWER_LOG": self.log, "POWER_SAVE": self.save}
        return ["env"] + [f"{name}={value}" for name, value in names.items()]

    def close(self):
        shutil.rmtree(self.beside)

    # The cut

    def cut(self):
        """Cuts the power of a gateway that has been killed; returns how much was undone, of how much."""
        records, self.synced = self.read()
        way = self.chance.choice(WAYS)
        writes, names = defaultdict(list), []
        for record in records:
            if record.kind == WRITE and record.number > self.synced[record.inode]:
                writes[record.inode].append(record)
            elif record.kind > SYNC and record.number > self.synced[record.offset]:
                names.append(record)
        # The content of a file does not depend on its name.
        for inode, path in self.paths().items():
            if inode in writes:
                self.tear(path, writes[inode], way)
        lost = self.unname(names, way)
        for path in list(self.files(self.folder)):
            # Shared memory is no file of the disk's.
            if path.endswith("-shm"):
                os.unlink(path)
        self.begin()
        return f"{way}: {sum(map(len, writes.values()))} writes of {len(writes)} files, {lost} of {len(names)} names"

    def read(self):
        with open(self.log, "rb") as file:
            log = file.read()
        records, synced, place = [], defaultdict(int), 0
        while place + HEAD.size <= len(log):
            kind, length, inode, offset, size, number = HEAD.unpack_from(log, place)
            place += HEAD.size
            if place + length > len(log):
                break
            if kind == SYNC:
                synced[inode] = max(synced[inode], number)
            else:
                records.append(Record(kind, inode, offset, size, number, log[place:place + length]))
            place += length
        return records, synced

    @staticmethod
    def files(folder):
        for place, _, names in os.walk(folder):
            for name in names:
                yield os.path.join(place, name)

    def paths(self):
        return {os.lstat(path).st_ino: path for folder in (self.save, self.folder) for path in self.files(folder)}

    def tear(self, path, writes, way):
        with open(path, "r+b") as file:
            present, end = file.read(), writes[-1].number + 1
            sizes = [(record.number, record.size) for record in writes] + [(end, len(present))]
            pasts = defaultdict(list)
            # Bytes past the end of the file did not exist before.
            for start in range(-(-sizes[0][1] // SECTOR) * SECTOR, len(present), SECTOR):
                pasts[start].append((0, b""))
            for record in writes:
                for start in range(0, len(record.said), SECTOR):
                    pasts[record.offset + start].append((record.number, record.said[start:start + SECTOR]))
            moment = self.chance.choice(sizes)[0]
            size = self.pick(sizes, way, moment)
            for start, past in pasts.items():
                if start < size:
                    content = self.pick(past + [(end, present[start:start + SECTOR])], way, moment)
                    file.seek(start)
                    file.write(content[:size - start].ljust(min(SECTOR, size - start), b"\0"))
            file.truncate(size)

    def pick(self, past, way, moment):
        if way == "nothing":
            return past[0][1]
        if way == "all":
            return past[-1][1]
        if way == "ordered":
            return next((content for number, content in past if number >= moment), past[-1][1])
        return self.chance.choice(past)[1]

    def unname(self, names, way):
        """The last changes of names in each folder are undone, as many as chance decides."""
        folders = defaultdict(list)
        for record in names:
            folders[record.offset].append(record.number)
        undone = set()
        for numbers in folders.values():
            kept = {"nothing": 0, "all": len(numbers)}.get(way, self.chance.randint(0, len(numbers)))
            undone |= set(numbers[kept:])
        for record in reversed(names):
            if record.number in undone:
                self.undo(record)
        return len(undone)

    def undo(self, record):
        path = record.texts[0]
        saved = os.path.join(self.save, str(record.inode))
        try:
            if record.kind == NAME:
                if os.lstat(path).st_ino == record.inode:
                    os.unlink(path)
            elif record.kind == FOLDER:
                shutil.rmtree(path)
            elif record.kind == UNFOLDER:
                os.mkdir(path)
            elif record.kind == UNNAME:
                if os.path.exists(saved):
                    os.link(saved, path)
            elif record.kind == RENAME:
                os.rename(record.texts[1], path)
                if record.inode and os.path.exists(saved):
                    os.link(saved, record.texts[1])
        except FileNotFoundError:
            # The folder in which it was is lost, too.
            pass
