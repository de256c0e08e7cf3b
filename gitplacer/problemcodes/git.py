"""What git cannot do, and what of it ends a command."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Failure

FAILURES: Mapping[str, Failure] = {
    "BadAddress": Failure(
        "An address is not one that may be given to git: it could start a program, carries a password or, for https, a user name, which could be a token, or is not encrypted.",
        "Give a directory, `https://host/path`, `ssh://user@host/path` or `user@host:path`. For https, git asks the program "
        "named by `GIT_ASKPASS` or reads `~/.netrc`, for the user name too; for ssh use a key.",
    ),
    "NoSuchDirectory": Failure(
        "There is no such directory.",
        "Correct the path.",
    ),
    "NotARepository": Failure(
        "A directory is in no Git repository, and only commits can be read or written.",
        "`git init` there.",
    ),
    "NoSuchRevision": Failure(
        "The repository has no such branch, tag or commit, or no commit at all.",
        "Give one that it has; commit something first. In a shallow clone only few commits are there.",
    ),
    "NoSuchFolder": Failure(
        "The commit has no such folder.",
        "Correct `--path`.",
    ),
    "Unreachable": Failure(
        "A server did not answer, or not to us.",
        "Try `git ls-remote` with the same address. Questions are never asked: a key with a passphrase needs an agent, and the "
        "server's host key must be known.",
    ),
    "RateLimited": Failure(
        "A server is asked too often.",
        "Ask less often: a webhook instead of a short `--interval`.",
    ),
    "AccessDenied": Failure(
        "A server does not let this user read, or there is no such repository for it.",
        "Try `git ls-remote` with the same address and the same credentials.",
    ),
    "PushRefused": Failure(
        "A hook, branch protection or a missing permission is against the push, the branch is checked out there, or what was pushed could not be "
        "stored.",
        "Let this user push to the branch and to `gitplacer-inputs`, or choose another branch in the Fleet. Push to a bare "
        "repository.",
    ),
    "LostRace": Failure(
        "Others pushed to the deployment branch again and again while this pass was computed. Nothing was changed.",
        "Run it again. Let one job at a time write a deployment branch.",
    ),
    "ClockBehind": Failure(
        "The controller's clock is earlier than the pass before, so nothing is published.",
        "Set the clock. If it was the other pass that had a wrong clock, run `gitplacer reconcile --now TIME` once.",
    ),
    "DeploymentLost": Failure(
        "The deployment branch is gone, and passes were there. The controller does not make it again from nothing.",
        "Push its last commit to it again. To place everything anew, run `gitplacer reconcile --give-up COMMIT` once, with the commit "
        "that the message names.",
    ),
    "DeploymentRewound": Failure(
        "The deployment branch has lost commits that the controller has seen there.",
        "Push the missing commit again. If it was meant, run `gitplacer reconcile --give-up COMMIT` once, with the commit that the "
        "message names.",
    ),
    "SourceRewound": Failure(
        "The source has lost the commit that the last pass was made from.",
        "Push the missing commits again. If it was meant, record it with `git merge -s ours`, or run `gitplacer reconcile "
        "--give-up COMMIT` once, with the commit that the message names.",
    ),
    "NoSignedCommit": Failure(
        "The Fleet lists whose commits count, and there is none of which that is known: nobody who is listed has signed the first one, or "
        "the one that the last pass was made from is not to be had.",
        "Do what the hint says; see [Only signed commits of the fleet repo](../credentials.md#only-signed-commits-of-the-fleet-repo).",
    ),
    "ForeignCommit": Failure(
        "Somebody has committed to the branch `gitplacer/next/…`, on which a pass is proposed. It is not overwritten.",
        "Move the commit to another branch and delete this one; what is proposed there is computed anew.",
    ),
    "NotWritten": Failure(
        "A command that writes to the fleet repo (`move`, `return`, `suspend`, `resume`) would be in somebody's way: a file "
        "has changes that are not committed, the branch is checked out elsewhere, or git does not know who you are.",
        "Do what the hint says, name another branch with `--branch`, or print a patch with `--diff`.",
    ),
    "PathClash": Failure(
        "The deployment repo has a file where gitplacer needs a folder, or the other way round.",
        "Move it away in the deployment repo.",
    ),
    "DamagedRepository": Failure(
        "An object that the repository names is missing or damaged, or a ref is.",
        "`git fsck` says which; clone it anew, or do what the hint says.",
    ),
    "BlobTooLarge": Failure(
        "A file in Git is larger than anything gitplacer reads.",
        "Take it out of the directories that are read.",
    ),
    "TooMuch": Failure(
        "A repository brings more bytes than are taken, has more than a million files, or a git command prints more than 512 "
        "MiB.",
        "Point `--path` at the folder that is to be read. If a repository has grown beyond 8 GiB in good faith, take more: "
        "`GITPLACER_GIT_LIMIT=20Gi`.",
    ),
    "MalformedTree": Failure(
        "A commit has a path that git itself refuses, such as one with `..` or `.git` in it.",
        "Nobody makes such a commit by accident: find out where it came from.",
    ),
    "MalformedObject": Failure(
        "A server sent an object that no git makes, such as a folder with one name twice. Nothing of what it sent is used.",
        "Nobody makes such a commit by accident: find out where it came from, and take it out of the history.",
    ),
    "Unreadable": Failure(
        "A file of the work tree cannot be read.",
        "Check its permissions.",
    ),
    "ChangedWhileReading": Failure(
        "A file of the work tree changed while it was read.",
        "Try again.",
    ),
    "UnsupportedObjectFormat": Failure(
        "The repository uses SHA-256 object names.",
        "Use one with SHA-1 names.",
    ),
    "BadTimeout": Failure(
        "`GITPLACER_GIT_TIMEOUT` is no time.",
        'Give one such as `"30m"`, or unset it.',
    ),
    "BadLimit": Failure(
        "`GITPLACER_GIT_LIMIT` is no amount of bytes.",
        "Give one such as `20Gi`, or unset it.",
    ),
    "NotStored": Failure(
        "The cache, or the directory for temporary files, cannot be written to: its disk is full or read-only, or a file there is somebody "
        "else's.",
        "Make room, or name another directory: `GITPLACER_CACHE` for the cache, which may be deleted at any time, and `TMPDIR`.",
    ),
    "UntrustedCache": Failure(
        "The cache directory can be written by others, or cannot be made.",
        "Set `GITPLACER_CACHE` to a directory of your own.",
    ),
    "NotSigned": Failure(
        "Commits are to be signed, and the key is not there, cannot be used, or wants a passphrase. Nothing was pushed.",
        "Do what the hint says; see [Signed commits](../credentials.md#signed-commits).",
    ),
    "NoCredential": Failure(
        "There is a credentials file, and nothing in it lets us in there for that purpose.",
        "Add an entry: see [Credentials](../credentials.md#a-credentials-file).",
    ),
    "NoToken": Failure(
        "The host gave no token to the GitHub App.",
        "Check the app's number, its key, the number of the installation, and what the app is allowed to do.",
    ),
    "ExposedSecret": Failure(
        "A file with a secret can be read by others, or a credentials file can be written by others.",
        "Take those rights away: `chmod 600`.",
    ),
    "UnusableSecret": Failure(
        "A file with a secret is not there, cannot be read, or does not hold one line of eight or more characters.",
        "Check the path, and that nothing else stands in it.",
    ),
    "GitMissing": Failure(
        "There is no git program on PATH.",
        "Install git.",
    ),
    "GitFailed": Failure(
        "Git failed in a way that has no name of its own; the message is what git said.",
        "Read the message.",
    ),
}
"""By the kind of a `GitError`."""
