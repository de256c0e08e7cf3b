// Capacity as pictures. A small map of a cluster is one canvas with a cell for each node, painted when it comes into sight; a large
// one has a card for each node, with who sits there in words beside it. Nothing is told by colour alone.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const deviceNumbers = resources.flatMap((name, i) => (name.includes("/") ? [i] : []));

/** The resource that a node is short of first: its devices, else the fuller of cpu and memory. */
function share(node) {
  const offered = node.allocatable, used = node.used, taken = node.taken;
  let numbers = deviceNumbers.filter((i) => offered[i] > 0);
  if (!numbers.length) numbers = ["cpu", "memory"].map((name) => resources.indexOf(name)).filter((i) => i >= 0 && offered[i] > 0);
  let most = { foreign: 0, held: 0 };
  for (const i of numbers) {
    const foreign = Math.min(1, used[i] / offered[i]);
    const held = Math.min(1 - foreign, taken[i] / offered[i]);
    if (foreign + held >= most.foreign + most.held) most = { foreign, held };
  }
  return most;
}

function mapText(cluster) {
  let full = 0, some = 0, empty = 0, away = 0, fresh = 0;
  for (const node of cluster.nodes) {
    if (node.isNew) { fresh += 1; continue; }
    if (!node.isReady) away += node.count;
    const { foreign, held } = share(node);
    if (foreign + held >= 0.95) full += node.count;
    else if (held > 0) some += node.count;
    else empty += node.count;
  }
  const said = [`${counted(cluster.nodeCount, "node")}: ${full} full, ${some} partly held by groups, ${empty} without groups`];
  if (away) said.push(`${away} not ready`);
  if (fresh) said.push(`${counted(fresh, "machine")} to be added`);
  return said.join(", ");
}

const MOST_CELLS = 400;

function smallMap(cluster) {
  const cells = [];
  for (const node of cluster.nodes) for (let i = 0; i < node.count && cells.length < MOST_CELLS; i++) cells.push(node);
  if (!cells.length) return h("p", { class: "note small" }, raw.redacted ? "" : "no nodes are known");
  const size = cells.length > 150 ? 9 : cells.length > 60 ? 12 : cells.length > 24 ? 16 : 22, gap = 3;
  const canvas = h("canvas", { class: "map", role: "img", "aria-label": counted(cluster.nodeCount, "node") });
  canvas.paint = () => {
    canvas.setAttribute("aria-label", mapText(cluster));
    const width = canvas.parentElement.clientWidth;
    const across = Math.max(1, Math.floor((width + gap) / (size + gap)));
    const down = Math.ceil(cells.length / across);
    const scale = window.devicePixelRatio || 1;
    const [w, t] = [width, down * (size + gap) - gap];
    canvas.width = Math.round(w * scale);
    canvas.height = Math.round(t * scale);
    canvas.style.height = `${t}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const [ink, back, foreignInk, bad] = ["--accent", "--cell", "--foreign", "--bad"].map(style);
    cells.forEach((node, i) => {
      const x = (i % across) * (size + gap), y = Math.floor(i / across) * (size + gap);
      const { foreign, held } = share(node);
      pen.fillStyle = back;
      pen.fillRect(x, y, size, size);
      pen.fillStyle = foreignInk;
      pen.fillRect(x, y + size * (1 - foreign), size, size * foreign);
      pen.fillStyle = ink;
      pen.fillRect(x, y + size * (1 - foreign - held), size, size * held);
      if (node.isNew || !node.isReady || node.isCordoned) {
        pen.strokeStyle = node.isNew ? ink : bad;
        pen.setLineDash(node.isNew ? [2, 2] : []);
        pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
        if (!node.isReady) {
          pen.beginPath();
          pen.moveTo(x + 2, y + 2);
          pen.lineTo(x + size - 2, y + size - 2);
          pen.stroke();
        }
      }
    });
  };
  whenSeen(canvas, () => canvas.paint());
  return canvas;
}

let watcher;
function whenSeen(element, does) {
  watcher ??= new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        entry.target.seen();
      }
    }
  }, { rootMargin: "300px" });
  element.seen = does;
  watcher.observe(element);
}

function repaint() {
  for (const canvas of document.querySelectorAll("canvas.map")) if (canvas.width !== 300 || canvas.style.height) canvas.paint();
}

/** A bar of parts, each {share, kind, title}; the rest is free. The words beside it say the same. */
function bar(parts, more = "") {
  return h("div", { class: `meter ${more}`.trim(), "aria-hidden": "true" }, parts.filter((part) => part.share > 0).map((part) =>
    h("span", { class: `part ${part.kind}`, title: part.title, css: { width: `${Math.min(100, part.share * 100)}%` } })));
}

/** One resource of something that offers it: a bar, and what it says. */
function resourceLine(i, offered, foreign, held) {
  if (!offered[i]) return null;
  const free = Math.max(0, offered[i] - foreign[i] - held[i]);
  return h("div", { class: "line" },
    h("span", { class: "what" }, shortName(resources[i])),
    bar([{ share: foreign[i] / offered[i], kind: "foreign" }, { share: held[i] / offered[i], kind: "held" }]),
    h("span", { class: "said" }, freeText(i, free, offered[i])));
}

const MAP_KEY = [
  ["foreign", "pods of others"], ["held", "groups, running"], ["held expected", "placed, not seen yet"],
  ["held coming", "comes with the next pass"], ["held leaving", "is leaving"], ["kept", "kept, and given to nobody"],
];

function mapKey(some = MAP_KEY) {
  return h("ul", { class: "key", "aria-label": "What the marks mean" }, some.map(([kind, text]) =>
    h("li", {}, h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), text)));
}

const MOST_SLOTS = 16;

/** A card for one node. */
function nodeCard(node) {
  const offered = node.allocatable, used = node.used, seats = node.seats;
  const hues = new Map();
  for (const seat of seats) if (!hues.has(seat.name)) hues.set(seat.name, hues.size % 8);
  const kind = (seat) => `hue${hues.get(seat.name)} ${seat.presence.toLowerCase()}`;
  const lines = resources.map((name, i) => {
    if (!offered[i] || name === "pods") return null;
    const isMain = name === "cpu" || name === "memory" || name.includes("/");
    const taking = seats.filter((seat) => seat.requests[i] > 0);
    const held = taking.reduce((sum, seat) => sum + seat.requests[i] * seat.count, 0);
    if (!isMain && !used[i] && !held && !node.kept[i]) return null;
    const kept = node.kept[i];
    const free = Math.max(0, offered[i] - used[i] - held - kept);
    const said = h("span", { class: "said" }, freeText(i, free, offered[i]));
    const parts = taking.map((seat) => ({ share: seat.requests[i] * seat.count / offered[i], kind: kind(seat), title: `${seat.name} ${seat.role}` }));
    if (kept) parts.push({ share: kept / offered[i], kind: "kept", title: "kept, and given to nobody" });
    const isSlots = name.includes("/") && offered[i] <= MOST_SLOTS;
    const picture = isSlots ? slots(i, offered, used, taking, kept, kind) : bar([{ share: used[i] / offered[i], kind: "foreign", title: "pods of others" }, ...parts]);
    return h("div", { class: "line" }, h("span", { class: "what" }, shortName(name)), picture, said);
  });
  const marks = [
    node.count > 1 ? `${plain.format(node.count)} alike` : "", node.isReady ? "" : "not ready", node.isCordoned ? "cordoned" : "",
    node.isNew ? "to be added" : "",
  ].filter(Boolean);
  return h("li", { class: `node${node.isNew ? " new" : ""}${node.isReady ? "" : " away"}` },
    h("div", { class: "node-head" }, named(node.name, "mono"), marks.map((mark) => h("span", { class: "tag" }, mark))),
    lines,
    seats.length ? h("ul", { class: "seats" }, seats.map((seat) => h("li", {},
      h("span", { class: `swatch ${kind(seat)}`, "aria-hidden": "true" }),
      groupNamed(seat.name), h("span", { class: "role" }, ` ${seat.role}${seat.count > 1 ? ` × ${seat.count}` : ""}`),
      seat.presence === "Running" ? null : h("span", { class: "role" }, `, ${of(PRESENCE, seat.presence)}`)))) : null);
}

const PRESENCE = {
  Running: "running", Expected: "not seen yet", Coming: "comes with the next pass", Leaving: "is leaving",
};

/** Whole devices as little squares. */
function slots(i, offered, used, taking, kept, kind) {
  const kinds = [];
  for (let n = 0; n < used[i]; n++) kinds.push("foreign");
  for (const seat of taking) for (let n = 0; n < seat.requests[i] * seat.count; n++) kinds.push(kind(seat));
  for (let n = 0; n < kept; n++) kinds.push("kept");
  while (kinds.length < offered[i]) kinds.push("free");
  return h("div", { class: "slots", "aria-hidden": "true" }, kinds.slice(0, offered[i]).map((each) => h("span", { class: `slot ${each}` })));
}

const AT_ONCE = 60;

/** The nodes of a cluster as cards, more of them as one scrolls down or asks for them. */
function largeMap(nodes) {
  const list = h("ul", { class: "nodes" });
  const more = h("button", { type: "button", on: { click: () => add(true) } });
  const box = h("div", {}, list, more);
  let shown = 0;
  const add = (focus) => {
    const next = nodes.slice(shown, shown + AT_ONCE).map(nodeCard);
    list.append(...next);
    shown += next.length;
    more.hidden = shown >= nodes.length;
    more.textContent = `Show more nodes, ${plain.format(nodes.length - shown)} are left`;
    if (focus && next.length) { next[0].tabIndex = -1; next[0].focus(); }
    if (!more.hidden) whenSeen(more, () => add(false));
  };
  add(false);
  return box;
}

// relocations over time

const MOST_LANES = 24;

function timeline(moves) {
  const weight = new Map();
  for (const move of moves) for (const name of [...move.gone, ...move.come]) weight.set(name, (weight.get(name) ?? 0) + 1);
  const ranked = [...weight].sort((a, b) => b[1] - a[1] || compare(a[0], b[0])).map(([name]) => name);
  const lanes = ranked.slice(0, MOST_LANES).sort(compare);
  const others = ranked.length > MOST_LANES;
  const rows = others ? [...lanes, "other clusters"] : lanes;
  const box = h("div", { class: "timeline" });
  const laneOf = (name) => (lanes.includes(name) ? lanes.indexOf(name) : rows.length - 1);
  const paint = () => {
    const width = Math.max(280, box.clientWidth), gutter = width < 560 ? 96 : 170, step = 30, top = 12;
    const height = top + rows.length * step + 30, right = width - 18;
    const times = moves.map((move) => move.at);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const x = (at) => (first === last ? (gutter + right) / 2 : gutter + 16 + (right - gutter - 32) * (at - first) / (last - first));
    const y = (lane) => top + lane * step + step / 2;
    const most = Math.floor(gutter / 7.4);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${counted(moves.length, "relocation")} between ${counted(ranked.length, "cluster")}; the table below has them all` },
      rows.map((name, lane) => [
        svg("line", { class: "lane", x1: gutter, x2: right, y1: y(lane), y2: y(lane) }),
        svg("text", { class: "lane-name", x: gutter - 10, y: y(lane) + 4, "text-anchor": "end" }, name.length > most ? `${name.slice(0, most - 1)}…` : name, svg("title", {}, name)),
      ]),
      ticks(first, last, Math.max(2, Math.floor((right - gutter) / 130))).map(([at, label]) => [
        svg("line", { class: "tick", x1: x(at), x2: x(at), y1: top, y2: height - 26 }),
        svg("text", { class: "tick-name", x: Math.min(x(at), width - 40), y: height - 8, "text-anchor": "middle" }, label),
      ]),
      [...moves].reverse().flatMap((move) => move.gone.flatMap((gone) => move.come.filter((come) => laneOf(come) !== laneOf(gone)).map((come) => arrow(move, x(move.at), y(laneOf(gone)), y(laneOf(come)))))));
    box.replaceChildren(picture);
  };
  box.paint = paint;
  return box;
}

function arrow(move, x, from, to) {
  const down = to >= from ? 1 : -1, bend = Math.min(26, 8 + Math.abs(to - from) / 8);
  return svg("g", { class: `move ${move.phase ? "step" : ""}` },
    svg("title", {}, `${timeText(move.at)}: ${move.subject}`),
    svg("path", { d: `M ${x} ${from} C ${x + bend} ${from + 6 * down}, ${x + bend} ${to - 12 * down}, ${x} ${to - 5 * down}` }),
    svg("circle", { class: "from", cx: x, cy: from, r: 3.5 }),
    svg("path", { class: "head", d: `M ${x} ${to} l -4 ${-8 * down} l 8 ${1 * down} z` }));
}

const STEPS = [60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000];

/** Round times between two, each with what is written below it: days, or hours where they lie closer. */
function ticks(first, last, most) {
  const step = STEPS.find((each) => (last - first) / each <= most) ?? Math.ceil((last - first) / most);
  const found = [];
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) found.push(at);
  if (!found.length) found.push(first);
  const inDays = step % 86400 === 0 && first !== last;
  return found.map((at) => {
    const iso = new Date(at * 1000).toISOString();
    return [at, inDays ? iso.slice(0, 10) : iso.slice(5, 16).replace("T", " ")];
  });
}
