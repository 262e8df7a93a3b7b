// The words in which two texts differ, side by side. A word is marked if it is in no stretch of
// four words that the other text has anywhere, as the order of a page's rows doesn't count.

const STRETCH = 4;
const AROUND = 14; // words that are shown before and after a change
const MOST_SHOWN = 4000; // words of one part
const LONGEST_WORD = 160;

// The words of a text, and why each isn’t judged as content, if it isn’t.
function words(text, omitted) {
  const found = [];
  let range = 0, seen = 0, pairs = 0;
  const points = (end) => { // ranges count characters, strings here halves of surrogate pairs
    for (; seen < end; seen++) if ((text.charCodeAt(seen) & 0xfc00) === 0xd800) pairs++;
    return end - pairs;
  };
  for (const match of text.matchAll(/\S+/gu)) {
    const from = points(match.index), to = points(match.index + match[0].length);
    while (range < omitted.length && omitted[range][1] <= from) range++;
    const left = range < omitted.length && omitted[range][0] < to;
    found.push({ word: match[0], key: match[0].toLowerCase(), form: left ? omitted[range][2] : null });
  }
  return found;
}

// Each stretch -> the place where it begins; -1 if there are several. Both ends have stretches, too.
function stretches(part) {
  const found = new Map();
  for (let at = 1 - STRETCH; at < part.length; at++) {
    const key = stretch(part, at);
    found.set(key, found.has(key) ? -1 : at);
  }
  return found;
}

function stretch(part, at) {
  let key = "";
  for (let place = at; place < at + STRETCH; place++) key += ` ${part[place]?.key ?? ""}`;
  return key;
}

// Set `only` of the words that are in no stretch of the other text; return their number.
function mark(part, others) {
  let shared = -1; // the last word of a stretch that both have
  for (let at = 1 - STRETCH; at < part.length; at++) {
    if (others.has(stretch(part, at))) shared = at + STRETCH - 1;
    if (at >= 0) part[at].only = at > shared;
  }
  return part.reduce((total, { only }) => total + only, 0);
}

// The runs of equal words [in a, in b, length], in the order of both: around stretches that occur
// once in either text, as in a patience diff, and around both ends. O(n log n).
function equalRuns(a, b, inA, inB) {
  const once = [];
  for (const [key, at] of inA) if (at >= 0 && (inB.get(key) ?? -1) >= 0) once.push([at, inB.get(key)]);
  const runs = [];
  let endA = 0, endB = 0;
  for (let [x, y] of [[0, 0], ...increasing(once), [a.length - 1, b.length - 1]]) {
    if (x < endA || y < endB || a[x]?.key !== b[y]?.key) continue;
    while (x > endA && y > endB && a[x - 1].key === b[y - 1].key) [x, y] = [x - 1, y - 1];
    let length = 0;
    while (x + length < a.length && y + length < b.length && a[x + length].key === b[y + length].key) length++;
    runs.push([x, y, length]);
    [endA, endB] = [x + length, y + length];
  }
  return runs;
}

// The longest series of pairs, of ascending first numbers, whose second numbers ascend, too.
function increasing(pairs) {
  const last = []; // of a series of each length, the pair with the least second number
  for (const [x, y] of pairs) {
    let low = 0, high = last.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (last[middle].y < y) low = middle + 1;
      else high = middle;
    }
    last[low] = { x, y, before: last[low - 1] };
  }
  const found = [];
  for (let each = last.at(-1); each; each = each.before) found.push([each.x, each.y]);
  return found.reverse();
}

// The words as elements, one for each stretch of the same kind.
function wordNodes(part, tag = "span") {
  const nodes = [], shownPart = part.slice(0, MOST_SHOWN);
  for (let from = 0, to; from < shownPart.length; from = to) {
    const { form, only } = shownPart[from];
    for (to = from; shownPart[to]?.form === form && shownPart[to].only === only; to++);
    const text = shownPart.slice(from, to).map(({ word }) => cut(word, LONGEST_WORD)).join(" ");
    const title = form && `not judged as content: ${plain(form)}`;
    nodes.push(make(only ? tag : "span", { class: form && "omitted", title }, signed(text)), " ");
  }
  return part.length > MOST_SHOWN ? [...nodes, `… ${counted(part.length - MOST_SHOWN, "word")}`] : nodes;
}

function row(left, right) {
  return make("div", { class: "run" },
    [wordNodes(left, "del"), wordNodes(right, "ins")].map((nodes) => make("div", { class: "side", dir: "auto" }, nodes)));
}

// Rows of two cells, the kept page on the left; long runs of equal words are folded away.
function difference(textA, omittedA, textB, omittedB) {
  const a = words(textA, omittedA), b = words(textB, omittedB);
  const inA = stretches(a), inB = stretches(b), gone = mark(a, inB), come = mark(b, inA);
  const table = make("div", { class: "difference" });
  let fromA = 0, fromB = 0; // of the row that isn’t there yet
  const rowTo = (toA, toB) => {
    if (toA > fromA || toB > fromB) table.append(row(a.slice(fromA, toA), b.slice(fromB, toB)));
    [fromA, fromB] = [toA, toB];
  };
  for (const [x, y, length] of equalRuns(a, b, inA, inB)) {
    const before = x + y > 0 ? AROUND : 0, after = x + length < a.length || y + length < b.length ? AROUND : 0;
    const hidden = length - before - after;
    if (hidden <= 2 * AROUND) continue;
    rowTo(x + before, y + before);
    [fromA, fromB] = [x + before + hidden, y + before + hidden];
    table.append(make("details", { class: "fold" }, make("summary", {}, counted(hidden, "equal word")),
      row(a.slice(x + before, fromA), b.slice(y + before, fromB))));
  }
  rowTo(a.length, b.length);
  const grey = b.reduce((total, { form }) => total + Boolean(form), 0);
  return [
    make("p", { class: "soft" }, gone + come
      ? `${counted(gone, "word")} only in the kept page, ${counted(come, "word")} only in the other: in no run of ${STRETCH} words that both have.`
      : "Both texts have the same words, apart from case and order.",
      grey ? ` Not judged as content: ${counted(grey, "word")} in grey.` : ""),
    make("p", { class: "legend" }, make("del", {}, "only in the kept page"), " ",
      make("ins", {}, "only in the page that repeats it"), " ", make("span", { class: "omitted" }, "not judged as content")),
    table,
  ];
}
