const NOTHING = { search: "", finding: null, group: null, host: null, pattern: null, rule: null };

// Which drops and groups are listed. Entries of a view: a row as its number, a group as -1 - number.

class View {
  constructor(drops, findings) {
    this.drops = drops;
    this.findings = findings;
    this.choice = NOTHING;
    this.open = new Set();
    this.matching = new Int32Array(drops.groupCount);
    if (drops.length <= 40) for (let group = 0; group < drops.groupCount; group++) this.open.add(group);
    this.update();
  }

  // List what matches `choice`, which has the keys of NOTHING. O(drops).
  choose(choice) {
    this.choice = choice;
    this.update();
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
    for (const word of choice.search.toLowerCase().split(/\s+/).filter(Boolean)) {
      tests.push((row) => haystacks[row].includes(word));
    }
    if (tests.length === 1) return tests[0];
    return (row) => tests.every((test) => test(row));
  }
}
