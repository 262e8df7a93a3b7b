// A page that was dropped beside the page that it repeats.

const FOUND = {
  distance: "by its fingerprint, within k bits",
  features: "by shared min-wise features",
  equal: "by equal content",
  address: "by its address",
};

const DONE = {
  drop: "Dropped", "drop-links": "Delivered without its links", "drop-items": "Delivered without its items",
  deprioritize: "Delivered, its requests put back", flag: "Delivered, as drops are only flagged",
  "keep-budget": "Delivered as one of the first of its group", "keep-start": "Delivered, as it was asked for by name",
  "keep-again": "Delivered, as it was asked for once more", "keep-pending": "Delivered, as the kept page wasn’t done in time",
};

// What was done about the page, and why, in a plain sentence.
function why(drops, row, rules) {
  const { rows, words } = drops;
  const share = (value) => `${(Math.floor(value / 10) / 10).toFixed(1)} %`;
  const alike = rows.resemblance[row], needed = rows.threshold[row];
  const reason = alike == null || needed == null
    ? rules[drops.rules[rows.rule[row]]] ?? ""
    : `An estimated ${share(alike)} of the text is the same as on the kept page, and ${share(needed)} is enough.`;
  return make("p", { class: "why" }, make("b", {}, `${DONE[words[rows.action[row]]] ?? words[rows.action[row]]}. `), reason);
}

function pairView(drops, row, texts, rules) {
  const { pages, rows, words } = drops;
  const group = drops.groupOf[row], page = drops.page(row);
  const facts = make("dl", { class: "facts" });
  const fact = (name, ...value) => facts.append(make("div", {}, make("dt", {}, name), make("dd", {}, ...value)));
  const threshold = rows.threshold[row];
  if (rows.resemblance[row] != null) {
    fact("resemblance", make("b", {}, resemblance(rows.resemblance[row])),
      threshold == null ? "" : make("span", { class: "soft" }, ` needed ${resemblance(threshold)}`));
  }
  const count = pages.tokens[page], kept = pages.tokens[group];
  if (rows.resemblance[row] != null && count && kept) {
    fact("contained", make("b", {}, heldShare(rows.resemblance[row], count, kept)), " of this page in the kept one, ",
      make("b", {}, heldShare(rows.resemblance[row], kept, count)), " of the kept one in this");
  }
  if (rows.distance[row] != null) fact("distance", make("b", {}, String(rows.distance[row])), make("span", { class: "soft" }, " of 64 bits"));
  const found = words[rows.found[row]];
  if (found) fact("found", shown(FOUND[found] ?? found));
  const rule = drops.rules[rows.rule[row]];
  fact("rule", shown(rule), threshold != null && rules[rule] ? make("small", { class: "soft" }, ` ${rules[rule]}`) : "");
  if (rows.learnt[row].length) fact("learnt", rows.learnt[row].map((name, place) => [place ? ", " : "", shown(words[name])]).flat());
  fact("action", shown(words[rows.action[row]]));
  if (words[rows.detail[row]]) fact("judged", shown(words[rows.detail[row]]));
  const content = make("div", { class: "texts" });
  differenceOf(content, texts, pages.text[group], pages.text[page]);
  return [
    make("div", { class: "sides" },
      side("kept", "Kept", drops, group, group),
      side("repeated", "Repeats it", drops, page, group)),
    why(drops, row, rules),
    facts,
    content,
  ];
}

function side(kind, label, drops, page, kept) {
  const title = drops.title(page), headings = drops.headings(page), words = drops.pages.tokens[page];
  return make("section", { class: `page ${kind}` },
    make("h3", {}, label),
    title ? make("p", { class: title === drops.title(kept) ? "title" : "title other" }, shown(title)) : null,
    headings && headings !== title ? make("p", { class: headings === drops.headings(kept) ? "soft" : "other" }, shown(headings)) : null,
    make("p", {}, address(drops.url(page), 2000)),
    words ? make("p", { class: "soft" }, counted(words, "word")) : null);
}

async function differenceOf(place, texts, kept, drop) {
  if (kept < 0 || drop < 0) {
    place.append(make("p", { class: "soft" }, texts.length
      ? "This page holds no texts of this pair; it holds those of the pairs that deserve a look first."
      : "With NEARDUP_AUDIT_TEXT = True the audit has the texts, and the difference stands here."));
    return;
  }
  try {
    const [a, b] = await Promise.all([unpacked(texts[kept].packed), unpacked(texts[drop].packed)]);
    place.append(...difference(a, texts[kept].omitted, b, texts[drop].omitted));
  } catch (error) {
    place.append(make("p", { class: "soft" }, `The texts in the audit can't be read (${error.name}).`));
  }
}
