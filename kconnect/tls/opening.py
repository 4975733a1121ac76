"""
Keys and PKCS12 stores that a password opens: by a process of its own, for a limited time.

Who wrote one says how often a password is hashed before it is tried, up to two thousand million times, and all threads of the
process wait meanwhile. A config may hold such a key. Called by `stores.py`, once for each content, and run as a module.
"""

from __future__ import annotations

import base64
import json
import resource
import subprocess
import sys
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key, pkcs12

from kconnect import interpreter

_CPU_S, _LIMIT_S = 20, 60.0
"""What a hundred times more than the tools' own iterations takes, and that on a machine that is busy."""
_MEMORY = 2 * 2**30
_MOST_BITS = 8192
"""Of an RSA key: whether it is one is looked at each time that it is read, and takes hours for the longest."""
_ERRORS: dict[str, type[Exception]] = {each.__name__: each for each in (ValueError, TypeError)}


class OpeningError(Exception):
    """It was given up. The text is a sentence about the store or the key."""


def key(block: bytes, password: bytes) -> bytes:
    """Return a key in PEM without its encryption. The errors are those of cryptography, and OpeningError."""
    return _ask("key", block, password)


def store(data: bytes, password: bytes | None) -> bytes:
    """Return a PKCS12 store without its encryption. The errors are those of cryptography, and OpeningError."""
    return _ask("store", data, password)


def _ask(what: str, data: bytes, password: bytes | None) -> bytes:
    # By a pipe: no list of processes may show a password.
    request = {
        "what": what,
        "data": _text(data),
        "password": None if password is None else _text(password),
        "seconds": _CPU_S,
    }
    late = OpeningError(f"To open it takes longer than {_CPU_S} s: it hashes its password too often, or its key is too long")
    try:
        process = subprocess.run(
            interpreter.command("kconnect.tls.opening"),
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            timeout=_LIMIT_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise late from None
    try:
        answer: dict[str, Any] = json.loads(process.stdout)
    except ValueError:
        if process.returncode < 0:
            raise late from None
        raise OpeningError("The process that opens it has failed; its log says why") from None
    if "error" in answer:
        if answer["error"] == "UnsupportedAlgorithm":
            raise UnsupportedAlgorithm(answer["message"])
        raise _ERRORS.get(answer["error"], OpeningError)(answer["message"])
    return base64.b64decode(answer["result"])


def _opened(what: str, data: bytes, password: bytes | None) -> bytes:
    if what == "key":
        private = load_pem_private_key(data, password, unsafe_skip_rsa_key_validation=True)
        return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    content = pkcs12.load_pkcs12(data, password)
    if isinstance(content.key, rsa.RSAPrivateKey) and content.key.key_size > _MOST_BITS:
        raise OpeningError(f"Its key has {content.key.key_size} bits; {_MOST_BITS} are read at most")
    leaf = None if content.cert is None or content.key is None else content.cert.certificate
    certificates = content.additional_certs
    if leaf is None and content.cert is not None:
        certificates = [content.cert, *certificates]
    if content.key is None and not certificates:
        raise OpeningError("It is empty")
    name = content.cert.friendly_name if content.cert is not None else None
    key: Any = content.key
    return pkcs12.serialize_key_and_certificates(name, key, leaf, certificates or None, NoEncryption())


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def main() -> None:
    """Answer one request on standard input."""
    request = json.loads(sys.stdin.buffer.read())
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    password = None if request["password"] is None else base64.b64decode(request["password"])
    answer: dict[str, str]
    try:
        answer = {"result": _text(_opened(request["what"], base64.b64decode(request["data"]), password))}
    except Exception as error:  # noqa: BLE001 - whatever a library says of a store is its caller's to tell
        answer = {"error": type(error).__name__, "message": str(error)}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
