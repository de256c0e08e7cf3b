"""Problems of files and of the YAML in them."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code

CODES: Mapping[str, Code] = {
    # files
    "NotAFile": Code(
        "A path is a symbolic link, a submodule, or a named pipe",
        "The source is read as Git objects and never checked out, so there is nothing behind such a path; following "
        "links is how files outside a repository leak into it. A work tree may also have named pipes, sockets and devices, and to open one "
        "could wait for ever. Among clusters and policies, a link to one of them stops the run. Elsewhere outside of the workloads a link that leads "
        "out of the source, or a submodule, is a warning: Clusters and policies may be behind it. While there is one, a group stays as it is whose policy is "
        "nowhere, also where the policy was renamed, and the run stops where groups are on a cluster that is nowhere.",
        "Commit the files themselves. If nothing of the fleet is behind a link or a submodule, name it in `spec.source.exclude` of the Fleet.",
    ),
    "CaseTwin": Code(
        "Two paths differ only in upper and lower case, or in how letters are composed",
        "In Unicode the same \u00e9 is one character or two. Some file systems cannot hold both paths, so a clone of the repo may silently lack "
        "one. Two folders of a unit that differ only so are one there; the one in lower case counts.",
        "Rename one of them.",
    ),
    "OddPath": Code(
        "A path is not one that people give a file",
        "It has a character that cannot be seen or turns the writing direction, a backslash, a dot or a space at the end of a name, a "
        "name of more than 255 bytes, more than 4,096 bytes in all, more than 64 folders, or a folder that is `.git` to some file systems. "
        "Such a path is another one on another machine or before a reviewer's eyes. Or it ends in `.YAML`, `.Yml` or the like: Argo CD, Flux and "
        "kubectl pass over a file whose ending is not in lower case. The file is not read.",
        "Rename it.",
    ),
    "FileTooLarge": Code(
        "A file is larger than any manifest",
        "Kubernetes itself refuses objects beyond 1.5 MiB; a file of many megabytes is a mistake or an attack.",
        "Split the file, or keep data where the workload can fetch it.",
    ),
    "NotReadable": Code(
        "A file ended the process that parses files",
        "`reconcile --watch` parses files it has not seen before in a process of its own, which has 1 GiB of memory and, for each file, two "
        "minutes of a processor. A file that takes more, or on which this process ended twice, is taken for unreadable as long as the "
        "controller runs; other files are read.",
        "Make the file smaller and simpler, or take it out. No ordinary file does this: please report it.",
    ),
    "NotRendered": Code(
        "A directory or file is input of Kustomize, Helm or another tool",
        "gitplacer places finished manifests. Running Kustomize or Helm would execute what the source says. Nothing in such a directory is read. A file for Jsonnet "
        "or CUE, or a template by its ending (`.j2`, `.tpl`, `.tmpl`), is a warning: what is made of it may lie beside it.",
        "Render it in CI and commit the result, or point `--path` at the rendered copy. For example: "
        "`helm template my-release ./chart > workloads/my-namespace/my-release.yaml`. Sources of what is rendered belong outside of the paths of the Fleet.",
    ),
    # YAML
    "InvalidYAML": Code(
        "A file is not YAML",
        "What cannot be parsed cannot be placed, and guessing at it could lose objects.",
        "Correct the syntax at the position given; nothing of this file is used until then.",
    ),
    "InvalidCharacter": Code(
        "A file holds bytes or characters that YAML does not allow",
        "Kubernetes reads UTF-8; other encodings and control characters are refused by it or change meaning on the way.",
        "Save the file as UTF-8 without a byte order mark inside, and remove control characters.",
    ),
    "NotUTF8": Code(
        "A file is not UTF-8",
        "Kubernetes reads UTF-8; UTF-16 and other encodings look like something else to it, or like nothing.",
        "Save the file as UTF-8.",
    ),
    "TooManyFaults": Code(
        "A file or an object has more faults than are listed",
        "After a hundred faults the list would help nobody. Where only warnings are left out, this is one too.",
        "Mend the first ones; the rest is listed then.",
    ),
    "TabIndentation": Code(
        "A line is indented by a tab",
        "YAML does not allow tabs for indentation.",
        "Indent with spaces.",
    ),
    "ConflictMarkers": Code(
        "A merge conflict was committed",
        "Both sides of the conflict are in the file, so nobody knows which is meant.",
        "Resolve the conflict and remove the `<<<<<<<`, `=======` and `>>>>>>>` lines.",
    ),
    "LFSPointer": Code(
        "A file is a pointer of Git LFS",
        "The source is read as Git objects, and Git LFS keeps the content elsewhere. Nothing is downloaded.",
        "Commit the content itself: take the path out of `.gitattributes` and run `git add --renormalize`.",
    ),
    "UnrenderedTemplate": Code(
        "A file is a template",
        "`{{ … }}` where it makes the file invalid YAML means that a template engine was to run first; gitplacer runs none.",
        "Render it in CI and commit the result.",
    ),
    "DuplicateKey": Code(
        "A mapping has the same key twice",
        "YAML readers keep one of the two and do not agree on which; what is reviewed would not be what runs.",
        "Keep one of them.",
    ),
    "InvalidMerge": Code(
        "A merge key does not name a mapping",
        "`<<` takes the entries of another mapping, or of a list of them.",
        "Give it an alias of a mapping, or write the entries out.",
    ),
    "NonStringKey": Code(
        "A key is not a string",
        "Kubernetes objects are JSON, whose keys are strings; `1:` or `true:` would become something else on the way.",
        "Put the key in quotes.",
    ),
    "CustomTag": Code(
        "A value has a YAML tag",
        "Tags such as `!!python/object` or `!Ref` make a reader construct things; Kubernetes has no use for them.",
        "Write the value without its tag.",
    ),
    "NotJSON": Code(
        "A value does not exist in JSON",
        "Infinities, not-a-number and integers beyond 64 bits are lost or refused on the way to the API server.",
        "Write a finite number, or put it in quotes.",
    ),
    "UndefinedAlias": Code(
        "An alias names no anchor",
        "`*name` repeats what `&name` marked earlier in the same document, and there is no such mark.",
        "Define the anchor before it is used, or write the value out.",
    ),
    "RecursiveAlias": Code(
        "An alias contains itself",
        "The value would never end.",
        "Write the value out.",
    ),
    "TooDeep": Code(
        "Values are nested too deeply",
        "No Kubernetes object comes near the limit; deep nesting is used to crash parsers.",
        "Flatten the value.",
    ),
    "TooManyAliases": Code(
        "Aliases expand to too much",
        "A few hundred bytes of nested aliases can expand to gigabytes.",
        "Write values out, or repeat less.",
    ),
    "TooManyFiles": Code(
        "One owner has more workload files than one may have",
        "Whoever may write to some paths may fill them, and everybody would wait while that is read and placed. Files count in the order "
        "of their paths; those behind the bound are not used, and what was placed of them stays as it is. In a fleet without Tenants "
        "all workload files have one owner.",
        "Remove what is not needed, or split the fleet in two.",
    ),
    "TooManyDocuments": Code(
        "A file holds too many documents",
        "Files of thousands of documents are slow to review and to read.",
        "Split the file.",
    ),
    "TooLarge": Code(
        "A file or a value is too large",
        "Budgets keep one file from stopping everybody's placements.",
        "Split the file, or keep data where the workload can fetch it.",
    ),
    "NotAMapping": Code(
        "A document is not an object",
        "A Kubernetes object is a mapping with apiVersion, kind and metadata; an item of a List is one too.",
        "Correct the indentation, or remove the document.",
    ),
    "NotOneDocument": Code(
        "A file that must hold one document holds none or several",
        "A capacity snapshot and a record are one document each, in a file named after them.",
        "Split the file.",
    ),
}
