// The document of the page, unpacked: columns of numbers become clusters, nodes, groups and events that are read when asked for.

const raw = JSON.parse(document.getElementById("data").textContent);
for (const columns of [raw.clusters, raw.nodes, raw.groups, raw.events, raw.problems]) {
  for (const [name, column] of Object.entries(columns)) {
    if (name !== "rows" && !Array.isArray(column)) columns[name] = new Array(columns.rows).fill(column.all);
  }
}
const texts = raw.texts;
const resources = raw.resources.map((each) => each.name);
const units = raw.resources.map((each) => each.unit);
const none = "–";

/** Amounts by the number of their resource. What is made once is kept. */
const unpacked = new Map();
function amounts(place) {
  let found = unpacked.get(place);
  if (!found) {
    found = new Float64Array(resources.length);
    const row = raw.amounts[place];
    for (let i = 0; i < row.length; i += 2) found[row[i]] = row[i + 1] * units[row[i]];
    unpacked.set(place, found);
  }
  return found;
}

function addTo(total, some, times = 1) {
  for (let i = 0; i < total.length; i++) total[i] += some[i] * times;
  return total;
}

function chunks(list, size) {
  const found = [];
  for (let i = 0; i < list.length; i += size) found.push(list.slice(i, i + size));
  return found;
}

/** What a table has of its own: names and addresses may say `constructor`. */
const of = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

const once = (make) => {
  let made;
  return () => (made === undefined ? (made = make()) : made);
};

class Node_ {
  constructor(number, cluster) {
    this.number = number;
    this.cluster = cluster;
  }
  get name() { return texts[raw.nodes.name[this.number]]; }
  get count() { return raw.nodes.count[this.number]; }
  get type() { return texts[raw.nodes.type[this.number]]; }
  get isNew() { return this.type !== ""; }
  get allocatable() { return amounts(raw.nodes.allocatable[this.number]); }
  get used() { return amounts(raw.nodes.used[this.number]); }
  get kept() { return amounts(raw.nodes.kept[this.number]); }
  get isReady() { return !(raw.nodes.flags[this.number] & 1); }
  get isCordoned() { return Boolean(raw.nodes.flags[this.number] & 2); }
  get seats() {
    return chunks(raw.nodes.seats[this.number], 5).map(([who, role, count, asked, presence]) => ({
      group: who >= 0 ? groups[who] : null,
      name: who >= 0 ? groups[who].name : texts[-1 - who],
      role: texts[role], count, requests: amounts(asked), presence: raw.presences[presence], node: this,
    }));
  }
  /** What groups have of it or is kept for them, by resource. */
  get taken() {
    const total = new Float64Array(resources.length);
    const flat = raw.nodes.seats[this.number];
    for (let i = 0; i < flat.length; i += 5) addTo(total, amounts(flat[i + 3]), flat[i + 2]);
    return addTo(total, this.kept);
  }
}

class Cluster {
  constructor(number, first) {
    this.number = number;
    this.first = first;
  }
  get name() { return texts[raw.clusters.name[this.number]]; }
  get state() { return texts[raw.clusters.state[this.number]]; }
  get freshness() { return texts[raw.clusters.freshness[this.number]]; }
  get observed() { return raw.clusters.observed[this.number]; }
  get where() { return texts[raw.clusters.where[this.number]]; }
  get labels() { return raw.clusters.labels[this.number].map((place) => texts[place]); }
  get offered() { return amounts(raw.clusters.offered[this.number]); }
  get foreign() { return amounts(raw.clusters.foreign[this.number]); }
  get free() { return amounts(raw.clusters.free[this.number]); }
  get claimants() { return raw.clusters.claimants[this.number].map((place) => texts[place]); }
  get isClosed() { return Boolean(raw.clusters.closed[this.number]); }
  get nodeRows() { return raw.clusters.nodes[this.number]; }
  get nodes() { return Array.from({ length: this.nodeRows }, (_, i) => new Node_(this.first + i, this)); }
  get nodeCount() {
    let count = 0;
    for (let i = this.first; i < this.first + this.nodeRows; i++) if (!raw.nodes.type[i] || texts[raw.nodes.type[i]] === "") count += raw.nodes.count[i];
    return count;
  }
  get groups() { return groupsOn().get(this.number) ?? []; }
  /** What groups have of it: what is neither free nor used by others. */
  get held() { return this.offered.map((value, i) => Math.max(0, value - this.foreign[i] - this.free[i])); }
  get isWorkload() { return this.state !== "Management"; }
  /** Whether what is free there is for anybody: nothing new goes to the others. */
  get takesNew() { return this.isWorkload && !["Cordoned", "Draining", "Lost"].includes(this.state); }
}

class Group {
  constructor(number) { this.number = number; }
  get name() { return texts[raw.groups.name[this.number]]; }
  get action() { return texts[raw.groups.action[this.number]]; }
  get code() { return texts[raw.groups.code[this.number]]; }
  get sentence() { return texts[raw.groups.sentence[this.number]] || this.code; }
  get policy() { return texts[raw.groups.policy[this.number]]; }
  get policyAt() { return texts[raw.groups.policyAt[this.number]]; }
  get priority() { return raw.groups.priority[this.number]; }
  get before() { return raw.groups.before[this.number].map(clusterRef); }
  get after() { return raw.groups.after[this.number].map(clusterRef); }
  get since() { return raw.groups.since[this.number]; }
  get moved() { return raw.groups.moved[this.number]; }
  get waiting() { return raw.groups.waiting[this.number]; }
  get cost() { return texts[raw.groups.cost[this.number]]; }
  get blockedBy() { return raw.groups.blockedBy[this.number].map((place) => texts[place]); }
  get pods() {
    return chunks(raw.pods[raw.groups.pods[this.number]], 3).map(([role, count, asked]) => ({
      role: texts[role], count, requests: amounts(asked),
    }));
  }
  get requests() {
    const total = new Float64Array(resources.length);
    for (const each of this.pods) addTo(total, each.requests, each.count);
    return total;
  }
  get members() {
    return chunks(raw.groups.members[this.number], 3).map(([kind, name, path]) => ({
      kind: texts[kind], name: texts[name], path: texts[path],
    }));
  }
  get verdicts() {
    return chunks(raw.verdicts[raw.groups.verdicts[this.number]], 2).map(([cluster, finding]) => {
      const [verdict, code, text, nodes] = raw.findings[finding].map((place) => texts[place]);
      return { cluster: clusterRef(cluster), verdict, code, text, nodes };
    });
  }
  get counts() {
    return chunks(raw.counts[raw.groups.counts[this.number]], 2).map(([code, count]) => ({ code: texts[code], count }));
  }
  get seen() {
    return chunks(raw.groups.seen[this.number], 4).map(([cluster, phase, ready, pending]) => ({
      cluster: clusterRef(cluster), phase: texts[phase], ready: Boolean(ready), pending: texts[pending],
    }));
  }
  /** Whether somebody waits for something: the group for room, or pods of it for nodes. */
  get stall() {
    if (this.action === "Wait" || (this.waiting >= 0 && !this.after.length)) return "Waiting";
    if (this.action === "Hold") return "Held";
    if (this.waiting >= 0) return "Partly placed";
    return this.seen.some((each) => each.pending) ? "Pods pending" : "";
  }
  get places() { return [...new Set([...this.before, ...this.after].map((each) => each.name))]; }
  get seats() { return seatsOf().get(this.number) ?? []; }
  /** Where it is or goes, in a few words. */
  get whereText() {
    const before = this.before.map((each) => each.name).join(", ");
    const after = this.after.map((each) => each.name).join(", ");
    if (before === after) return before || "nowhere";
    return before ? `${before} → ${after || "nowhere"}` : `→ ${after}`;
  }
}

function clusterRef(number) {
  return number >= 0 ? clusters[number] : { name: texts[-1 - number], number: -1 };
}

const clusters = (() => {
  let first = 0;
  return raw.clusters.name.map((_, number) => {
    const made = new Cluster(number, first);
    first += raw.clusters.nodes[number];
    return made;
  });
})();
const groups = raw.groups.name.map((_, number) => new Group(number));
const clusterByName = once(() => new Map(clusters.map((each) => [each.name, each])));
const groupByName = once(() => new Map(groups.map((each) => [each.name, each])));

const groupsOn = once(() => {
  const found = new Map();
  for (const group of groups) {
    const numbers = new Set([...raw.groups.before[group.number], ...raw.groups.after[group.number]]);
    for (const number of numbers) {
      if (!found.has(number)) found.set(number, []);
      found.get(number).push(group);
    }
  }
  return found;
});

const seatsOf = once(() => {
  const found = new Map();
  for (const cluster of clusters) {
    for (const node of cluster.nodes) {
      for (const seat of node.seats) {
        if (!seat.group) continue;
        if (!found.has(seat.group.number)) found.set(seat.group.number, []);
        found.get(seat.group.number).push(seat);
      }
    }
  }
  return found;
});

/** What the search looks into, in small letters. */
const haystacks = once(() => groups.map((group) => [
  group.name, group.policy, group.code, group.sentence, ...group.places, ...group.members.map((each) => `${each.kind} ${each.path}`),
].join("\n").toLowerCase()));

const events = raw.events.at.map((at, number) => ({
  number, at,
  commit: texts[raw.events.commit[number]],
  kind: raw.eventKinds[raw.events.kind[number]],
  subject: texts[raw.events.subject[number]],
  why: texts[raw.events.why[number]],
  group: texts[raw.events.group[number]],
  gone: raw.events.gone[number].map((place) => texts[place]),
  come: raw.events.come[number].map((place) => texts[place]),
  code: texts[raw.events.code[number]],
  phase: texts[raw.events.phase[number]],
}));

const problems = raw.problems.code.map((_, number) => ({
  severity: texts[raw.problems.severity[number]],
  code: texts[raw.problems.code[number]],
  where: texts[raw.problems.where[number]],
  message: texts[raw.problems.message[number]],
  hint: texts[raw.problems.hint[number]],
}));

// words

const plain = new Intl.NumberFormat("en");
const oneDigit = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const threeDigits = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const isBytes = (name) => name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");

const STEPS_OF_BYTES = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

function stepOf(value) {
  let step = 0;
  for (; Math.abs(value) >= 1024 && step < STEPS_OF_BYTES.length - 1; step++) value /= 1024;
  return step;
}

function amountText(resource, value) {
  const name = resources[resource];
  if (name === "cpu") return threeDigits.format(value / 1000);
  if (!isBytes(name)) return plain.format(value);
  const step = stepOf(value);
  return `${oneDigit.format(value / 1024 ** step)} ${STEPS_OF_BYTES[step]}`.trim();
}

/** `12.5 of 24 Gi free`: both in the unit of the larger. */
function freeText(resource, free, offered) {
  const name = resources[resource];
  if (name === "cpu") return `${oneDigit.format(free / 1000)} of ${oneDigit.format(offered / 1000)} free`;
  if (!isBytes(name)) return `${plain.format(free)} of ${plain.format(offered)} free`;
  const step = stepOf(offered), size = 1024 ** step;
  return `${oneDigit.format(free / size)} of ${oneDigit.format(offered / size)} ${STEPS_OF_BYTES[step]} free`;
}

function amountsText(some) {
  const said = resources.flatMap((name, i) => (some[i] && name !== "pods" ? [`${amountText(i, some[i])} ${shortName(name)}`] : []));
  return said.join(", ") || "no requests";
}

/** `nvidia.com/gpu` is `gpu` where nothing else is called so. */
function shortName(name) {
  if (name === "ephemeral-storage") return "disk";
  const last = name.split("/").pop();
  return resources.filter((other) => other.split("/").pop() === last).length === 1 ? last : name;
}

function counted(count, one, many = `${one}s`) {
  return `${plain.format(count)} ${count === 1 ? one : many}`;
}

function timeText(seconds) {
  return seconds < 0 ? none : new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";
}

function spanText(seconds) {
  const minutes = Math.max(0, Math.round(seconds / 60));
  if (!minutes) return "less than a minute";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return counted(Math.floor(hours / 24), "day");
}

const agoText = (seconds) => (seconds < 0 ? none : seconds <= raw.now ? `${spanText(raw.now - seconds)} before` : `${spanText(seconds - raw.now)} after`);
