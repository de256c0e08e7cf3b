// What can be looked at, one function each. A view is given the words and the settings of its address, and gives back its heading, its
// elements, and what is to be done once they are in the page.

const stalled = once(() => groups.filter((group) => group.stall));
const moves = events.filter((event) => event.kind === "Relocation");
const unwell = clusters.filter((each) => each.isWorkload && (each.state === "Lost" || each.state === "Draining" || ["Stale", "Missing", "Unusable"].includes(each.freshness)));

const VIEWS = {
  "": overview, clusters: clustersView, groups: groupsView, waiting: waitingView, timeline: timelineView, problems: problemsView, inputs: inputsView,
};

const NAV = [
  ["", "Overview", () => null], ["clusters", "Clusters", () => clusters.length], ["groups", "Groups", () => groups.length],
  ["waiting", "Waiting", () => stalled().length], ["timeline", "Timeline", () => moves.length],
  ["problems", "Problems", () => problems.length], ["inputs", "Inputs", () => null],
];

// overview

const ACTIONS = ["Keep", "Place", "Update", "Extend", "Relocate", "Remove", "Preempt", "Hold", "Wait"];
const DONE = {
  Keep: "stay as they are", Place: "are placed", Update: "are updated", Extend: "are extended", Relocate: "are relocated",
  Remove: "are removed", Preempt: "are sent back to waiting", Hold: "are held", Wait: "wait for room",
};

function overview() {
  const counts = new Map(ACTIONS.map((action) => [action, 0]));
  for (const group of groups) counts.set(group.action, (counts.get(group.action) ?? 0) + 1);
  const placed = groups.filter((group) => group.after.length).length;
  const waiting = stalled().filter((group) => group.stall === "Waiting").length;
  const errors = problems.filter((problem) => problem.severity === "error").length;
  const workload = clusters.filter((each) => each.isWorkload), open = workload.filter((each) => each.takesNew);
  const shut = workload.length - open.length;
  const without = shut ? `without ${counted(shut, "cluster")} that ${shut === 1 ? "takes" : "take"} nothing new` : "";
  const [offered, foreign, held] = [(each) => each.offered, (each) => each.foreign, (each) => each.held].map((of) =>
    open.reduce((sum, cluster) => addTo(sum, of(cluster)), new Float64Array(resources.length)));
  const device = deviceNumbers.find((i) => workload.some((cluster) => cluster.offered[i] > 0));
  const tiles = [
    tile(placed === 1 ? "group has a place" : "groups have a place", plain.format(placed), `of ${plain.format(groups.length)}`, place("groups")),
    tile(waiting === 1 ? "group waits" : "groups wait", plain.format(waiting), longestWait() || (stalled().length > waiting ? `${plain.format(stalled().length - waiting)} held or in part` : "all have their room"), place("waiting"), stalled().length > 0),
    device === undefined ? null : tile(`${shortName(resources[device])} free`, plain.format(Math.max(0, offered[device] - foreign[device] - held[device])), [`of ${plain.format(offered[device])}`, without].filter(Boolean).join(", "), `${place("clusters")}?by=Fullest`),
    tile(workload.length === 1 ? "cluster" : "clusters", plain.format(workload.length), unwell.length ? `${unwell.length} ${unwell.length === 1 ? "needs" : "need"} a look` : "all are well", place("clusters"), unwell.length > 0),
    errors ? tile(errors === 1 ? "error" : "errors", plain.format(errors), "what they are about stays as it is", place("problems"), true) : null,
  ].filter(Boolean);
  const list = h("ul", { class: "actions" }, [...counts].filter(([, count]) => count).map(([action, count]) =>
    h("li", {}, h("a", { href: `${place("groups")}?action=${action}` }, badge(action), h("span", {}, ` ${plain.format(count)} ${done(action, count)}`)))));
  return {
    title: "Overview",
    body: [
      h("ul", { class: "tiles" }, tiles),
      h("div", { class: "columns" },
        section("The next pass", groups.length ? list : h("p", { class: "note" }, "There are no groups yet."), raw.deployment ? null : h("p", { class: "note" }, "Nothing is placed yet: this shows what a first pass would do.")),
        raw.redacted ? null : section("Capacity", without ? h("p", { class: "note" }, `Counted ${without}.`) : null, h("div", { class: "meters" }, resources.map((_, i) => resourceLine(i, offered, foreign, held))), mapKey([["foreign", "pods of others"], ["held", "groups"]]))),
      stalled().length ? section("Waits or is held", shortWaits(), stalled().length > 5 ? h("p", {}, h("a", { href: place("waiting") }, `All ${plain.format(stalled().length)}`)) : null) : null,
      unwell.length ? section("Clusters that need a look", h("ul", { class: "rows" }, unwell.slice(0, 10).map((cluster) => h("li", {},
        clusterLink(cluster), " ", badge(cluster.state), " ", badge(cluster.freshness), h("span", { class: "muted" }, cluster.observed >= 0 ? ` seen ${timeText(cluster.observed)}` : " never seen"))))) : null,
      section("Clusters", h("ul", { class: "cards small" }, workload.slice(0, 60).map((cluster) => clusterCard(cluster))),
        workload.length > 60 ? h("p", {}, h("a", { href: place("clusters") }, `All ${plain.format(clusters.length)} clusters`)) : null),
      moves.length ? section("Latest relocations", h("ol", { class: "rows" }, moves.slice(0, 5).map(moveLine))) : null,
    ],
  };
}

function done(action, count) {
  const many = of(DONE, action) ?? "";
  return count === 1 ? many.replace("are ", "is ").replace("stay as they are", "stays as it is").replace("wait ", "waits ") : many;
}

function tile(what, number, more, href, alert = false) {
  return h("li", { class: alert ? "alert" : null }, h("a", { href },
    h("strong", {}, number), h("span", { class: "what" }, ` ${what}`), more ? h("span", { class: "more" }, more) : null));
}

function longestWait() {
  const since = groups.reduce((least, group) => (group.waiting >= 0 && group.waiting < least ? group.waiting : least), Infinity);
  return since === Infinity ? "" : `the longest for ${spanText(raw.now - since)}`;
}

function shortWaits() {
  const first = [...stalled()].sort((a, b) => (a.waiting < 0) - (b.waiting < 0) || a.waiting - b.waiting || compare(a.name, b.name)).slice(0, 5);
  return h("ul", { class: "rows" }, first.map((group) => h("li", {}, groupNamed(group.name), " ", badge(group.stall),
    h("span", { class: "muted" }, group.waiting >= 0 ? ` for ${spanText(raw.now - group.waiting)}` : ""), h("p", {}, stallText(group)))));
}

function moveLine(event) {
  return h("li", {}, moment(event.at), " ", groupNamed(event.group), ": ", fromTo(event), h("p", { class: "muted" }, event.why || event.code));
}

function fromTo(event) {
  return [joined(event.gone.map(clusterNamed)), h("span", { "aria-hidden": "true" }, " → "), hidden(" to "), joined(event.come.map(clusterNamed))];
}

// clusters

function clusterCard(cluster) {
  const offered = cluster.offered, foreign = cluster.foreign, held = cluster.held;
  const keys = [...deviceNumbers.filter((i) => offered[i]), resources.indexOf("cpu"), resources.indexOf("memory")].filter((i) => i >= 0).slice(0, 3);
  const notes = [cluster.state !== "Active" ? badge(cluster.state) : null, cluster.freshness !== "Current" ? badge(cluster.freshness) : null];
  return h("li", { class: "card" },
    h("div", { class: "card-head" }, h("h4", {}, clusterLink(cluster)), notes),
    h("p", { class: "muted small" }, [counted(cluster.groups.length, "group"), raw.redacted ? "" : counted(cluster.nodeCount, "node")].filter(Boolean).join(", ")),
    raw.redacted ? null : h("div", { class: "map-box" }, smallMap(cluster)),
    h("div", { class: "meters" }, keys.map((i) => resourceLine(i, offered, foreign, held))));
}

const STATES = ["Active", "Cordoned", "Draining", "Lost", "Waking", "Standby", "Management"];
const SORTS = {
  name: ["Name", (each) => each.name], groups: ["Most groups", (each) => -each.groups.length],
  full: ["Fullest", (each) => -fullness(each)], nodes: ["Most nodes", (each) => -each.nodeCount],
};

function fullness(cluster) {
  const i = deviceNumbers.find((n) => cluster.offered[n] > 0) ?? resources.indexOf("cpu");
  return i >= 0 && cluster.offered[i] ? 1 - cluster.free[i] / cluster.offered[i] : 0;
}

function clustersView(words, state) {
  if (words.length) return clusterView(words[0], state);
  const list = h("ul", { class: "cards" });
  const count = h("p", { class: "count" });
  const chosen = { ...state };
  const labels = Object.fromEntries(Object.entries(SORTS).map(([id, [label]]) => [label, id]));
  const apply = (values, spoken) => {
    Object.assign(chosen, values);
    const terms = (chosen.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const found = clusters.filter((cluster) => {
      const text = [cluster.name, cluster.state, cluster.freshness, ...cluster.labels].join("\n").toLowerCase();
      return terms.every((term) => text.includes(term)) && (!chosen.state || cluster.state === chosen.state);
    });
    const by = SORTS[of(labels, chosen.by ?? "") ?? "name"][1];
    found.sort((a, b) => compare(by(a), by(b)) || compare(a.name, b.name));
    count.textContent = found.length === clusters.length ? counted(clusters.length, "cluster") : `${found.length} of ${counted(clusters.length, "cluster")}`;
    list.replaceChildren(...found.map((cluster) => clusterCard(cluster)));
    if (spoken) { say(count.textContent); keepInAddress(chosen); }
  };
  const bar = filters([
    { id: "q", label: "Search", hint: "Name or label" },
    { id: "state", label: "State", all: "Any state", options: STATES.filter((word) => clusters.some((each) => each.state === word)) },
    { id: "by", label: "Sort", all: "Name", options: Object.keys(labels).filter((label) => label !== "Name") },
  ], chosen, (values) => apply(values, true));
  return {
    title: "Clusters",
    body: [bar, count, raw.redacted ? null : mapKey([["foreign", "pods of others"], ["held", "groups"], ["free", "free"]]), section("All clusters", list)],
    drawn: () => apply({}, false),
  };
}

function clusterView(name, state) {
  const cluster = clusterByName().get(name);
  if (!cluster) return unknown("cluster", name, place("clusters"));
  const { offered, foreign, held, free } = cluster;
  const rows = resources.flatMap((resource, i) => (offered[i] ? [[named(resource), amountText(i, offered[i]), amountText(i, foreign[i]), amountText(i, held[i]), amountText(i, free[i])]] : []));
  const here = cluster.groups;
  const list = here.length ? groupList(here, {}, `Groups on ${name}`, false) : null;
  const nodes = h("div", {});
  const count = h("p", { class: "count" });
  const all = cluster.nodes;
  const haystack = once(() => all.map((node) => [node.name, node.type, ...node.seats.map((seat) => seat.name)].join("\n").toLowerCase()));
  const chosen = { ...state };
  const kinds = {
    "With groups": (node) => raw.nodes.seats[node.number].length > 0,
    "With free devices": (node) => { const taken = node.taken; return deviceNumbers.some((i) => node.allocatable[i] - node.used[i] - taken[i] > 0); },
    "Not ready or cordoned": (node) => !node.isReady || node.isCordoned,
    "To be added": (node) => node.isNew,
  };
  const apply = (values, spoken) => {
    Object.assign(chosen, values);
    const terms = (chosen.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const kind = of(kinds, chosen.show ?? "");
    const found = all.filter((node, i) => terms.every((term) => haystack()[i].includes(term)) && (!kind || kind(node)));
    const machines = found.reduce((sum, node) => sum + node.count, 0);
    count.textContent = found.length === all.length ? counted(machines, "node") : `${plain.format(machines)} of ${counted(all.reduce((sum, node) => sum + node.count, 0), "node")}`;
    nodes.replaceChildren(largeMap(found));
    if (spoken) { say(count.textContent); keepInAddress(chosen); }
  };
  return {
    title: name, crumb: ["Clusters", place("clusters")],
    body: [
      h("p", { class: "lead" }, badge(cluster.state), " ", badge(cluster.freshness)),
      facts([
        ["Snapshot taken", moment(cluster.observed)], ["Nodes", raw.redacted ? "" : plain.format(cluster.nodeCount)], ["Groups", plain.format(here.length)],
        ["Room is kept for", cluster.claimants.length ? joined(cluster.claimants.map(groupNamed)) : ""],
        ["Takes", cluster.isClosed ? "nothing new: pods that have no room yet will take what gets free" : ""],
        ["Declared in", cluster.where ? h("code", {}, cluster.where) : ""],
        ["Labels", cluster.labels.length ? h("ul", { class: "chips" }, cluster.labels.map((label) => h("li", {}, named(label)))) : ""],
      ]),
      rows.length ? section("Room", h("div", { class: "meters wide-meters" }, resources.map((_, i) => resourceLine(i, offered, foreign, held))),
        table(`Room on ${name}`, ["Resource", "Offered", "Used by others", "Held by groups", "Free"], rows)) : null,
      all.length ? section("Nodes",
        filters([{ id: "q", label: "Search nodes", hint: "Node or group" }, { id: "show", label: "Show", all: "All nodes", options: Object.keys(kinds) }], chosen, (values) => apply(values, true)),
        count, mapKey(), nodes) : null,
      section("Groups", list ? list.element : h("p", { class: "note" }, "No group is here.")),
    ],
    drawn: () => { if (all.length) apply({}, false); list?.drawn(); },
  };
}

// groups

function stallText(group) {
  const pending = group.seen.filter((each) => each.pending).map((each) => `${each.cluster.name}: ${each.pending}`);
  return group.stall === "Pods pending" ? pending.join("; ") : group.sentence.replace(/^is (not placed|held( on [^:]*)?): /, "");
}

const GROUP_COLUMNS = [
  { id: "name", label: "Group", cell: (group) => groupNamed(group.name), by: (group) => group.name },
  { id: "action", label: "Action", cell: (group) => badge(group.action), by: (group) => ACTIONS.indexOf(group.action) },
  { id: "where", label: "Where", cell: (group) => whereCell(group), by: (group) => group.whereText },
  { id: "policy", label: "Policy", cell: (group) => named(group.policy || none), by: (group) => group.policy, wide: true },
  { id: "why", label: "Why", cell: (group) => h("span", { title: group.sentence }, group.sentence), wide: true },
];

function whereCell(group) {
  const before = group.before, after = group.after;
  const same = before.length === after.length && before.every((each, i) => each.name === after[i].name);
  if (same) return before.length ? joined(before.map(clusterLink)) : h("span", { class: "muted" }, "nowhere");
  return [before.length ? joined(before.map(clusterLink)) : null, h("span", { "aria-hidden": "true" }, " → "), hidden(" to "),
    after.length ? joined(after.map(clusterLink)) : h("span", { class: "muted" }, "nowhere")];
}

function distinct(of) {
  return [...new Set(groups.flatMap(of))].filter(Boolean).sort(compare);
}

function groupList(rows, state, caption, everywhere = true) {
  const fields = [
    { id: "q", label: "Search", hint: "Group, cluster, policy, reason, file" },
    ...(everywhere ? [{ id: "cluster", label: "Cluster", all: "Any cluster", options: distinct((group) => group.places) }] : []),
    { id: "policy", label: "Policy", all: "Any policy", options: distinct((group) => [group.policy]) },
    { id: "action", label: "Action", all: "Any action", options: ACTIONS.filter((action) => groups.some((group) => group.action === action)) },
    { id: "waiting", label: "Waiting only", box: true },
  ];
  return browser({
    caption, what: ["group"], rows, columns: GROUP_COLUMNS, state, fields: everywhere ? fields : [],
    matches: (chosen) => {
      const terms = (chosen.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      const texts = terms.length ? haystacks() : null;
      return (group) => (!chosen.action || group.action === chosen.action) && (!chosen.policy || group.policy === chosen.policy)
        && (!chosen.waiting || group.stall !== "") && (!chosen.cluster || group.places.includes(chosen.cluster))
        && terms.every((term) => texts[group.number].includes(term));
    },
  });
}

function groupsView(words, state) {
  if (words.length) return groupView(words.join("/"));
  const list = groupList(groups, state, "All groups");
  return { title: "Groups", body: [list.element], drawn: list.drawn };
}

const VERDICTS = ["Chosen", "Feasible", "Rejected"];

function groupView(name) {
  const group = groupByName().get(name);
  if (!group) return unknown("group", name, place("groups"));
  const past = events.filter((event) => event.group === name);
  const pods = group.pods;
  const total = pods.reduce((sum, each) => sum + each.count, 0);
  const verdicts = group.verdicts.sort((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict));
  const rest = group.counts.reduce((sum, each) => sum + each.count, 0) - verdicts.length;
  return {
    title: name, crumb: ["Groups", place("groups")],
    body: [
      h("p", { class: "lead" }, badge(group.action), " ", h("span", {}, group.sentence)),
      facts([
        ["Where", whereCell(group)],
        ["There since", group.since >= 0 ? moment(group.since) : ""],
        ["Moved", group.moved >= 0 ? moment(group.moved) : ""],
        ["Waits since", group.waiting >= 0 ? [moment(group.waiting), `, for ${spanText(raw.now - group.waiting)}`] : ""],
        ["Reason", h("code", {}, group.code)],
        ["Blocked by", group.blockedBy.length ? joined(group.blockedBy.map((each) => groupNamed(each))) : ""],
        ["Policy", group.policy ? [named(group.policy), group.policyAt ? [" ", h("code", {}, group.policyAt)] : null] : "none governs it"],
        ["Priority", group.policy ? String(group.priority) : ""],
        ["Added machines cost", group.cost ? `${group.cost} an hour` : ""],
      ]),
      group.seen.length ? section("What the snapshots show", h("ul", { class: "rows" }, group.seen.map((each) => h("li", {},
        clusterLink(each.cluster), `: ${each.phase}, ${each.ready ? "ready" : "not ready"}`, each.pending ? h("p", { class: "warn-text" }, each.pending) : null)))) : null,
      section(`Pods`, table("Pods", ["Role", "Pods", "Each asks for"], [
        ...pods.map((each) => [named(each.role), plain.format(each.count), raw.redacted ? none : amountsText(each.requests)]),
        ...(pods.length > 1 ? [["in all", plain.format(total), raw.redacted ? none : amountsText(group.requests)]] : []),
      ], "It has no pods.")),
      group.seats.length ? section("Where its pods sit", table("Where its pods sit", ["Node", "Cluster", "Pods", "State"], group.seats.map((seat) => [
        h("a", { href: `${place("clusters", seat.node.cluster.name)}?q=${encodeURIComponent(seat.node.name)}` }, named(seat.node.name, "mono")),
        clusterLink(seat.node.cluster), `${seat.role}${seat.count > 1 ? ` × ${seat.count}` : ""}`, badge(seat.presence)]))) : null,
      section("Clusters that were considered", table("Verdicts", ["Cluster", "Verdict", "Reason", "In words"], verdicts.map((each) => [
        clusterLink(each.cluster), badge(each.verdict), h("code", { class: "tight" }, each.code), [each.text, each.nodes ? h("p", { class: "muted small" }, each.nodes) : null]]), "None was considered."),
        rest > 0 ? h("p", { class: "note" }, `These are the nearest. All: ${group.counts.map((each) => `${each.code} ${plain.format(each.count)}`).join(", ")}.`) : null),
      section("Objects", table("Objects", ["Name", "Kind", "File"], group.members.map((each) => [named(each.name), each.kind, h("code", {}, each.path)]), "It has no objects in the source.")),
      past.length ? section("Relocations", h("ol", { class: "rows" }, past.map((event) => h("li", {}, moment(event.at), " ", fromTo(event),
        event.phase ? ` (${event.phase})` : "", " ", h("code", {}, event.commit.slice(0, 10)), h("p", { class: "muted" }, event.why || event.code))))) : null,
    ],
  };
}

// waiting

const STALLS = ["Waiting", "Held", "Partly placed", "Pods pending"];

function nearest(group) {
  const found = group.verdicts.filter((each) => each.verdict !== "Chosen" && each.text);
  const room = found.filter((each) => each.nodes);
  return (room.length ? room : found)[0];
}

const WAIT_COLUMNS = [
  { id: "name", label: "Group", cell: (group) => groupNamed(group.name), by: (group) => group.name },
  { id: "stall", label: "State", cell: (group) => badge(group.stall), by: (group) => STALLS.indexOf(group.stall) },
  { id: "since", label: "For", cell: (group) => (group.waiting >= 0 ? h("span", { title: timeText(group.waiting) }, spanText(raw.now - group.waiting)) : none), by: (group) => (group.waiting < 0 ? Infinity : group.waiting) },
  { id: "why", label: "What it waits for", cell: (group) => h("span", { title: stallText(group) }, stallText(group)) },
  { id: "near", label: "Nearest", cell: (group) => { const near = nearest(group); return near ? h("span", { title: near.text }, clusterLink(near.cluster), ": ", near.text) : none; }, wide: true },
];

function waitingView(_, state) {
  const rows = stalled();
  const waiting = rows.filter((group) => group.stall === "Waiting");
  const total = waiting.reduce((sum, group) => addTo(sum, group.requests), new Float64Array(resources.length));
  const reasons = [...new Set(rows.map((group) => group.code))].sort(compare);
  const list = browser({
    caption: "Groups that wait, are held, or have pending pods", what: ["group"], rows, columns: WAIT_COLUMNS, state, order: { id: "since", down: false },
    empty: rows.length ? "Nothing matches." : "Nothing waits: every group has its place.",
    fields: [
      { id: "q", label: "Search", hint: "Group, cluster, policy, reason" },
      { id: "stall", label: "State", all: "Any state", options: STALLS.filter((word) => rows.some((group) => group.stall === word)) },
      { id: "code", label: "Reason", all: "Any reason", options: reasons },
    ],
    matches: (chosen) => {
      const terms = (chosen.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      const texts = terms.length ? haystacks() : null;
      return (group) => (!chosen.stall || group.stall === chosen.stall) && (!chosen.code || group.code === chosen.code)
        && terms.every((term) => texts[group.number].includes(term));
    },
  });
  const asks = waiting.length && !raw.redacted ? h("p", { class: "lead" }, `${counted(waiting.length, "group")} that ${waiting.length === 1 ? "waits asks" : "wait ask"} for ${amountsText(total)} together.`) : null;
  return { title: "Waiting", body: [asks, list.element], drawn: list.drawn };
}

// timeline

const SPANS = { "The last day": 86400, "The last week": 604800, "The last month": 2592000 };

function timelineView(_, state) {
  const picture = h("div", {});
  const chosen = { ...state };
  const latest = events.length ? events[0].at : 0;
  const within = (event) => event.at > latest - (of(SPANS, chosen.span ?? "") ?? Infinity);
  const list = browser({
    caption: "Commits of the deployment branch", what: ["commit"], rows: events, state, order: { id: "at", down: true },
    empty: events.length ? "Nothing matches." : "Nothing has happened yet.",
    fields: [
      { id: "q", label: "Search", hint: "Group, cluster, reason" },
      { id: "span", label: "Time", all: "All of it", options: Object.keys(SPANS) },
      { id: "every", label: "Other commits too", box: true },
    ],
    columns: [
      { id: "at", label: "When", cell: (event) => moment(event.at, false), by: (event) => event.at },
      { id: "name", label: "Group", cell: (event) => (event.group ? groupNamed(event.group) : h("span", { class: "muted" }, event.kind === "Pass" ? "a pass" : "by hand")), by: (event) => event.group },
      { id: "where", label: "From and to", cell: (event) => (event.group ? fromTo(event) : h("span", { class: "muted" }, none)), by: (event) => [...event.gone, ...event.come].join(" ") },
      { id: "why", label: "Why", cell: (event) => { const text = event.group ? event.why || event.code : event.subject; return h("span", { title: text }, text, event.phase ? ` (${event.phase})` : ""); }, wide: true },
      { id: "commit", label: "Commit", cell: (event) => h("code", {}, event.commit.slice(0, 10)), wide: true },
    ],
    matches: (values) => {
      Object.assign(chosen, values);
      const terms = (chosen.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      const test = (event) => within(event) && (chosen.every || event.kind === "Relocation")
        && terms.every((term) => [event.group, event.subject, event.why, event.code, event.commit, ...event.gone, ...event.come].join("\n").toLowerCase().includes(term));
      const drawn = moves.filter((event) => test(event) && event.gone.length && event.come.length);
      const made = drawn.length ? timeline(drawn) : null;
      picture.replaceChildren(...(made ? [made] : []));
      made?.paint();
      return test;
    },
  });
  return {
    title: "Timeline",
    body: [
      raw.deployment ? null : h("p", { class: "note" }, "Nothing is placed yet, so nothing has moved."),
      raw.wholeHistory ? null : h("p", { class: "note" }, `These are the latest ${counted(events.length, "commit")}; older ones are not shown.`),
      picture, list.element,
    ],
    drawn: list.drawn,
  };
}

// problems and inputs

function problemsView() {
  return {
    title: "Problems",
    body: [problems.length ? h("ol", { class: "problems" }, problems.map((each) => h("li", {},
      h("p", {}, badge(each.severity), " ", h("code", { class: "where" }, each.where)), h("p", {}, each.message), each.hint ? h("p", { class: "muted" }, `Hint: ${each.hint}`) : null,
      h("p", { class: "small muted" }, each.code)))) : h("p", { class: "note" }, "There are none: everything in the source could be read, and keeps the rules.")],
  };
}

function inputsView() {
  const code = (id) => h("code", { class: "id" }, id);
  return {
    title: "Inputs",
    body: [
      h("p", { class: "lead" }, "This page was computed from these, and the same give the same page."),
      facts([
        ["Source", raw.source ? code(raw.source) : "a work tree as it lay"],
        ["Capacity", raw.capacity ? ["tree ", code(raw.capacity)] : "none"],
        ["Deployment", raw.deployment ? code(raw.deployment) : "nothing placed yet"],
        ["Decided as of", moment(raw.now, false)], ["gitplacer", raw.version],
      ]),
      section("Snapshots", table("Snapshots", ["Cluster", "Snapshot", "Taken", "Age"], clusters.map((cluster) => [
        clusterLink(cluster), badge(cluster.freshness), moment(cluster.observed), cluster.observed >= 0 ? agoText(cluster.observed) : none]), "There are no clusters.")),
    ],
  };
}

function unknown(what, name, back) {
  return {
    title: `No ${what} of this name`,
    body: [h("p", {}, "This report has no ", what, " ", named(name), ". It may have come later, or be gone."), h("p", {}, h("a", { href: back }, `All ${what}s`))],
  };
}
