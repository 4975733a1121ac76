"""An admin client that is refused while its request is under way."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.task.errors import Counts
from kconnect.errors import ConnectError
from kconnect.kafka.asking import Asking
from kconnect.kafka.refusals import Access

CLIENT: dict[str, Any] = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


class Refused(Access):
    def failure(self) -> ConnectError | None:
        return ConnectError("refused")


def test_a_client_whose_request_is_under_way_is_no_garbage() -> None:
    """Its own thread may be the one that collects it, and that aborts the process."""
    admin = AdminClient(CLIENT)
    future = admin.create_topics([NewTopic("t", 1)], request_timeout=5)["t"]
    with pytest.raises(ConnectError, match="refused"):
        Asking(admin, Refused(CLIENT, Counts(), lambda: 0.0, "admin.override.")).answer(future)
    known = weakref.ref(admin)
    del admin, future
    gc.collect()
    assert known() is not None
