"""Problems of objects that are right in themselves, and go wrong when Git is what keeps them."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "DeletesItself": Code(
        "A job deletes itself, and Git brings it back",
        "`DeleteSelf` deletes the RayJob when it is done. It is still in Git, so Argo CD (with self-heal) or Flux makes it "
        "again, and a RayJob that is made runs: the job is repeated without end.",
        "Use `DeleteCluster`: the RayJob stays as a record that the job is done. Remove it from Git to remove it.",
        allowable=True,
    ),
    "KueueOwnsSuspend": Code(
        "Git says what Kueue decides",
        "Kueue suspends an object when it comes and lets it run when there is room. A `suspend` in Git is put back by the "
        "GitOps engine, against Kueue: the job is stopped again, or starts without room.",
        "Remove `suspend` from the manifest.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "FluxVariable": Code(
        "A text looks to Flux like a variable",
        "A Kustomization with `postBuild` substitution replaces `${NAME}` in every text of its directory, by nothing where it has "
        "no such value, and fails for what it cannot read. Shell commands, Ray entrypoints and dashboards are full of it. "
        "Reported where Flux is the engine, unless Kustomizations lie in the repo and none of them substitutes, as those that "
        "`gitplacer bootstrap` makes.",
        "Annotate the object with `kustomize.toolkit.fluxcd.io/substitute: disabled`. Writing `$${NAME}` helps too, but only where "
        "Flux really substitutes: elsewhere the app gets the second dollar.",
        severity=Severity.WARNING,
        allowable=True,
    ),
}
