"""
A look at the branches that a pass reads: where their tips are, and nothing else.

A pass reads and computes; asking a server where three branches are is one question for each repo. As long as they are where the last pass saw them,
a pass would only find that times have moved on. What is looked at is named as `opening.Opened.tips` names it, so that the two can be
compared; a branch that is not there is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gitplacer.capacity.reading import branches_at, mark_of
from gitplacer.git.address import Address
from gitplacer.git.asking import about
from gitplacer.git.mirror import Mirror, refs_of
from gitplacer.git.reading import NoSuchRevision, Repository, full_names
from gitplacer.git.worktree import read_work_tree
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.passes.opening import capacity_address, capacity_branches, capacity_folder, deployment_address
from gitplacer.settings import Settings
from gitplacer.treeids import tree_id

_DEFAULT = "HEAD"
DEPLOYMENT = "deployment"

Tips = Mapping[str, str]


def look(settings: Settings, spec: FleetSpec | None) -> Tips:
    """
    The commits at the tips of the branches that a pass would read. `spec` is the Fleet's as it was read last; without one only the source is
    looked at. Raises GitError.
    """
    tips: dict[str, str] = {}
    asked: dict[str, tuple[Address, dict[str, str]]] = {}

    def ask(what: str, address: Address, rev: str | None) -> None:
        asked.setdefault(address.normalised, (address, {}))[1][what] = rev or _DEFAULT

    ask("source", settings.source, settings.rev)
    ask("fleet", settings.source, settings.trust_base)
    if spec is not None:
        address, branch = capacity_address(settings, spec, trusted=True)
        pattern = capacity_branches(branch)
        folder = capacity_folder(address, branch) if address is not None else None
        if address is not None and pattern is not None:
            with about("capacity"):
                tips["capacity"] = mark_of(branches_at(address, pattern))
        elif folder is not None:
            tips["capacity"] = tree_id(read_work_tree(folder))
        elif address is not None:
            ask("capacity", address, branch)
        written = deployment_address(settings, spec, trusted=True)
        if written is not None:
            ask(DEPLOYMENT, written, spec.deployment.written)
    for address, revs in asked.values():
        with about(next(iter(revs))):
            tips |= _here(address, revs, settings.cache_dir) if address.is_local else _there(address, revs)
    return tips


def forget_mirrors(settings: Settings, spec: FleetSpec | None) -> None:
    """Throw away what is kept of the remote repos that a pass reads; they are fetched again. Raises GitError."""
    addresses: list[Address | None] = [settings.source, settings.deployment, settings.capacity]
    if spec is not None:
        addresses += [
            capacity_address(settings, spec, trusted=True)[0],
            deployment_address(settings, spec, trusted=True),
        ]
    for address in addresses:
        if address is not None and not address.is_local:
            Mirror(address, settings.cache_dir).discard()


def _here(address: Address, revs: Mapping[str, str], cache_dir: Path) -> dict[str, str]:
    found = {}
    with Repository.open(address, cache_dir) as repository:
        for what, rev in revs.items():
            try:
                found[what] = repository.resolve(rev)
            except NoSuchRevision:
                continue
    return found


def _there(address: Address, revs: Mapping[str, str]) -> dict[str, str]:
    names = {what: full_names(rev) for what, rev in revs.items()}
    refs = refs_of(address, *dict.fromkeys(name for each in names.values() for name in each))
    offered = {what: [refs[name] for name in each if name in refs] for what, each in names.items()}
    return {what: tips[0] for what, tips in offered.items() if tips}
