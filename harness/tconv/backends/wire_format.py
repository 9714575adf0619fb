"""Protobuf's wire format, as far as it is needed to join messages that are serialized already.

A message is its fields one behind the other, so that parts of it which come again and again need not be made again.

Source: Protocol Buffers, Encoding, "Message Structure" and "Length-Delimited Records".
"""

from __future__ import annotations

_LENGTH_DELIMITED = 2
_SEVEN_BITS = 0x7F


def field(number: int, content: bytes) -> bytes:
    """Return a field below 16 that is a message, a text or bytes."""
    return b"%c%b%b" % (number << 3 | _LENGTH_DELIMITED, _varint(len(content)), content)


def _varint(value: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first, each but the last with the eighth bit set."""
    groups = bytearray()
    while value > _SEVEN_BITS:
        groups.append(value & _SEVEN_BITS | _SEVEN_BITS + 1)
        value >>= 7
    groups.append(value)
    return bytes(groups)
