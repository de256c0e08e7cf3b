# Lets git ask for GIT_TOKEN where a repository wants a password. To be sourced; the token is gone from disk when the step ends.
#
# gitplacer hands no variable of ours on to git, so the token lies in a file that only this user can read.

if [ -n "${GIT_TOKEN:-}" ]; then
  credentials=$(mktemp -d "$RUNNER_TEMP/gitplacer-git.XXXXXX")
  trap 'rm -rf -- "$credentials"' EXIT
  (umask 077 && printf '%s\n' "$GIT_TOKEN" > "$credentials/token")
  cat > "$credentials/ask" << 'ASK'
#!/bin/sh
case $1 in
  Username*) echo x-access-token ;;
  *) cat "${0%/*}/token" ;;
esac
ASK
  chmod 700 "$credentials/ask"
  export GIT_ASKPASS="$credentials/ask"
fi
unset GIT_TOKEN
