// Precision and recall of settings on a sample: a picture, a table, and pages to look at.

const tuned = read("tuned");
document.body.append(
  make("main", {},
    make("header", {},
      make("p", { class: "kicker" }, "Near-duplicate tuning"),
      make("h1", {}, tuned.settings.length ? "Another setting does better here." : "Keep the defaults."),
      make("p", { class: "soft" }, tuned.sources.flatMap((name) => [shown(name, 120), " "]))),
    tuned.settings.length ? make("pre", {}, make("code", {}, tuned.settings.join("\n"))) : null,
    make("dl", { class: "figures" },
      tally("pages", tuned.pages),
      tally("compared with all others", tuned.sample),
      tally("of these are duplicates", tuned.duplicates),
      tally("groups", tuned.groups)),
    make("p", {}, "A page is a duplicate if an earlier one has a resemblance of at least 0.9: the exact"
      + " share of common shingles. A drop loses content if no earlier page has 0.8. Navigation and the"
      + " lines that most pages of a folder share don’t count."),
    make("section", { class: "explorer" }, make("h2", {}, "Precision over recall"), picture(tuned.outcomes)),
    make("section", { class: "explorer" }, make("h2", {}, "In numbers"), numbers(tuned.outcomes)),
    make("section", { class: "explorer" }, make("h2", {}, "Pages to look at"),
      tuned.looks.map(({ title, count: number, pairs }) => make("section", { class: "breakdown" },
        make("h3", {}, `${title}: ${count(number)}`),
        number ? listed(title, pairs) : null))),
  ),
);

function listed(title, pairs) {
  const cells = ([page, other, value]) =>
    [address(page, 200), other == null ? "–" : address(other, 200), value == null ? "under 0.8" : value.toFixed(3)];
  return table(title, ["page", "repeats", "resemblance"], pairs.map((pair) => ({ cells: cells(pair) })));
}

function table(name, head, rows) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
    make("table", {},
      make("thead", {}, make("tr", {}, head.map((title) => make("th", { scope: "col" }, title)))),
      make("tbody", {}, rows.map(({ kind, cells }) =>
        make("tr", { class: kind ?? null }, cells.map((cell) => make("td", {}, cell)))))));
}

function tally(name, number) {
  return make("div", { class: "figure" }, make("dt", {}, name), make("dd", {}, count(number)));
}

function numbers(outcomes) {
  const range = ({ low, high }) => `${low.toFixed(3)} to ${high.toFixed(3)}`;
  const cells = (outcome) => [
    outcome.setting, outcome.value,
    outcome.precision.value.toFixed(3), range(outcome.precision),
    outcome.recall.value.toFixed(3), range(outcome.recall),
    count(outcome.dropped), count(outcome.lost),
  ];
  const head = ["setting", "value", "precision", "95 %", "recall", "95 %", "dropped", "lost"];
  const rows = outcomes.map((outcome) => ({ kind: outcome.chosen ? "chosen" : null, cells: cells(outcome) }));
  return table("All settings in numbers", head, rows);
}

// Points in the plane, those of one setting joined by a line.
function picture(outcomes) {
  const width = 640, height = 360, left = 52, bottom = 40;
  const least = (name) => Math.min(0.95, Math.floor(20 * Math.min(...outcomes.map((one) => one[name].value))) / 20);
  const [leastRecall, leastPrecision] = [least("recall"), least("precision")];
  const x = (recall) => left + ((width - left - 110) * (recall - leastRecall)) / (1 - leastRecall);
  const y = (precision) => 14 + ((height - bottom - 14) * (1 - precision)) / (1 - leastPrecision);
  const at = ({ recall, precision }) => [x(recall.value), y(precision.value)];
  const shapes = [];
  for (let tick = 0; tick <= 4; tick++) {
    const recall = leastRecall + ((1 - leastRecall) * tick) / 4, precision = leastPrecision + ((1 - leastPrecision) * tick) / 4;
    shapes.push(
      drawn("line", { x1: left, x2: x(1), y1: y(precision), y2: y(precision), class: "grid" }),
      drawn("line", { x1: x(recall), x2: x(recall), y1: y(1), y2: y(leastPrecision), class: "grid" }),
      drawn("text", { x: left - 8, y: y(precision) + 4, "text-anchor": "end" }, precision.toFixed(3)),
      drawn("text", { x: x(recall), y: height - bottom + 18, "text-anchor": "middle" }, recall.toFixed(3)),
    );
  }
  shapes.push(drawn("text", { x: x(1), y: height - 4, "text-anchor": "end" }, "recall"));
  const taken = [];
  const free = (x, y, letters) => { // below labels that are there already
    while (taken.some((one) => Math.abs(one.y - y) < 12 && x < one.x + 7 * one.letters + 4 && one.x < x + 7 * letters + 4)) y += 13;
    taken.push({ x, y, letters });
    return { x, y };
  };
  const settings = [...new Set(outcomes.map(({ setting }) => setting))];
  settings.forEach((setting, number) => {
    const own = outcomes.filter((outcome) => outcome.setting === setting);
    shapes.push(drawn("polyline", { points: own.map((one) => at(one).join()).join(" "), class: `series s${number}` }));
    for (const outcome of own) {
      const [cx, cy] = at(outcome);
      shapes.push(
        drawn("circle", { cx, cy, r: outcome.chosen ? 6 : 3.5, class: `s${number}` },
          drawn("title", {}, `${outcome.setting} = ${outcome.value}`)),
        drawn("text", { ...free(cx + 7, cy - 6, outcome.value.length), class: `s${number}` }, outcome.value),
      );
    }
  });
  return make("figure", { class: "picture" },
    drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Precision over recall of all settings" }, ...shapes),
    make("figcaption", {}, settings.map((setting, number) => make("span", { class: `s${number}` }, `● ${setting} `))));
}
