"""
Classes of hostile input, what gitplacer does with each, and spellings of them that a test tries.

`docs/security.md` has a row for each class. `tests/test_hostile.py` puts every spelling among the files of one tenant, in a fleet in
which another tenant has an app, and adds generated spellings of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitplacer.tree import SUBMODULE, SYMLINK, Entry

File = str | bytes | Entry
HERE = "workloads/red/x.yaml"
"""Where a spelling is put if it does not say."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """
    Files by path. `codes` are told of them, if they are not those of the class; none where what is hostile in it comes to nothing.
    `capacity` are files among the snapshots.
    """

    files: Mapping[str, File]
    codes: tuple[str, ...] | None = None
    capacity: Mapping[str, File] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """
    One class of input. `codes` are what it is refused with, one or more of them for each spelling; `does` says what happens instead, or
    besides. `tests` are others that try it, as `module::function`, where it is not a matter of files alone, and `generated` those of
    them that make spellings up. Where it is a matter of files, `tests/hostile_files.py` or `tests/hostile_objects.py` does.
    """

    title: str
    codes: tuple[str, ...] = ()
    does: str = ""
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    tests: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()


def here(text: str | bytes | Entry, *codes: str, path: str = HERE) -> Spelling:
    return Spelling({path: text}, codes or None)


def app(
    edit: str = "",
    *,
    name: str = "bad",
    namespace: str = "",
    labels: str = "",
    annotations: str = "",
    pod: str = "",
    container: str = "",
    spec: str = "",
) -> str:
    """A small RayService; keywords are YAML in flow style that is put in its place. `edit` is put at the end of its metadata."""
    said = "".join(
        f", {key}: {value}"
        for key, value in (("namespace", namespace), ("labels", labels), ("annotations", annotations))
        if value
    )
    return f"""\
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: {name}{said}{edit}}}
spec:
  {spec or "serveConfigV2: 'applications: []'"}
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {{}}
      template: {{spec: {{{pod}containers: [{{name: head, image: ray, {container or "resources: {requests: {cpu: '1', memory: 2Gi}}"}}}]}}}}
"""


def config(edit: str = "", body: str = "data: {a: b}", name: str = "c") -> str:
    """A ConfigMap; `edit` is put at the end of its metadata."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{edit}}}\n{body}\n"


def thing(api_version: str, kind: str, more: str = "spec: {}", name: str = "x") -> str:
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}}}\n{more}\n"


def as_json(text: Mapping[str, object]) -> str:
    return json.dumps(text)


def _link(target: str) -> Entry:
    del target  # what it points at is never read
    return Entry(SYMLINK, "0" * 40)


CLASSES: Mapping[int, Class] = {
    1: Class(
        title="Paths that no file system or person can be sure of: control and unseen characters, backslashes, ends in a dot or space, endings in capitals, too long",
        codes=("OddPath",),
        spellings={
            "a line break": here(app(), path="workloads/red/a\nb.yaml"),
            "text that runs backwards": here(app(), path="workloads/red/\u202elmay.yaml"),
            "a backslash": here(app(), path="workloads/red/x\\..\\..\\y.yaml"),
            "a folder that ends in a dot": here(app(), path="workloads/red/x./y.yaml"),
            "an ending in capitals": here(app(), path="workloads/red/x.YAML"),
            "a name of 300 bytes": here(app(), path=f"workloads/red/{'a' * 300}.yaml"),
        },
        tests=(
            "test_odd_paths::test_an_odd_path_is_refused_alone",
            "test_git_publishing::test_a_path_that_git_refuses_is_not_written",
        ),
        generated=("test_odd_paths::test_no_spelling_of_an_odd_path_is_read",),
    ),
    2: Class(
        title="`.git` in a path, in all the spellings that some file system takes for it",
        does="The repo is refused as a whole (`MalformedTree`): git itself makes no such tree.",
        tests=("test_odd_paths::test_a_tree_that_no_git_would_make_is_refused_whole",),
        generated=("test_odd_paths::test_no_spelling_of_the_folder_of_git_is_missed",),
    ),
    3: Class(
        title="Symbolic links, in the source and in the deployment repo",
        codes=("NotAFile",),
        does="Never followed. One out of the source, behind which Clusters or policies may be, is a warning, and what was placed by these is not taken for "
        "given up: a group without its policy is held, and the run stops for a cluster that has groups and is nowhere. One where a file of ours would be "
        "in the deployment repo holds its group as a change by somebody else.",
        spellings={
            "a link to a secret": here(_link("/etc/passwd")),
            "a link to another tenant's file": here(_link("../blue/shop.yaml"), path="workloads/red/shop.yaml"),
            "a link as JSON": here(_link("/proc/self/environ"), path="workloads/red/environ.json"),
        },
        tests=(
            "test_name_clashes::test_what_needs_a_name_that_is_taken_is_held_and_all_else_goes_on",
            "test_blind_spots::test_a_cluster_behind_a_link_is_not_gone",
            "test_blind_spots::test_a_group_whose_policy_may_be_behind_a_link_stays",
        ),
        generated=("test_name_clashes::test_no_pass_displaces_anything",),
    ),
    4: Class(
        title="Submodules, and `.gitmodules`",
        codes=("NotAFile",),
        does="Nothing is cloned; `.gitmodules` is not read. Outside of the workloads, as a symbolic link out of the source.",
        spellings={
            "a submodule": here(Entry(SUBMODULE, "1" * 40), path="workloads/red/sub"),
            "a submodule named as a file": here(Entry(SUBMODULE, "1" * 40)),
            "a .gitmodules": Spelling(
                {"workloads/red/.gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c evil\n'}, ()
            ),
        },
    ),
    5: Class(
        title="Git attributes that would change what is read; pointers of Git LFS in place of files",
        codes=("LFSPointer",),
        does="Files are read as Git stores them: no filter, no attribute, no line-end conversion.",
        spellings={
            "a pointer": here("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
            "a pointer named as JSON": here(
                "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", path="workloads/red/x.json"
            ),
            "attributes": Spelling(
                {"workloads/red/.gitattributes": "*.yaml filter=evil working-tree-encoding=UTF-16\n"}, ()
            ),
        },
        tests=("test_git_reading::test_nothing_in_a_hostile_repository_is_run",),
    ),
    6: Class(
        title="Paths that differ only in upper and lower case, or in how Unicode composes them",
        codes=("CaseTwin",),
        does="The later one is not read. Files of another tenant are not concerned.",
        spellings={
            "case": Spelling({"workloads/red/a.yaml": app(name="one"), "workloads/red/A.yaml": app(name="two")}),
            "composed and decomposed": Spelling(
                {"workloads/red/\u00e9.yaml": app(name="one"), "workloads/red/e\u0301.yaml": app(name="two")}
            ),
            "folders": Spelling({"workloads/red/X/a.yaml": app(name="one"), "workloads/red/x/b.yaml": app(name="two")}),
        },
        generated=("test_odd_paths::test_no_two_files_that_are_read_are_one_elsewhere",),
    ),
    7: Class(
        title="Too much: a file, a value, a tree",
        codes=("FileTooLarge", "TooLarge", "TooManyFiles", "TooManyParts", "OddPath"),
        spellings={
            "a file of 5 MB": here("# " + "x" * 5_000_000 + "\n", "FileTooLarge"),
            "a text of 2 MB": here(config(body=f"data: {{a: '{'x' * 2_000_000}'}}"), "TooLarge"),
            "a list of two million numbers": here("a: [" + "1," * 2_000_000 + "1]\n", "TooLarge"),
            "three hundred folders": here(app(), "OddPath", path=f"workloads/red/{'d/' * 300}x.yaml"),
        },
        tests=(
            "test_bounds::test_who_fills_their_paths_stops_nobody_else",
            "test_bounds::test_an_object_may_be_so_much_and_no_more",
        ),
    ),
    8: Class(
        title="A branch that is missing, empty, rewound, or a shallow clone",
        does="Said by name (`NoSuchRevision`, `SourceRewound`, `DeploymentRewound`, `DeploymentLost`); nothing is published, by the controller or by hand, until somebody names the commit that is given up.",
        tests=(
            "test_controller_doubts::test_a_source_that_was_rewound_is_held_until_what_is_missing_is_back",
            "test_controller_doubts::test_a_timer_that_runs_a_pass_again_and_again_is_no_consent",
            "test_git_reading::test_a_shallow_clone_says_that_it_is_one",
        ),
        generated=("test_controller_doubts::test_no_way_of_rewriting_a_branch_is_published_on",),
    ),
    9: Class(
        title="Addresses that run something, are options, carry a password or lead elsewhere",
        codes=("BadAddress", "InvalidValue"),
        does="Redirects to another host are not followed.",
        tests=(
            "test_hostile_addresses::test_an_address_that_could_leak_or_run_something_is_refused_where_it_is_written",
            "test_git_limits::test_a_redirect_is_not_followed_by_whoever_needs_no_credential",
        ),
        generated=("test_hostile_addresses::test_no_spelling_of_a_password_a_question_or_an_option_is_an_address",),
    ),
    10: Class(
        title="Revisions and branches that are options, expressions or no names",
        codes=("NoSuchRevision", "InvalidValue"),
        tests=(
            "test_hostile_addresses::test_a_branch_that_means_something_else_is_refused_where_it_is_written",
            "test_git_limits::test_nothing_from_outside_can_be_an_option_of_git",
            "test_git_reading::test_what_is_no_revision_is_refused_by_name",
        ),
        generated=(
            "test_git_reading::test_no_spelling_of_an_expression_or_an_option_is_a_revision",
            "test_hostile_addresses::test_a_name_that_git_refuses_is_no_branch_of_a_fleet",
            "test_hostile_addresses::test_what_a_fleet_may_call_a_branch_git_calls_one",
        ),
    ),
    11: Class(
        title="A deployment repo that is the source, by whatever spelling of its address",
        does="Refused before anything is read; one that is known by its commits, before anything is written.",
        tests=("test_hostile_addresses::test_a_pass_does_not_write_the_folders_that_it_reads",),
        generated=(
            "test_hostile_addresses::test_no_spelling_of_its_address_hides_that_the_source_would_be_written_to",
            "test_hostile_addresses::test_no_path_to_the_source_hides_it",
        ),
    ),
    12: Class(
        title="A root that is the whole repo, a hidden folder, or somebody else's files",
        codes=("InvalidValue", "NotOurs"),
        tests=(
            "test_hostile_addresses::test_a_root_that_is_somebody_elses_is_refused_where_it_is_written",
            "test_name_clashes::test_a_directory_whose_sentinel_became_a_folder_is_somebody_elses",
        ),
        generated=("test_hostile_addresses::test_no_root_is_in_a_folder_of_flux",),
    ),
    13: Class(
        title="Commits that nobody signed, or a stranger, also behind a merge",
        codes=("SourceNotSigned", "SnapshotNotSigned"),
        does="Where keys are listed.",
        tests=(
            "test_signers::test_a_pass_is_made_from_the_newest_commit_that_counts",
            "test_signers::test_a_merge_hides_nothing",
            "test_signers::test_a_key_cannot_let_itself_in",
            "test_capacity_branches::test_only_who_may_speak_for_a_cluster_is_believed",
        ),
        generated=("test_signers::test_nothing_that_somebody_else_has_signed_is_placed_nor_what_is_on_top",),
    ),
    14: Class(
        title="A push that the server declines",
        does="`PushRefused`, told once and not tried again and again as if it were a race.",
        tests=(
            "test_git_remotes::test_a_hook_that_declines_is_no_lost_race",
            "test_git_publishing::test_the_hooks_of_the_repository_decide_and_nothing_stays",
            "test_git_remotes::test_a_remote_that_takes_no_pushes_refuses",
            "test_git_remotes::test_a_server_without_atomic_pushes_is_told_apart",
        ),
        generated=("test_git_publishing::test_whatever_a_hook_says_when_it_declines_it_is_no_race",),
    ),
    15: Class(
        title="Bytes that are no UTF-8 text, byte order marks, tabs",
        codes=("NotUTF8", "InvalidCharacter", "TabIndentation"),
        spellings={
            "Latin-1": here(config(body="data: {a: \u00e9}").encode("latin-1"), "NotUTF8"),
            "UTF-16": here(config().encode("utf-16"), "NotUTF8"),
            "a mark in the middle": here(config(body="data: {a: x\ufeffy}"), "InvalidCharacter"),
            "tabs": here("apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n", "TabIndentation"),
        },
        tests=("test_documents::test_bytes_that_are_no_text_are_located",),
    ),
    16: Class(
        title="Bombs: aliases, nesting, documents without end",
        codes=("TooManyAliases", "TooDeep", "TooManyDocuments"),
        spellings={
            "billion laughs": here(
                "a: &a [x,x,x,x,x,x,x,x,x]\n"
                + "".join(
                    f"{chr(97 + n)}: &{chr(97 + n)} [{','.join(['*' + chr(96 + n)] * 9)}]\n" for n in range(1, 9)
                ),
                "TooManyAliases",
            ),
            "50 KB of brackets": here("[" * 50_000, "TooDeep"),
            "depth through aliases": here(
                "".join(f"k{n}: &k{n} {'[' * 60}{'*k' + str(n - 1) if n else 'x'}{']' * 60}\n" for n in range(40)),
                "TooDeep",
            ),
            "two thousand documents": here("---\na: b\n" * 2_000, "TooManyDocuments"),
        },
        generated=("test_bounds::test_nothing_that_is_read_is_deeper_than_the_bound",),
    ),
    17: Class(
        title="YAML that says more than JSON can: doubled keys, keys that are no text, tags",
        codes=("DuplicateKey", "NonStringKey", "CustomTag"),
        does="Merge keys are written out, within the bounds.",
        spellings={
            "a key twice": here(config(body="data: {a: b}\ndata: {a: c}"), "DuplicateKey"),
            "a number as key": here(config(body="data: {1: b}"), "NonStringKey"),
            "an object of Python": here(config(body="data: !!python/object/apply:os.system [id]"), "CustomTag"),
            "a tag": here(config(body="data: {a: !secret b}"), "CustomTag"),
            "bytes": here(config(body="data: {a: !!binary aGk=}"), "CustomTag"),
        },
    ),
    18: Class(
        title="Words that YAML takes for something else: `no`, `0123`, `1e3` as names, labels, annotations",
        codes=("InvalidObject", "WrongType"),
        spellings={
            "a name": here(app(name="no"), "InvalidObject"),
            "a number as name": here(app(name="0123"), "InvalidObject"),
            "a label": here(app(labels="{version: 1.10}"), "WrongType"),
            "an annotation": here(app(annotations="{a: on}"), "WrongType"),
        },
    ),
    19: Class(
        title="Numbers that JSON cannot hold",
        codes=("NotJSON",),
        spellings={
            "not a number": here(config(body="data: {a: .nan}")),
            "infinity": here(config(body="data: {a: -.inf}")),
            "beyond 64 bits": here(config(body="data: {a: 99999999999999999999}")),
        },
    ),
    20: Class(
        title="Documents that are no objects: scalars, lists, templates, marks of a conflict; lines that part documents to Kubernetes and not to YAML",
        codes=("NotAMapping", "UnrenderedTemplate", "ConflictMarkers", "InvalidYAML"),
        does="A `List` is taken apart, and each item is held against all rules. One without a list of items is not an empty one: what it had stays.",
        spellings={
            "a list": here("- a\n- b\n", "NotAMapping"),
            "a text": here("hello\n", "NotAMapping"),
            "a list that has lost its items": here("apiVersion: v1\nkind: List\nitems:\n", "NotAMapping"),
            "a template": here("apiVersion: v1\nkind: {{ .Values.kind }}\n", "UnrenderedTemplate"),
            "a conflict": here("<<<<<<< HEAD\napiVersion: v1\n=======\napiVersion: v2\n>>>>>>> x\n", "ConflictMarkers"),
            "an object below a key that begins with ---": here(
                config(
                    body="---#x:\n  apiVersion: rbac.authorization.k8s.io/v1\n  kind: ClusterRoleBinding\n  metadata: {name: x}"
                ),
                "InvalidYAML",
            ),
            "a marker after a line that ends like no other": here(
                config(body=f"data: {{a: b}}\u2028---\n{config(name='d')}")
            ),
            "a version of YAML": here(f"%YAML 1.1\n---\n{config()}", "InvalidYAML"),
            "a role in a list in a list": here(
                as_json(
                    {
                        "apiVersion": "v1",
                        "kind": "List",
                        "items": [
                            {
                                "apiVersion": "v1",
                                "kind": "List",
                                "items": [
                                    {
                                        "apiVersion": "rbac.authorization.k8s.io/v1",
                                        "kind": "ClusterRole",
                                        "metadata": {"name": "x"},
                                    }
                                ],
                            }
                        ],
                    }
                ),
                "NotAllowed",
                path="workloads/red/x.json",
            ),
        },
    ),
    21: Class(
        title="Objects without kind or name, with names that no cluster takes, or outside the tenant's namespaces",
        codes=("InvalidObject", "InvalidRayName", "NameTooLong", "MissingNamespace", "NotTheTenants"),
        spellings={
            "no kind": here("apiVersion: v1\nmetadata: {name: x}\n", "InvalidObject"),
            "a list as kind": here("apiVersion: v1\nkind: [ConfigMap]\nmetadata: {name: x}\n", "InvalidObject"),
            "generateName": here("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}\n", "InvalidObject"),
            "a name in capitals": here(app(name="Bad"), "InvalidObject"),
            "a name with a dot": here(app(name="bad.v2"), "InvalidRayName"),
            "a name of 100 letters": here(app(name="a" * 100), "NameTooLong"),
            "another's namespace": here(app(namespace="blue"), "NotTheTenants"),
            "kube-system": here(app(namespace="kube-system"), "NotTheTenants"),
        },
    ),
    22: Class(
        title="Kinds that nobody knows, and versions of Ray's that there are not",
        codes=("UnsupportedVersion", "UnknownKind", "NotAllowed"),
        spellings={
            "a version to come": here(app().replace("ray.io/v1", "ray.io/v9"), "UnsupportedVersion"),
            "a misspelt kind": here(thing("ray.io/v1", "RayClustr"), "UnknownKind"),
            "a kind that nobody declares": here(thing("example.com/v1", "Widget"), "NotAllowed"),
        },
    ),
    23: Class(
        title="Objects of the whole cluster",
        codes=("NotAllowed",),
        spellings={
            "a namespace": here(thing("v1", "Namespace", "")),
            "a role": here(thing("rbac.authorization.k8s.io/v1", "ClusterRole", "rules: []")),
            "a webhook": here(thing("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "webhooks: []")),
            "machines": here(thing("karpenter.k8s.aws/v1", "EC2NodeClass")),
            "a policy": here(thing("kyverno.io/v1", "ClusterPolicy")),
            "as JSON": here(
                as_json({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "x"}, "spec": {}}),
                path="workloads/red/x.json",
            ),
        },
    ),
    24: Class(
        title="Objects that steer the GitOps engine",
        codes=("NotAllowed",),
        spellings={
            "an Application": here(thing("argoproj.io/v1alpha1", "Application")),
            "a Kustomization": here(thing("kustomize.toolkit.fluxcd.io/v1", "Kustomization")),
            "a RootSync": here(thing("configsync.gke.io/v1beta1", "RootSync")),
            "a Stage of Kargo": here(thing("kargo.akuity.io/v1alpha1", "Stage")),
            "a HelmChart of k3s": here(thing("helm.cattle.io/v1", "HelmChart")),
        },
        tests=("test_strangers::test_a_kind_that_is_not_known_to_have_a_namespace_is_refused",),
    ),
    27: Class(
        title="An object twice, or one that is somebody else's",
        codes=("DuplicateObject", "GroupIdTaken", "NotTheTenants"),
        does="What a tenant may not write takes part in nothing, so it makes nobody's object a double.",
        spellings={
            "twice": Spelling({"workloads/red/a.yaml": app(), "workloads/red/b.yaml": app()}, ("DuplicateObject",)),
            "twice in one file": here(app() + "---\n" + app(), "DuplicateObject"),
            "another tenant's": here(app(name="shop", namespace="blue"), "NotTheTenants"),
        },
        tests=("test_tenants::test_what_a_tenant_writes_changes_nothing_of_another",),
    ),
    31: Class(
        title="`${…}` where Flux would put something in its place",
        codes=("FluxVariable",),
        does="A warning, where Flux is the engine and the object does not opt out.",
        tests=(
            "test_rules_jobs::test_flux_replaces_what_is_in_braces_after_a_single_dollar",
            "test_rules_jobs::test_an_object_may_opt_out_of_replacement",
        ),
        generated=("test_rules_jobs::test_what_flux_replaces_is_a_dollar_that_no_other_one_escapes",),
    ),
    32: Class(
        title="Files for Kustomize, Helm and the engines, which would run or fetch something",
        codes=("NotRendered",),
        does="Nothing of it is run. Hidden files are not read, and none is ever written to the deployment repo.",
        spellings={
            "a remote base": Spelling(
                {
                    "workloads/red/k/kustomization.yaml": "resources: [https://example.com/evil]\n",
                    "workloads/red/k/x.yaml": app(),
                }
            ),
            "a chart": Spelling(
                {
                    "workloads/red/k/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n",
                    "workloads/red/k/x.yaml": app(),
                }
            ),
            "a Kustomization without ending": Spelling(
                {"workloads/red/k/Kustomization": "generators: [exec.yaml]\n", "workloads/red/k/x.yaml": app()}
            ),
            "plugin settings of engines": Spelling(
                {
                    "workloads/red/.argocd-source.yaml": "kustomize: {}\n",
                    "workloads/red/.sourceignore": "*\n",
                    "workloads/red/.krmignore": "*\n",
                },
                (),
            ),
        },
    ),
    34: Class(
        title="Amounts that are none",
        codes=("InvalidQuantity", "InvalidResources", "InvalidReplicas"),
        spellings={
            "words": here(app(container="resources: {requests: {cpu: lots}}"), "InvalidQuantity"),
            "below zero": here(app(container="resources: {requests: {cpu: '-1'}}"), "InvalidQuantity"),
            "half a device": here(app(container="resources: {limits: {nvidia.com/gpu: '0.5'}}"), "InvalidResources"),
            "a request above its limit": here(
                app(container="resources: {requests: {cpu: '2'}, limits: {cpu: '1'}}"), "InvalidResources"
            ),
        },
    ),
    35: Class(
        title="Jobs that Git would run again",
        codes=("DeletesItself",),
        does="A job that may have started is moved only with `runningJobs: Restart`, and is never on two clusters.",
        tests=(
            "test_rules_jobs::test_a_rayjob_that_deletes_itself_would_be_run_again_from_git",
            "test_relocation::test_a_job_moves_only_through_nowhere_and_only_when_two_snapshots_show_it_gone",
        ),
    ),
    36: Class(
        title="What must not be twice at once, and fields that cannot be changed",
        codes=("ImmutableField",),
        does="A ReadWriteOnce claim, a fixed GCS namespace and jobs are never in two places; they move by removing first.",
        tests=(
            "test_relocation::test_a_job_moves_only_through_nowhere_and_only_when_two_snapshots_show_it_gone",
            "test_edits::test_kuberays_fixed_fields",
            "test_edits::test_what_the_api_server_refuses_to_change",
        ),
        generated=("test_updates::test_whatever_a_fixed_field_is_changed_to_the_files_are_left_alone",),
    ),
    25: Class(
        title="Rights: roles, accounts with tokens, somebody else's account",
        codes=("NotAllowed", "PlainSecret", "ForeignServiceAccount"),
        spellings={
            "a role": here(thing("rbac.authorization.k8s.io/v1", "Role", "rules: []"), "NotAllowed"),
            "a binding": here(
                thing(
                    "rbac.authorization.k8s.io/v1",
                    "RoleBinding",
                    "roleRef: {kind: ClusterRole, name: cluster-admin, apiGroup: rbac.authorization.k8s.io}",
                ),
                "NotAllowed",
            ),
            "a token": here(thing("v1", "Secret", "type: kubernetes.io/service-account-token"), "NotAllowed"),
        },
    ),
    37: Class(
        title="Policies for clusters that there are not, with fields that there are not, or of a version to come; policies and scores of a tenant",
        codes=("UnknownField", "UnsupportedVersion", "InvalidValue", "WrongType", "OwnKindInWorkloads"),
        does="What such a policy governs is held, and such scores count nothing. Policies and scores lie outside the workload paths.",
        spellings={
            "scores of a tenant": here(
                thing("gitplacer.dev/v1alpha1", "ClusterScores", "spec: {scores: {a: 100}}"), "OwnKindInWorkloads"
            ),
            "scores of a tenant that are none": here(
                thing("gitplacer.dev/v1alpha1", "ClusterScores", "spec: {scores: {a: much}}"), "OwnKindInWorkloads"
            ),
            "a policy of a tenant": here(
                thing("gitplacer.dev/v1alpha1", "PlacementPolicy", "spec: {select: {}, precedence: 99}"),
                "OwnKindInWorkloads",
            ),
        },
        tests=(
            "test_scored::test_scores_that_cannot_be_read_count_nothing_and_stop_nothing",
            "test_kinds::test_what_is_wrong_is_said_with_its_place_and_its_remedy",
            "test_fleet_place::test_a_fleet_among_the_workloads_of_another_never_counts",
        ),
        generated=(
            "test_hostile::test_a_policy_that_cannot_be_read_holds_what_it_governs_alone",
            "test_kinds::test_parser_and_schema_agree_on_every_mutation_but_where_the_table_says",
        ),
    ),
    38: Class(
        title="Snapshots that are stale, from the future, about another cluster, impossible or too good",
        does="That cluster takes nothing new, or counts with what was believed last; see [snapshots](capacity-branches.md).",
        tests=(
            "test_forgeries::test_a_lie_does_no_more_than_this",
            "test_belief::test_what_is_not_believed_takes_nothing_new",
        ),
        generated=("test_forgeries::test_any_lie_leaves_alone_what_is_elsewhere_and_starts_no_job_twice",),
    ),
    39: Class(
        title="A pass that would remove or move very much",
        does="Guards throttle or hold what is beyond them; see [guards](relocation.md).",
        tests=(
            "test_removals::test_a_source_may_lose_so_many_groups",
            "test_relocation::test_a_guard_throttles_moves_over_time",
        ),
        generated=("test_removals::test_never_more_go_in_a_time_than_may_and_planning_again_changes_nothing",),
    ),
    40: Class(
        title="A base that has moved, a plan that is not the one agreed to, a deployment repo edited by hand",
        does="The push lands on what it was computed from or not at all; a changed file holds its group by name (`ForeignChange`).",
        tests=(
            "test_git_remotes::test_of_two_writers_one_lands_and_the_other_recomputes",
            "test_agreement::test_consent_lapses_with_what_it_was_given_to_and_with_nothing_else",
            "test_removals::test_a_memory_that_somebody_else_changed_holds_removals_alone",
        ),
        generated=(
            "test_hydrate::test_whatever_somebody_writes_over_a_file_of_ours_stays_and_holds_its_group_alone",
            "test_agreement::test_nothing_goes_beyond_the_guard_but_what_somebody_has_seen",
        ),
    ),
    41: Class(
        title="Names and messages that forge a commit message or its trailers",
        does="Made harmless in one place before anything is written.",
        tests=(
            "test_git_publishing::test_names_and_messages_cannot_forge_a_commit",
            "test_coauthors::test_only_a_name_and_an_address_is_somebody",
        ),
        generated=(
            "test_coauthors::test_no_author_writes_another_trailer",
            "test_verify::test_no_byte_of_a_message_can_be_changed_unnoticed",
        ),
    ),
    42: Class(
        title="Markup, mentions, escapes of terminals, commands of workflows, in whatever is shown",
        does="Shown as the text that they are.",
        tests=(
            "test_formats::test_markdown_is_deaf_to_what_manifests_say",
            "test_formats::test_text_is_deaf_to_what_manifests_say",
            "test_ci::test_hostile_files_are_annotated_and_do_nothing_else",
        ),
        generated=(
            "test_formats::test_escaped_text_is_the_text_and_nothing_else",
            "test_formats::test_no_mention_reference_or_link_survives",
            "test_formats::test_printable_text_is_one_harmless_line",
            "test_problem_formats::test_whatever_a_problem_says_it_is_one_annotation",
        ),
    ),
    43: Class(
        title="Webhooks that are forged, replayed, oversized, compressed or of another repo",
        does="401, 413, 415, or nothing; nobody is woken.",
        tests=(
            "test_listeners::test_what_is_forged_oversized_or_odd_wakes_nobody",
            "test_listeners::test_a_body_that_does_not_end_ends",
        ),
        generated=(
            "test_hook_signatures::test_what_the_provider_signs_is_believed_and_nothing_else",
            "test_hook_payloads::test_no_payload_is_too_odd",
        ),
    ),
    44: Class(
        title="Settings: unknown keys, secrets where a reference belongs, files that others may read, http, hosts without a known key",
        codes=("UnknownField", "ExposedSecret", "UnusableSecret"),
        tests=(
            "test_credentials::test_a_secret_is_one_line_that_nobody_else_can_read",
            "test_credentials::test_what_is_wrong_with_an_entry_is_said_with_its_place",
            "test_credentials::test_a_file_that_cannot_be_used_is_named",
            "test_credentials::test_a_deploy_key_opens_its_repository_and_only_a_known_server_is_talked_to",
        ),
        generated=(
            "test_credentials::test_no_secret_is_taken_from_a_file_of_others_or_with_more_than_it_nor_told",
            "test_credentials::test_a_secret_where_its_file_should_be_named_is_an_unknown_field_and_not_shown",
        ),
    ),
    26: Class(
        title="Secrets in plain text, also where they only look like one",
        codes=("PlainSecret", "SecretInPlain", "OrphaningAnnotation"),
        does="A variable or argument that looks like one is a warning. No message shows a value.",
        spellings={
            "a Secret": here(thing("v1", "Secret", "stringData: {password: hunter2hunter2}"), "PlainSecret"),
            "a Secret as JSON": here(
                as_json(
                    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "aHVudGVyMg=="}}
                ),
                "PlainSecret",
                path="workloads/red/x.json",
            ),
            "in a List": here(
                "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: aGk=}}\n",
                "PlainSecret",
            ),
            "a variable": here(
                app(
                    container="env: [{name: AWS_SECRET_ACCESS_KEY, value: wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY}], resources: {requests: {cpu: '1', memory: 2Gi}}"
                ),
                "SecretInPlain",
            ),
        },
        tests=("test_strangers::test_a_value_that_looks_like_a_secret_is_told_and_not_printed",),
    ),
    28: Class(
        title="Fields that are the server's: status, uid, owners, finalizers, managed fields",
        codes=("ServerField",),
        spellings={
            "owners": here(app(", ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: y}]")),
            "finalizers": here(app(", finalizers: [example.com/stay]")),
            "a uid": here(app(", uid: 1b4e28ba-2fa1-11d2-883f-0016d3cca427")),
            "a status": here(app() + "status: {ready: true}\n"),
            "a time of deletion": here(app(", deletionTimestamp: '2026-01-02T03:04:05Z'")),
        },
        tests=("test_strangers::test_what_no_workload_may_hold_is_refused_where_it_stands_and_nobody_else_is_held",),
    ),
    29: Class(
        title="Annotations by which objects steer the engine that applies them",
        codes=("ControlAnnotation", "OrphaningAnnotation"),
        spellings={
            "never pruned": here(
                app(annotations="{argocd.argoproj.io/sync-options: Prune=false}"), "OrphaningAnnotation"
            ),
            "another's tracking id": here(
                app(annotations="{argocd.argoproj.io/tracking-id: 'x:y/z:a/b'}"), "OrphaningAnnotation"
            ),
            "a hook": here(
                app(annotations="{argocd.argoproj.io/hook: PreSync}"), "OrphaningAnnotation", "ControlAnnotation"
            ),
            "a hook of Helm": here(
                app(annotations="{helm.sh/hook: pre-install}"), "OrphaningAnnotation", "ControlAnnotation"
            ),
            "never pruned by Flux": here(
                app(annotations="{kustomize.toolkit.fluxcd.io/prune: disabled}"), "OrphaningAnnotation"
            ),
            "a wave": here(app(annotations="{argocd.argoproj.io/sync-wave: '-5'}"), "ControlAnnotation"),
        },
        tests=(
            "test_strangers::test_an_override_that_brings_it_is_refused_where_the_override_stands",
            "test_strangers::test_an_object_can_allow_what_does_no_harm_and_nothing_else",
        ),
    ),
    30: Class(
        title="Links that would run something in a browser",
        codes=("UnsafeLink",),
        spellings={
            "a script": here(app(annotations="{link.argocd.argoproj.io/external-link: 'javascript:alert(1)'}")),
            "a script in capitals, with a space before it": here(
                app(annotations="{link.argocd.argoproj.io/x: ' JavaScript:alert(1)'}")
            ),
            "data": here(app(annotations="{link.argocd.argoproj.io/x: 'data:text/html;base64,PHNjcmlwdD4='}")),
        },
        generated=("test_strangers::test_no_link_but_to_the_web",),
    ),
    33: Class(
        title="Pods that reach beyond their cluster's fences",
        codes=("PrivilegedPod", "ForeignServiceAccount"),
        does="The level `baseline` of the Pod Security Standards, on what is applied, after overrides; a Tenant may be given more.",
        spellings={
            "the host's network": here(app(pod="hostNetwork: true, "), "PrivilegedPod"),
            "the host's files": here(app(pod="volumes: [{name: h, hostPath: {path: /}}], "), "PrivilegedPod"),
            "privileged": here(
                app(container="securityContext: {privileged: true}, resources: {requests: {cpu: '1', memory: 2Gi}}"),
                "PrivilegedPod",
            ),
            "a node by name": here(app(pod="nodeName: n1, "), "PrivilegedPod"),
            "every taint": here(app(pod="tolerations: [{operator: Exists}], "), "PrivilegedPod"),
            "somebody's account": here(app(pod="serviceAccountName: cluster-admin, "), "ForeignServiceAccount"),
        },
        generated=("test_strangers::test_a_pod_is_looked_into_wherever_it_stands",),
    ),
}
"""By their number in the survey that they come from, which has 44."""
