# What steps give to later ones and show to people. To be sourced.
#
# What a plan says comes from manifests, and a manifest may hold anything. So a value of several lines ends at a mark that
# nobody can guess, a log is shown while the runner takes no commands from it, and what is too long is cut between lines.

LIMIT=${LIMIT:-1000000} # bytes; GitHub takes 1 MiB of a summary or of outputs, and nothing of one that is longer

unguessable() { # another word each time
  printf 'end-%s' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
}

give() { # name, value: an output of this step
  local mark
  mark=$(unguessable)
  printf '%s<<%s\n%s\n%s\n' "$1" "$mark" "$2" "$mark" >> "$GITHUB_OUTPUT"
}

show() { # file: its lines in the log, none of which is a command
  local mark
  mark=$(unguessable)
  printf '::stop-commands::%s\n' "$mark"
  cat -- "$1"
  printf '\n::%s::\n' "$mark"
}

within() { # file: as many of its lines as fit, and a word where that is not all
  if [ "$(wc -c < "$1")" -le "$LIMIT" ]; then
    cat -- "$1"
  else
    head -c "$LIMIT" -- "$1" | sed '$d'
    printf '\n**The rest is left out here**, because there is a largest size.\n'
  fi
}

summarise() { # file: Markdown for the page of the run
  within "$1" >> "$GITHUB_STEP_SUMMARY"
}

as_code() { # text from stdin as a block of code in Markdown, whatever is in it
  sed 's/^/    /'
}
