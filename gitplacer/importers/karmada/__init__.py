"""
Coming from Karmada: its policies, overrides, quotas and Clusters as this project's files.

Karmada's rules are open and documented, so policies get the order that Karmada gives them, and only what it can do and gitplacer cannot, or
does otherwise, is told. `docs/from-karmada.md` has the table of fields.
Sources: github.com/karmada-io/karmada pkg/apis, pkg/util/selector.go, pkg/util/overridemanager, pkg/scheduler.
"""

from gitplacer.importers.karmada.importing import imported

__all__ = ["imported"]
