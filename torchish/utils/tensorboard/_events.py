"""TensorBoard's event files: protocol buffers, written by hand, in records with checksums."""

import os
import socket
import struct
import time
import zlib
from itertools import count

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _varint(number):
    number &= (1 << 64) - 1  # a negative int64 takes ten bytes
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _key(field, wire):
    return _varint(field << 3 | wire)


def integer(field, value):
    return _key(field, _VARINT) + _varint(int(value))


def double(field, value):
    return _key(field, _FIXED64) + struct.pack("<d", value)


def single(field, value):
    return _key(field, _FIXED32) + struct.pack("<f", value)


def chunk(field, *parts):
    """A string, bytes, or a message made of `parts`."""
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return _key(field, _BYTES) + _varint(len(data)) + data


def packed(field, kind, values):
    """A repeated number; `kind` is "d" or "f"."""
    return chunk(field, struct.pack(f"<{len(values)}{kind}", *values))


def plugin(name, content=b""):
    """The metadata of a summary value that belongs to a TensorBoard plugin."""
    return chunk(9, chunk(1, chunk(1, name), chunk(2, content) if content else b""))


def value(tag, *content):
    """A summary that holds one value."""
    return chunk(5, chunk(1, chunk(1, tag), *content))


def png(pixels):
    """The PNG file of an (height, width, 3 or 4) array of bytes."""
    height, width, channels = pixels.shape
    if channels not in (3, 4):
        raise TypeError(f"Cannot handle this data type: (1, 1, {channels}), |u1")
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    blocks = (b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in blocks
    )


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)  # CRC-32C, which zlib does not have
        table.append(byte)
    return table


_CRC = _crc_table()


def _checksum(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


class EventFile:
    """One file of events; opened at once, so that TensorBoard sees the run."""

    _serial = count()

    def __init__(self, folder, suffix="", flush_secs=120):
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(self._serial)}"
        self._file = open(os.path.join(folder, name + suffix), "wb")
        self._flush_secs, self._flushed = flush_secs, 0.0
        self.write(chunk(3, "brain.Event:2"))

    def write(self, content, step=None, walltime=None):
        now = time.time()
        event = double(1, now if walltime is None else walltime) + (integer(2, step) if step else b"") + content
        size = struct.pack("<Q", len(event))
        self._file.write(size + _checksum(size) + event + _checksum(event))
        if now - self._flushed > self._flush_secs:
            self.flush()

    def flush(self):
        self._file.flush()
        self._flushed = time.time()

    def close(self):
        self._file.close()
