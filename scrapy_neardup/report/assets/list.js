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

// What is listed, as buttons: the first entries of a long list, and more of them when asked for.

const AT_ONCE = 500; // entries
const STEP = 10; // entries that a key for a page goes on

class List {
  // `draw(entry)` returns the content of a row; `opened(entry)` is called when one is chosen.
  constructor(view, draw, opened) {
    [this.view, this.draw, this.opened] = [view, draw, opened];
    this.element = make("div", {
      class: "list", role: "group", tabindex: "-1", keydown: (event) => this.key(event),
      "aria-label": "Groups of a kept page and the pages that repeat it",
    });
  }

  // List the view anew, from the top unless `stay`.
  refresh({ stay = false } = {}) {
    if (!stay) [this.current, this.most, this.element.scrollTop] = [0, AT_ONCE, 0];
    const { entries } = this.view, left = entries.length - this.most;
    this.rows = entries.slice(0, this.most).map((entry, place) => this.row(entry, place));
    const more = () => {
      this.most += AT_ONCE;
      this.refresh({ stay: true });
    };
    this.element.replaceChildren(...this.rows, left > 0 ? button("quiet", more, `Show more of ${count(left)}`) : "");
  }

  row(entry, place) {
    const group = -1 - entry;
    return make("button", {
      type: "button",
      class: group >= 0 ? "row group" : "row drop",
      "aria-expanded": group >= 0 ? String(this.view.open.has(group)) : null,
      "aria-current": place === this.current ? "true" : null,
      click: () => this.choose(place),
    }, this.draw(entry));
  }

  // Show the pair of a row.
  select(place) {
    this.rows[this.current]?.removeAttribute("aria-current");
    this.current = Math.max(0, Math.min(place, this.rows.length - 1));
    this.rows[this.current].setAttribute("aria-current", "true");
    this.opened(this.view.entries[this.current], { asked: false });
  }

  go(place) {
    this.select(place);
    this.rows[this.current].focus();
  }

  choose(place) {
    this.go(place);
    this.toggle();
    this.opened(this.view.entries[place], { asked: true });
  }

  // Open or close the group, if it is one.
  toggle() {
    const entry = this.view.entries[this.current];
    if (entry >= 0) return;
    this.view.toggle(-1 - entry);
    this.refresh({ stay: true });
    this.rows[this.current].focus();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.rows.length) return;
    const { current, view } = this, group = -1 - view.entries[current], isOpen = view.open.has(group);
    const keys = {
      ArrowDown: () => this.go(current + 1),
      ArrowUp: () => this.go(current - 1),
      PageDown: () => this.go(current + STEP),
      PageUp: () => this.go(current - STEP),
      Home: () => this.go(0),
      End: () => this.go(this.rows.length - 1),
      ArrowRight: () => group >= 0 && (isOpen ? this.go(current + 1) : this.toggle()),
      ArrowLeft: () => group >= 0 ? isOpen && this.toggle()
        : view.flat || this.go(view.entries.findLastIndex((entry, place) => place < current && entry < 0)),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }
}
