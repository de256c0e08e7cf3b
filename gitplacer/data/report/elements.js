// Elements are made one by one, and what others wrote becomes text nodes: there is no way from a name to markup.

function h(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  return filled(made, given, children);
}

function svg(tag, given = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
}

function filled(made, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, does] of Object.entries(value)) made.addEventListener(event, does);
    else if (name === "css") for (const [property, to] of Object.entries(value)) made.style.setProperty(property, to);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const place = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");
const hidden = (text) => h("span", { class: "hidden" }, text);
const named = (text, more = "") => h("bdi", { class: `name ${more}`.trim() }, text);

function clusterLink(cluster) {
  return cluster.number >= 0 ? h("a", { href: place("clusters", cluster.name) }, named(cluster.name)) : named(cluster.name, "gone");
}

function clusterNamed(name) {
  return clusterLink(clusterByName().get(name) ?? { name, number: -1 });
}

function groupNamed(name) {
  return groupByName().has(name) ? h("a", { href: place("groups", name) }, named(name)) : named(name, "gone");
}

function joined(list, between = ", ") {
  return list.flatMap((each, i) => (i ? [between, each] : [each]));
}

function moment(seconds, more = true) {
  if (seconds < 0) return none;
  const iso = new Date(seconds * 1000).toISOString();
  return h("time", { datetime: iso, title: more ? agoText(seconds) + " this report" : null }, timeText(seconds));
}

/** A word with a mark before it, so that it is known without its colour. */
const MARKS = {
  Keep: ["=", "calm"], Update: ["~", "good"], Place: ["+", "good"], Extend: ["+", "good"], Relocate: ["→", "good"],
  Remove: ["−", "warn"], Preempt: ["↓", "warn"], Wait: ["…", "warn"], Hold: ["!", "warn"],
  Waiting: ["…", "warn"], Held: ["!", "warn"], "Partly placed": ["…", "warn"], "Pods pending": ["…", "warn"],
  Active: ["●", "calm"], Cordoned: ["◐", "warn"], Draining: ["↓", "warn"], Lost: ["×", "bad"], Waking: ["↑", "good"],
  Standby: ["○", "calm"], Management: ["■", "calm"],
  Current: ["●", "calm"], Stale: ["◐", "warn"], Missing: ["×", "bad"], Unusable: ["×", "bad"], Asleep: ["○", "calm"],
  Chosen: ["✓", "good"], Feasible: ["●", "calm"], Rejected: ["×", "calm"],
  error: ["×", "bad"], warning: ["!", "warn"],
  Running: ["●", "calm"], Expected: ["◌", "calm"], Coming: ["+", "good"], Leaving: ["−", "warn"],
};

function badge(word) {
  const [mark, tone] = of(MARKS, word) ?? ["•", "calm"];
  return h("span", { class: `badge ${tone}` }, h("span", { "aria-hidden": "true" }, mark), ` ${word}`);
}

function facts(rows) {
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== "" && value !== undefined).map(([term, value]) => [
    h("dt", {}, term), h("dd", {}, value),
  ]));
}

function section(title, ...children) {
  return h("section", {}, h("h3", {}, title), children);
}

/** A small table that is there whole. Cells are text or elements; the first of a row is its heading. */
function table(caption, heads, rows, empty = "") {
  if (!rows.length) return empty ? h("p", { class: "note" }, empty) : null;
  const wrap = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: "plain" },
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, i) => (i ? h("td", {}, cell) : h("th", { scope: "row" }, cell))))))));
  return wrap;
}

let lastSaid;
/** Said to screen readers, when typing has paused. */
function say(text) {
  clearTimeout(lastSaid);
  lastSaid = setTimeout(() => { document.getElementById("said").textContent = text; }, 300);
}
