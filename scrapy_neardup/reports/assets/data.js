// The data that the page carries. Each element of data is read once and then given up.

function read(id) {
  const element = document.getElementById(id);
  const value = JSON.parse(element.textContent);
  element.remove();
  return value;
}

// The drops, by row, and the groups that they belong to, by number. Rows of a group stand together.
class Drops {
  constructor(data) {
    this.titles = data.titles;
    this.patterns = data.patterns;
    this.rules = data.rules;
    this.words = data.words;
    this.sites = data.sites;
    this.rows = data.rows;
    this.groups = data.groups;
    this.length = data.rows.path.length;
    this.groupCount = data.groups.path.length;
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

  url(row) {
    return this.sites[this.rows.site[row]] + this.rows.path[row];
  }

  keptUrl(group) {
    return this.sites[this.groups.site[group]] + this.groups.path[group];
  }

  title(row) {
    return this.titles[this.rows.title[row]];
  }

  keptTitle(group) {
    return this.titles[this.groups.title[group]];
  }

  // What a search looks at, of every row: its address and title and those of the kept page.
  get haystacks() {
    if (!this.lowered) {
      const of = (url, table, at) =>
        `${url}\n${this.titles[table.title[at]]}\n${this.titles[table.headings[at]]}`.toLowerCase();
      const groups = this.groups.path.map((_, group) => of(this.keptUrl(group), this.groups, group));
      this.lowered = this.rows.path.map(
        (_, row) => `${of(this.url(row), this.rows, row)}\n${groups[this.groupOf[row]]}`,
      );
    }
    return this.lowered;
  }
}

// A text as the audit packs it: zlib in base64. The end of an enormous one is left out.
const LONGEST = 4_000_000;

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > LONGEST) {
      await reader.cancel();
      return text.slice(0, LONGEST);
    }
  }
}
