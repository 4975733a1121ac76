"""
The settings of Kafka's clients that take one of a few texts: which ones, and in which case, by Kafka's Java clients 4.3.1.

`overrides.py` refuses others when a config is submitted; Kafka Connect's task fails on them. A stored config with a text that
kconnect's clients take all the same goes on running: `kafka/translation.py` logs that. Read next: `client_config.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kconnect.java import durations


class _Choice(NamedTuple):
    texts: tuple[str, ...]
    ignores_case: bool = False


AUTO_OFFSET_RESET = "auto.offset.reset"
BY_DURATION = "by_duration"
_RESETS = ("earliest", "latest", "none")

_CHOICES: Mapping[str, _Choice] = {
    "acks": _Choice(("all", "-1", "0", "1")),
    "client.dns.lookup": _Choice(("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
    "compression.type": _Choice(("none", "gzip", "snappy", "lz4", "zstd")),
    "group.protocol": _Choice(("CONSUMER", "CLASSIC"), ignores_case=True),
    "isolation.level": _Choice(("read_committed", "read_uncommitted")),
    "metadata.recovery.strategy": _Choice(("REBOOTSTRAP", "NONE"), ignores_case=True),
    "metrics.recording.level": _Choice(("INFO", "DEBUG", "TRACE")),
    "sasl.oauthbearer.assertion.algorithm": _Choice(("ES256", "RS256"), ignores_case=True),
    "security.protocol": _Choice(("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"), ignores_case=True),
}


def broken_rule(name: str, value: str) -> str | None:
    """Return the rule that a client's setting breaks, or None if Java's clients take the value, or any."""
    text = value.strip()
    if name == AUTO_OFFSET_RESET:
        if text in _RESETS or reset_age_ms(text) is not None:
            return None
        return (
            "The value must be either 'earliest', 'latest', 'none' or of the format 'by_duration:<PnDTnHnMn.nS>', such as "
            "by_duration:PT1H"
        )
    choice = _CHOICES.get(name)
    if choice is None or text in choice.texts or (choice.ignores_case and text.upper() in choice.texts):
        return None
    case = "(case insensitive) " if choice.ignores_case else ""
    return (
        f"String must be one of {case}: {', '.join(choice.texts)}"
        if case
        else f"String must be one of: {', '.join(choice.texts)}"
    )


def reset_age_ms(value: str) -> int | None:
    """
    Return how old the oldest record may be that a consumer begins with, by `auto.offset.reset=by_duration:…` (KIP-1106). None
    if that is not what the value says.
    """
    strategy, _, duration = value.strip().partition(":")
    age_ms = durations.milliseconds(duration) if strategy == BY_DURATION else None
    return age_ms if age_ms is not None and age_ms >= 0 else None
