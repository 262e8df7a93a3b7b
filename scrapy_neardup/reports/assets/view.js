// Which drops and groups are listed. Entries of a view: a row as its number, a group as -1 - number.

class View {
  constructor(drops, findings) {
    this.drops = drops;
    this.findings = findings;
    this.choice = {};
    this.order = { by: "size", descending: true };
    this.open = new Set();
    this.matching = new Int32Array(drops.groupCount);
    if (drops.length <= 40) for (let group = 0; group < drops.groupCount; group++) this.open.add(group);
    this.update();
  }

  // Choose `choice` and list what matches: {search, host, pattern, rule, finding, group}. O(drops).
  choose(choice) {
    this.choice = choice;
    this.update();
  }

  // List groups by `by`, the other way round if they already are. O(n log n).
  sort(by) {
    const descending = this.order.by === by ? !this.order.descending : by === "size";
    this.order = { by, descending };
    this.update();
  }

  // The groups in order. A group is as alike as its least alike row.
  get ordered() {
    const { drops, order } = this;
    const groups = Array.from({ length: drops.groupCount }, (_, group) => group);
    if (order.by === "size" && order.descending) return groups; // as the page has them
    const values = {
      size: (group) => drops.groups.size[group],
      title: (group) => drops.keptTitle(group).toLowerCase(),
      address: (group) => drops.keptUrl(group),
      resemblance: (group) => {
        const own = drops.rows.resemblance.slice(drops.first(group), drops.end(group)).filter((one) => one != null);
        return own.length ? Math.min(...own.slice(0, 10_000)) : 10_001;
      },
    };
    const keys = groups.map(values[order.by]);
    const sign = order.descending ? -1 : 1;
    return groups.sort((a, b) => sign * ((keys[a] > keys[b]) - (keys[a] < keys[b])) || a - b);
  }

  // The rows that match, in the order of the list.
  get rows() {
    const matches = this.test(), found = [];
    if (this.flat) return this.entries;
    for (const group of this.ordered) {
      for (let row = this.drops.first(group); row < this.drops.end(group); row++) if (matches(row)) found.push(row);
    }
    return found;
  }

  toggle(group, open = !this.open.has(group)) {
    if (open) this.open.add(group);
    else this.open.delete(group);
    this.update();
  }

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
    for (const group of this.ordered) {
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
    const { drops, choice } = this, { rows } = drops;
    const tests = [];
    const same = (column, names, value) => {
      if (value == null) return;
      const number = names.indexOf(value);
      tests.push((row) => column[row] === number);
    };
    same(rows.site, drops.sites, choice.host);
    same(rows.pattern, drops.patterns, choice.pattern);
    same(rows.rule, drops.rules, choice.rule);
    if (choice.group != null) tests.push((row) => drops.groupOf[row] === choice.group);
    const haystacks = choice.search ? drops.haystacks : null;
    for (const word of (choice.search ?? "").toLowerCase().split(/\s+/).filter(Boolean)) {
      tests.push((row) => haystacks[row].includes(word));
    }
    if (tests.length === 1) return tests[0];
    return (row) => tests.every((test) => test(row));
  }
}

// The drops that are listed as a file for a spreadsheet: RFC 4180, in UTF-8.

const FIELDS = ["page", "title", "repeats", "title of the kept page", "rule", "resemblance", "needed", "distance", "action"];

// A text that a spreadsheet would take for a formula is one of the crawled site: it gets an apostrophe.
function field(value) {
  let text = value == null ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(drops, rows) {
  const table = drops.rows, share = (number) => (number == null ? null : number / 10_000);
  const lines = rows.map((row) => {
    const group = drops.groupOf[row];
    return [
      drops.url(row), drops.title(row), drops.keptUrl(group), drops.keptTitle(group), drops.rules[table.rule[row]],
      share(table.resemblance[row]), share(table.threshold[row]), table.distance[row], drops.words[table.action[row]],
    ];
  });
  return [FIELDS, ...lines].map((line) => `${line.map(field).join(",")}\r\n`).join("");
}
