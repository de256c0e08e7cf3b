"""
The published rules of the kinds that engines are told with, as far as we use them.

Fields, types, choices and patterns of the CRDs of Argo CD 3 and Flux 2.9, put down here from their reference pages: what stands here is
allowed, and nothing else, so a misspelt field is found as `kubectl apply --validate=strict` would find it. A name with `!` must be
there; a set is a choice, a list of one is a list of such, a str is a pattern of a string, and a type is itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

NAME = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
DURATION = r"([0-9]+(\.[0-9]+)?(ms|s|m|h))+"
SCHEMED = r"(http|https|ssh)://.*"
TEXT = r"(?s).*"
REF = {"name!": NAME}

_METADATA = {"name!": NAME, "namespace!": NAME, "labels": dict, "annotations": dict}
_GROUP_KIND = [{"group!": TEXT, "kind!": TEXT, "name": TEXT}]
_TEMPLATE = {
    "metadata!": {"name!": TEXT, "labels": dict, "annotations": dict, "finalizers": [TEXT]},
    "spec!": {
        "project!": TEXT,
        "source!": {
            "repoURL!": TEXT,
            "targetRevision": TEXT,
            "path": TEXT,
            "chart": TEXT,
            "directory": {"recurse": bool, "include": TEXT, "exclude": TEXT, "jsonnet": dict},
            "helm": {"releaseName": TEXT, "values": TEXT, "valuesObject": dict, "skipCrds": bool},
        },
        "destination!": {"name": TEXT, "server": TEXT, "namespace": TEXT},
        "ignoreDifferences": [
            {
                "group": TEXT,
                "kind!": TEXT,
                "name": TEXT,
                "namespace": TEXT,
                "jsonPointers": [TEXT],
                "jqPathExpressions": [TEXT],
                "managedFieldsManagers": [TEXT],
            }
        ],
        "syncPolicy": {
            "automated": {"prune": bool, "selfHeal": bool, "allowEmpty": bool, "enabled": bool},
            "syncOptions": [r"[A-Z][A-Za-z]+=(true|false|foreground|background|orphan)"],
            "retry": {
                "limit": int,
                "refresh": bool,
                "backoff": {"duration": DURATION, "factor": int, "maxDuration": DURATION},
            },
        },
    },
}
_LIST = {"elements!": [dict]}
_GIT = {
    "repoURL!": TEXT,
    "revision!": TEXT,
    "requeueAfterSeconds": int,
    "directories": [{"path!": TEXT, "exclude": bool}],
    "pathParamPrefix": TEXT,
}
_SELECTOR = {
    "matchLabels": dict,
    "matchExpressions": [{"key!": TEXT, "operator!": {"In", "NotIn", "Exists", "DoesNotExist"}, "values": [TEXT]}],
}
_ONE = {"list": _LIST, "git": _GIT, "clusters": {"selector": _SELECTOR, "values": dict}}
_KUSTOMIZATION = {
    "interval!": DURATION,
    "retryInterval": DURATION,
    "timeout": DURATION,
    "path": TEXT,
    "prune!": bool,
    "wait": bool,
    "force": bool,
    "suspend": bool,
    "targetNamespace": NAME,
    "deletionPolicy": {"MirrorPrune", "Delete", "WaitForTermination", "Orphan"},
    "dependsOn": [{"name!": NAME, "namespace": NAME, "readyExpr": TEXT}],
    "sourceRef!": {
        "kind!": {"OCIRepository", "GitRepository", "Bucket", "ExternalArtifact"},
        "name!": NAME,
        "namespace": NAME,
    },
    "decryption": {"provider!": {"sops"}, "secretRef": REF},
    "kubeConfig": {"secretRef": {"name!": NAME, "key": TEXT}, "configMapRef": REF},
    "healthCheckExprs": [
        {"apiVersion!": TEXT, "kind!": TEXT, "current!": TEXT, "failed": TEXT, "inProgress": TEXT}
    ],
    "ignore": [
        {
            "paths!": [r"(/[^/]+)+"],
            "target": {
                "group": TEXT, "version": TEXT, "kind": TEXT, "name": TEXT, "namespace": TEXT,
                "labelSelector": TEXT, "annotationSelector": TEXT,
            },
        }
    ],
}  # fmt: skip
_CRDS = {"Skip", "Create", "CreateReplace"}

RULES: Mapping[tuple[str, str], Any] = {
    ("argoproj.io/v1alpha1", "ApplicationSet"): {
        "goTemplate": bool,
        "goTemplateOptions": [TEXT],
        "generators!": [{**_ONE, "matrix": {"generators!": [_ONE]}}],
        "syncPolicy": {
            "preserveResourcesOnDeletion": bool,
            "applicationsSync": {"create-only", "create-update", "create-delete", "sync"},
        },
        "template!": _TEMPLATE,
    },
    ("argoproj.io/v1alpha1", "AppProject"): {
        "description": r".{0,255}",
        "sourceRepos": [TEXT],
        "destinations": [{"name": TEXT, "server": TEXT, "namespace": TEXT}],
        "clusterResourceWhitelist": _GROUP_KIND,
        "clusterResourceBlacklist": _GROUP_KIND,
        "namespaceResourceWhitelist": _GROUP_KIND,
        "namespaceResourceBlacklist": _GROUP_KIND,
    },
    ("source.toolkit.fluxcd.io/v1", "GitRepository"): {
        "interval!": DURATION,
        "timeout": r"([0-9]+(\.[0-9]+)?(ms|s|m))+",
        "url!": SCHEMED,
        "ref": {"branch": TEXT, "tag": TEXT, "semver": TEXT, "name": TEXT, "commit": TEXT},
        "secretRef": REF,
    },
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"): _KUSTOMIZATION,
    ("source.toolkit.fluxcd.io/v1", "HelmRepository"): {
        "interval": DURATION,
        "url!": r"(http|https|oci)://.*",
        "type": {"default", "oci"},
        "secretRef": REF,
    },
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease"): {
        "interval!": DURATION,
        "timeout": DURATION,
        "releaseName": r"[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?",
        "targetNamespace": NAME,
        "storageNamespace": NAME,
        "chart": {
            "spec!": {
                "chart!": TEXT,
                "version": TEXT,
                "interval": DURATION,
                "sourceRef!": {
                    "kind!": {"HelmRepository", "GitRepository", "Bucket"},
                    "name!": TEXT,
                    "namespace": NAME,
                },
            }
        },
        "install": {"crds": _CRDS, "createNamespace": bool, "remediation": {"retries": int}},
        "upgrade": {"crds": _CRDS, "remediation": {"retries": int}},
        "values": dict,
    },
}


def broken(document: Mapping[str, Any]) -> list[str]:
    """Where an object breaks the rules of its kind; the kinds of Kubernetes itself are not judged here."""
    key = document.get("apiVersion", ""), document.get("kind", "")
    if key == ("v1", "ConfigMap"):
        return []
    if key not in RULES:
        return [f"{key} is no kind that is known"]
    whole = {"apiVersion!": str, "kind!": str, "metadata!": _METADATA, "spec!": RULES[key]}
    return list(_breaks(document, whole, ""))


def _breaks(value: Any, rule: Any, at: str) -> Iterator[str]:
    if isinstance(rule, type):
        if not isinstance(value, rule) or (rule is int and isinstance(value, bool)):
            yield f"{at} is no {rule.__name__}: {value!r}"
    elif isinstance(rule, set):
        if value not in rule:
            yield f"{at} is none of {sorted(rule)}: {value!r}"
    elif isinstance(rule, str):
        if not isinstance(value, str) or re.fullmatch(rule, value) is None:
            yield f"{at} does not match {rule}: {value!r}"
    elif isinstance(rule, list):
        if not isinstance(value, list):
            yield f"{at} is no list: {value!r}"
        else:
            for index, item in enumerate(value):
                yield from _breaks(item, rule[0], f"{at}[{index}]")
    elif not isinstance(value, Mapping):
        yield f"{at} is no mapping: {value!r}"
    else:
        fields = {name.removesuffix("!"): inner for name, inner in rule.items()}
        yield from (f"{at}.{name} is missing" for name in fields if f"{name}!" in rule and name not in value)
        for name, item in value.items():
            if name not in fields:
                yield f"{at}.{name} is no field"
            else:
                yield from _breaks(item, fields[name], f"{at}.{name}")
