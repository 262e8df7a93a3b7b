// The drops, by row, and the groups that they belong to, by number. Rows of a group stand together.
// Pages are numbered: the kept ones as their groups, the others after them, row by row.
class Drops {
  constructor(data) {
    Object.assign(this, data);
    this.length = data.rows.rule.length;
    this.groupCount = data.groups.first.length;
    this.groupOf = new Int32Array(this.length);
    for (let group = 0; group < this.groupCount; group++) {
      this.groupOf.fill(group, this.first(group), this.end(group));
    }
  }

  first(group) {
    return this.groups.first[group];
  }

  end(group) {
    return group + 1 < this.groupCount ? this.groups.first[group + 1] : this.length;
  }

  page(row) {
    return this.groupCount + row;
  }

  url(page) {
    return this.sites[this.pages.site[page]] + this.pages.path[page];
  }

  title(page) {
    return this.titles[this.pages.title[page]];
  }

  headings(page) {
    return this.titles[this.pages.headings[page]];
  }

  // What a search looks at, of every row: its address and title and those of the kept page.
  get haystacks() {
    if (!this.lowered) {
      const pages = this.pages.path.map((_, page) => `${this.url(page)}\n${this.title(page)}\n${this.headings(page)}`.toLowerCase());
      this.lowered = this.rows.rule.map((_, row) => `${pages[this.page(row)]}\n${pages[this.groupOf[row]]}`);
    }
    return this.lowered;
  }
}

const NOTHING = { search: "", finding: null, group: null, host: null, pattern: null, rule: null };

// Which drops and groups are listed. Entries of a view: a row as its number, a group as -1 - number.

class View {
  constructor(drops, findings) {
    this.drops = drops;
    this.findings = findings;
    this.open = new Set();
    this.matching = new Int32Array(drops.groupCount);
    if (drops.length <= 40) for (let group = 0; group < drops.groupCount; group++) this.open.add(group);
  }

  toggle(group, open = !this.open.has(group)) {
    if (open) this.open.add(group);
    else this.open.delete(group);
    this.update();
  }

  // List what matches `choice`, which has the keys of NOTHING. O(drops).
  update() {
    const { drops } = this;
    const matches = this.test();
    const finding = this.findings.find(({ name }) => name === this.choice.finding);
    this.flat = Boolean(finding);
    this.entries = [];
    this.matching.fill(0);
    if (finding) {
      this.entries = finding.rows.filter(matches);
      this.rowCount = this.entries.length;
      this.groupCount = new Set(this.entries.map((row) => drops.groupOf[row])).size;
      return;
    }
    this.rowCount = this.groupCount = 0;
    for (let group = 0; group < drops.groupCount; group++) {
      const place = this.entries.length, open = this.open.has(group);
      let found = 0;
      for (let row = drops.first(group), end = drops.end(group); row < end; row++) {
        if (!matches(row)) continue;
        if (!found++) this.entries.push(-1 - group);
        if (open) this.entries.push(row);
      }
      this.matching[group] = found;
      this.rowCount += found;
      if (this.entries.length > place) this.groupCount++;
    }
  }

  test() {
    const { drops, choice } = this, { pages, rows } = drops;
    const tests = [];
    const same = (of, names, value) => {
      if (value == null) return;
      const number = names.indexOf(value);
      tests.push((row) => of(row) === number);
    };
    same((row) => pages.site[drops.page(row)], drops.sites, choice.host);
    same((row) => rows.pattern[row], drops.patterns, choice.pattern);
    same((row) => rows.rule[row], drops.rules, choice.rule);
    if (choice.group != null) tests.push((row) => drops.groupOf[row] === choice.group);
    const haystacks = choice.search ? drops.haystacks : null;
    for (const word of choice.search.toLowerCase().split(/\s+/).filter(Boolean)) {
      tests.push((row) => haystacks[row].includes(word));
    }
    if (tests.length === 1) return tests[0];
    return (row) => tests.every((test) => test(row));
  }
}

// A list of any length, of which the rows in sight exist. A tree to those who can't see it.

const SPARE = 8; // rows beyond the edges

class List {
  // `draw(entry)` returns the content of a row; `opened(entry)` is called when one is chosen.
  constructor(view, draw, opened) {
    [this.view, this.draw, this.opened] = [view, draw, opened];
    this.rows = make("div", { class: "rows", role: "presentation" });
    this.element = make(
      "div",
      {
        class: "list",
        role: "tree",
        tabindex: "0",
        "aria-label": "Groups of a kept page and the pages that repeat it",
        scroll: () => this.show(),
        keydown: (event) => this.key(event),
        click: (event) => this.click(event),
      },
      this.rows,
    );
    this.current = 0;
    addEventListener("resize", () => this.show());
  }

  // List the view anew, from the top unless `stay`.
  refresh({ stay = false } = {}) {
    if (!stay) [this.current, this.element.scrollTop] = [0, 0];
    this.current = Math.max(0, Math.min(this.current, this.view.entries.length - 1));
    this.show();
  }

  get height() {
    this.measured ||= parseFloat(getComputedStyle(this.rows).getPropertyValue("line-height")) || 52;
    return this.measured;
  }

  show() {
    const { entries } = this.view, { height } = this;
    const top = this.element.scrollTop, seen = this.element.clientHeight || 600;
    const from = Math.max(0, Math.floor(top / height) - SPARE);
    const to = Math.min(entries.length, Math.ceil((top + seen) / height) + SPARE);
    this.rows.style.height = `${entries.length * height}px`;
    this.rows.replaceChildren();
    for (let place = from; place < to; place++) this.rows.append(this.row(place));
    if (this.rows.childElementCount) this.element.setAttribute("aria-activedescendant", `row-${this.current}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  row(place) {
    const entry = this.view.entries[place], group = -1 - entry;
    const row = make(
      "div",
      {
        id: `row-${place}`,
        class: group >= 0 ? "row group" : "row drop",
        role: "treeitem",
        "aria-level": group >= 0 || this.view.flat ? "1" : "2",
        "aria-expanded": group >= 0 ? String(this.view.open.has(group)) : null,
        "aria-selected": String(place === this.current),
        "aria-setsize": this.view.entries.length,
        "aria-posinset": place + 1,
      },
      this.draw(entry),
    );
    row.style.top = `${place * this.height}px`;
    return row;
  }

  select(place, { show = true } = {}) {
    const { entries } = this.view;
    if (!entries.length) return;
    this.current = Math.max(0, Math.min(place, entries.length - 1));
    const top = this.current * this.height, seen = this.element.clientHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.height > this.element.scrollTop + seen) this.element.scrollTop = top + this.height - seen;
    this.show();
    if (show) this.opened(entries[this.current], { asked: false });
  }

  toggle(open) {
    const entry = this.view.entries[this.current];
    if (entry < 0) {
      this.view.toggle(-1 - entry, open);
      this.refresh({ stay: true });
    }
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row || event.target.closest("a")) return;
    this.select(Number(row.id.slice(4)), { show: false });
    this.toggle();
    this.opened(this.view.entries[this.current], { asked: true });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { current, view } = this, page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const keys = {
      ArrowDown: () => this.select(current + 1),
      ArrowUp: () => this.select(current - 1),
      PageDown: () => this.select(current + page),
      PageUp: () => this.select(current - page),
      Home: () => this.select(0),
      End: () => this.select(view.entries.length - 1),
      ArrowRight: () => this.unfold(),
      ArrowLeft: () => this.fold(),
      Enter: () => this.opened(view.entries[current], { asked: true }),
      " ": () => this.toggle(),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  unfold() {
    const entry = this.view.entries[this.current];
    if (entry < 0 && !this.view.open.has(-1 - entry)) this.toggle(true);
    else if (entry < 0) this.select(this.current + 1);
  }

  fold() {
    const entry = this.view.entries[this.current];
    if (entry < 0) this.toggle(false);
    else if (!this.view.flat) {
      let place = this.current;
      while (this.view.entries[place] >= 0) place--;
      this.select(place);
    }
  }
}
