"""
What help teaches beyond options: which command is for what, examples, exit codes, variables.

Data, read by `--help`, by `gitplacer help`, by the man pages and by docs/generate.py, so that all of them say the same. The examples
are commands for the example fleet: `gitplacer demo`, then in `gitplacer-demo/fleet`, with GITPLACER_DEPLOYMENT=../deployment.git.
tests/test_help.py runs each of them there, but for those that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

STAGE = "gitplacer-demo/fleet"
"""Where examples are run, from where `gitplacer demo` was."""
STAGE_DEPLOYMENT = "../deployment.git"
"""What GITPLACER_DEPLOYMENT is there."""

WITHOUT_STAGE = frozenset(
    {"adopt", "comment", "completion", "demo", "help", "import", "init", "schema", "snapshot", "tell"}
)
"""Commands whose examples need no fleet, or what the example fleet has not: a cluster, a host, files of another scheduler."""

PURPOSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Start": ("demo", "init", "adopt", "import", "validate", "test", "schema"),
        "Look": (
            "plan", "explain", "status", "room", "simulate", "blast", "history", "verify", "report", "size", "fit",
        ),
        "Change": ("move", "return", "drain", "suspend", "resume"),
        "Operate": ("reconcile", "snapshot", "bootstrap", "comment", "tell"),
        "Help": ("help", "completion"),
    }
)  # fmt: skip
"""What somebody wants, and the commands for it, the commonest first. A command that is in none of them is listed last."""

Example = tuple[str, str]
"""What somebody wants, and the command that does it, without `gitplacer`."""

EXAMPLES: Mapping[str, tuple[Example, ...]] = MappingProxyType(
    {
        "demo": (
            ("In a new directory gitplacer-demo", "demo"),
            ("In another one", "demo --dir try-it"),
        ),
        "init": (
            ("Be asked what it is to be; in a pipe, take the defaults", "init my-fleet"),
            ("For Flux, with two clusters to describe, asking nothing", "init my-fleet --engine flux --cluster london --cluster paris --yes"),
            ("With clusters of your kubeconfig as they are now", "init my-fleet --context kind-a --context kind-b"),
        ),
        "adopt": (
            ("A fleet repo of folders that Argo CD or Flux syncs, and a deployment repo beside it", "adopt old -o fleet"),
            ("Where the folders have other names", 'adopt old -o fleet --clusters "envs/{cluster}/apps/{namespace}/**"'),
        ),
        "import": (
            ("From Nova: its policies, Cluster resources and manifests", "import nova ../nova -o ../moved"),
            ("With a value for each variable, as envsubst fills them", "import nova ../nova -o ../moved --set REGION=us-east-1 --format json"),
            ("From Karmada, with what its API server has", "import karmada ../karmada -o ../moved"),
            ("From Open Cluster Management", "import ocm ../ocm -o ../moved"),
        ),
        "validate": (
            ("Every problem here, with its line and what to do", "validate"),
            ("Of a commit, as annotations of a GitHub check", "validate --rev HEAD --format github"),
            ("For programs", "validate --format json"),
        ),
        "plan": (
            ("What a pass would change now", "plan"),
            ("What my branch does, as a comment for its pull request", "plan --base main --format markdown"),
            ("Every group and every cluster's verdict, with the files", "plan --all --diff"),
            ("Fail in CI if something would have to wait", "plan --fail-on waiting,problems"),
        ),
        "explain": (
            ("Why it is there, and every other cluster's verdict", "explain rayjob1/rayjob-train"),
            ("With the nodes that lack something", "explain vllm1/llm-model-serve --nodes"),
            ("For programs", "explain rayjob1/rayjob-train --format json"),
        ),
        "room": (
            ("Stranded devices, and what to buy for what waits", "room"),
            ("The largest gang like this one that still fits", "room --like rayjob1/rayjob-train"),
            ("For a gang that is only an idea", 'room --gang "4 x nvidia.com/gpu=1,cpu=2,memory=8Gi"'),
        ),
        "test": (
            ("What policies promise, from nothing placed (unset GITPLACER_DEPLOYMENT)", "test --rev main~1"),
            ("Only those about training, stopping at the first that fails", "test --rev main~1 -k training -x"),
            ("As JUnit XML, for CI", "test --rev main~1 -k training --format junit"),
        ),
        "size": (
            ("What pods a RayJob becomes", "size workloads/rayjob3/rayjob-train.yaml"),
            ("On a certain cluster, which adds labels and limits", "size workloads/rayjob3/rayjob-train.yaml --cluster clusters/dynamic-cluster.yaml"),
            ("Of a directory, for programs", "size workloads/production --format json"),
        ),
        "fit": (
            (
                "After: kubectl get nodes,pods,namespaces -A -o json > cluster.json",
                "fit workloads/rayjob3/rayjob-train.yaml --from cluster.json",
            ),
            ("Exit with 3 where it does not fit", "fit workloads/rayjob3/rayjob-train.yaml --from cluster.json --exit-code"),
        ),
        "snapshot": (
            ("The cluster of kubectl's current context", "snapshot -o capacity/static-cluster.yaml"),
            ("Of another context, under the fleet's name for it", "snapshot --context kind-a --cluster static-cluster"),
            (
                "From within the cluster, for ever, to a branch of its own",
                "snapshot --in-cluster --cluster static-cluster --push https://github.com/acme/fleet.git --every 30s",
            ),
        ),
        "bootstrap": (
            ("What Argo CD needs; pipe it to kubectl apply --server-side -f -", "bootstrap argocd --deployment https://github.com/acme/deployment.git"),
            ("One Application for each group", "bootstrap argocd --per workload --deployment https://github.com/acme/deployment.git"),
            ("A file for each cluster's own Flux", "bootstrap flux -o flux --deployment https://github.com/acme/deployment.git"),
        ),
        "reconcile": (
            ("One pass: plan, render, commit, push", "reconcile"),
            ("Save a plan, agree to it, and publish just that", "reconcile --plan ../plan.json"),
            ("For ever, with health and metrics", "reconcile --watch --metrics-listen 127.0.0.1:9090"),
            ("Propose it as a branch instead of pushing to the deployment branch", "reconcile --pull-request"),
        ),
        "move": (
            ("As a commit to push (once static-cluster is back: git revert --no-edit HEAD)", "move production/text-summarizer --to static-cluster"),
            ("The same as a patch, which ends by itself in two hours", "move production/text-summarizer --to static-cluster --expires-in 2h --diff"),
        ),
        "return": (
            ("To where it was before (once static-cluster is back: git revert --no-edit HEAD)", "return production/text-summarizer"),
            ("As a patch, with a reason for whoever reads the history", 'return production/text-summarizer --diff --reason "the drill is over"'),
        ),
        "suspend": (
            ("All apps of a namespace, as a patch", "suspend 'serving/*' --diff"),
            ("All that a policy governs, as a commit to push", "suspend '*/*' --policy llm"),
        ),
        "resume": (
            ("One app", "resume vllm1/llm-model-serve"),
            ("All that a policy governs, as a patch", "resume '*/*' --policy llm --diff"),
        ),
        "comment": (
            ("In a workflow of GitHub or GitLab, which says the rest", "comment --pages pages"),
            ("From elsewhere, on pull request 12", "comment --host github --repo acme/fleet --pull 12 --pages pages"),
        ),
        "tell": (
            ("In the workflow that ran reconcile after the merge", "tell"),
            ("From elsewhere, about a saved plan", "tell --host gitlab --repo acme/fleet --plan plan.json"),
        ),
        "simulate": (
            ("Who would not survive the loss of a cluster", "simulate --lose dynamic-cluster"),
            ("Of any cluster, failing if a service would be stranded", "simulate --every-cluster --fail-on services"),
            ("What twice the replicas would do", "simulate --replicas production/text-summarizer=2x"),
        ),
        "drain": (
            ("As a patch, with what follows from it", "drain workload-cluster-1 --diff"),
            ("As a commit on a new branch, with the story for its pull request", "drain workload-cluster-1 --branch drain --body story.md"),
        ),
        "blast": (
            ("Which groups my edits of policies touch", "blast --base HEAD"),
            ("Fail in CI if it is more than a tenth of them", "blast --base main --limit 10%"),
        ),
        "status": (
            ("Clusters, what is on them, what waits", "status"),
            ("Were groups ready in time that were told they fit?", "status --promises --within 15m"),
            ("For programs", "status --format json"),
        ),
        "report": (
            ("One page to open in a browser", "report -o fleet.html"),
            ("The same for all to see, without nodes and amounts", "report -o public.html --redact"),
        ),
        "history": (
            ("Where it has been, when and why", "history production/text-summarizer"),
            ("For programs", "history production/text-summarizer --format json"),
        ),
        "verify": (
            ("Is the last commit what its inputs make?", "verify"),
            ("Are all of them, failing on commits by others?", "verify --all --strict"),
        ),
        "schema": (
            ("For every file of a fleet repo, to give to an editor", "schema"),
            ("Of one kind", "schema PlacementPolicy"),
            ("Of what plan --format json prints", "schema Plan"),
        ),
        "help": (
            ("The same as gitplacer plan --help", "help plan"),
            ("Every variable that counts", "help environment"),
            ("As a man page: gitplacer help --man plan | man -l -", "help --man plan"),
        ),
        "completion": (
            ("For bash; evaluate it in ~/.bashrc", "completion bash"),
            ("For zsh; evaluate it in ~/.zshrc, after compinit", "completion zsh"),
            ("For fish; write it to ~/.config/fish/completions/gitplacer.fish", "completion fish"),
        ),
    }
)  # fmt: skip
"""Two to four for each command."""

Exit = tuple[int, str]
"""An exit code, and when it is given."""

USUAL: tuple[Exit, ...] = ((0, "done"), (1, "an error, which stderr tells, with what to do"))

EXITS: Mapping[str, tuple[Exit, ...]] = MappingProxyType(
    {
        "validate": ((0, "without errors"), (1, "with an error in the source, or a mistake on the command line")),
        "adopt": (
            (0, "everything was adopted"),
            (1, "something is left where it is, and told; or nothing could be adopted, and nothing was written"),
        ),
        "import": (
            (0, "done"),
            (
                1,
                "a file or an object could not be read, and the rest is written; or a variable has no value, and nothing is",
            ),
        ),
        "plan": (
            (0, "done"),
            (1, "an error"),
            (2, "something would change, and `--exit-code` was given"),
            (
                3,
                "the plan has something that `--fail-on` names: `waiting` (a group, or some of its copies, waits), `relocated`, `removed`, "
                "`stale` (a snapshot is older than its cluster's `maxAge`), `problems` (an error in the source or the snapshots)",
            ),
        ),
        "simulate": (
            (0, "done"),
            (1, "an error"),
            (
                3,
                "somebody is what `--fail-on` names: `stranded` (a group has no room any more), `held` (it may not go elsewhere by itself), "
                "`part` (some of its copies, shares or pods find no room), `waiting` (a new group finds no room), `services` (a group that "
                "serves is stranded)",
            ),
        ),
        "blast": ((0, "done"), (1, "an error"), (3, "more groups are touched than `--limit` allows")),
        "test": (
            (0, "all scenarios that were run have passed"),
            (
                1,
                "one failed, could not be read or could not be carried out, there is none, or, with `--strict`, there is a warning about policies",
            ),
        ),
        "size": (
            (0, "done, also where nothing makes pods"),
            (1, "a file could not be read, or an object could not be sized, and the others are printed"),
        ),
        "fit": (
            (0, "done, whatever the answer"),
            (1, "an error, and nothing was judged (with `--cases`: a line was not, the others were)"),
            (2, "with `--exit-code`: TightFit; of many cases the worst counts"),
            (3, "with `--exit-code`: No"),
        ),
        "snapshot": (
            (0, "done, also where something could not be looked at, which stderr tells"),
            (1, "an error, and FILE is as it was; with `--push` also where the branch has a later snapshot"),
        ),
        "reconcile": (
            (0, "done, also where groups are held or nothing had to change"),
            (1, "an error, and nothing has landed"),
            (2, "with `--check`: what is proposed is out of date"),
        ),
        "comment": ((0, "done, or the pull request has a newer commit"), (1, "an error")),
        "tell": ((0, "told, whatever became of the plan"), (1, "an error")),
        "verify": (
            (0, "every commit is Verified, or Foreign without `--strict`"),
            (1, "one is not, or it is an error"),
        ),
    }
)
"""Of commands whose exit codes say more than the usual ones."""

VARIABLES: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        ("GITPLACER_DEPLOYMENT",): "the deployment repo; `--deployment` overrides it",
        ("GITPLACER_CAPACITY",): "where capacity snapshots are; `--capacity` overrides it",
        ("GITPLACER_CACHE",): "the cache of parsed files and fetched repos; it may be deleted at any time",
        ("GITPLACER_CREDENTIALS",): "the credentials file; `--credentials` overrides it",
        (
            "GITPLACER_AUTHOR",
            "GITPLACER_SIGNING_KEY",
        ): "who makes the commits of a pass, and what signs them; `--author` and `--sign-key` override them",
        (
            "GITPLACER_HOST_TOKEN",
            "GITPLACER_HOST_URL",
        ): "what lets us in at GitHub or GitLab for comments, statuses and pull requests, and where its API is",
        ("GITPLACER_LINK_BASE",): "below which address lines of the source are linked to; `--link-base` overrides it",
        (
            "GITPLACER_GIT_TIMEOUT",
        ): "how long git may talk to a server before it is ended, such as `30m`; 15 minutes if nothing is said, and for a mere question two at most",
        (
            "GITPLACER_GIT_LIMIT",
        ): "how many bytes a fetch may bring, such as `20Gi`; 8 GiB if nothing is said",
        ("GITPLACER_DEBUG",): "`1` shows the traceback of an error",
        ("NO_COLOR",): "`1` turns colour off; it is for terminals only in any case",
        ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_ASKPASS"): "how git is let in, as usual",
        ("KUBECONFIG",): "the kubeconfig of `snapshot` and `init`, as kubectl takes it",
    }
)  # fmt: skip
"""What the environment may say."""

ENVIRONMENT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "deployment": ("GITPLACER_DEPLOYMENT",),
        "capacity": ("GITPLACER_CAPACITY",),
        "credentials": ("GITPLACER_CREDENTIALS",),
        "source": ("GITPLACER_CACHE", "GITPLACER_GIT_TIMEOUT", "GITPLACER_GIT_LIMIT"),
        "host_name": ("GITPLACER_HOST_TOKEN", "GITPLACER_HOST_URL"),
        "kubeconfig": ("KUBECONFIG",),
    }
)
"""Which variables count for a command that has this parameter, beside those that click reads itself."""

GROUPED_FROM = 10
"""So many options are grouped by what they are about."""

ABOUT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "The cluster": ("context", "kubeconfig", "in_cluster", "cluster", "system_namespace", "selectors", "given", "hub", "dump", "insecure"),
        "Sending it": ("push", "push_branch", "push_path", "every", "heartbeat", "keep"),
        "What is supposed": ("lose", "drain", "cordon", "add", "remove", "replicas", "price", "scenario_files"),
        "Many suppositions": ("every_cluster", "pairs", "among", "runner", "processes", "ray_address", "everything"),
        "The pull request": ("pull_request", "check", "host_name", "repo", "number"),
        "For a pull request": ("base", "diffs", "pages", "comment_id", "link_base", "redact", "trust_base"),
        "For ever": ("watch", "interval", "full_every", "batch", "leader_elect", "log_format", "log_level"),
        "Who wakes it, who is told": (
            "hooks_listen", "hooks_secret_files", "metrics_listen", "report_listen", "report_hosts", "report_redact",
            "notify_url_file", "notify_secret_file", "with_events",
        ),
        "Argo CD": ("per", "cluster_label"),
        "Flux": ("only", "git_secret", "decryption_secret", "kubeconfig_secret", "timeout"),
        "What is written": ("lasting", "branch", "as_patch", "reason"),
        "The commits": ("author", "sign_key"),
        "Where things are": ("deployment", "capacity", "credentials", "path", "rev", "now"),
    }
)  # fmt: skip
"""What options are about, by the names of their parameters. Groups with a single option are not made."""
