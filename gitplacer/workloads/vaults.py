"""
Operators that bring Secrets of a vault elsewhere, and how they get in there: External Secrets, HashiCorp's, 1Password's, Infisical's and others;
and what else makes a Secret and no pods, as a user of a Kafka or a bucket.

What such an object makes is a Secret, which pods name; what it names in turn, as a store, an account or a generator, goes along where the source has
it, and is not missed where it has not: it may as well be there for all.
Sources: the API references of external-secrets.io, of the Vault Secrets Operator (secrets.hashicorp.com/v1beta1), of 1Password's and of Infisical's operator;
of Doppler's (managedSecret), Bitwarden's sm-operator, akv2k8s (output.secret) and sops-secrets-operator (secretTemplates); of Strimzi's User Operator and of
lib-bucket-provisioner, which give what they make the name of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from gitplacer.documents import Cursor
from gitplacer.workloads.claims import storage_class
from gitplacer.workloads.facts import ObjectFacts, Reference, distinct
from gitplacer.workloads.podtemplate import named
from gitplacer.workloads.pointing import local

_EXTERNAL_SECRETS = "external-secrets.io"
_GENERATORS = "generators.external-secrets.io"
_HASHICORP = "secrets.hashicorp.com"

GENERATORS = (
    "ACRAccessToken", "CloudsmithAccessToken", "ECRAuthorizationToken", "Fake", "GCRAccessToken", "GithubAccessToken", "Grafana", "Password",
    "QuayAccessToken", "SSHKey", "STSSessionToken", "UUID", "VaultDynamicSecret", "Webhook",
)  # fmt: skip
"""Kinds from which an ExternalSecret may have a value made, such as a token for a registry."""
_ACCOUNTS = ("serviceAccount", "irsaServiceAccount", "workloadIdentityServiceAccount")
"""Where the methods of a VaultAuth name a ServiceAccount."""


def optional(found: Iterator[Reference]) -> Iterator[Reference]:
    """References to what goes along where it is ours."""
    for each in found:
        yield replace(each, optional=True)


# External Secrets


def stores_of(spec: Cursor) -> Iterator[Reference]:
    """The SecretStores and generators of an ExternalSecret; a ClusterSecretStore or ClusterGenerator is none of a namespace."""
    sources = [each.mapping("sourceRef") for key in ("data", "dataFrom") for each in spec.items(key)]
    for store in (spec.mapping("secretStoreRef"), *(source.mapping("storeRef") for source in sources)):
        if store.text("kind", "SecretStore") == "SecretStore":
            yield from optional(named(store, "SecretStore", api_group=_EXTERNAL_SECRETS))
    for generator in (source.mapping("generatorRef") for source in sources):
        if (kind := generator.text("kind")) in GENERATORS:
            yield from optional(named(generator, kind, api_group=_GENERATORS))


def _secret_store(root: Cursor) -> ObjectFacts:
    """The accounts and Secrets by which it comes in, wherever its provider has them."""
    return ObjectFacts(needs=distinct(optional(_credentials(root, root.mapping("spec").mapping("provider")))))


def _generator(root: Cursor) -> ObjectFacts:
    return ObjectFacts(needs=distinct(optional(_credentials(root, root.mapping("spec")))))


def _credentials(root: Cursor, owner: Cursor) -> Iterator[Reference]:
    for key, below in owner.value.items():
        if isinstance(below, dict):
            inner = owner.mapping(key)
            kind = (
                "ServiceAccount"
                if key == "serviceAccountRef"
                else "Secret"
                if key.lower().endswith("secretref")
                else ""
            )
            if kind and isinstance(below.get("name"), str):
                yield from local(root, inner, kind)
            else:
                yield from _credentials(root, inner)


# HashiCorp's Vault Secrets Operator


def _vault_secret(root: Cursor) -> ObjectFacts:
    """It makes its Secret where it is told to create it, and else fills one that somebody else makes."""
    spec = root.mapping("spec")
    destination = spec.mapping("destination")
    secret, needs = distinct(named(destination, "Secret")), distinct(_in_vault(root, spec, "vaultAuthRef", "VaultAuth"))
    if destination.boolean("create"):
        return ObjectFacts(provides=secret, needs=needs)
    return ObjectFacts(points_at=secret, needs=needs, watches=True)


def _vault_auth(root: Cursor) -> ObjectFacts:
    """The connection, and whoever it comes in as, by whichever method; a Secret is named there by a word alone."""
    spec = root.mapping("spec")
    methods = [spec.mapping(key) for key, below in spec.value.items() if isinstance(below, dict)]
    accounts = (found for each in methods for key in _ACCOUNTS for found in named(each, "ServiceAccount", key))
    secrets = (found for each in methods for found in named(each, "Secret", "secretRef"))
    connection = _in_vault(root, spec, "vaultConnectionRef", "VaultConnection")
    return ObjectFacts(needs=distinct([*connection, *optional(accounts), *optional(secrets)]))


def _vault_connection(root: Cursor) -> ObjectFacts:
    return ObjectFacts(needs=distinct(optional(named(root.mapping("spec"), "Secret", "caCertSecretRef"))))


def _in_vault(root: Cursor, spec: Cursor, key: str, kind: str) -> Iterator[Reference]:
    """What `name` or `namespace/name` names, if it is in the namespace of the object."""
    own = root.mapping("metadata").text("namespace")
    namespace, _, name = spec.text(key).rpartition("/")
    if name and (not own or namespace in ("", own)):
        elsewhere = "" if namespace == own else namespace
        yield Reference(_HASHICORP, kind, name, optional=True, namespace=elsewhere, path=(*spec.path, key))


# Others


def _item(root: Cursor) -> ObjectFacts:
    """It makes a Secret of its own name."""
    return ObjectFacts(provides=distinct(named(root.mapping("metadata"), "Secret")))


def _infisical_secret(root: Cursor) -> ObjectFacts:
    """It makes Secrets in any namespace; those of its own are meant here."""
    spec, own = root.mapping("spec"), root.mapping("metadata").text("namespace")
    made = (spec.mapping("managedSecretReference"), *spec.items("managedKubeSecretReferences"))
    here = (each for each in made if not own or each.text("secretNamespace", own) == own)
    return ObjectFacts(provides=distinct(found for each in here for found in named(each, "Secret", "secretName")))


def _doppler_secret(root: Cursor) -> ObjectFacts:
    """It makes its Secret where it is told to, which mostly is its own namespace, as the token is."""
    spec, own = root.mapping("spec"), root.mapping("metadata").text("namespace")
    made, token = spec.mapping("managedSecret"), spec.mapping("tokenSecret")
    provides = named(made, "Secret") if not own or made.text("namespace", own) == own else ()
    needs = named(token, "Secret") if not own or token.text("namespace", own) == own else ()
    return ObjectFacts(provides=distinct(provides), needs=distinct(optional(iter(needs))))


def _bitwarden_secret(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    token = named(spec.mapping("authToken"), "Secret", "secretName")
    return ObjectFacts(provides=distinct(named(spec, "Secret", "secretName")), needs=distinct(optional(token)))


def _key_vault_secret(root: Cursor) -> ObjectFacts:
    output = root.mapping("spec").mapping("output")
    kinds = (("secret", "Secret"), ("configMap", "ConfigMap"))
    return ObjectFacts(provides=distinct(found for key, kind in kinds for found in named(output.mapping(key), kind)))


def _sops_secret(root: Cursor) -> ObjectFacts:
    """The names may be encrypted too; then nobody knows them."""
    made = (found for each in root.mapping("spec").items("secretTemplates") for found in named(each, "Secret"))
    return ObjectFacts(provides=distinct(found for found in made if not found.name.startswith("ENC[")))


def _bucket_claim(root: Cursor) -> ObjectFacts:
    """It gets the keys of its bucket in a Secret, and where that is in a ConfigMap."""
    metadata = root.mapping("metadata")
    made = (found for kind in ("ConfigMap", "Secret") for found in named(metadata, kind))
    return ObjectFacts(provides=distinct(made), needs=distinct(storage_class(root.mapping("spec"))))


READERS: Mapping[tuple[str, str], Callable[[Cursor], ObjectFacts]] = {
    (_EXTERNAL_SECRETS, "SecretStore"): _secret_store,
    **{(_GENERATORS, kind): _generator for kind in GENERATORS},
    (_HASHICORP, "VaultAuth"): _vault_auth,
    (_HASHICORP, "VaultConnection"): _vault_connection,
    (_HASHICORP, "VaultDynamicSecret"): _vault_secret,
    (_HASHICORP, "VaultPKISecret"): _vault_secret,
    (_HASHICORP, "VaultStaticSecret"): _vault_secret,
    ("isindir.github.com", "SopsSecret"): _sops_secret,
    ("k8s.bitwarden.com", "BitwardenSecret"): _bitwarden_secret,
    ("kafka.strimzi.io", "KafkaUser"): _item,
    ("objectbucket.io", "ObjectBucketClaim"): _bucket_claim,
    ("onepassword.com", "OnePasswordItem"): _item,
    ("secrets.doppler.com", "DopplerSecret"): _doppler_secret,
    ("secrets.infisical.com", "InfisicalSecret"): _infisical_secret,
    ("spv.no", "AzureKeyVaultSecret"): _key_vault_secret,
}
"""(API group, kind) to its reader. ExternalSecret, which nobody may declare otherwise, is among the `pointers`."""
