"""
References to secrets in settings, `${provider:[path:]key}` (KIP-297): found, replaced by what they stand for, and put back.

Configs are stored and shown with their references. What they stand for is asked of the worker's config providers where code
is about to be configured with it: `plugins/providers.py` asks, in task hosts, in the sandbox's children and for the worker
file, and gives a `Resolved`. Read next: that one, then `core/settings/secrets.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kconnect.core.settings import operation
from kconnect.core.settings.setting import LIST
from kconnect.data import secret_texts
from kconnect.errors import ConfigError

_LONGEST_WORD = 7
_IN_URLS = re.compile("[@/?#&=]")
_LEAST = 8
_WORD = re.compile(rf"\w{{1,{_LONGEST_WORD}}}")

PROVIDERS = "config.providers"
PROVIDER_NAMES = LIST(PROVIDERS, [])

FOR_THE_WORKER = frozenset(("name", "connector.class", "consumer.override.group.id", *(key.name for key in operation.KEYS)))
"""Settings of connectors that the worker itself reads, which has no secrets of theirs: they can't hold references."""

_PLAIN = frozenset(("true", "false", "none", "null"))


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """`path` is empty where there is none. Its text is that of the config."""

    provider: str
    path: str
    key: str
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text


def find(text: str) -> list[Reference]:
    """Return the references in a text, from left to right."""
    return [ref for _, ref in _split(text) if ref is not None]


def literals(text: str) -> list[str]:
    """Return the texts between the references; the whole text if it has none."""
    return [literal for literal, _ in _split(text) if literal]


def _split(text: str) -> Iterator[tuple[str, Reference | None]]:
    """
    The text in pieces: what stands before a reference, and the reference; at last the rest, with None.

    These are the references that Kafka's own pattern finds. That takes up to the third power of a text's length, so that
    whoever submits a config could hold up the whole worker.
    """
    begin = at = 0
    while (end := text.find("}", at)) >= 0:
        start = text.find("${", at, end)
        colon = -1 if start < 0 else text.find(":", start + 2, end)
        if colon >= 0:
            second = text.find(":", colon + 1, end)
            path = "" if second < 0 else text[colon + 1 : second]
            key = text[max(colon, second) + 1 : end]
            yield text[begin:start], Reference(text[start + 2 : colon], path, key, text[start : end + 1])
            begin = end + 1
        at = end + 1
    yield text[begin:], None


@dataclass(frozen=True)
class Resolved:
    """
    The values of references. `failures` has the references that could not be resolved, with the reason; `ttl_ms` is the
    shortest time for which a value holds, None for ever.

    Its text shows no values.
    """

    values: Mapping[Reference, str] = field(default_factory=dict, repr=False)
    failures: Mapping[Reference, str] = field(default_factory=dict)
    ttl_ms: int | None = None

    def config(self, raw: Mapping[str, str]) -> dict[str, str]:
        """A config with its references replaced. ConfigError, naming setting and reference, if one could not be had."""
        for setting, problems in self.problems(raw).items():
            raise ConfigError(f"The setting {setting} can't be used: {problems[0]}")
        return {setting: self.text(text) for setting, text in raw.items()}

    def text(self, text: str) -> str:
        """A text with its references replaced; one that could not be had is left. What takes its place is not looked into."""
        if "${" not in text:
            return text
        return "".join(literal if ref is None else literal + self.values.get(ref, ref.text) for literal, ref in _split(text))

    def problems(self, raw: Mapping[str, str]) -> dict[str, list[str]]:
        """Return messages about the references that could not be resolved, by setting."""
        by_setting = {
            setting: [
                f"{ref} can't be resolved: {self.failures[ref]}" for ref in dict.fromkeys(find(text)) if ref in self.failures
            ]
            for setting, text in raw.items()
            if self.failures and "${" in text
        }
        return {setting: problems for setting, problems in by_setting.items() if problems}

    def cover(self, *raw: Mapping[str, str]) -> dict[str, str]:
        """
        Return which reference to show in the place of each secret value, in any of its forms, unless it is a mere word. For the
        configs that are passed, also cover the words that values have become a part of.
        """
        covered = {word: shown for config in raw for text in config.values() for word, shown in self.words(text)}
        for ref, value in self.values.items():
            for form in _long_forms(value):
                covered.setdefault(form, ref.text)
        return covered

    def words(self, text: str) -> Iterator[tuple[str, str]]:
        """
        Yield the words of a resolved text of which a short value is a part, `xhunter2` of `x${env:PW}`, with what is shown for
        them. What is longer than `_WORD` is found within any other, so no more than that is looked at on either side.
        """
        pieces, enough = list(_split(text)), _LONGEST_WORD + 1
        for at, (literal, ref) in enumerate(pieces):
            value = "" if ref is None else self.values.get(ref, "")
            if ref is None or not _WORD.fullmatch(value) or not telling(value):
                continue
            before = pieces[at - 1][1] if at else None
            following, behind = pieces[at + 1]
            word_before = _word_at_end((self.values.get(before, "") if before else "") + literal, enough)
            right = _word_at_start(following + (self.values.get(behind, "") if behind else ""), enough)
            if word_before or right:
                shown = _word_at_end(literal, enough) + ref.text + _word_at_start(following, enough)
                yield word_before + value + right, shown


def _word_at_end(text: str, most: int) -> str:
    return re.split(r"\W", text[-most:])[-1]


def _word_at_start(text: str, most: int) -> str:
    return re.split(r"\W", text[:most])[0]


def _long_forms(value: str) -> list[str]:
    """
    The value, also without the blanks around it, and those parts that could not be anything else: lines, and what libraries
    take for a part of a URL that has it, where hosts become lower case.
    """
    forms = [value, value.strip()]
    lines = value.splitlines()
    if len(lines) > 1:
        forms += [line.strip() for line in lines if len(line.strip()) >= 16]
    else:
        # Of a path, or a whole URL, the parts are names that others have, too.
        parts = [] if value.startswith("/") or "://" in value else _IN_URLS.split(value)
        forms += [part for part in parts if len(part) >= _LEAST and not secret_texts.is_plain(part)]
        mixed = [form for form in forms if len(form) >= _LEAST and form not in (form.lower(), form.upper())]
        forms += [other for form in mixed for other in (form.lower(), form.upper())]
    return [form for form in dict.fromkeys(forms) if telling(form)]


def telling(text: str) -> bool:
    """Whether a text may be a secret. Hiding a shorter one, or a mere word, would blot out half of every line."""
    return len(text) >= 4 and text.lower() not in _PLAIN


def put_back(configs: Sequence[Mapping[str, str]], raw: Mapping[str, str], resolved: Resolved) -> list[dict[str, str]]:
    """
    The task configs that a connector made of its resolved config, with references again: this is what is stored and shown.

    A setting that the connector's own config has with a reference gets that text, as in Connect, whatever the connector made
    of it. In all others each value of a reference is replaced by the reference, which stands for the same.

    Raises:
        ConfigError: the connector has put a text into another setting that looks like one of these references. It got their
            values, so somebody else has written that text, such as the name of a table, and would have it replaced by the value
    """
    with_references = {setting: text for setting, text in raw.items() if find(text)}
    if not with_references:
        return [dict(config) for config in configs]
    own = {ref for text in with_references.values() for ref in find(text)}
    for config in configs:
        for setting, text in config.items():
            if setting not in with_references and (foreign := own.intersection(find(text))):
                raise ConfigError(
                    f"The setting {setting} of a task can't be used: the connector has found {min(foreign)} elsewhere, "
                    "such as in the name of a table, and it would be replaced by the secret that it stands for in the "
                    "connector's config. Rename what is called so, or leave it out"
                )
    by_value = {value: ref.text for ref, value in resolved.values.items() if _long_forms(value)}
    by_value |= {word: shown for text in with_references.values() for word, shown in resolved.words(text)}
    return [
        {
            setting: with_references[setting] if setting in with_references else substitute(text, by_value)
            for setting, text in config.items()
        }
        for config in configs
    ]


def hide(text: str, covered: Mapping[str, str]) -> str:
    """The text with each of `covered` replaced, and what it has of those that somebody has cut in two."""
    parts = {part: shown for value, shown in covered.items() for part in secret_texts.cut(text, value)}
    return substitute(text, {**parts, **covered})


def substitute(text: str, replacements: Mapping[str, str]) -> str:
    """The text with each of `replacements` put in, the longest first: one may be part of another. What is put in stays."""
    # There may be thousands of them, of which a pattern takes seconds to make.
    present = sorted((old for old in replacements if old in text), key=len, reverse=True)
    if not present:
        return text
    pattern = "|".join(map(_whole, present))
    return re.sub(pattern, lambda match: replacements[match[0]], text)


def _whole(text: str) -> str:
    """A pattern of the text. What may be a word is looked for as one: a topic `orders` is not in `reorders`."""
    return rf"(?<!\w){text}(?!\w)" if _WORD.fullmatch(text) else re.escape(text)


@dataclass(frozen=True)
class Declared:
    """A provider as the worker file names it. Its text shows no parameters."""

    name: str
    class_name: str
    parameters: Mapping[str, str] = field(repr=False)


def of_providers(worker: Mapping[str, str]) -> dict[str, str]:
    """Return those of a worker's settings that declare its config providers."""
    return {name: text for name, text in worker.items() if name == PROVIDERS or name.startswith(f"{PROVIDERS}.")}


def declared(worker: Mapping[str, str]) -> dict[str, Declared]:
    """The providers of a worker file. ConfigError for one without a class."""
    by_name = {}
    for name in dict.fromkeys(PROVIDER_NAMES.read(worker)):
        prefix = f"{PROVIDERS}.{name}."
        class_name = worker.get(f"{prefix}class", "").strip()
        if not class_name:
            raise ConfigError(
                f'Missing required configuration "{prefix}class" which has no default value: `{PROVIDERS}` names {name}.'
            )
        prefix += "param."
        parameters = {key[len(prefix) :]: value for key, value in worker.items() if key.startswith(prefix)}
        by_name[name] = Declared(name, class_name, parameters)
    return by_name


def of_the_worker(config: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Settings that can't hold references and do, with what is to be said of it."""
    for setting in sorted(FOR_THE_WORKER & config.keys()):
        if find(config[setting]):
            yield (
                setting,
                (
                    f"Invalid value {config[setting]} for configuration {setting}: the worker itself reads this setting, and "
                    "resolves no references of connectors: write the value"
                ),
            )
