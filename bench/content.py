"""What client and origin say to each other: the size and the shape of a model API's traffic.

Every request differs from every other (`n` counts up), so that a replay has to match real keys.
"""

import json
import random
from typing import Final

_SENTENCE: Final = (
    "the run ended with status after reading file and the tool returned an error because retry "
    "policy agent step check model answer line column value expected found order ticket refund "
    "customer please call function argument result turn history prompt system when which under"
)
_SEED: Final = 1841
_TEXT_BYTES: Final = 1 << 16
_STEP: Final = 97
_VARIED_BYTES: Final = 1000
_REPLY_BYTES: Final = 700


def _text() -> bytes:
    choose = random.Random(_SEED)
    known = _SENTENCE.split()
    words = " ".join(choose.choice(known) for _ in range(_TEXT_BYTES // 4))
    return words.encode()[:_TEXT_BYTES]


_TEXT: Final = _text()
_SYSTEM: Final = _TEXT[:_VARIED_BYTES].decode()


def _slice(number: int, size: int) -> bytes:
    start = number * _STEP % (_TEXT_BYTES - size)
    return _TEXT[start : start + size]


def request_body(number: int) -> bytes:
    """A chat request of about 2 kB: half of it the same each time, half its own."""
    return b'{"n": %d, "model": "bench", "messages": [%s, {"role": "user", "content": "%s"}]}' % (
        number,
        json.dumps({"role": "system", "content": _SYSTEM}).encode(),
        _slice(number, _VARIED_BYTES),
    )


def reply_body(number: int) -> bytes:
    """A chat reply of about 1 kB that names its request."""
    return (
        b'{"id": "chatcmpl-%d", "object": "chat.completion", "created": 1700000000, "model": '
        b'"bench", "echo": %d, "choices": [{"index": 0, "message": {"role": "assistant", '
        b'"content": "%s"}, "logprobs": null, "finish_reason": "stop"}], "usage": '
        b'{"prompt_tokens": 512, "completion_tokens": 128, "total_tokens": 640}, '
        b'"system_fingerprint": "fp_bench"}'
    ) % (number, number, _slice(number + 31, _REPLY_BYTES))


def echo_of(number: int) -> bytes:
    """What stands in the reply to this request and in no other."""
    return b'"echo": %d,' % number


def block(size: int) -> bytes:
    """Bytes that no compression makes smaller."""
    return random.Random(_SEED).randbytes(size)
