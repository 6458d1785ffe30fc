"""The device on which the model runs: CUDA if there, else Apple's MPS, else the CPU; its memory, and the errors that
mean that it is full.
"""
import contextlib
import ctypes
import os
import subprocess
from pathlib import Path

import torch

CPU = "cpu"
MEMINFO = Path("/proc/meminfo")
# versions 2 and 1
CGROUPS = (("memory.max", "memory.current", "inactive_file"),
           ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"))
CGROUP = Path("/sys/fs/cgroup")


def available() -> tuple[str, ...]:
    """The devices of this machine, the preferred one first; "cpu" is always the last."""
    found = []
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return (*found, CPU)


def preferred() -> str:
    return available()[0]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that a device's memory is full: CUDA, MPS and the CPU word it differently."""
    said = str(error).lower()
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError)
        and any(words in said for words in ("out of memory", "not enough memory", "can't allocate memory")))


def memory_total() -> int:
    """Bytes of main memory that this process may use: the machine's, or its container's if that has less."""
    machine = _meminfo("MemTotal") or _system("hw.memsize") or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *(limit for limit, _ in _limits())])


def memory_free(device: str = CPU) -> int:
    """Bytes that are free now: in a CUDA device's own memory; else in main memory, within the container's limit if
    there is one.
    """
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    machine = _meminfo("MemAvailable") or _system("vm.page_free_count") * _system("hw.pagesize") or memory_total() // 2
    return min([machine, *(max(0, limit - used) for limit, used in _limits())])


def give_memory_back() -> None:
    """Hand freed memory back to the machine at once, which the C library (glibc) would keep for later."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _meminfo(name: str) -> int:
    """Bytes in one line of /proc/meminfo; 0 if there is none (macOS)."""
    try:
        return next((1024 * int(line.split()[1]) for line in MEMINFO.read_text().splitlines()
                     if line.startswith(f"{name}:")), 0)
    except (OSError, ValueError):
        return 0


def _limits() -> list[tuple[int, int]]:
    """The limits of this process's container and the use of each, in bytes; memory that the kernel can give back at
    once (cached files) does not count as used.
    """
    found = []
    for limit, used, cached in CGROUPS:
        try:
            stat = dict(line.split() for line in (CGROUP / limit).with_name("memory.stat").read_text().splitlines())
            found.append((int((CGROUP / limit).read_text()), int((CGROUP / used).read_text()) - int(stat[cached])))
        except (OSError, ValueError, KeyError):       # no such version, or "max": no limit
            continue
    return found


def _system(name: str) -> int:
    """A number from sysctl (macOS, BSD); 0 if it does not know it."""
    try:
        return int(subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=True).stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0
