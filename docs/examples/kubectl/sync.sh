#!/bin/sh
# Bring a cluster to what the deployment repo says, with git and kubectl and nothing else.
#
#   sync.sh [-a] [-n] [-b BRANCH] [-r ROOT] [-s NAMESPACE] REPO CLUSTER [CONTEXT]
#
#   REPO       the deployment repo, an address or a path, as git takes it
#   CLUSTER    the cluster's name in the fleet
#   CONTEXT    the kubeconfig's context for it; the cluster's name if not given
#   -a         apply every file, also those that have not changed, against edits by hand
#   -n         say what would be done, and do nothing
#   -b, -r, -s spec.deployment.branch, spec.deployment.root and spec.systemNamespace of the Fleet: main, clusters, gitplacer
#
# What is deleted is what an earlier run applied, the files of the new commit no longer name, and Git proves it: which commits were
# applied stands in the cluster, in the ConfigMap gitplacer-sync, written before a run begins and again when it has ended. So a run that was
# killed is made good by the next one, from whatever machine. Namespaces and definitions of kinds are never deleted.
#
# Exit: 0 the cluster is as the commit says, 1 it is not yet, or may not be touched; run it again when the reason is gone.
set -eu
export LC_ALL=C
# Not those of a hook or a job that runs this.
# shellcheck disable=SC2046 # names of variables
unset $(git rev-parse --local-env-vars)

say() { printf '%s\n' "$cluster: $*" >&2; }
stop() {
    say "error: $1"
    printf '  hint: %s\n' "$2" >&2
    exit 1
}
usage() {
    echo 'usage: sync.sh [-a] [-n] [-b BRANCH] [-r ROOT] [-s NAMESPACE] REPO CLUSTER [CONTEXT]' >&2
    exit 1
}

all='' look='' branch=main root=clusters namespace=gitplacer
while getopts anb:r:s: option; do
    case $option in
    a) all=yes ;;
    n) look=yes ;;
    b) branch=$OPTARG ;;
    r) root=$OPTARG ;;
    s) namespace=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 2 ] || [ $# -eq 3 ] || usage
repo=$1 cluster=$2 context=${3:-$2}
case $cluster in '' | .* | */*) usage ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/new" "$work/changed" "$work/old"

kube() { kubectl --context "$context" "$@"; }
read_key() { kube --namespace "$namespace" get configmap "$1" --ignore-not-found --output "jsonpath={.data.$2}"; }
# A link in the repo is written as a text, never followed.
bare() { git --git-dir "$work/repo" -c core.symlinks=false "$@"; }
# Files of COMMIT's directory of the cluster, whose names come in between NULs, into a directory.
write_out() { (cd "$2" && GIT_INDEX_FILE=$work/index bare --work-tree . read-tree "$1:$root/$cluster" &&
    GIT_INDEX_FILE=$work/index bare --work-tree . checkout-index --force -z --stdin); }
# Names of files of COMMIT's directory, between NULs: those that FILTER lets through of the changes since OTHER.
changes() { bare diff-tree -r -z --name-only --no-renames --diff-filter="$3" "$1:$root/$cluster" "$2:$root/$cluster"; }
names() { bare ls-tree -r -z --name-only "$1:$root/$cluster"; }
has_manifests() { [ -d "$1" ] && [ -n "$(find "$1" -type f \( -name '*.yaml' -o -name '*.yml' -o -name '*.json' \) | head -n 1)" ]; }
# The objects in the cluster that the files below a directory name: a line for each, its uid and what `kubectl delete` needs to find it.
# shellcheck disable=SC2016 # $o is the template's
OBJECT='{{define "o"}}{{.metadata.uid}} {"apiVersion":"{{.apiVersion}}","kind":"{{.kind}}","metadata":{"name":"{{.metadata.name}}"{{with .metadata.namespace}},"namespace":"{{.}}"{{end}}}}
{{end}}{{if .items}}{{range .items}}{{template "o" .}}{{end}}{{else if .metadata.name}}{{template "o" .}}{{end}}'
objects() {
    ! has_manifests "$1" ||
        kube get --ignore-not-found --recursive --filename "$1" --output go-template="$OBJECT"
}

# 1. What is wanted, and whether it is whole: each part of a cluster's directory has a ConfigMap that never goes.
git clone --quiet --bare --single-branch --branch "$branch" -- "$repo" "$work/repo" ||
    stop "cannot read branch $branch of the deployment repo" 'see what git says above; nothing was touched'
tip=$(bare rev-parse --verify "refs/heads/$branch^{commit}")
for unit in platform workloads; do
    bare cat-file -e "$tip:$root/$cluster/$unit/gitplacer.yaml" 2>/dev/null ||
        stop "there is no $root/$cluster/$unit/gitplacer.yaml in commit $tip" \
            "clusters there: $(bare ls-tree --name-only "$tip:$root" 2>/dev/null | tr '\n' ' '); nothing was touched"
done

# 2. What this cluster is, and what was applied to it.
found=$(read_key gitplacer-workloads cluster)
found=${found:-$(read_key gitplacer-sync cluster)}
[ -z "$found" ] || [ "$found" = "$cluster" ] ||
    stop "context $context is cluster $found" 'give the context of this cluster; nothing was touched'
known=$(read_key gitplacer-sync commits)
for commit in $known; do
    [ "$commit" = none ] || bare merge-base --is-ancestor "$commit" "$tip" 2>/dev/null ||
        stop "commit $commit was applied to the cluster, and $tip does not come after it" \
            "is it the right repo and branch? if its history was rewritten, delete the ConfigMap $namespace/gitplacer-sync: the next run then applies everything and deletes nothing"
done
[ "$known" != "$tip" ] || [ -n "$all" ] || {
    say "is at $tip"
    exit 0
}

# 3. What has changed since any of it: the first commit is the one that was reached, the others were only begun.
names "$tip" >"$work/names"
write_out "$tip" "$work/new" <"$work/names"
if [ -z "$known" ] || [ "${known%% *}" = none ] || [ -n "$all" ]; then
    cp -R "$work/new/." "$work/changed"
fi
number=0
for commit in $known; do
    [ "$commit" != none ] || continue
    number=$((number + 1))
    mkdir "$work/old/$number"
    changes "$commit" "$tip" AMT >"$work/names"
    write_out "$tip" "$work/changed" <"$work/names"
    changes "$commit" "$tip" DMT >"$work/names"
    write_out "$commit" "$work/old/$number" <"$work/names"
done
# That a part is reached is said last.
mkdir -p "$work/last/platform" "$work/last/workloads"
for unit in platform workloads; do
    cp "$work/new/$unit/gitplacer.yaml" "$work/last/$unit"
    rm -f "$work/changed/$unit/gitplacer.yaml" "$work"/old/*/"$unit/gitplacer.yaml"
done

unclear="see what kubectl says above; where a kind is gone for good, delete what is left by hand and then the ConfigMap $namespace/gitplacer-sync"
# What earlier files of a part name and those of today do not. Where kubectl cannot tell, nothing is deleted.
doomed() {
    : >"$work/were"
    for old in "$work"/old/*/"$1"; do
        [ ! -d "$old" ] || objects "$old" >>"$work/were" || stop 'cannot tell what to delete' "$unclear"
    done
    : >"$work/doomed"
    [ -s "$work/were" ] || return 0
    objects "$work/new" >"$work/are" || stop 'cannot tell what to keep' "$unclear"
    cut -d ' ' -f 1 "$work/are" | sort -u >"$work/kept"
    sort -u "$work/were" | join -v 1 - "$work/kept" | cut -d ' ' -f 2- |
        sed -e '/"kind":"Namespace"/d' -e '/"kind":"CustomResourceDefinition"/d' >"$work/doomed"
}

if [ -n "$look" ]; then
    say "would go from ${known:-nothing} to $tip"
    (cd "$work/changed" && find . -type f | sed 's|^\./|  apply  |' | sort)
    for unit in workloads platform; do
        doomed "$unit"
        sed 's/^/  delete /' "$work/doomed"
    done
    exit 0
fi

put() { kube apply --server-side --force-conflicts --field-manager gitplacer-sync --recursive --filename "$1"; }
remember() {
    printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"gitplacer-sync","namespace":"%s"},"data":{"cluster":"%s","commits":"%s"}}' \
        "$namespace" "$cluster" "$1" >"$work/sync.json"
    put "$work/sync.json" >/dev/null
}
apply() { ! has_manifests "$1" || put "$1"; }
delete() {
    doomed "$1"
    [ ! -s "$work/doomed" ] ||
        kube delete --ignore-not-found --timeout 5m --filename - <"$work/doomed"
}

unapplied() {
    stop 'not everything could be applied, and nothing was deleted' \
        'mend what kubectl says above, and run it again; of a kind that is not known the operator is missing, such as KubeRay'
}

# 4. Write down what is begun, before anything is applied.
[ -n "$found" ] || {
    put "$work/new/platform/namespaces/$namespace.yaml"
    rm -f "$work/changed/platform/namespaces/$namespace.yaml"
}
begun="${known:-none} $tip"
case " $known " in *" $tip "*) begun=$known ;; esac
remember "$begun"

# 5. Platform first. What is of a kind that comes in the same run is tried once more when that kind is there.
apply "$work/changed/platform" || {
    kube wait --for condition=Established customresourcedefinition --all --timeout 1m || true
    apply "$work/changed/platform"
} || unapplied
apply "$work/changed/workloads" || unapplied
# Nothing is deleted before everything is applied; operators go after what they look after.
delete workloads
delete platform
apply "$work/last"
[ "$(read_key gitplacer-sync commits)" = "$begun" ] ||
    stop 'somebody else has begun to sync it meanwhile' 'let one thing at a time do this, and run it again'
remember "$tip"
say "is at $tip"
