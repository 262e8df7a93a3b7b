// Precision and recall by labels: a curve each over k, with its intervals, and a table.

const study = read("labelled");
const share = ({ value, low, high }) => `${value.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
document.body.append(make("main", {},
  make("header", {},
    make("p", { class: "kicker" }, "Near-duplicate labelling"),
    make("h1", {}, "Precision and recall within k bits."),
    make("p", { class: "soft" }, shown(study.source, 200))),
  make("p", {}, "Of pairs at most k bits apart, precision is the share that was labelled near-duplicates; recall is the"
    + " share of all pairs so labelled that are at most k bits apart. Pairs labelled unknown don’t count. The"
    + " intervals hold for 95 samples of 100."),
  ...[["drawn", "Of the labelled pairs", "as many of each distance (Manku et al. 2007, Figure 1)"],
    ["all_pairs", "Of all pairs", "each label counts for as many pairs as it was drawn from"]].map(([key, title, note]) =>
    make("section", { class: "explorer" }, make("h2", {}, title), curves(title, study.rows.map((row) => row[key]), note))),
  make("section", { class: "explorer" }, make("h2", {}, "In numbers"),
    table("All distances in numbers",
      ["k", "pairs", "true", "false", "unknown", "precision", "recall", "precision of all", "recall of all"],
      study.rows.map(({ k, pairs, labels, drawn: sample, all_pairs: all }) =>
        ({ cells: [k, ...[pairs, ...labels].map(count), ...[...sample, ...all].map(share)] }))))));

function curves(title, rows, note) {
  const left = 64, right = 1010, top = 16, bottom = 320;
  const x = (k) => left + ((k + 0.5) / rows.length) * (right - left), y = (value) => bottom - value * (bottom - top);
  const shapes = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((tick) => [
    drawn("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" }),
    drawn("text", { x: left - 10, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(1)),
  ]);
  rows.forEach((_, k) => shapes.push(drawn("text", { x: x(k), y: bottom + 20, "text-anchor": "middle" }, k)));
  ["precision", "recall"].forEach((_, kind) => {
    const at = (k) => x(k) + 8 * kind - 4, style = `s${kind + 1}`;
    shapes.push(drawn("polyline", { points: rows.map((row, k) => [at(k), y(row[kind].value)].join()).join(" "), class: `series ${style}` }));
    rows.forEach((row, k) => shapes.push(
      drawn("line", { x1: at(k), x2: at(k), y1: y(row[kind].low), y2: y(row[kind].high), class: `series ${style}` }),
      drawn("circle", { cx: at(k), cy: y(row[kind].value), r: 4, class: style })));
  });
  return make("figure", { class: "picture", tabindex: "0", "aria-label": title },
    drawn("svg", { viewBox: "0 0 1080 350", role: "img", "aria-label": `${title}: precision and recall over k` }, ...shapes),
    make("figcaption", {}, ["precision", "recall"].flatMap((name, kind) => [make("span", { class: "name" },
      make("span", { class: `key s${kind + 1}`, "aria-hidden": "true" }), name), " "]), `over k, in bits; ${note}`));
}
