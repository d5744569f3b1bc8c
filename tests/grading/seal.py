"""The seal of a graded run (SIM_SEAL, docs/simulator_reference.rst).

The process of the program writes its own journal. For each journal the library also writes a
receipt to a descriptor: the journal's checksum, a secret that the program does not have, and the
settings (SIM_ variables) of the run. The first line of the journal has the settings, too.
"""

import os
import stat
import zlib


class Seal:
    """descriptor: of a file that a program gets open, and cannot open by its name."""

    def __init__(self, path, hidden):
        self.secrets = [os.urandom(8).hex() for _ in range(8)]
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(self.descriptor, "".join(f"{each}\n" for each in self.secrets).encode())
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        if not hidden:  # in a sandbox no program sees it
            os.unlink(path)

    def close(self):
        os.close(self.descriptor)

    def receipts(self, wanted):
        """{name of a journal: its checksum and length}, or None when a receipt is false. Where the
        program may start itself again, the file still begins with the secrets, each alone in its
        line. The receipts follow in the order in which the processes ended."""
        size = os.fstat(self.descriptor).st_size
        found = {}
        for line in os.pread(self.descriptor, size, 0).decode(errors="replace").splitlines():
            words = line.split()
            if len(words) < 2:
                continue
            number, crc, length, secret, *settings = [*words, "", "", ""][: max(4, len(words))]
            if number not in tuple("01234567") or secret != self.secrets[int(number)]:
                return None
            name = "journal.jsonl" + (f".{number}" if number != "0" else "")
            if not are_settings(settings, wanted) or name in found:
                return None
            found[name] = crc, length
        return found

    def holds(self, folder, environment):
        """Are the files journal.jsonl* of this folder what the simulated device wrote in this
        environment? False when one was changed, is no plain file, or has no receipt or other
        settings, and when a receipt has no journal."""
        wanted = {
            name: value
            for name, value in environment.items()
            if name.startswith("SIM_") and value and name not in ("SIM_JOURNAL", "SIM_SEAL")
        }
        receipts = self.receipts(wanted)
        if receipts is None:
            return False
        with os.scandir(folder) as entries:
            names = [x.name for x in entries if x.name.startswith("journal.jsonl")]
        for name in names:
            path = os.path.join(folder, name)
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode):
                return False
            if not found.st_size:  # its process was killed
                continue
            with open(path, "rb") as file:
                data = file.read()
            if receipts.pop(name, None) != (str(zlib.crc32(data)), str(len(data))):
                return False
            if not has_settings(data, wanted):
                return False
        return not receipts


def are_settings(words, wanted):
    """Are these, NAME=VALUE each, the settings of the run?"""
    found = dict(word.partition("=")[::2] for word in words)
    return len(words) == len(wanted) and found == wanted


def has_settings(data, wanted):
    line = data[: data.find(b"\n")].decode(errors="replace")
    begin, word, rest = line.partition('"settings":"')
    return are_settings(rest.partition('"')[0].split() if word else [], wanted)
