"""
Target states as requests name them. Called by `requests/configs.py`.
"""

from __future__ import annotations

from kconnect.core.state.records import TargetState
from kconnect.errors import BadRequestError

_INITIAL = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}


def initial_target_state(text: str | None) -> TargetState | None:
    """The target state that `initial_state` of a create request asks for (KIP-980); None if it asks for none."""
    if text is None:
        return None
    state = _INITIAL.get(text.upper())
    if state is None:
        raise BadRequestError(f"Invalid value {text} for initial_state: must be one of RUNNING, PAUSED, STOPPED")
    return state
