// Precision and recall of settings on a sample: a picture, a table, and pages to look at.

const tuned = read("tuned");
document.body.append(
  make("main", {},
    make("header", {},
      make("p", { class: "kicker" }, "Near-duplicate tuning"),
      make("h1", {}, tuned.settings.length ? "Another setting is better here." : "The defaults are right here."),
      make("p", { class: "soft" }, tuned.sources.flatMap((name) => [shown(name, 120), " "]))),
    tuned.settings.length ? make("pre", {}, make("code", {}, tuned.settings.join("\n"))) : null,
    make("dl", { class: "figures" },
      tally("pages in the sample", tuned.pages),
      tally("in the collection", tuned.collection),
      tally("true duplicates", tuned.duplicates),
      tally("in groups", tuned.groups)),
    make("p", {}, "A page is a duplicate if an earlier one has a resemblance of at least 0.9: the exact"
      + " share of common shingles. A drop loses content if no earlier page has 0.8."),
    make("section", { class: "explorer" }, make("h2", {}, "Precision over recall"), picture(tuned.outcomes)),
    make("section", { class: "explorer" }, make("h2", {}, "In numbers"), table(tuned.outcomes)),
    make("section", { class: "explorer" }, make("h2", {}, "Pages to look at"),
      tuned.looks.map(({ title, count: number, pairs }) => make("section", { class: "breakdown" },
        make("h3", {}, `${title}: ${count(number)}`),
        make("ul", { class: "crowds" }, pairs.map(([page, other, value]) => make("li", {},
          address(page, 200), other == null ? null : [" and ", address(other, 200)],
          value == null ? null : make("span", { class: "soft" }, ` resemblance ${value.toFixed(3)}`))))))),
  ),
);

function tally(name, number) {
  return make("div", { class: "figure" }, make("dt", {}, name), make("dd", {}, count(number)));
}

function table(outcomes) {
  const range = ({ low, high }) => `${low.toFixed(3)} to ${high.toFixed(3)}`;
  const cells = (outcome) => [
    outcome.setting, outcome.value,
    outcome.precision.value.toFixed(3), range(outcome.precision),
    outcome.recall.value.toFixed(3), range(outcome.recall),
    count(outcome.dropped), count(outcome.lost),
  ];
  const head = ["setting", "value", "precision", "95 %", "recall", "95 %", "dropped", "lost"];
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All settings in numbers" },
    make("table", {},
      make("thead", {}, make("tr", {}, head.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, outcomes.map((outcome) =>
        make("tr", { class: outcome.chosen ? "chosen" : null }, cells(outcome).map((cell) => make("td", {}, cell)))))));
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
  const settings = [...new Set(outcomes.map(({ setting }) => setting))];
  settings.forEach((setting, number) => {
    const own = outcomes.filter((outcome) => outcome.setting === setting);
    shapes.push(drawn("polyline", { points: own.map((one) => at(one).join()).join(" "), class: `series s${number}` }));
    for (const outcome of own) {
      const [cx, cy] = at(outcome);
      shapes.push(
        drawn("circle", { cx, cy, r: outcome.chosen ? 6 : 3.5, class: `s${number}` },
          drawn("title", {}, `${outcome.setting} = ${outcome.value}`)),
        drawn("text", { x: cx + 7, y: cy - 6 + 13 * number, class: `s${number}` }, outcome.value),
      );
    }
  });
  return make("figure", { class: "picture" },
    drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Precision over recall of all settings" }, ...shapes),
    make("figcaption", {}, settings.map((setting, number) => make("span", { class: `s${number}` }, `● ${setting} `))));
}
