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
    make("p", { class: "soft" }, `Much of the text is in another order. Of ${LEFT} `
      + `${total(gone)}, and of the other ${total(come)}, are in no run of ${STRETCH} words that both have.`),
    make("div", { class: "difference" }, row(sideOf(a, gone, "gone"), sideOf(b, come, "come"))),
  ];
}
