"""
Reading and writing Git: objects, never a checkout; one push that is a compare-and-swap.

**Run git.** `program`: the one way in which git is started. `address`: what a repository may be called. `storing`, `scratch`: folders that git writes to.
`asking`: what servers are asked, for metrics.

**Get in.** `credentials`: the file that says what lets us in where. `login`, `credentialhelper`: what one run of git is given of that. `apptokens`: tokens of a
GitHub App. `secretfiles`: files that nobody else may read.

**Read.** `reading`: revisions, commits and trees. `mirror`: a remote repository's objects on disk. `objects`: one `git cat-file` that stays open.
`worktree`: files as they lie, before a commit. `indexfile`: whether its index was cut off. `nearpath`: which path was meant.

**Write.** `publishing`: the deployment repo. `newcommits`: commits from objects. `pushing`: the push, and what became of it. `ourbranches`: branches of ours beside
it. `notes`: notes on commits. `committing`: one commit on a branch of the source.

**Sign.** `signing`: signatures made and checked. `resigning`: commits signed after they are made. `believing`: signatures that were checked once.

**Remember.** `cache`: values computed from blobs. `listings`: what trees hold. `stamps`: files that were not touched since.
"""
