"""Files that SOPS encrypted: whoever changes a byte of one breaks it, because SOPS signs the whole of it."""

from __future__ import annotations


def is_sops(value: object) -> bool:
    """
    Whether an object's value is one that SOPS wrote: its own key `sops`, with the signature and the time it was made.
    Source: the metadata that SOPS writes (stores.Metadata); Flux's decryption looks for the same key.
    """
    sops = value.get("sops") if isinstance(value, dict) else None
    return isinstance(sops, dict) and "mac" in sops and "lastmodified" in sops
