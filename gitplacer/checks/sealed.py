"""
Secrets that are sealed: by SealedSecrets for the key of one controller, or by SOPS for whoever holds the key.

A SealedSecret does not say which key it was made for, so an annotation does; a cluster that is known to have another is
not offered the group. SOPS signs the whole document, so one that needs an edit arrives broken.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.rules.sops import is_sops_document
from gitplacer.workloads.pointers import SEALING_KEY


def check(known: Known, group: Group) -> Iterator[Told]:
    """A SealedSecret of unknown key where keys differ, and a SOPS file that its path gives a namespace."""
    for member in (*group.members, *group.shared):
        if member.identity.kind == "SealedSecret" and SEALING_KEY not in member.annotations:
            keys = {known.profiles[name].sealing_key for name in known.eligible(group)} - {None}
            if len(keys) > 1:
                yield tell(
                    member,
                    "UnknownSealingKey",
                    f"{member.identity} does not say which key it was sealed for, and the clusters have {len(keys)}",
                    f"annotate it with {SEALING_KEY}, the sealingKey of the clusters that can open it",
                )
        elif member.namespace_from_path and is_sops_document(member.document):
            yield tell(
                member,
                "SopsFileEdited",
                "SOPS signed this file, and it would be given the namespace of its path",
                "write metadata.namespace into the manifest and encrypt it again",
                path=("metadata",),
                key=True,
            )
