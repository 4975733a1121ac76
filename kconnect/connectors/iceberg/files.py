"""
Metadata and manifests of tables, read within limits of size.

Whoever may write files where a table is, or is its catalog, says what a commit reads first. pyiceberg reads these files whole,
and unpacks them whatever they become. Called by `catalogs.py` before any catalog is made; answers of a REST catalog are read in
`answers.py`. pyiceberg has no promise for what is replaced here, so its version is bounded.
"""

from __future__ import annotations

import bz2
import decimal
import zlib
from typing import Any, Generic, TypeVar

from pyiceberg import conversions, manifest, serializers
from pyiceberg.avro import file as avro
from pyiceberg.avro.codecs import AVRO_CODEC_KEY
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.io import InputStream
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.typedef import StructProtocol
from pyiceberg.types import DecimalType
from pyiceberg.utils.decimal import unscaled_to_decimal

from kconnect.api import ConnectError
from kconnect.connectors.iceberg.decoder import Decoder, check_elements

D = TypeVar("D", bound=StructProtocol)

MOST_BYTES = 256 * 1024 * 1024
"""Of a file of metadata, or of manifests, as it is, and of a file of metadata when it is unpacked."""
MOST_OF_BLOCK = 64 * 1024 * 1024
"""Of a block of manifests, unpacked."""
MOST_ENTRIES = 1_000_000
"""Of a manifest, or of a list of manifests: each takes a kilobyte and more."""
_LONGEST_DECIMAL = 64
"""Iceberg's have 38 digits, in 16 bytes. More take time by their square, in one call that nothing interrupts."""


class BoundedAvroFile(avro.AvroFile[D], Generic[D]):
    """A file of manifests, read as pyiceberg reads it. ConnectError if there is too much in it."""

    __slots__ = ("_entries",)

    def __enter__(self) -> BoundedAvroFile[D]:
        self._entries = 0
        with self.input_file.open() as stream:
            self.decoder = Decoder(_read(stream, self.input_file.location))
        self.header = self._read_header()
        self.schema = self.header.get_schema()
        check_elements(self.schema.as_struct(), self.input_file.location)
        self.read_schema = self.read_schema or self.schema
        self.reader = resolve_reader(self.schema, self.read_schema, self.read_types, self.read_enums)
        return self

    def _read_block(self) -> int:
        if self.block and self.decoder.read(avro.SYNC_SIZE) != self.header.sync:
            raise ConnectError(f"The file {self.input_file.location} is broken: a block does not end as its head says")
        records, packed = self.decoder.read_int(), self.decoder.read_bytes()
        self._entries += max(0, records)
        if self._entries > MOST_ENTRIES:
            raise _too_much(self.input_file.location, f"{MOST_ENTRIES} entries")
        codec = self.header.compression_codec()
        if codec is not None:
            packed = self._unpacked(packed, codec)
        self.block = avro.Block(reader=self.reader, block_records=records, block_decoder=Decoder(packed))
        return records

    def _unpacked(self, packed: bytes, codec: Any) -> bytes:
        name = self.header.meta.get(AVRO_CODEC_KEY)
        most = MOST_OF_BLOCK + 1
        if name == "bzip2":
            data = bz2.BZ2Decompressor().decompress(packed, most)
        elif name == "zstandard":
            import zstandard

            data = zstandard.ZstdDecompressor().stream_reader(packed).read(most)
        elif name == "snappy":
            # It says at its begin how long it becomes, and is never longer.
            if _length(packed) > MOST_OF_BLOCK:
                raise self._too_long()
            data = codec.decompress(packed)
        else:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
        if len(data) >= most:
            raise self._too_long()
        return data

    def _too_long(self) -> ConnectError:
        return _too_much(self.input_file.location, f"{MOST_OF_BLOCK} bytes in a block, unpacked")


def _length(packed: bytes) -> int:
    """Return the number at the begin of what snappy has packed, seven bits a byte."""
    length = 0
    for place, byte in enumerate(packed[:5]):
        length |= (byte & 127) << 7 * place
        if byte < 128:
            break
    return length


def _metadata(
    byte_stream: InputStream, encoding: str = "utf-8", compression: Any = serializers.NOOP_COMPRESSOR
) -> TableMetadata:
    with compression.stream_decompressor(byte_stream) as stream:
        text = _read(stream, "of a table's metadata").decode(encoding)
    return TableMetadataUtil.parse_raw(text)


def _read(stream: Any, name: str) -> bytes:
    data: bytes = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _too_much(name, f"{MOST_BYTES} bytes")
    return data


def _too_much(name: str, limit: str) -> ConnectError:
    return ConnectError(f"The file {name[:300]} has more than {limit}: that is no file of a table that can be written to")


def _decimal(kind: DecimalType, data: bytes) -> decimal.Decimal:
    """Read a bound of a column, which a manifest has as bytes of any number, as pyiceberg reads it."""
    if len(data) > _LONGEST_DECIMAL:
        raise ConnectError(f"A manifest has a bound of {len(data)} bytes for a decimal, of which {_LONGEST_DECIMAL} may be")
    return unscaled_to_decimal(int.from_bytes(data, "big", signed=True), kind.scale)


def bound() -> None:
    """Have pyiceberg read with limits. May be called again."""
    conversions.from_bytes.register(DecimalType, _decimal)  # type: ignore[arg-type]
    manifest.AvroFile = BoundedAvroFile  # type: ignore[attr-defined]
    serializers.FromByteStream.table_metadata = staticmethod(_metadata)  # type: ignore[method-assign]
