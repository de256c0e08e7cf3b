"""
The demo's story, told with real repos: a fleet, its placement, a drain.

Times and authors are fixed, so two runs print the same commit ids and the output can stand in the docs.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
from msgspec.structs import replace

from gitplacer.cli.files import write_folder
from gitplacer.explain import PlanView
from gitplacer.formats.options import Options
from gitplacer.formats.text import plan_text
from gitplacer.git.program import NO_REPOSITORY, Git
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Action
from gitplacer.packaged import EXAMPLE, packaged
from gitplacer.passes.reconcile import Outcome, reconcile
from gitplacer.plaintext import pasted
from gitplacer.settings import UsageError, settings
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.tree import Tree

PLACED_AT = "2026-01-02T03:05:00Z"
"""A minute after the example's snapshots were taken."""
DRAINED_AT = "2026-01-02T03:35:00Z"

DRAINED = "static-cluster"
MOVED = "production/text-summarizer"
HELD = "rayjob1/rayjob-train"


def tell(folder: str) -> None:
    """Build the repos in a new directory and print what happens. Raises UsageError if it is there already."""
    top = Path(folder)
    if top.exists() or top.is_symlink():
        raise UsageError(f"{folder} is there already", "remove it, or name another with --dir")
    fleet, deployment = top / "fleet", top / "deployment.git"
    files = packaged(EXAMPLE)
    try:
        _make_repos(fleet, deployment, files)
    except BaseException:  # half a fleet is nothing to play with, and would be in the way of the next try
        shutil.rmtree(top, ignore_errors=True)
        raise
    _say("1. A fleet repo", _inventory(files), f"It is in {fleet}, a Git repository.")

    first = _reconcile(fleet, deployment, PLACED_AT)
    _say("2. gitplacer decides where everything runs", plan_text(first.hydration.view, Options()))
    _say(
        "3. and writes a deployment repo, one directory for each cluster, for Argo CD or Flux to sync",
        _layout(first.hydration),
        f"It is in {deployment}, as one commit. Of it, what {DRAINED} got (git log --stat):",
        _git(deployment, "log", "--stat=120", "--format=commit %h  %s", "--", f"clusters/{DRAINED}/{WORKLOADS}"),
    )

    diff = _drain(fleet)
    second = _reconcile(fleet, deployment, DRAINED_AT)
    _say(f"4. Drain {DRAINED}: somebody commits one line", diff)
    _say("5. Services move, and a job that may be running is not started twice", _what_became(second.hydration.view))
    path = _moved_file(second.hydration.tree)
    _say(
        "6. A relocation is a commit of its own, and a rename",
        _git(
            deployment, "log", "-1", "--summary", "--find-renames", "--format=commit %h  %s", f"--grep=Relocate {MOVED}"
        ),
        f"so git knows where {path.rpartition('/')[2]} has been (git log --follow):",
        _git(deployment, "log", "--follow", "--format=%h  %cs  %s", "--", path),
    )
    _say("Try next", _next_commands(fleet, deployment))


def _say(title: str, *paragraphs: str) -> None:
    click.echo(title)
    for text in paragraphs:
        click.echo("".join(f"   {line}".rstrip() + "\n" for line in text.strip("\n").split("\n")))


class _Dated(Git):
    """Git with an author and a time of its own."""

    def __init__(self, work_tree: Path, when: str) -> None:
        super().__init__(work_tree / ".git", work_tree=work_tree)
        self._when = when

    @functools.cached_property
    def environment(self) -> Mapping[str, str]:
        own: dict[str, str] = {}
        for role in ("AUTHOR", "COMMITTER"):
            own |= {f"GIT_{role}_NAME": "gitplacer demo", f"GIT_{role}_EMAIL": "demo@gitplacer.dev"}
            own[f"GIT_{role}_DATE"] = self._when
        return {**super().environment, **own}

    def commit_all(self, message: str) -> None:
        self.run("add", "--all", cwd=self.git_dir.parent)
        self.run("commit", "--quiet", f"--message={message}", cwd=self.git_dir.parent)


def _make_repos(fleet: Path, deployment: Path, files: Mapping[str, bytes]) -> None:
    write_folder(fleet, files)
    git = _Dated(fleet.absolute(), PLACED_AT)
    git.run("init", "--quiet", "--template=", "--initial-branch=main")
    git.run("config", "user.name", "gitplacer demo")  # so that the commands at the end work where git knows nobody
    git.run("config", "user.email", "demo@gitplacer.dev")
    git.commit_all("A fleet with Ray workloads")
    path = str(deployment.absolute())
    Git(NO_REPOSITORY).run("init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--", path)


def _drain(fleet: Path) -> str:
    """Commit the drain, and return the lines that it changed."""
    path = fleet / "clusters" / f"{DRAINED}.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n  state: Active\n", b"\n  state: Draining\n"))
    git = _Dated(fleet.absolute(), DRAINED_AT)
    git.commit_all(f"Drain {DRAINED}")
    shown = git.run("show", "--format=", "--unified=0", "--no-color", "HEAD").decode().splitlines()
    return "\n".join([str(path), *(line for line in shown if line[:1] in "+-" and line[:3] not in ("+++", "---"))])


def _reconcile(fleet: Path, deployment: Path, when: str) -> Outcome:
    chosen = settings(str(fleet), deployment=str(deployment), now=when)
    return reconcile(replace(chosen, capacity=None), progress=lambda message: None)


def _git(deployment: Path, *args: str) -> str:
    return Git(deployment.absolute()).run(args[0], "--no-color", *args[1:]).decode()


def _inventory(files: Iterable[str]) -> str:
    counts: dict[str, int] = {}
    for path in files:
        counts[path.split("/")[0]] = counts.get(path.split("/")[0], 0) + 1
    told = (
        ("clusters", "clusters: labels, region, what an autoscaler can add, state"),
        ("policies", "placement policies: which workloads go to which clusters, and when they move"),
        ("platform", "files of KubeRay, which goes to every cluster"),
        ("workloads", "files of RayJobs, RayServices and what belongs to them"),
        ("capacity", "capacity snapshots: the nodes of each cluster, and what is used"),
    )
    return "\n".join(f"{folder + '/':<11} {counts.get(folder, 0):>2} {what}" for folder, what in told)


def _layout(hydration: Hydration) -> str:
    """The deployment tree, a line for each cluster's units."""
    root = hydration.snapshot.source.own.fleet.spec.deployment.root
    lines = []
    tree = hydration.tree.under(root)
    for cluster in sorted({path.split("/")[0] for path in tree}):
        platform = len(tree.under(f"{cluster}/{PLATFORM}"))
        groups = sorted({"/".join(path.split("/")[:2]) for path in tree.under(f"{cluster}/{WORKLOADS}") if "/" in path})
        groups = [group for group in groups if not group.endswith("/_shared")]
        lines.append(f"{root}/{cluster}/{PLATFORM}/  {platform} files: KubeRay and namespaces")
        lines += [f"{root}/{cluster}/{WORKLOADS}/{group}/" for group in groups]
    records = sum(path.startswith("placements/") for path in hydration.tree)
    return "\n".join([*lines, f"placements/  {records} records: which group is where, since when, and why"])


def _what_became(view: PlanView) -> str:
    """The plan's sections about what moves and what is held."""
    shown = {Action.RELOCATE, Action.HOLD}
    sections = plan_text(view, Options()).split("\n\n")
    return "\n\n".join(text for text in sections if text.split("\n")[0] in shown)


def _moved_file(tree: Tree) -> str:
    return next(path for path in tree if f"/{WORKLOADS}/{MOVED}/" in path)


def _next_commands(fleet: Path, deployment: Path) -> str:
    where = f"--deployment {pasted(deployment)} {pasted(fleet)}"
    cluster = pasted(fleet / "clusters" / "gke-workload-cluster.yaml")
    return "\n".join(
        (
            f"gitplacer explain {HELD} {where}",
            f"gitplacer status {where}",
            f"echo '  state: Draining' >> {cluster}",
            f"gitplacer plan {where}",
            f"git -C {pasted(fleet)} rm -q workloads/experiment3/rayjob-train.yaml",
            f"git -C {pasted(fleet)} commit -qam 'Drain a cluster, remove a job' && gitplacer reconcile {where}",
            f"git -C {pasted(deployment)} log --stat",
        )
    )
