// The difference of two texts, word by word: Myers, "An O(ND) Difference Algorithm", 1986.

const MOST_EDITS = 1500; // beyond it texts aren't aligned
const WORD = /\S+/gu;

// The words of a text and why each isn’t judged as content, if it isn’t.
function words(text, omitted) {
  const found = [];
  let range = 0, seen = 0, pairs = 0;
  const points = (end) => { // ranges count characters, strings here halves of surrogate pairs
    for (; seen < end; seen++) if ((text.charCodeAt(seen) & 0xfc00) === 0xd800) pairs++;
    return end - pairs;
  };
  for (const match of text.matchAll(WORD)) {
    const from = points(match.index), to = points(match.index + match[0].length);
    while (range < omitted.length && omitted[range][1] <= from) range++;
    const left = range < omitted.length && omitted[range][0] < to;
    found.push({ word: match[0], form: left ? omitted[range][2] : null });
  }
  return found;
}

// The letters and digits of words that are judged, in lower case.
function judged(found) {
  return found.filter(({ form }) => !form).map(({ word }) => word.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim()).join(" ");
}

// Runs [same, from a, to a, from b, to b], in order; those that differ have same = false. None
// where there are too many of them.
function runs(a, b) {
  let start = 0, tail = 0;
  const shorter = Math.min(a.length, b.length);
  while (start < shorter && a[start].word === b[start].word) start++;
  while (
    tail < shorter - start &&
    a[a.length - 1 - tail].word === b[b.length - 1 - tail].word
  ) tail++;
  const found = [];
  const add = (same, fromA, toA, fromB, toB) => {
    if (toA === fromA && toB === fromB) return;
    const last = found.at(-1);
    if (last && last[0] === same) [last[2], last[4]] = [toA, toB];
    else found.push([same, fromA, toA, fromB, toB]);
  };
  add(true, 0, start, 0, start);
  let x = start, y = start;
  const common = snakes(a, b, start, a.length - tail, b.length - tail);
  if (!common) return null;
  for (const [nextX, nextY, length] of common) {
    add(false, x, nextX, y, nextY);
    add(true, nextX, nextX + length, nextY, nextY + length);
    [x, y] = [nextX + length, nextY + length];
  }
  add(false, x, a.length - tail, y, b.length - tail);
  add(true, a.length - tail, a.length, b.length - tail, b.length);
  return found;
}

// Where a and b are the same between start and their ends: [in a, in b, length], in order; null
// beyond MOST_EDITS.
function snakes(a, b, start, endA, endB) {
  const n = endA - start, m = endB - start;
  const most = Math.min(n + m, MOST_EDITS);
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const trace = [];
  for (let edits = 0; edits <= most; edits++) {
    trace.push(furthest.slice(middle - edits - 1, middle + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && furthest[middle + k - 1] < furthest[middle + k + 1]);
      let x = down ? furthest[middle + k + 1] : furthest[middle + k - 1] + 1;
      while (x < n && x - k < m && a[start + x].word === b[start + x - k].word) x++;
      furthest[middle + k] = x;
      if (x >= n && x - k >= m) return backwards(trace, n, m).map(([i, j, length]) => [start + i, start + j, length]);
    }
  }
  return null;
}

function backwards(trace, n, m) {
  const found = [];
  let x = n, y = m;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits], at = (k) => reach[k + edits + 1], k = x - y;
    const down = k === -edits || (k !== edits && at(k - 1) < at(k + 1));
    const before = edits ? (down ? at(k + 1) : at(k - 1)) : 0;
    const startX = edits ? (down ? before : before + 1) : 0;
    if (x > startX) found.push([startX, startX - k, x - startX]);
    if (!edits) break;
    [x, y] = [before, before - (down ? k + 1 : k - 1)];
  }
  return found.reverse();
}

const AROUND = 14; // words that are shown before and after a change
const LONGEST_WORD = 160;

// The words as elements, one for each stretch of the same kind.
function wordNodes(part, kind) {
  const nodes = [];
  for (let from = 0, to; from < part.length; from = to) {
    const { form } = part[from];
    const stretch = [];
    for (to = from; to < part.length && part[to].form === form; to++) {
      stretch.push(cut(part[to].word, LONGEST_WORD));
    }
    const tag = { gone: "del", come: "ins" }[kind] ?? "span";
    const title = form && `not judged as content: ${plain(form)}`;
    nodes.push(make(tag, { class: form && "omitted", title }, signed(stretch.join(" "))), " ");
  }
  return nodes;
}

const MOST_SHOWN = 4000; // words of one run

const NARROW = matchMedia("(max-width: 60rem)"); // one column, in which the difference is inline

// A cell, or two that stand side by side if there is room.
function row(left, right) {
  const side = (nodes) => make("div", { class: "side", dir: "auto" }, nodes);
  return make("div", { class: right ? "run" : "run inline" }, side(left), right && side(right));
}

// What the marks of a difference mean.
function marks(omitted) {
  return make("div", { class: "legend" },
    make("del", {}, "only in the kept page"), " ", make("ins", {}, "only in the page that repeats it"),
    omitted ? [" ", make("span", { class: "omitted" }, "not judged as content"), " ",
      make("ins", { class: "omitted" }, "other, and not judged as content")] : null);
}

// Rows of two cells, the kept page on the left, or of one; long runs of equal words are folded away.
function difference(textA, omittedA, textB, omittedB) {
  const a = words(textA, omittedA), b = words(textB, omittedB);
  const found = runs(a, b);
  if (!found) return reordered(a, b);
  const table = make("div", { class: "difference" });
  const inline = NARROW.matches;
  let left = [], right = [];
  const close = () => {
    if (left.length || right.length) table.append(inline ? row(left) : row(left, right));
    left = [];
    right = [];
  };
  const equal = (from, to, fromB) => {
    if (!inline) left.push(...wordNodes(a.slice(from, to)));
    (inline ? left : right).push(...wordNodes(b.slice(fromB, fromB + to - from)));
  };
  found.forEach(([same, fromA, toA, fromB, toB], place) => {
    if (!same) {
      left.push(...wordNodes(a.slice(fromA, Math.min(toA, fromA + MOST_SHOWN)), "gone"));
      (inline ? left : right).push(...wordNodes(b.slice(fromB, Math.min(toB, fromB + MOST_SHOWN)), "come"));
      return;
    }
    const before = place > 0 ? AROUND : 0, after = place < found.length - 1 ? AROUND : 0;
    const hidden = toA - fromA - before - after;
    if (hidden <= 2 * AROUND) {
      equal(fromA, toA, fromB);
      return;
    }
    equal(fromA, fromA + before, fromB);
    close();
    const [from, to, at] = [fromA + before, fromA + before + Math.min(hidden, MOST_SHOWN), fromB + before];
    const unfold = () => { // in place of the button
      const other = wordNodes(b.slice(at, at + to - from));
      folded.replaceWith(inline ? row(other) : row(wordNodes(a.slice(from, to)), other));
    };
    const folded = button("fold", unfold, counted(hidden, "equal word"));
    table.append(folded);
    equal(toA - after, toA, toB - after);
  });
  close();
  const changed = found.filter(([equal]) => !equal);
  const gone = changed.reduce((total, [, from, to]) => total + to - from, 0);
  const come = changed.reduce((total, [, , , from, to]) => total + to - from, 0);
  const omitted = b.filter(({ form }) => form).length;
  const leftOut = omitted || a.some(({ form }) => form);
  const summary = changed.length
    ? `${counted(gone, "word")} only in the kept page, ${counted(come, "word")} only in the other.`
    : "The texts are equal, word by word.";
  const apart = changed.some(([, fromA, toA, fromB, toB]) => judged(a.slice(fromA, toA)) !== judged(b.slice(fromB, toB)));
  const same = changed.length && !apart ? " All differ in case or punctuation alone, which isn’t judged." : "";
  const grey = omitted ? ` Not judged as content: ${counted(omitted, "word")} in grey.` : "";
  return [make("p", { class: "soft" }, summary + same + grey), changed.length ? marks(leftOut) : null, table].filter(Boolean);
}

// The difference of two texts that have too much in another order to be aligned: words in no
// stretch of four that the other text has as well.

const STRETCH = 4;

function stretches(part) {
  const found = new Set();
  for (let at = 0; at + STRETCH <= part.length; at++) found.add(stretch(part, at));
  return found;
}

function stretch(part, at) {
  return part.slice(at, at + STRETCH).map(({ word }) => word).join(" ");
}

function onlyHere(part, others) {
  const only = new Uint8Array(part.length).fill(1);
  for (let at = 0; at + STRETCH <= part.length; at++) {
    if (others.has(stretch(part, at))) only.fill(0, at, at + STRETCH);
  }
  return only;
}

// The words of one side; long stretches that both have are left out.
function sideOf(part, only, kind) {
  const nodes = [];
  for (let from = 0, to; from < part.length; from = to) {
    for (to = from; to < part.length && only[to] === only[from]; to++);
    const hidden = to - from - 2 * AROUND;
    if (only[from]) nodes.push(...wordNodes(part.slice(from, Math.min(to, from + MOST_SHOWN)), kind));
    else if (hidden <= AROUND) nodes.push(...wordNodes(part.slice(from, to)));
    else {
      nodes.push(
        ...wordNodes(part.slice(from, from + AROUND)),
        make("span", { class: "gap" }, `… ${counted(hidden, "word")} … `),
        ...wordNodes(part.slice(to - AROUND, to)),
      );
    }
  }
  return nodes;
}

function reordered(a, b) {
  const gone = onlyHere(a, stretches(b)), come = onlyHere(b, stretches(a));
  const total = (only) => counted(only.reduce((sum, one) => sum + one, 0), "word");
  return [
    make("p", { class: "soft" }, `Much of the text is in another order. Of the kept page `
      + `${total(gone)}, and of the other ${total(come)}, are in no run of ${STRETCH} words that both have.`),
    make("div", { class: "difference" }, row(sideOf(a, gone, "gone"), sideOf(b, come, "come"))),
  ];
}
