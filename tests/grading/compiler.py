"""Compiles a student's file for a check, and refuses what no lesson needs.

The compiler, the assembler and the linker were not made for files that nobody trusts. Each gets 10
seconds of a processor (twice CHECK_SECONDS), 2 GiB and files of 128 MiB. For a grader they run as a
user without an account and, where the machine allows one, in a sandbox. Of the workbook it shows
only the headers in lessons/, the simulated device and the student's file.

No line of another file may come back in what the student reads, with a sandbox or without one. So
the compiler writes assembly as text, and assembly.py reads it before an assembler does. The option
-H makes the compiler list the headers that it reads. It must not quote source lines, because gcc
takes them from whatever file a #line names. Instead, messages() quotes the student's own file.
"""

import mmap
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import object_file
from assembly import foreign_line
from place import (
    MEMORY,
    PATIENCE,
    ROOT,
    Machine,
    from_file,
    is_clang,
    plain,
    said_by_compiler,
    solution_of,
    without_flags,
)
from sandbox import joining, sandbox_failed, sandboxed
from usage import call

SHOWN = 1000000  # bytes of what the tools print
NO_ASSEMBLY = "It has assembly (asm), which no lesson needs."
NO_EMBED = "It has #embed, which no lesson needs."

# #embed puts the bytes of any file into a program. Its letters may have line ends between them.
SPLICE = rb"(?:(?:\\|\?\?/)[ \t]*\r?\n)"
EMBED = rb"(?s)(?:#|%%:|\?\?=)(?:\s|%b|/\*.*?\*/)*%b" % (
    SPLICE,
    (SPLICE + b"*").join(b"e m b e d".split()),
)

# The message of a tool that crashed or was killed, which may not happen the next time. Only the
# tool's last line counts, and only if it names no place in a file: the student can write any words
# into the other lines, as the name of a file (#line).
STOPPED = (
    r"(?:(?:[^ ]*[/-])?(?:gcc|cc|clang|cc1|as|ld|collect2)[^ :]*: .*(?:signal terminated program"
    r"|terminated with signal|out of memory|memory exhausted)|virtual memory)"
)
NOT_LAST = r"compilation terminated|Please |See <|\.+ "

# Runs the assembler, inspects the object, and links it. Only main stays visible, so that no library
# calls a function of the program. The exit status says which step failed.
LINK = """
base=$1 text=$2 most=$3 compiler=("${@:5:$4}") linker=("${@:5+$4}")
"${compiler[@]}" -c "$text" -o "$base.o" || exit 3
[ "$(stat -c %s "$base.o")" -le "$most" ] || exit 4
readelf --wide --section-headers --symbols --relocs "$base.o" >"$base.report" || exit 5
objcopy --keep-global-symbol=main "$base.o" || exit 5
"${linker[@]}" || exit 6
"""
NO_OBJECT, TOO_LARGE, UNREADABLE, NOT_LINKED = 3, 4, 5, 6


class Compiled:
    """What became of a file. words: what the student reads when there is no program, else "";
    stopped: a tool crashed or was stopped; refused: the file has what no lesson needs; sleeps: the
    name of a function that sleeps and is called, else ""."""

    def __init__(self, words="", stopped=False, refused=False, sleeps=""):
        self.words, self.stopped, self.refused = words, stopped, refused
        self.sleeps = sleeps


def said_by(function, *words):
    """What a function of tools/c_file.sh says about a file or folders: a sentence, or ""."""
    script = f'source "{ROOT}/tools/c_file.sh"; {function} "$@"'
    command = ["bash", "-c", script, function, *words]
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return said.stdout.decode(errors="replace").strip() if said.returncode else ""


class Compilation:
    """One C file, FILE, that becomes one program. own: other names that the file gives itself."""

    def __init__(self, file, program, place, own=()):
        self.file, self.program, self.place = str(file), Path(program), place
        self.own = {self.file, *own}
        self.said = Path(f"{program}.words")
        self.out = Path(os.path.abspath(self.program.parent))
        if place.user or place.sandbox:
            self.out /= "compiled"
            if not self.out.is_dir():
                self.out.mkdir(mode=0o700)
                if place.user:
                    os.chown(self.out, place.user, place.user)
        self.base = f"{self.out}/{self.program.name}"
        self.library = str(ROOT / place.library)
        self.assembly = []

    # -- running a tool --

    def tool(self, command):
        """Runs a command under all limits; its exit status. What it prints is in self.said."""
        place = self.place
        limits = [f"--cpu={2 * place.seconds}", f"--as={MEMORY}", f"--fsize={1 << 27}", "--core=0"]
        if place.user or place.sandbox:
            limits.append(f"--nproc={place.processes}")
        command = ["prlimit", *limits, *command]
        if not place.sandbox:
            return self.without_sandbox(command)
        for _ in range(2):  # what goes wrong once, on a busy machine, is done again
            status, begun = self.in_sandbox(command)
            if begun or status == 137:
                return status
        raise Machine(sandbox_failed(self.text().split("\n")[0]))

    def without_sandbox(self, command):
        place = self.place
        before = [*joining(place), "timeout", "--signal=KILL", str(PATIENCE)]
        if place.user:
            before += [*place.as_user, "env", "-i", f"PATH={os.environ['PATH']}"]
            before += [f"TMPDIR={self.out}", "LC_ALL=C.UTF-8"]
        return self.start([*before, *command], dict(os.environ, LC_ALL="C.UTF-8"))

    def in_sandbox(self, command):
        """Its status, and whether it has begun and ended there."""
        seen = [*(ROOT / "lessons").rglob("*.h"), ROOT / "simulator/user_kernels.h", self.library]
        words = []
        for path in (*seen, ROOT / self.file, *self.assembly):
            words += ["--ro-bind", str(path), str(path)]
        words += ["--ro-bind", self.place.headers, f"{ROOT}/build/cuda/include"]
        words += ["--bind", str(self.out), str(self.out), "--chdir", str(ROOT)]
        words += ["--setenv", "PATH", os.environ["PATH"], "--setenv", "LC_ALL", "C.UTF-8"]
        reading, writing = os.pipe()
        words = ["--json-status-fd", str(writing), *words]
        box = sandboxed(self.place, "compile", words, command)
        with os.fdopen(reading, "rb") as report:
            try:
                limit = ["timeout", "--signal=KILL", str(2 * PATIENCE)]
                status = self.start([*limit, *box], {}, (writing,))
            finally:
                os.close(writing)
            return status, b'"exit-code"' in report.read()

    def start(self, command, environment, descriptors=()):
        with self.said.open("wb") as said:
            status = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=descriptors,
            ).returncode
        return 128 - status if status < 0 else status

    def text(self):
        with self.said.open("rb") as said:
            return said.read(SHOWN).decode(errors="replace").rstrip("\n")

    def made(self, suffix):
        """The bytes of a file that a tool has made, which is no link."""
        opened = os.open(self.base + suffix, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise FileNotFoundError(self.base + suffix)
            return file.read()

    # -- what the compiler has read --

    def foreign(self, names):
        """The first of these files that is neither the student's nor a header of a lesson's, CUDA's
        or the system's, nor the compiler's own, of which some are in include-fixed. Debian 13 has
        links from /usr/include to the kernel's headers in uapi."""
        own = [ROOT / "lessons", ROOT / "simulator/user_kernels.h", ROOT / "build/cuda/include"]
        own += ["/usr/include", "/usr/local/include", "/usr/lib/linux/uapi"]
        own += compilers_headers(self.place.compiler)
        own = [f"{ROOT}/build/cuda/include", *map(os.path.realpath, own)]
        files = {os.path.realpath(ROOT / name) for name in self.own}
        for name in names:
            path = os.path.realpath(ROOT / name)
            known = (
                name in self.own
                or path in files
                or any(path == x or path.startswith(f"{x}/") for x in own)
            )
            if not known or name.startswith(("/proc/", "/dev/")):
                return os.path.basename(name)
        return None

    def listed_headers(self):
        if not self.said.stat().st_size:
            return []
        with self.said.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as said:
            found = dict.fromkeys(re.findall(rb"(?m)^\.+ (.*)$", said))
        return [os.fsdecode(name) for name in found]

    def messages(self):
        """What the compiler said of errors, each with the line of the student's own file."""
        lines, sources = [], {}
        for line in self.text().split("\n"):
            if line == "Multiple include guards may be useful for:":
                break
            if re.match(r"\.+ ", line):
                continue
            lines.append(line)
            place = re.match(r"(.*?):(\d+):(\d+): (fatal )?(error|warning): ", line)
            if place and place[1] in self.own and not is_clang(self.place.compiler):
                source, path = sources.get(place[1]), ROOT / place[1]
                if source is None:  # ask.h of the check has a name that is no file
                    text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
                    source = sources[place[1]] = text.split("\n")
                number, column = int(place[2]), int(place[3])
                if 0 < number <= len(source):
                    lines.append(f"{number:5} | {source[number - 1].expandtabs(8)[:200]}")
                    lines.append(f"      | {' ' * min(column - 1, 200)}^")
        return "\n".join(lines)

    # -- what comes of it --

    def not_compiled(self, status, words):
        last = f"{self.file} does not compile. Begin with the first error above."
        return self.failed(status, f"{words}\n{last}".strip("\n"))

    def failed(self, status, words):
        last = [x for x in self.text().split("\n") if x and not re.match(NOT_LAST, x)][-1:]
        crashed = any(re.match(STOPPED, x) and not re.search(r":\d+: ", x) for x in last)
        return Compiled(words, stopped=crashed or status == 137)

    def only_assembled(self, *flags):
        """What the compiler says of the file, of which nothing is kept."""
        if not is_clang(self.place.compiler):
            flags += ("-ftrack-macro-expansion=0",)  # the error names the line that uses the macro
        self.tool([*self.place.compiler, *flags, "-S", self.file, "-o", f"{self.base}.s"])
        Path(f"{self.base}.s").unlink(missing_ok=True)
        return self.text()

    def of_a_lesson(self, lesson, imports):
        if re.search(EMBED, (ROOT / self.file).read_bytes()):
            return Compiled(NO_EMBED, refused=True)
        words = self.place.compiler
        own = ["-fno-integrated-as"] if is_clang(words) else ["-fno-diagnostics-show-caret"]
        status = self.tool(
            [*words, *own, "-fvisibility=hidden", "-H", "-S", self.file, "-o", f"{self.base}.s"]
        )
        foreign = self.foreign(self.listed_headers())
        if foreign:
            return Compiled(
                f"It includes {foreign}, which no lesson needs: a lesson includes the headers of "
                "lessons/, of CUDA and of the C library.",
                refused=True,
            )
        if status:
            return self.not_compiled(status, self.messages())
        assembly = self.made(".s")
        if foreign_line(assembly.decode("latin-1")) is not None:
            return Compiled(NO_ASSEMBLY, refused=True)
        foreign = self.foreign(files_of(assembly))
        if foreign:
            return Compiled(f"It names {foreign} by #line, which no lesson needs.", refused=True)
        # The assembler gets the text that was read here, which no process of the student's can
        # change.
        self.assembly = [f"{os.path.abspath(self.program)}.s"]
        if self.assembly != [f"{self.base}.s"]:
            Path(self.assembly[0]).write_bytes(assembly)
        return self.linked(lesson, imports)

    def linked(self, lesson, imports):
        compiler = without_flags(self.place.compiler)
        # The object has no code for link-time optimization, so gcc's plugin for it has no work.
        plugin = [] if is_clang(compiler) else ["-fno-use-linker-plugin"]
        linker = [
            *self.place.compiler,
            *plugin,
            f"{self.base}.o",
            "-o",
            self.base,
            self.library,
            "-lm",
            "-pthread",
        ]
        words = [self.base, *self.assembly, str(object_file.BYTES), str(len(compiler))]
        status = self.tool(["bash", "-c", LINK, "link", *words, *compiler, *linker])
        if status == NO_OBJECT:
            return self.failed(
                status,
                f"{self.file} does not compile: the assembler rejects what the compiler made "
                "of it. Is a name in an attribute, or after asm, not a name in C?",
            )
        if status == TOO_LARGE:
            return Compiled(object_file.TOO_LARGE, refused=True)
        if status not in (0, NOT_LINKED):
            return self.failed(status, "The object file cannot be read.")
        try:
            report = self.made(".report").decode(errors="replace")
            found = object_file.sentences(report, lesson[:2], imports)
        except object_file.Refused as why:
            found = [str(why)]
        if found:
            return Compiled("\n".join(found), refused=True)
        sleeps = re.search(r"\bUND (nanosleep|sleep|thrd_sleep|usleep)\b", report)
        return self.not_linked(status) if status else self.kept(sleeps[1] if sleeps else "")

    def not_linked(self, status):
        return self.failed(
            status,
            f"{self.text()}\n{self.file} does not compile: it lacks what the lines above refer to.",
        )

    def kept(self, sleeps=""):
        if self.out != Path(os.path.abspath(self.program.parent)):
            self.program.write_bytes(self.made(""))
            self.program.chmod(0o755)
        for path in (*self.assembly, f"{self.base}.s", f"{self.base}.report"):
            Path(path).unlink(missing_ok=True)
        return Compiled(sleeps=sleeps)

    def of_anything(self):
        """Nothing is refused, as in the clinic, or for a sanitizer."""
        words = [*self.place.compiler, "-fvisibility=hidden", self.file, "-o", self.base]
        status = self.tool([*words, self.library, "-lm", "-pthread"])
        return self.not_compiled(status, self.text()) if status else self.kept()


def files_of(assembly):
    """The files that assembly names as the sources of its lines. A report of the simulated device
    quotes lines of these files."""
    for line in re.findall(rb'(?m)^[ \t]*\.file[ \t]+\d+[ \t]+(".*)$', assembly):
        words = re.findall(rb'"((?:[^"\\]|\\.)*)"', line)[:2]
        octal = rb"\\([0-7]{3}|.)"
        plain = [
            re.sub(octal, lambda m: bytes([int(m[1], 8)]) if m[1][1:] else m[1], word)
            for word in words
        ]
        yield os.fsdecode(b"/".join(plain))


def compilers_headers(compiler):
    folder = said_by_compiler(*without_flags(compiler), "-print-file-name=include").strip()
    return folder, f"{folder}-fixed"


def is_machine_slow(lesson, program, place):
    """Is this machine as slow with the lesson's solution as with the file for which a tool was
    stopped?"""
    begun = time.monotonic()
    Compilation(solution_of(lesson), f"{program}.solution", place).of_a_lesson(lesson, [])
    return time.monotonic() - begun >= PATIENCE / 4


def compiled(file, program, place, lesson="", imports=(), own=()):
    """Makes a program of a C file. With a lesson's name nothing may be in it that the lesson does
    not need."""
    path = ROOT / file
    if not path.is_file() or not (text := path.read_bytes()) or b"\0" in text:
        return Compiled(said_by("expect_c_file", str(file)))
    job, begun = Compilation(file, program, place, own), time.monotonic()
    try:
        found = job.of_a_lesson(lesson, imports) if lesson else job.of_anything()
    except OSError as why:
        found = Compiled(str(why))
    if not found.words or found.refused:
        return found
    folders = [str(job.program.parent)]
    if not place.sandbox:
        folders.append(os.environ.get("TMPDIR") or "/tmp")
    full = said_by("expect_room", *folders)
    if full and place.grading:
        raise Machine(full)
    if full:
        return Compiled(full)
    patience = PATIENCE * (2 if place.sandbox else 1)
    late = found.stopped and time.monotonic() - begun >= patience
    if late and place.grading and is_machine_slow(lesson, program, place):
        raise Machine("The compiler did not end: this machine was too busy.")
    return found


def main(file, program, lesson="", *imports):
    """compiler.py FILE PROGRAM [NN_name [FUNCTION...]]: for tests. CHECK_PLACE is a file with the
    place, as protect.py writes it."""
    given = os.environ.get("CHECK_PLACE")
    place = from_file(given) if given else plain()
    found = compiled(file, program, place, lesson, imports)
    print(found.words, end="\n" * bool(found.words))
    return 124 if found.stopped else int(bool(found.words))


if __name__ == "__main__":
    call({"": main}, sys.argv[1:], (Machine,), 2)
