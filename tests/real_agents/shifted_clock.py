"""Runs a program, and all that it starts, under a clock that is so many seconds off. Linux, x86-64.

`python3 shifted_clock.py -86400 PROGRAM ARGUMENT…`

Programs ask the time of functions that the kernel maps into each of them (vdso(7)), static ones
too. They are told by ptrace(2) when one begins, and those functions are written over. What is left
alone: clocks that are not the calendar's, and the coarse one, from which file times are taken.
Programs that ask the kernel itself (none of those in these tests) are told the true time.
"""

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_CONT, _SEIZE, _LISTEN = 7, 0x4206, 0x4208
_FOLLOW: Final = 0x2 | 0x4 | 0x8 | 0x10 | 0x100000  # fork, vfork, clone, exec; end with us
_EVENT_EXEC, _EVENT_STOP = 4, 128
_THREADS_TOO: Final = 0x40000000  # __WALL
_STOPPING: Final = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

_WHERE_THE_FUNCTIONS_ARE: Final = 33  # AT_SYSINFO_EHDR
_DYNAMIC, _TABLE_OF_NAMES, _TABLE_OF_SYMBOLS = 2, 5, 6

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
libc.ptrace.restype = ctypes.c_long


def works_here() -> bool:
    """Whether this machine has the functions that are known here."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def functions(seconds: int) -> dict[bytes, bytes]:
    """What stands in their places: the kernel's answer, and so many seconds to it."""
    more = struct.pack("<i", seconds)
    gettime = (
        b"\xb8\xe4\0\0\0\x0f\x05"  # mov eax, 228; syscall
        b"\x85\xff\x75\x07"  # is edi CLOCK_REALTIME?
        b"\x48\x81\x06" + more + b"\xc3"  # add qword [rsi], more
    )
    gettimeofday = (
        b"\xb8\x60\0\0\0\x0f\x05"  # mov eax, 96; syscall
        b"\x48\x85\xff\x74\x07"  # is there a place for it at rdi?
        b"\x48\x81\x07" + more + b"\xc3"  # add qword [rdi], more
    )
    time = (
        b"\xb8\xc9\0\0\0\x0f\x05"  # mov eax, 201; syscall
        b"\x48\x05" + more + b"\x48\x85\xff\x74\x03"  # add rax, more; is there a place at rdi?
        b"\x48\x89\x07\xc3"  # mov [rdi], rax
    )
    return {
        b"__vdso_clock_gettime": gettime,
        b"__vdso_gettimeofday": gettimeofday,
        b"__vdso_time": time,
    }


class Image:
    """The functions that the kernel mapped into a process, as an ELF file in its memory."""

    def __init__(self, memory: int, base: int) -> None:
        self._memory, self._base = memory, base

    def read(self, place: int, size: int) -> bytes:
        return os.pread(self._memory, size, self._base + place)

    def words(self, form: str, place: int) -> tuple[int, ...]:
        return struct.unpack(form, self.read(place, struct.calcsize(form)))

    def symbols(self) -> Iterator[tuple[bytes, int, int]]:
        """Each name, where it is and how long."""
        tables = dict(self._dynamic())
        names = self.read(tables[_TABLE_OF_NAMES], 4096)
        place = tables[_TABLE_OF_SYMBOLS]
        # The kernel's linker script puts the names behind the symbols (vdso-layout.lds.S).
        while place < tables[_TABLE_OF_NAMES]:
            name, _, _, _, value, size = self.words("<IBBHQQ", place)
            yield names[name : names.index(b"\0", name)], value, size
            place += 24

    def _dynamic(self) -> Iterator[tuple[int, int]]:
        (start,) = self.words("<Q", 32)
        size, count = self.words("<HH", 54)
        for number in range(count):
            kind, _, offset, _, _, length = self.words("<IIQQQQ", start + number * size)
            if kind == _DYNAMIC:
                for place in range(offset, offset + length, 16):
                    key, value = self.words("<qQ", place)
                    yield key, value
                return


def shift(pid: int, seconds: int) -> None:
    """Write over the functions of a process that has just begun its program."""
    words = Path(f"/proc/{pid}/auxv").read_bytes()
    base = dict(struct.iter_unpack("<QQ", words)).get(_WHERE_THE_FUNCTIONS_ARE)
    if base is None:
        return
    memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
    try:
        wanted = functions(seconds)
        for name, place, size in Image(memory, base).symbols():
            code = wanted.get(name)
            if code is not None:
                assert len(code) <= size, f"{name!r} is too short here"
                os.pwrite(memory, code, base + place)
    finally:
        os.close(memory)


def run(words: list[str], seconds: int) -> int:
    """Run it to its end; gives its exit status."""
    seized, say_so = os.pipe()
    first = os.fork()
    if first == 0:
        os.read(seized, 1)
        os.execvp(words[0], words)
    _ptrace(_SEIZE, first, _FOLLOW)
    os.write(say_so, b"!")
    while True:
        pid, status = os.waitpid(-1, _THREADS_TOO)
        if os.WIFSTOPPED(status):
            with suppress(ProcessLookupError):
                _go_on(pid, status, seconds)
        elif pid == first:
            return os.waitstatus_to_exitcode(status)


def _go_on(pid: int, status: int, seconds: int) -> None:
    number, event = os.WSTOPSIG(status), status >> 16
    if event == _EVENT_EXEC:
        shift(pid, seconds)
    if event == _EVENT_STOP and number in _STOPPING:
        _ptrace(_LISTEN, pid, 0)  # it is stopped for others, and stays so
    else:
        _ptrace(_CONT, pid, 0 if event else number)


def _ptrace(request: int, pid: int, data: int) -> None:
    if libc.ptrace(request, pid, None, data) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


if __name__ == "__main__":
    code = run(sys.argv[2:], int(sys.argv[1]))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
