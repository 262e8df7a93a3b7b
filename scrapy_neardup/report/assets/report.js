// The list of drops, group by group, and the pair that a drop and its kept page make. Rule: a text
// from a crawled page becomes a text node, never markup, and only http and https addresses become links.

// Controls, marks of direction and what has no width: shown by name, as they may deceive.
const SIGNS = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const SPACES = /[\t\n\f\r ]+/g;
const AT_ONCE = 500; // entries of a list
const LONGEST_TEXT = 4_000_000; // characters

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

function cut(text, length) {
  return text.length > length ? `${text.slice(0, length)}… (${count(text.length)} characters)` : text;
}

// The text as nodes, each control character a <span> with its number.
function signed(text) {
  const signs = [...text.matchAll(SIGNS)].map(([sign]) =>
    make("span", { class: "sign" }, `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`));
  return text.split(SIGNS).flatMap((between, place) => [between, signs[place]]);
}

// For attributes, in which only characters can stand.
function plain(text) {
  return text.replace(SPACES, " ").replace(SIGNS, "\ufffd");
}

function shown(text, length = 400) {
  return make("bdi", {}, signed(cut(text.replace(SPACES, " "), length)));
}

function address(url) {
  if (!/^https?:\/\/[^/]/i.test(url)) return make("span", { class: "address" }, shown(url, 2000));
  return make("a", { class: "address", href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, shown(url, 2000));
}

function count(number) {
  return number.toLocaleString("en");
}

function counted(number, one) {
  return `${count(number)} ${number === 1 ? one : `${one}s`}`;
}

// A text as the audit packs it: zlib in base64. The end of an enormous one is left out.
async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (!done) text += value;
    if (done || text.length > LONGEST_TEXT) {
      await reader.cancel();
      return text.slice(0, LONGEST_TEXT);
    }
  }
}

// The data, as `reportpage.listing` arranges them: numbers of texts become the texts.
function read() {
  const { names, groups, findings } = JSON.parse(document.getElementById("drops").textContent);
  const page = ([site, path, title, headings, tokens, text]) =>
    ({ host: names[site], path, url: names[site] + path, title: names[title], headings: names[headings], tokens, text });
  const rows = groups.flatMap(([kept, size, members]) => {
    const group = { ...page(kept), size };
    return members.map(([own, pattern, rule, distance, resemblance, threshold, found, action, detail, learnt]) => ({
      ...page(own), group, pattern: names[pattern], rule: names[rule], distance, resemblance, threshold,
      found: names[found], action: names[action], detail: names[detail], learnt: learnt.map((name) => names[name]),
    }));
  });
  return { rows, findings };
}

// Append what `draw` makes of the items: the first of a long list, and more of them when asked for.
function list(element, items, draw) {
  element.append(...items.slice(0, AT_ONCE).map(draw));
  if (items.length <= AT_ONCE) return;
  const more = make("button", { type: "button", class: "quiet", click: () => {
    more.remove();
    list(element, items.slice(AT_ONCE), draw);
  } }, `Show more of ${count(items.length - AT_ONCE)}`);
  element.append(more);
}

// An element that is filled when it is opened.
function folded(kind, heading, fill, open = false) {
  const element = make("details", { class: kind, toggle: () => {
    if (element.open && element.children.length === 1) fill(element);
  } }, make("summary", {}, heading));
  element.open = open;
  return element;
}

function groupOf([group, rows], open) {
  return folded("group", [
    make("span", { class: "tally" }, rows.length === group.size ? count(group.size) : `${count(rows.length)} of ${count(group.size)}`),
    make("b", {}, shown(group.title || group.path || group.url, 140)), " ",
    make("span", { class: "where" }, shown(group.url, 160)),
  ], (element) => list(element, rows, dropOf), open);
}

function dropOf(drop) {
  return folded("drop", [
    make("span", { class: "tally" }, drop.resemblance == null ? "" : share(drop.resemblance)),
    make("span", { class: "address" }, shown(drop.path || drop.url, 160)), " ",
    make("span", { class: "where" }, shown(drop.title, 140), " ", make("i", {}, shown(drop.rule, 60))),
  ], (element) => {
    const texts = make("div", { class: "texts" });
    element.append(make("div", { class: "sides" }, side("kept", "Kept", drop.group, drop.group),
      side("repeated", "Repeats it", drop, drop.group)), facts(drop), texts);
    compare(texts, drop.group.text, drop.text);
  });
}

function side(kind, label, page, kept) {
  const text = (name) => make("p", { class: page[name] === kept[name] ? name : `${name} other` }, shown(page[name]));
  return make("section", { class: `page ${kind}` }, make("h3", {}, label), page.title ? text("title") : null,
    page.headings && page.headings !== page.title ? text("headings") : null, make("p", {}, address(page.url)),
    page.tokens ? make("p", { class: "soft" }, counted(page.tokens, "word")) : null);
}

// Three digits, cut off: what is below a threshold never looks equal to it.
function share(resemblance) {
  return (Math.floor(resemblance * 1000 + 1e-6) / 1000).toFixed(3);
}

// The estimated share of a page of `ours` words that a page of `theirs` holds (Broder 1997).
function heldShare(resemblance, ours, theirs) {
  const shared = resemblance / (1 + resemblance) * (ours + theirs);
  return `${Math.round(100 * Math.min(shared, ours, theirs) / ours)} %`;
}

function facts(drop) {
  const { resemblance, threshold, tokens, group, distance } = drop, known = resemblance != null;
  const needed = threshold == null ? "" : ` needed ${share(threshold)}`;
  return make("dl", { class: "facts" }, Object.entries({
    resemblance: known && share(resemblance) + needed,
    contained: known && tokens && group.tokens && `${heldShare(resemblance, tokens, group.tokens)} of this page in the kept one,`
      + ` ${heldShare(resemblance, group.tokens, tokens)} of the kept one in this`,
    distance: distance != null && `${distance} of 64 bits`,
    found: drop.found, rule: drop.rule, learnt: drop.learnt.join(", "), action: drop.action, judged: drop.detail,
  }).filter(([, value]) => value).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, shown(value)))));
}

let texts = null; // read when the first pair is opened

async function compare(place, kept, drop) {
  texts ??= JSON.parse(document.getElementById("texts").textContent);
  const say = (sentence) => place.append(make("p", { class: "soft" }, sentence));
  if (kept < 0 || drop < 0) {
    say(texts.length ? "This page holds no texts of this pair; it holds those of the pairs that deserve a look first."
      : "With NEARDUP_AUDIT_TEXT = True the audit has the texts, and the difference stands here.");
    return;
  }
  try {
    const [a, b] = await Promise.all([unpacked(texts[kept].packed), unpacked(texts[drop].packed)]);
    place.append(...difference(a, texts[kept].omitted, b, texts[drop].omitted));
  } catch (error) {
    say(`The texts in the audit can't be read (${error.name}).`);
  }
}

const { rows, findings } = read();
const [search, tally, place, all] = ["search", "tally", "list", "all"].map((id) => document.getElementById(id));
let choice = {}; // what rows must have: host, pattern, rule; or a finding

// What a search looks at: the addresses and titles of both pages.
function haystack(row) {
  const of = (page) => `${page.url}\n${page.title}\n${page.headings}`;
  row.haystack ??= `${of(row)}\n${of(row.group)}`.toLowerCase();
  return row.haystack;
}

function refresh() {
  const { finding, ...exact } = choice, wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (finding ? findings[finding].map((row) => rows[row]) : rows).filter((row) =>
    Object.entries(exact).every(([name, value]) => row[name] === value) && wanted.every((word) => haystack(row).includes(word)));
  const groups = new Map();
  for (const row of found) {
    if (!groups.has(row.group)) groups.set(row.group, []);
    groups.get(row.group).push(row);
  }
  tally.replaceChildren(found.length ? `${counted(found.length, "drop")} in ${counted(groups.size, "group")}` : "No drop matches",
    ...Object.values(choice).flatMap((value) => [", ", shown(value, 90)]));
  all.hidden = !wanted.length && !Object.keys(choice).length;
  place.replaceChildren();
  if (finding) list(place, found, dropOf); // worst first
  else list(place, [...groups], (group) => groupOf(group, found.length <= 40 || groups.size === 1));
}

function choose(chosen) {
  choice = chosen;
  search.value = "";
  refresh();
}

search.addEventListener("input", refresh);
all.addEventListener("click", () => choose({}));
for (const button of document.querySelectorAll("[data-filter]")) {
  button.addEventListener("click", () => {
    choose(JSON.parse(button.dataset.filter));
    document.getElementById("groups").scrollIntoView();
    search.focus({ preventScroll: true });
  });
}
refresh();
