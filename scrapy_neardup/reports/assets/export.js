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

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
