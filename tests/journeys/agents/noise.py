"""Bytes that no compression makes smaller, always the same, made faster than a disk writes them."""

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

BLOCK = bytes(1 << 20)


def noise(size):
    """So many bytes (whole blocks of 1 MiB), block by block."""
    encryptor = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
    for _ in range(size // len(BLOCK)):
        yield encryptor.update(BLOCK)
