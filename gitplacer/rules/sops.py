"""Files that SOPS encrypted: whoever changes a byte of one breaks it, because SOPS signs the whole of it."""

from __future__ import annotations

from gitplacer.documents import Document


def is_sops(value: object) -> bool:
    """
    Whether an object's value is one that SOPS wrote: its own key `sops`, with the signature and the time it was made.
    Source: the metadata that SOPS writes (stores.Metadata); Flux's decryption looks for the same key.
    """
    return _is_signature(value.get("sops") if isinstance(value, dict) else None)


def is_sops_document(document: Document) -> bool:
    """The same of a document's value, which nobody may have asked for."""
    return _is_signature(document.parsed.sops)


def _is_signature(sops: object) -> bool:
    return isinstance(sops, dict) and "mac" in sops and "lastmodified" in sops
