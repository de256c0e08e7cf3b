// Lists of thousands: only the rows near the window are in the page, at their true heights, so that scrolling, links and the keyboard
// work as in a short table. A screen reader is told how many rows there are, and which these are.

const WHOLE = 200; // rows up to which a list is there whole
const BEYOND = 12; // rows kept above and below the window
const collator = new Intl.Collator("en", { numeric: true });

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}

let liveList = null;

class List {
  /**
   * `columns` are {id, label, cell(row), by(row), wide}: `by` makes it sortable, `wide` is left out on a phone.
   * `changed` is told the order: {id, down}.
   */
  constructor({ caption, columns, rows, order, changed }) {
    this.columns = columns;
    this.order = order ?? { id: "", down: false };
    this.changed = changed ?? (() => {});
    this.body = h("tbody", { role: "rowgroup" });
    this.heads = columns.map((column) => this.head(column));
    this.table = h("table", { class: "list", role: "table" },
      h("caption", { class: "hidden" }, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, this.heads)),
      this.body);
    this.element = h("div", { class: "list-box" }, this.table);
    this.height = 0;
    this.from = this.to = -1;
    this.all = rows;
    this.sort();
    liveList = this;
  }

  head(column) {
    const inside = column.by
      ? h("button", { type: "button", on: { click: () => this.orderBy(column.id) } }, column.label, h("span", { class: "arrow", "aria-hidden": "true" }))
      : column.label;
    return h("th", { scope: "col", role: "columnheader", class: `c-${column.id}${column.wide ? " wide" : ""}` }, inside);
  }

  orderBy(id) {
    this.order = { id, down: this.order.id === id && !this.order.down };
    this.sort();
    this.draw(true);
    this.changed(this.order);
    const label = this.columns.find((column) => column.id === id).label;
    say(`Sorted by ${label}, ${this.order.down ? "descending" : "ascending"}`);
  }

  show(rows) {
    this.all = rows;
    this.sort();
    this.draw(true);
  }

  sort() {
    const column = this.columns.find((each) => each.id === this.order.id && each.by);
    this.rows = this.all;
    if (column) {
      const keyed = this.all.map((row) => [column.by(row), row]);
      const sign = this.order.down ? -1 : 1;
      keyed.sort((a, b) => sign * compare(a[0], b[0]));
      this.rows = keyed.map(([, row]) => row);
    }
    this.columns.forEach((each, i) => {
      const isIt = column && each.id === column.id;
      if (isIt) this.heads[i].setAttribute("aria-sort", this.order.down ? "descending" : "ascending");
      else this.heads[i].removeAttribute("aria-sort");
    });
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
  }

  /** Put the rows near the window into the page. `anew`: they are not those that are there. */
  draw(anew = false) {
    if (!this.element.isConnected) return;
    const count = this.rows.length;
    let from = 0, to = count;
    if (count > WHOLE && !printing) {
      if (!this.height) this.measure();
      const top = this.body.getBoundingClientRect().top;
      from = Math.max(0, Math.floor(-top / this.height) - BEYOND);
      to = Math.min(count, from + Math.ceil(window.innerHeight / this.height) + 2 * BEYOND);
      from = Math.max(0, Math.min(from, to - 2 * BEYOND));
    }
    if (!anew && from === this.from && to === this.to) return;
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const [row, link] = focused ? [focused.closest("tr")?.getAttribute("aria-rowindex"), focused.getAttribute("href")] : [];
    this.from = from;
    this.to = to;
    const gaps = count > WHOLE;
    this.body.replaceChildren(
      ...(gaps ? [this.gap(from)] : []),
      ...this.rows.slice(from, to).map((each, i) => this.row(each, from + i)),
      ...(gaps ? [this.gap(count - to)] : []));
    if (focused && link) {
      [...this.body.querySelectorAll(`tr[aria-rowindex="${row}"] a`)].find((each) => each.getAttribute("href") === link)?.focus({ preventScroll: true });
    }
  }

  measure() {
    const sample = this.row(this.rows[0], 0);
    this.body.replaceChildren(sample);
    this.height = Math.max(20, sample.getBoundingClientRect().height);
  }

  row(each, number) {
    return h("tr", { role: "row", "aria-rowindex": number + 2 }, this.columns.map((column, i) =>
      h(i ? "td" : "th", { scope: i ? null : "row", role: i ? "cell" : "rowheader", class: `c-${column.id}${column.wide ? " wide" : ""}` },
        h("div", {}, column.cell(each)))));
  }

  gap(rows) {
    return h("tr", { class: "gap", "aria-hidden": "true", role: "presentation" },
      h("td", { colspan: this.columns.length, role: "presentation", css: { height: `${rows * this.height}px` } }));
  }
}

let printing = false;
let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; liveList?.draw(); });
}
window.addEventListener("scroll", redraw, { passive: true });
window.addEventListener("resize", () => { if (liveList) { liveList.height = 0; liveList.draw(true); } });
window.addEventListener("beforeprint", () => { printing = true; liveList?.draw(true); });
window.addEventListener("afterprint", () => { printing = false; liveList?.draw(true); });

/** What narrows a list: a search field, selects, boxes. `read` is given {id: value}; what is set stands in the address. */
function filters(fields, values, changed) {
  const current = { ...values };
  const controls = fields.map((field) => {
    const id = `f-${field.id}`;
    const set = (value) => { current[field.id] = value; changed({ ...current }); };
    if (field.options) {
      const select = h("select", { id, on: { change: (event) => set(event.target.value) } },
        [["", field.all], ...field.options.map((option) => [option, option])].map(([value, label]) =>
          h("option", { value, selected: (current[field.id] ?? "") === value }, label)));
      return h("div", { class: "field" }, h("label", { for: id }, field.label), select);
    }
    if (field.box) {
      return h("div", { class: "field box" },
        h("input", { type: "checkbox", id, checked: Boolean(current[field.id]), on: { change: (event) => set(event.target.checked ? "1" : "") } }),
        h("label", { for: id }, field.label));
    }
    return h("div", { class: "field grow" }, h("label", { for: id }, field.label),
      h("input", { type: "search", id, value: current[field.id] ?? "", placeholder: field.hint, autocomplete: "off", spellcheck: "false", on: { input: (event) => set(event.target.value) } }));
  });
  return h("form", { class: "filters", role: "search", on: { submit: (event) => event.preventDefault() } }, controls);
}

/** A list with filters above it and a count of what is left, all of which stand in the address. */
function browser({ caption, what, fields, columns, rows, matches, state, order, empty }) {
  const many = rows.length;
  const count = h("p", { class: "count" });
  const nothing = h("p", { class: "note" }, empty ?? "Nothing matches.");
  const chosen = { ...state };
  const list = new List({
    caption, columns, rows: [],
    order: chosen.sort ? { id: chosen.sort, down: chosen.down === "1" } : order,
    changed: ({ id, down }) => { chosen.sort = id; chosen.down = down ? "1" : ""; keepInAddress(chosen); },
  });
  const apply = (values, spoken) => {
    Object.assign(chosen, values);
    const test = matches(chosen);
    const left = rows.filter(test);
    const text = left.length === many ? counted(many, what[0], what[1]) : `${plain.format(left.length)} of ${counted(many, what[0], what[1])}`;
    count.textContent = text;
    nothing.hidden = left.length > 0;
    list.element.hidden = left.length === 0;
    list.show(left);
    if (spoken) { say(text); keepInAddress(chosen); }
  };
  const bar = fields.length ? filters(fields, chosen, (values) => apply(values, true)) : "";
  const element = h("div", {}, bar, count, list.element, nothing);
  return { element, drawn: () => apply({}, false) };
}
