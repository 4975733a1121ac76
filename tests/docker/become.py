"""
What runs in the root directory that `unit.py` makes: it takes the limits and the filter of system calls that the unit asks
for, and becomes the unit's command. Its order is the file beside it. The standard library only: nothing else is there yet.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
from pathlib import Path
from typing import Any


def become(order: dict[str, Any]) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = order["files"] if hard == resource.RLIM_INFINITY else min(hard, order["files"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (order["core"], order["core"]))
    os.umask(order["umask"])
    os.chdir(order["directory"])
    _filter(order["calls"], order["families"])
    command = order["command"]
    os.execve(command[0], command, order["environment"])


class _Compare(ctypes.Structure):
    """libseccomp's scmp_arg_cmp."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def _filter(names: list[str], families: list[int]) -> None:
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    allow, refuse, equal = 0x7FFF0000, 0x00050001, 4  # SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(EPERM), SCMP_CMP_EQ
    context = ctypes.c_void_p(library.seccomp_init(refuse))
    for name in names:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if name == "socket":
            for family in families:
                compare = _Compare(0, equal, family, 0)
                assert library.seccomp_rule_add_array(context, allow, number, 1, ctypes.byref(compare)) == 0
        elif number != -1:  # Else this kind of processor has none of the name.
            library.seccomp_rule_add_array(context, allow, number, 0, None)
    assert library.seccomp_load(context) == 0


if __name__ == "__main__":
    become(json.loads(Path(__file__).with_name("order").read_text("utf-8")))
