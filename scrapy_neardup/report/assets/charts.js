// Pictures of counts: bars in a list, and bars over time.

const SVG = "http://www.w3.org/2000/svg";

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const KINDS = [["kept", "kept"], ["repeated", "repeat another"], ["unjudged", "not judged"]];

// What the colours mean.
function legend() {
  return KINDS.flatMap(([kind, name]) => [make("span", { class: `key ${kind}`, "aria-hidden": "true" }), name]);
}

// A list of names with counts, of which `most` fill the width. Rows: {name, about, parts: [[class,
// number]...], note, choose}.
function bars(title, rows, { folded = 8, most }) {
  const items = rows.map((row, place) => {
    const line = make(
      row.choose ? "button" : "div",
      { class: "bar", type: row.choose ? "button" : null, click: row.choose },
      make("span", { class: "bar-name" }, shown(row.name, 90)),
      make("span", { class: "bar-note" }, row.note),
      make(
        "span",
        { class: "bar-track", "aria-hidden": "true" },
        row.parts.map(([kind, number]) => {
          const part = make("span", { class: kind });
          part.style.width = `${(100 * number) / most}%`;
          return part;
        }),
      ),
    );
    return make("li", { hidden: place >= folded }, line, row.about ? make("p", { class: "bar-about" }, row.about) : null);
  });
  const list = make("ol", { class: "bars" }, items);
  const unfold = () => {
    for (const item of items) item.hidden = false;
    more.remove();
    items[folded].querySelector("button")?.focus();
  };
  const more = rows.length > folded ? button("quiet", unfold, `Show all ${count(rows.length)}`) : null;
  return make("section", { class: "breakdown" }, make("h3", {}, title), list, more);
}

const WHEN = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

function moment(seconds) {
  return WHEN.format(new Date(1000 * seconds));
}

function duration(seconds) {
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (seconds >= 2 * length) return counted(Math.round(seconds / length), unit);
  }
  return counted(seconds < 2 ? Number(seconds.toPrecision(2)) : Math.round(seconds), "second");
}

// Stacked bars: [kept, repeated, not judged] for each step of time.
function timeline({ first, step, bars: steps }) {
  const most = Math.max(...steps.map((bar) => bar[0] + bar[1] + bar[2]), 1);
  const height = 64, width = 10;
  const shapes = [];
  steps.forEach((bar, place) => {
    let top = height;
    ["kept", "repeated", "unjudged"].forEach((kind, part) => {
      const size = (height * bar[part]) / most;
      top -= size;
      if (!size) return;
      shapes.push(
        drawn("rect", { class: kind, x: place * width + 1, y: top, width: width - 2, height: size }),
      );
    });
  });
  const last = first + step * steps.length;
  return make(
    "figure",
    { class: "timeline" },
    drawn(
      "svg",
      {
        viewBox: `0 0 ${width * Math.max(steps.length, 1)} ${height}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": "Pages kept, repeated and not judged over the time of the crawl",
      },
      ...shapes,
    ),
    make(
      "figcaption",
      {},
      make("span", {}, moment(first)),
      make("span", {}, legend(), `; ${duration(last - first)}, the highest bar is ${counted(most, "page")} in ${duration(step)}`),
      make("span", {}, moment(last)),
    ),
  );
}

function figure(name, number, kind = "", note = "") {
  return make(
    "div",
    { class: `figure ${kind}` },
    make("dt", {}, name),
    make("dd", {}, count(number), note ? [" ", make("small", {}, note)] : null),
  );
}
