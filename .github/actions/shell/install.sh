# Puts gitplacer on the PATH of later steps, in an environment of its own.
#
# Without VERSION and PIP_SPEC it is installed from the repository of this action, at the commit that the workflow pins: what
# runs is what was pinned. Reads PYTHON, VERSION, PIP_SPEC, EXTRAS.
set -euo pipefail

refuse() {
  printf '::error title=gitplacer::%s\n' "$1"
  exit 1
}

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  refuse "needs Python 3.11 or newer: put actions/setup-python before it, or name one in the input python"
[[ $VERSION =~ ^([0-9][0-9A-Za-z.+!-]*)?$ ]] || refuse "the input version is no version"
[[ $EXTRAS =~ ^[a-z,]*$ ]] || refuse "the input extras is no list of names"
extras=${EXTRAS:+[$EXTRAS]}
if [ -n "$PIP_SPEC" ]; then
  spec=$PIP_SPEC
elif [ -n "$VERSION" ]; then
  spec="gitplacer$extras==$VERSION"
else
  spec="$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)$extras"
fi

venv="$RUNNER_TEMP/gitplacer-program"
if [ "$(cat "$venv/installed" 2> /dev/null || true)" != "$spec" ]; then
  "$PYTHON" -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -- "$spec"
  printf '%s\n' "$spec" > "$venv/installed"
fi
printf '%s\n' "$venv/bin" >> "$GITHUB_PATH"
