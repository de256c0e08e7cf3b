// The address says what is shown: `#/groups/ns/name`, `#/groups?q=train&action=Wait`. So every view can be linked to, and the browser's
// own way back works.

function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  return { words: path.split("/").filter(Boolean).map(decode), state: Object.fromEntries(new URLSearchParams(query)) };
}

/** Filters change the address without a step in the history. */
function keepInAddress(state) {
  const path = location.hash.replace(/\?.*/, "") || "#/";
  const kept = Object.entries(state).filter(([, value]) => value);
  const query = kept.length ? `?${new URLSearchParams(kept)}` : "";
  history.replaceState(null, "", `${path}${query}`);
}

const main = document.getElementById("main");

function show(isFirst = false) {
  const { words, state } = readAddress();
  const known = Object.hasOwn(VIEWS, words[0] ?? "");
  liveList = null;
  const view = known ? VIEWS[words[0] ?? ""](words.slice(1), state) : unknown("view", words[0], "#/");
  const heading = h("h2", { tabindex: "-1", id: "heading" }, named(view.title));
  main.replaceChildren(h("article", { "aria-labelledby": "heading" },
    view.crumb ? h("p", { class: "crumb" }, h("a", { href: view.crumb[1] }, view.crumb[0])) : null,
    heading, view.body.filter(Boolean)));
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === (words[0] ?? "")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title} · ${raw.fleet} · gitplacer`;
  if (!isFirst) {
    window.scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  }
  view.drawn?.();
}

const THEMES = ["auto", "light", "dark"];

function remembered(value) {
  try { // a page that was opened from a file may be kept from storing anything
    if (value !== undefined) localStorage.setItem("gitplacer-theme", value);
    return localStorage.getItem("gitplacer-theme");
  } catch { return value; }
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = { auto: "◑ Auto", light: "○ Light", dark: "● Dark" }[theme];
  button.setAttribute("aria-label", `Theme: ${theme}. Change it`);
  button.dataset.theme = theme;
}

function begin() {
  document.getElementById("fleet-name").append(named(raw.fleet));
  const now = new Date(raw.now * 1000).toISOString();
  document.getElementById("as-of").append("as of ", h("time", { datetime: now }, timeText(raw.now)), raw.redacted ? ", without nodes and numbers" : "");
  document.getElementById("nav").append(h("ul", {}, NAV.map(([id, label, count]) => {
    const number = count();
    const alert = number > 0 && (id === "waiting" || id === "problems");
    return h("li", {}, h("a", { href: id ? place(id) : "#/", "data-view": id }, label,
      number === null ? null : h("span", { class: alert ? "number alert" : "number" }, plain.format(number))));
  })));
  document.getElementById("foot").append(`Made by gitplacer ${raw.version}. Nothing in this page is loaded from elsewhere.`);
  document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  const button = document.getElementById("theme");
  const kept = remembered();
  setTheme(THEMES.includes(kept) ? kept : "auto");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length];
    remembered(next);
    setTheme(next);
    repaint();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  window.addEventListener("hashchange", () => show());
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    repaint();
    document.querySelector(".timeline")?.paint();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = main.querySelector("input[type=search]");
    if (field) { event.preventDefault(); field.focus(); } else { event.preventDefault(); location.hash = "#/groups"; }
  });
  show(true);
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("drawn")));
}

begin();
