"""A place for one command that is not trusted, where it sees only what it needs, by bubblewrap.

The command has namespaces of its own: no process but its own, no network, no capability, an empty
/tmp and /dev/shm in memory with a limit, and of /dev only null. When it ends, or whoever called
this, every process in there ends. It has no environment; --setenv gives it one.

What it sees depends on the purpose:
    compile  the machine's programs, libraries and headers (/usr)
    run      what the folder place.seen has, each file at its place: SEEN/lib is /lib
The arguments of bwrap add what else it sees, such as --ro-bind FILE FILE. If the workbook lies in
one of these folders, for example in /usr, the rest of the workbook is hidden.

place.sandbox is how the namespaces are made, which depends on what the machine allows:
    user    by the user who calls this, with a user namespace
    number  for root, by a user that nobody is, with the number place.user
    root    by root; the command then runs as that user
protect.py tries which of them work.
"""

import os
import shutil
from functools import cache
from pathlib import Path

from place import ROOT

MIB = 1 << 20


def joining(place):
    """The words that, put before a command, let it run in the cgroup."""
    join = 'echo $$ >"$0/cgroup.procs"; unset PWD; exec "$@"'
    return ["sh", "-c", join, place.cgroup] if place.cgroup else []


def folders_above(path, made):
    """The words that make the folders above a path, except those in `made`. Without these words
    bwrap would make them itself, and only the user who calls it could enter them."""
    folder = os.path.dirname(path)
    if folder in ("", "/") or folder in made:
        return []
    made.add(folder)
    return [*folders_above(folder, made), "--perms", "0755", "--dir", folder]


@cache
def what_compilers_see():
    words = ["--ro-bind", "/usr", "/usr"]
    for folder in sorted(["/bin", "/sbin", *map(str, Path("/").glob("lib*"))]):
        # On most systems these are links into /usr; on older ones they are folders.
        if os.path.exists(f"/usr{folder}") and os.path.samefile(folder, f"/usr{folder}"):
            words += ["--symlink", f"usr{folder}", folder]
        else:
            words += ["--ro-bind", folder, folder]
    return words


def sandboxed(place, purpose, arguments, command):
    """The words of the command in its sandbox, to be run with an empty environment."""
    number = [f"--reuid={place.user}", f"--regid={place.user}", "--clear-groups"]
    as_number = [shutil.which("setpriv") or "setpriv", *number]
    own, before, inside = "--unshare-user --disable-userns", [], []
    if place.sandbox == "number":
        before = as_number
    elif place.sandbox == "root":
        # It needs these rights of root to become another user, and has none of them after that.
        own = "--cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP"
        inside = [*as_number, "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    if purpose == "compile":
        temporary, made = 256 * MIB, {"/usr"}  # the compiler's own files
        seen = [*what_compilers_see(), *folders_above("/etc/alternatives", made)]
        # /usr/bin/awk is a link into this folder.
        seen += ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    else:
        temporary, made, seen = 64 * MIB, set(), []
        for name in sorted(os.listdir(place.seen)):
            seen += ["--ro-bind", f"{place.seen}/{name}", f"/{name}"]
            made.add(f"/{name}")
    if f"/{ROOT.parts[1]}" in made:
        seen += ["--tmpfs", str(ROOT)]
    for at, word in enumerate(arguments):
        if word in ("--bind", "--ro-bind", "--ro-bind-try"):
            seen += folders_above(arguments[at + 2], made)
        seen.append(word)
    words = f"""--unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try
        --die-with-parent --new-session --cap-drop ALL {own} --clearenv
        --proc /proc --perms 0755 --dir /dev --dev-bind /dev/null /dev/null
        --perms 1777 --size {64 * MIB} --tmpfs /dev/shm
        --perms 1777 --size {temporary} --tmpfs /tmp"""
    box = [shutil.which("bwrap"), *words.split(), *seen, "--remount-ro", "/", "--"]
    return [*joining(place), *before, *box, *inside, *command]


def sandbox_failed(words):
    """A sentence about a sandbox that could not be made, of which the machine said no more than
    these words."""
    if words:
        return f"The sandbox could not be made: {words}"
    return (
        "The sandbox could not be made, and nothing said why: was the machine very busy, or a "
        "process of it killed? Grade again."
    )
