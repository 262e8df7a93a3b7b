// Precision and recall of settings on a person's own pages, in a picture and a table, with pages to
// look at.

document.body.append(tunedPage(read("tuned")));

function tunedPage(tuned) {
  return make("main", {},
    header("Near-duplicate tuning", `${tuned.headline}.`,
      make("p", { class: "soft" }, tuned.sources.flatMap((name) => [shown(name, 120), " "]))),
    tuned.settings.length ? make("pre", {}, make("code", {}, tuned.settings.join("\n"))) : null,
    advice(tuned),
    tuned.warnings.map((warning) => make("p", {}, shown(warning, 600))),
    make("dl", { class: "figures" },
      figure("pages", tuned.pages),
      figure("duplicates", tuned.duplicates),
      figure("groups", tuned.groups)),
    make("p", {}, "A page is a duplicate if an earlier one has a resemblance of at least 0.9: the exact"
      + " share of common shingles. A drop loses content if no earlier page has 0.8. Navigation and the"
      + " lines that most pages of a folder share don’t count."),
    part("Precision over recall", picture(tuned.outcomes)),
    part("In numbers", numbers(tuned.outcomes)),
    part("Pages to look at",
      tuned.looks.map(({ title, count: number, pairs }) => make("section", { class: "breakdown" },
        make("h3", {}, `${title}: ${count(number)}`),
        number ? listed(title, pairs) : null))),
  );
}

function listed(title, pairs) {
  const cells = ([page, other, value]) =>
    [address(page, 200), other == null ? "–" : address(other, 200), value == null ? "under 0.8" : value.toFixed(3)];
  return table(title, ["page", "repeats", "resemblance"], pairs.map((pair) => ({ cells: cells(pair) })));
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

// Where an axis begins and ends, and its ticks: multiples of a round number, seven at most.
function axis(values) {
  const least = Math.min(...values), most = Math.max(...values);
  const step = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((one) => (most - least) / one <= 5);
  const last = Math.max(Math.ceil(most / step - 1e-9), 1);
  const first = Math.min(Math.floor(least / step + 1e-9), last - 1);
  const digits = step < 0.01 ? 3 : 2;
  const ticks = Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
  return { first: first * step, last: last * step, ticks, name: (tick) => tick.toFixed(digits) };
}

// Points in the plane; those of one setting are joined by a line if its values are numbers.
function picture(outcomes) {
  const width = 1080, height = 440, left = 64, right = 1010, top = 16, bottom = 380;
  const [recalls, precisions] = ["recall", "precision"].map((name) => axis(outcomes.map((one) => one[name].value)));
  const along = ({ first, last }, from, to) => (value) => from + ((to - from) * (value - first)) / (last - first);
  const x = along(recalls, left, right), y = along(precisions, bottom, top);
  const at = ({ recall, precision }) => [x(recall.value), y(precision.value)];
  const shapes = [
    ...grid(precisions.ticks, y, left, right, precisions.name),
    ...recalls.ticks.flatMap((tick) => [
      drawn("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "grid" }),
      drawn("text", { x: x(tick), y: bottom + 20, "text-anchor": "middle" }, recalls.name(tick)),
    ]),
    drawn("text", { x: right, y: bottom + 44, "text-anchor": "end" }, "recall: share of the duplicates that are found"),
    drawn("text", { x: left + 8, y: top + 16 }, "precision: share of the drops that repeat an earlier page"),
  ];
  const taken = [{ x: left, y: top + 16, wide: 380 }];
  const free = (x, y, letters) => { // beside the point, or above or below labels that are there
    const wide = 8 * letters + 6;
    const clash = (y) => taken.some((one) => Math.abs(one.y - y) < 14 && x < one.x + one.wide && one.x < x + wide);
    const steps = [0, -14, 14, -28, 28, -42, 42, 56, 70, 84];
    const place = y + (steps.find((step) => !clash(y + step) && y + step > top && y + step < bottom) ?? 0);
    taken.push({ x, y: place, wide });
    return { x, y: place };
  };
  const settings = [...new Set(outcomes.map(({ setting }) => setting))];
  settings.forEach((setting, number) => {
    const own = outcomes.filter((outcome) => outcome.setting === setting);
    if (own.every(({ value }) => !Number.isNaN(Number(value)))) {
      shapes.push(drawn("polyline", { points: own.map((one) => at(one).join()).join(" "), class: `series s${number}` }));
    }
    for (const outcome of own) {
      const [cx, cy] = at(outcome);
      shapes.push(
        drawn("circle", { cx, cy, r: outcome.chosen ? 7 : 4, class: `s${number}` },
          drawn("title", {}, `${outcome.setting} = ${outcome.value}`)),
        drawn("text", { ...free(cx + 9, cy + 4, outcome.value.length), class: `s${number}` }, outcome.value),
      );
    }
  });
  return make("figure", { class: "picture", tabindex: "0", "aria-label": "Precision over recall" },
    drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Precision over recall of all settings" }, ...shapes),
    make("figcaption", {}, keys(settings, 0), "The larger point: the settings to choose."));
}

// What the settings to choose lose, in pages, beside the defaults, with an example.
function advice({ outcomes, looks }) {
  const usual = outcomes[0], chosen = outcomes.find((one) => one.chosen) ?? usual;
  const lost = looks[0];
  const rest = chosen === usual ? "" : `, the defaults ${count(usual.dropped)} and ${count(usual.lost)}`;
  return make("p", {},
    `These settings drop ${counted(chosen.dropped, "page")} and lose the content of ${counted(chosen.lost, "page")}${rest}.`,
    lost.pairs.length ? [` Lost, for example: `, address(lost.pairs[0][0], 160),
      lost.count > 1 ? ` and ${counted(lost.count - 1, "other page")}, listed below.` : "."] : null);
}

// Lines across a picture at ticks, and the names of these at the left.
function grid(ticks, y, left, right, name) {
  return ticks.flatMap((tick) => [
    drawn("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" }),
    drawn("text", { x: left - 10, y: y(tick) + 4, "text-anchor": "end" }, name(tick)),
  ]);
}

// What the colours of a picture stand for, from the colour numbered `first` on.
function keys(names, first) {
  return names.flatMap((name, number) => [make("span", { class: "name" },
    make("span", { class: `key s${first + number}`, "aria-hidden": "true" }), name), " "]);
}
