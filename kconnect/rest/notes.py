"""What is found out about a request on its way, for the access log and the audit log, which see it from outside."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

WORKER = "(worker)"
"""Stands for the user of a request that another worker signed; no user can be called so."""


def noted(scope: MutableMapping[str, Any]) -> dict[str, Any]:
    """
    Return the notes on a request: one object for all copies of its scope, once the outermost application has asked for it.

    user and role: who has proved to call; tried: a known user whose password was wrong;
    needs_login: whether nobody may without a login, or a signature;
    failed_login: whether a password or token was wrong, or there were too many at once; connector: which one it is about;
    changes: False if the request can't change anything; reveals: whether it may be answered with records' data; forwarded_to:
    the worker that answered; route: the path as its operation has it; targets: the topics that a replay has written to; topic:
    the topic that a preview has read.
    """
    state: dict[str, Any] = scope.setdefault("state", {})
    notes: dict[str, Any] = state.setdefault("kconnect", {})
    return notes
