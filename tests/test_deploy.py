"""
What is applied to a cluster to run gitplacer there: the chart, and the manifests that are made of it.

Each set of objects is held against itself (what refers to what), against Kubernetes' schemas, against the command line that it calls, and against
what the code asks of an API server.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import urllib3
import yaml

from gitplacer import __version__
from gitplacer.cli import root
from gitplacer.git.address import Address
from gitplacer.git.credentials import Credentials
from gitplacer.git.login import Right, SshLogin
from gitplacer.git.secretfiles import private_file
from gitplacer.listeners.signatures import PROVIDERS
from tests.apistandin import VERSION
from tests.commands import NOW, git, make_bare, make_repo, run, starter, write
from tests.helmcharts import CHART, ROOT, lint, needs_helm, render

Json = dict[str, Any]
SOURCE = {"controller": {"source": "https://git.example.com/platform/fleet.git"}}
WRITER = {
    "controller": {"enabled": False},
    "snapshot": {
        "enabled": True, "cluster": "gke", "push": "https://git.example.com/f.git", "deployment": "https://git.example.com/d.git",
    },
}  # fmt: skip
EXAMPLE = "fleet-repo-example/management/gitplacer"
CONTROLLERS = ("deploy/manifests", "deploy/several-replicas", EXAMPLE)
SETS = (*CONTROLLERS, "deploy/snapshot")
NOTHING_SECRET = "{apiVersion: gitplacer.dev/v1alpha1, kind: Credentials, credentials: []}\n"
KUBECTL = shutil.which("kubectl")


def plain(folder: str) -> list[Json]:
    """The objects of a set, without its kustomization."""
    files = sorted((ROOT / folder).glob("*.yaml"))
    texts = [file.read_text("utf-8") for file in files if file.name != "kustomization.yaml"]
    return [found for text in texts for found in yaml.safe_load_all(text)]


def of_kind(objects: list[Json], kind: str) -> list[Json]:
    return [found for found in objects if found["kind"] == kind]


def pods(objects: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Labels and specs of the pods that come of a set."""
    for found in of_kind(objects, "Deployment"):
        template = found["spec"]["template"]
        yield template["metadata"]["labels"], template["spec"]


def container(spec: Json) -> Json:
    (found,) = spec["containers"]
    return dict(found)


def selects(selector: Json, labels: Json) -> bool:
    return selector.items() <= labels.items()


# -- one truth ----------------------------------------------------------------------------------------------------


@needs_helm
def test_the_manifests_are_what_the_chart_renders(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "deploy/generate.py", "-o", tmp_path], check=True)
    for folder in SETS:
        made = {path.name: path.read_text("utf-8") for path in (tmp_path / folder).iterdir()}
        kept = {path.name: path.read_text("utf-8") for path in (ROOT / folder).iterdir()}
        assert made == kept, f"run `python deploy/generate.py`, and read the diff of {folder}"


@needs_helm
def test_the_chart_is_one_that_helm_has_nothing_against() -> None:
    assert [said for said in lint(SOURCE) if said["error"] != "icon is recommended"] == []


def test_the_chart_is_of_the_version_that_it_installs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_every_value_has_its_rule_and_every_rule_its_value() -> None:
    def hold(values: Json, rules: Json, where: str) -> None:
        rules = schema["$defs"][rules["$ref"].rpartition("/")[2]] if "$ref" in rules else rules
        if "properties" not in rules:
            return
        assert rules["additionalProperties"] is False, where
        assert set(values) - {"requests", "limits"} == set(rules["properties"]) - {"global", "requests", "limits"}, (
            where
        )
        for name, value in values.items():
            if isinstance(value, dict):
                hold(value, rules["properties"][name], f"{where}/{name}")

    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    hold(yaml.safe_load((CHART / "values.yaml").read_text("utf-8")), schema, "")


def test_every_value_is_used() -> None:
    def leaves(values: Json) -> Iterator[str]:
        for name, value in values.items():
            yield name
            if isinstance(value, dict) and name != "resources":
                yield from leaves(value)

    text = "".join(path.read_text("utf-8") for path in sorted((CHART / "templates").iterdir()))
    for name in leaves(yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))):
        assert re.search(rf"\.{name}\b", text), name


def test_providers_of_webhooks_are_those_that_are_verified() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    assert set(schema["properties"]["hooks"]["properties"]["providers"]["items"]["enum"]) == set(PROVIDERS)


BAD_VALUES: list[tuple[Json, str]] = [
    ({}, "controller.source is needed: the address of the fleet repo"),
    ({**WRITER, "snapshot": {"enabled": True}}, "snapshot.cluster is needed: what the fleet calls this cluster"),
    ({"controler": {}}, "additional properties 'controler' not allowed"),
    ({"controller": {"sourc": "x"}}, "additional properties 'sourc' not allowed"),
    ({"controller": {"source": "https://me:secret@git.example.com/f.git"}}, "/controller/source"),
    ({"controller": {"source": "http://git.example.com/f.git"}}, "/controller/source"),
    ({"controller": {"source": "--upload-pack=x"}}, "/controller/source"),
    ({"controller": {"source": "ext::sh"}}, "/controller/source"),
    ({"controller": {"replicas": "2"}}, "/controller/replicas"),
    ({"controller": {"interval": "1 minute"}}, "/controller/interval"),
    ({"controller": {"interval": ""}}, "/controller/interval"),
    ({"controller": {"env": {"A": 1}}}, "/controller/env/A"),
    ({"controller": {"extraArgs": ["main"]}}, "/controller/extraArgs/0"),
    ({"controller": {"rev": "-x"}}, "/controller/rev"),
    ({"credentials": {"file": "../x"}}, "/credentials/file"),
    ({"hooks": {"enabled": True}}, "/hooks/providers"),
    ({"hooks": {"providers": ["githbu"]}}, "/hooks/providers/0"),
    ({"image": {"digest": "sha256:1"}}, "/image/digest"),
    ({"name": "Git_Placer"}, "/name"),
    ({"networkPolicy": {"hooksFrom": [{}]}}, "/networkPolicy/hooksFrom/0"),
]  # fmt: skip


@needs_helm
def test_wrong_values_are_refused_where_they_are() -> None:
    for (values, why), found in zip(BAD_VALUES, render(*(values for values, _ in BAD_VALUES)), strict=True):
        assert why in found.error, values


COMBINATIONS: list[Json] = [
    SOURCE,
    WRITER,
    {**WRITER, **SOURCE},
    {"controller": {**SOURCE["controller"], "leaderElection": False, "events": False}, "credentials": {"secrets": []}},
    {
        "name": "research",
        "author": "Placer <placer@example.com>",
        "image": {"repository": "registry.example.com:5000/gitplacer", "digest": f"sha256:{'0' * 64}", "pullSecrets": ["pull"]},
        "credentials": {"secrets": ["read", "write"], "signingKey": "signing-key"},
        "controller": {
            **SOURCE["controller"], "rev": "main", "path": "fleets/a", "deployment": "git@git.example.com:d.git",
            "capacity": "ssh://git@git.example.com/c.git", "replicas": 3, "extraArgs": ["--log-level=debug"],
            "env": {"HTTPS_PROXY": "http://proxy:3128"}, "podAnnotations": {"a/b": "true"}, "nodeSelector": {"a": "b"},
            "tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}}, "priorityClassName": "high",
        },
        "metrics": {"serviceMonitor": True, "port": 9000},
        "hooks": {"enabled": True, "providers": ["github", "flux"], "port": 9001},
        "notify": {"urlFile": "notify-url", "secretFile": "notify-secret"},
        "report": {"enabled": True},
        "snapshot": {**WRITER["snapshot"], "listPods": ["app=cache,tier!=test"], "systemNamespace": "placing"},
        "networkPolicy": {"hooksFrom": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]},
    },
]  # fmt: skip


@pytest.fixture(scope="module")
def combinations() -> list[list[Json]]:
    """The plain sets, and where there is Helm, what comes of other values."""
    sets = [plain(folder) for folder in SETS]
    if needs_helm.args[0]:
        return sets
    found = render(*COMBINATIONS)
    assert [each.error for each in found] == [""] * len(found)
    return sets + [each.objects for each in found]


# -- objects that agree with each other ---------------------------------------------------------------------------


def test_kubernetes_takes_every_object(combinations: list[list[Json]]) -> None:
    for objects in combinations:
        for found in objects:
            if found["apiVersion"] != "monitoring.coreos.com/v1":
                kubernetes_validate.validate(found, VERSION, strict=True)
        names = [(found["kind"], found["metadata"].get("namespace"), found["metadata"]["name"]) for found in objects]
        assert len(names) == len(set(names))


@needs_helm
def test_names_and_namespaces_are_those_of_the_release() -> None:
    """But for what must be elsewhere: the Roles of what is read in other namespaces."""
    (found,) = render(COMBINATIONS[-1])
    namespaces = {
        (each["kind"], each["metadata"].get("namespace"))
        for each in found.objects
        if each["metadata"].get("namespace") != "a-namespace"
    }
    assert namespaces == {
        ("ClusterRole", None), ("ClusterRoleBinding", None), *((kind, where) for kind in ("Role", "RoleBinding") for where in ("kube-system", "placing")),
    }  # fmt: skip
    assert {each["metadata"]["name"].split("-")[0] for each in found.objects} == {"research"}
    for each in found.objects:
        for subject in each.get("subjects", ()):
            assert subject["namespace"] == "a-namespace"


def test_pods_may_do_nothing_that_they_need_not(combinations: list[list[Json]]) -> None:
    """The restricted Pod Security Standard, and more."""
    for objects in combinations:
        for _, spec in pods(objects):
            assert spec["securityContext"]["runAsNonRoot"] is True
            assert spec["securityContext"]["runAsUser"] > 0 < spec["securityContext"]["fsGroup"]
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert container(spec)["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
            assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
            assert {next(iter(set(volume) - {"name"})) for volume in spec["volumes"]} <= {
                "emptyDir",
                "projected",
                "secret",
            }
            assert container(spec)["resources"]["limits"]["memory"]
            assert spec["shareProcessNamespace"] is True


def test_a_pod_has_a_token_only_where_it_asks_an_api_server(combinations: list[list[Json]]) -> None:
    for objects in combinations:
        bound = {subject["name"] for found in objects for subject in found.get("subjects", ())}
        for _, spec in pods(objects):
            assert spec["automountServiceAccountToken"] is (spec["serviceAccountName"] in bound)
        accounts = {found["metadata"]["name"] for found in of_kind(objects, "ServiceAccount")}
        assert bound <= accounts == {spec["serviceAccountName"] for _, spec in pods(objects)}


def test_everything_that_is_named_is_there(combinations: list[list[Json]]) -> None:
    for objects in combinations:
        described = [
            (labels, {port["name"]: port["containerPort"] for port in container(spec).get("ports", ())})
            for labels, spec in pods(objects)
        ]
        for service in of_kind(objects, "Service"):
            (ports,) = [ports for labels, ports in described if selects(service["spec"]["selector"], labels)]
            assert {port["targetPort"] for port in service["spec"]["ports"]} <= set(ports)
        for monitor in of_kind(objects, "ServiceMonitor"):
            (service,) = [
                found
                for found in of_kind(objects, "Service")
                if selects(monitor["spec"]["selector"]["matchLabels"], found["metadata"]["labels"])
            ]
            assert [end["port"] for end in monitor["spec"]["endpoints"]] == [
                p["name"] for p in service["spec"]["ports"]
            ]
        for _, spec in pods(objects):
            found = container(spec)
            assert {mount["name"] for mount in found["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
            for probe in ("livenessProbe", "readinessProbe"):
                assert found.get(probe, {"httpGet": {"port": "metrics"}})["httpGet"]["port"] == "metrics"


def test_nothing_goes_in_or_out_but_what_is_named(combinations: list[list[Json]]) -> None:
    for objects in combinations:
        policies = of_kind(objects, "NetworkPolicy")
        for labels, spec in pods(objects):
            (policy,) = [
                found["spec"] for found in policies if selects(found["spec"]["podSelector"]["matchLabels"], labels)
            ]
            assert policy["policyTypes"] == ["Ingress", "Egress"]
            allowed = {port["port"]: rule.get("from") for rule in policy["ingress"] for port in rule["ports"]}
            assert set(allowed) == {port["name"] for port in container(spec).get("ports", ())}
            if "metrics" in allowed:
                names = {"kubernetes.io/metadata.name": "monitoring"}
                assert allowed["metrics"] == [{"namespaceSelector": {"matchLabels": names}}]
            assert [[port["port"] for port in rule["ports"]] for rule in policy["egress"]] == [
                [53, 53],
                [22, 443, 6443],
            ]


def test_one_replica_is_replaced_and_several_are_kept_apart(combinations: list[list[Json]]) -> None:
    """A budget for a single one would only stop the draining of its node."""
    for objects in combinations:
        several = [found for found in of_kind(objects, "Deployment") if found["spec"]["replicas"] > 1]
        assert len(of_kind(objects, "PodDisruptionBudget")) == len(several)
        for found in of_kind(objects, "Deployment"):
            is_alone = found not in several
            assert (found["spec"]["strategy"]["type"] == "Recreate") is is_alone
            assert ("topologySpreadConstraints" in found["spec"]["template"]["spec"]) is not is_alone
            if not is_alone:
                args = container(found["spec"]["template"]["spec"])["args"]
                assert [arg for arg in args if arg.startswith("--leader-elect=")]


# -- what they say to gitplacer -----------------------------------------------------------------------------------


def parsed(args: list[str]) -> None:
    """Read these arguments as the program does, without doing what they say. Raises click.UsageError."""
    context = click.Context(root)
    name, command, rest = root.resolve_command(context, list(args))
    assert command is not None
    command.make_context(name, rest, parent=context)


def test_the_command_line_is_one_that_gitplacer_takes(combinations: list[list[Json]]) -> None:
    for objects in combinations:
        for _, spec in pods(objects):
            parsed(container(spec)["args"])
    with pytest.raises(click.UsageError, match="--watches"):
        parsed(["reconcile", "--watches"])


def test_the_unit_of_systemd_runs_what_gitplacer_takes_and_spares_git_its_signals() -> None:
    lines = [
        line for line in (ROOT / "deploy/systemd/gitplacer.service").read_text("utf-8").splitlines() if "=" in line
    ]
    program, *args = dict(line.split("=", 1) for line in lines)["ExecStart"].split()
    parsed(args)
    assert program in (ROOT / "docs/controller.md").read_text("utf-8").replace("/bin/pip", "/bin/gitplacer")
    assert "KillMode=mixed" in lines
    credentials, cache = (line.split("=", 2) for line in lines if line.startswith("Environment="))
    assert credentials[1:] == ["GITPLACER_CREDENTIALS", "/etc/gitplacer/credentials.yaml"]
    assert cache[1] == "GITPLACER_CACHE"
    assert f"CacheDirectory={Path(cache[2]).relative_to('/var/cache')}" in lines


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (ROOT / "deploy/systemd/gitplacer.service").read_text("utf-8")
    (tmp_path / "gitplacer.service").write_text(text.replace("/opt/gitplacer/bin/gitplacer", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "gitplacer.service")], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_variables_are_ones_that_gitplacer_reads(combinations: list[list[Json]]) -> None:
    known = {"TMPDIR", "HTTPS_PROXY"}
    for path in (ROOT / "gitplacer").rglob("*.py"):
        known |= set(re.findall(r"\b(?:GITPLACER|POD)_[A-Z_]+\b", path.read_text("utf-8")))
    for objects in combinations:
        for _, spec in pods(objects):
            assert {variable["name"] for variable in container(spec)["env"]} <= known


def test_secrets_are_files_that_gitplacer_trusts(combinations: list[list[Json]], tmp_path: Path) -> None:
    """Never variables, which every child process and every crash dump has; and never files that everybody can read."""
    for objects in combinations:
        for _, spec in pods(objects):
            found = container(spec)
            assert "envFrom" not in found
            assert "secretKeyRef" not in json.dumps(found)
            mounts = {mount["name"]: mount for mount in found["volumeMounts"]}
            for volume in spec["volumes"]:
                source = volume.get("secret") or volume.get("projected")
                if source is not None:
                    assert mounts[volume["name"]]["readOnly"] is True
                    assert "subPath" not in mounts[volume["name"]]  # such a file is never renewed
                    assert source["defaultMode"] == 0o440
            for arg in (*found["args"], *(variable.get("value", "") for variable in found["env"])):
                for file in re.findall(r"/etc/gitplacer/[^ =]+", arg):
                    assert any(file.startswith(f"{mount['mountPath']}/") for mount in mounts.values())
    mounted = tmp_path / "token"
    mounted.write_text("x")
    mounted.chmod(0o444)
    with pytest.raises(Exception, match="can read"):
        private_file(mounted, "token")


_VERBS = {"read": "get", "replace": "update", "create": "create", "patch": "patch", "delete": "delete", "list": "list"}
_CALL = re.compile(rf"({'|'.join(_VERBS)})_(?:namespaced_)?\w+")


def rights_asked() -> set[tuple[str, str, str]]:
    """(group, resource, verb) of every call of the official client in the whole package, by the paths that this client asks for."""
    import kubernetes.client as official

    asked = set()
    texts = [path.read_text("utf-8") for path in (ROOT / "gitplacer").rglob("*.py")]
    for text in texts:
        if "from kubernetes import" not in text:
            continue
        nodes = list(ast.walk(ast.parse(text)))
        names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        apis = [name for name in names if re.fullmatch(r"\w+V\d\w*Api", name)]
        calls = {
            node.func.attr
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _CALL.fullmatch(node.func.attr)
        }
        for api in apis:
            for call in calls:
                if hasattr(getattr(official, api), call):
                    group, resource = _path(getattr(official, api), call)
                    asked.add((group, resource, _VERBS[call.partition("_")[0]]))
    return asked


def _path(api: type, call: str) -> tuple[str, str]:
    """The group and the resource that a method of the client is about."""
    text = "".join(inspect.getsource(member) for name, member in vars(api).items() if call in name)
    found = re.search(r"'/apis/([a-z0-9.]+)/v\d\w*/namespaces/\{namespace\}/([a-z]+)", text)
    assert found is not None, call
    return found[1], found[2]


def test_the_controller_may_do_what_its_code_asks_for_and_nothing_else() -> None:
    """What the writer of snapshots may is held against its table in test_snapshot.py; it asks by plain addresses."""
    asked = rights_asked()
    for folder in CONTROLLERS:
        (role,) = of_kind(plain(folder), "Role")
        granted = {
            (group, resource, verb)
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        assert granted == asked
        (deployment,) = of_kind(plain(folder), "Deployment")
        args = container(deployment["spec"]["template"]["spec"])["args"]
        named = {name for rule in role["rules"] for name in rule.get("resourceNames", ())}
        assert {f"--leader-elect={name}" for name in named} <= set(args)
        assert not of_kind(plain(folder), "ClusterRole")


# -- kustomize ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl, which has kustomize in it")
@pytest.mark.parametrize("folder", sorted(set(SETS) - {EXAMPLE}))
def test_kustomize_takes_a_folder_as_it_is_and_puts_it_elsewhere(folder: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / folder, tmp_path / "base")
    assert _kustomized(tmp_path / "base") == _sorted(plain(folder))
    overlay = {
        "resources": ["base"],
        "namespace": "elsewhere",
        "images": [{"name": "gitplacer", "newName": "r.example.com/g"}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    for found in _kustomized(tmp_path):
        for subject in found.get("subjects", ()):
            assert subject["namespace"] == "elsewhere"
        if found["kind"] == "Deployment":
            assert container(found["spec"]["template"]["spec"])["image"] == f"r.example.com/g:{__version__}"


def _kustomized(folder: Path) -> list[Json]:
    done = subprocess.run(
        [str(KUBECTL), "kustomize", folder], capture_output=True, text=True, check=True, env={"HOME": str(folder)}
    )
    return _sorted(list(yaml.safe_load_all(done.stdout)))


def _sorted(objects: list[Json]) -> list[Json]:
    key: Callable[[Json], tuple[str, str]] = lambda found: (found["kind"], found["metadata"]["name"])  # noqa: E731
    return sorted(objects, key=key)


# -- for real -----------------------------------------------------------------------------------------------------


@pytest.mark.server
def test_the_deployments_own_command_watches_answers_probes_and_ends(tmp_path: Path) -> None:
    """With its arguments and variables, but for addresses, ports and what only a cluster has."""
    (deployment,) = of_kind(plain("deploy/several-replicas"), "Deployment")
    found = container(deployment["spec"]["template"]["spec"])
    fleet = make_repo(tmp_path / "fleet", starter())
    for name in ("cache", "hooks", "credentials"):
        (tmp_path / name).mkdir(mode=0o700)
    write(tmp_path, {"hooks/github": "0123456789abcdef", "credentials/credentials.yaml": NOTHING_SECRET})
    (tmp_path / "hooks/github").chmod(0o600)
    given = {
        "https://git.example.com/platform/fleet.git": str(fleet),
        "--metrics-listen=:8080": "--metrics-listen=127.0.0.1:0",
        "--hooks-listen=:8081": "--hooks-listen=127.0.0.1:0",
        "--hooks-secret-file=github=/etc/gitplacer/hooks/github": f"--hooks-secret-file=github={tmp_path}/hooks/github",
        "--leader-elect=gitplacer": f"--leader-elect=file:{tmp_path}/lease",
    }
    assert set(given) < set(found["args"])
    args = [given.get(arg, arg) for arg in found["args"] if arg != "--events"]
    places = {"/cache/gitplacer": f"{tmp_path}/cache/own", "/tmp": str(tmp_path)}
    places["/etc/gitplacer/credentials/credentials.yaml"] = f"{tmp_path}/credentials/credentials.yaml"
    environment = {each["name"]: places[each["value"]] for each in found["env"] if "value" in each}
    environment |= {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "gitplacer", *args, f"--deployment={make_bare(tmp_path / 'deployment.git')}"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            said: list[Json] = []
            while not [line for line in said if "turn" in line]:
                said.append(json.loads(running.stderr.readline()))
            places = dict(
                re.findall(r"(hooks|metrics) on (127\.0\.0\.1:\d+)", " ".join(line["message"] for line in said))
            )
            for probe in ("livenessProbe", "readinessProbe"):
                path = found[probe]["httpGet"]["path"]
                assert urllib3.request("GET", f"http://{places['metrics']}{path}").status == 200
            forged = urllib3.request("POST", f"http://{places['hooks']}/hooks/github", json={}, retries=False)
            assert forged.status == 401
        finally:
            running.terminate()
        assert running.wait() == 0
    assert said[-1]["outcome"] == "Published"


# -- what the docs tell people to paste ---------------------------------------------------------------------------

PAGE = (ROOT / "docs/in-a-cluster.md").read_text("utf-8")


def quoted(name: str) -> str:
    """A file that the page shows."""
    (found,) = re.findall(rf"<!-- file: {re.escape(name)} -->\n+```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_credentials_file_of_the_page_lets_in_where_the_page_goes(tmp_path: Path) -> None:
    for name in ("fleet-key", "deployment-key", "known_hosts"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o600)
    write(tmp_path, {"credentials.yaml": quoted("credentials.yaml")})
    known = Credentials.read(tmp_path / "credentials.yaml")
    for right, text, key in (
        (Right.READ, "ssh://git@github.com/my-org/my-fleet.git", "fleet-key"),
        (Right.WRITE, "ssh://git@github.com/my-org/my-fleet-deployment.git", "deployment-key"),
        (Right.READ, "git@github.com:my-org/my-fleet-deployment.git", "deployment-key"),
    ):
        login = known.login(Address.parse(text, base_dir=tmp_path), right)
        assert isinstance(login, SshLogin)
        assert login.key == tmp_path / key
    assert set(re.findall(r"--from-file=(\S+)", PAGE)) == {path.name for path in tmp_path.iterdir()}


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl, which has kustomize in it")
def test_the_overlay_of_the_page_is_what_its_helm_command_installs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deploy/manifests", tmp_path / "manifests")
    write(tmp_path, {"kustomization.yaml": quoted("kustomization.yaml")})
    (deployment,) = of_kind(_kustomized(tmp_path), "Deployment")
    found = container(deployment["spec"]["template"]["spec"])
    assert found["image"] == f"registry.example.com/gitplacer:{__version__}"
    parsed(found["args"])
    assert found["args"][2] == "ssh://git@github.com/my-org/my-fleet.git"
    installed = render(*(installs() if needs_helm.args[0] is False else []))
    for each in installed[:1]:
        assert each.error == ""
        (of_helm,) = of_kind(each.objects, "Deployment")
        helm = container(of_helm["spec"]["template"]["spec"])
        assert (helm["image"], sorted(helm["args"])) == (found["image"], sorted(found["args"]))
    assert [each.error for each in installed] == [""] * len(installed)


def installs() -> list[Json]:
    """The values of every `helm` command of the page; those of upgrades on top of the first."""
    found: list[Json] = []
    for command in re.findall(r"^helm (?:.*\\\n)*.*$", PAGE, re.MULTILINE):
        values: Json = json.loads(json.dumps(found[0])) if "--reuse-values" in command else {}
        for setting in re.findall(r"--set '?([^ '\n]+)", command):
            names, _, text = setting.partition("=")
            *path, last = names.split(".")
            place = values
            for name in path:
                place = place.setdefault(name, {})
            is_list = text.startswith("{")
            place[last] = text[1:-1].split(",") if is_list else {"true": True, "false": False}.get(text, text)
        found.append(values)
    assert len(found) == 4
    return found


def test_gitplacer_brings_the_writer_of_snapshots_to_every_cluster(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As the page has it: the same manifests on each, and the cluster's own name in them."""
    files: dict[str, str | bytes] = dict(starter())
    for folder in ("clusters", "capacity"):
        files[f"{folder}/static-cluster.yaml"] = files[f"{folder}/my-cluster.yaml"].replace(
            b"my-cluster", b"static-cluster"
        )  # type: ignore[arg-type]
    for path in (ROOT / "deploy/snapshot").glob("*.yaml"):
        if path.name != "kustomization.yaml":
            files[f"platform/gitplacer-snapshot/{path.name}"] = path.read_bytes()
    files["policies/gitplacer-snapshot.yaml"] = quoted("policies/gitplacer-snapshot.yaml")
    fleet, deployment = make_repo(tmp_path / "fleet", files), make_bare(tmp_path / "deployment.git")
    ran = run(capfd, "reconcile", "--now", NOW, "--deployment", deployment, fleet)
    assert ran.code == 0, ran.err
    for cluster in ("my-cluster", "static-cluster"):
        folder = f"main:clusters/{cluster}/platform/gitplacer-snapshot"
        text = git(deployment, "show", f"{folder}/deployment.yaml")
        found = container(yaml.safe_load(text)["spec"]["template"]["spec"])
        assert found["args"][2] == f"--cluster={cluster}"
        parsed(found["args"])
        assert git(deployment, "show", f"{folder}/rbac.yaml") == (ROOT / "deploy/snapshot/rbac.yaml").read_text("utf-8")


def test_ports_and_names_of_the_page_are_those_of_the_chart() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    assert f"port-forward deployment/gitplacer {values['report']['port']}" in PAGE
    assert values["credentials"]["secrets"] == re.findall(r"create secret generic (gitplacer-cred\S+)", PAGE)
    assert f"create secret generic {values['hooks']['secret']} " in PAGE
    ports = " and ".join(", ".join(map(str, values["networkPolicy"]["egressPorts"])).rsplit(", ", 1))
    assert f"ports {ports}" in PAGE
    assert f"`{values['networkPolicy']['metricsNamespace']}`" in PAGE
