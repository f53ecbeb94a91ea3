"use strict";

// An answer as pictures of what is filled, and as a table of bins.
const Answer = (() => {
  const MOST_BARS = 1500;
  const MOST_ROWS = 500;
  const MOST_MOVES = 50;
  const count = (number) => number.toLocaleString("en");
  const amount = (number) => number.toLocaleString("en", { maximumSignificantDigits: 6 });
  const percent = (share) => (share === Infinity ? "over" : `${(100 * share).toFixed(0)}\u00a0%`);

  function make(tag, text, attributes = {}) {
    const svg = ["svg", "rect", "line", "g", "title", "text"].includes(tag);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...(text === undefined ? [] : [text].flat()));
    return element;
  }

  const share = (used, capacity) => (capacity > 0 ? used / capacity : used > 0 ? Infinity : 0);

  // [0, 1, 2, 5] as "0-2, 5"
  function ranges(numbers) {
    const runs = [];
    for (const number of numbers) {
      const last = runs.at(-1);
      if (last && last[1] === number - 1) last[1] = number;
      else runs.push([number, number]);
    }
    return runs.map(([low, high]) => (low === high ? `${low}` : `${low}-${high}`)).join(", ");
  }

  // Balls by name, or as ranges of numbers.
  const listed = (balls, names) => (names ? balls.map((ball) => names[ball]).join(", ") : ranges(balls));

  // What each bin has of a resource, the fullest of its dimensions; of a resource that bins do not have, each dimension.
  function bars(family, names) {
    const inner = family.by_bin ? family.sizes.slice(1) : [];
    const each = inner.reduce((product, size) => product * size, 1);
    const index = (number, sizes) => {
      const parts = [];
      for (const size of [...sizes].reverse()) [number, parts[parts.length]] = [Math.floor(number / size), number % size];
      return parts.reverse();
    };
    const found = [];
    for (let first = 0; each && first < family.used.length; first += each) {
      let fullest = first;
      for (let dim = first; dim < first + each; dim += 1) {
        if (share(family.used[dim], family.capacity[dim]) > share(family.used[fullest], family.capacity[fullest])) fullest = dim;
      }
      const place = index(fullest, family.sizes);
      const name = place.length ? `${family.name}[${place.join(", ")}]` : family.name;
      const [used, capacity] = [family.used[fullest], family.capacity[fullest]];
      const bin = family.by_bin && names ? ` (${names[place[0]]})` : "";
      found.push({ label: family.by_bin || place.length === 1 ? `${place[0]}` : "", share: share(used, capacity), says: `${name}${bin}: ${amount(used)} of ${amount(capacity)}` });
    }
    return { found, peak: each > 1 };
  }

  function picture(family, names) {
    const { found, peak } = bars(family, names);
    const shown = found.slice(0, MOST_BARS);
    const shares = found.map((bar) => bar.share);
    const finite = shares.filter(Number.isFinite);
    const mean = finite.reduce((sum, one) => sum + one, 0) / Math.max(1, finite.length);
    const most = Math.max(1, ...finite);
    const width = Math.max(4, Math.min(34, 640 / Math.max(1, shown.length)));
    const columns = Math.max(1, Math.floor(640 / width));
    const rows = Math.ceil(shown.length / columns);
    const labelled = width >= 16;
    const [high, gap] = [rows > 1 ? 40 : 90, labelled ? 16 : 6];
    const things = family.by_bin ? "bins" : "dimensions";
    const lowest = found.length ? Math.min(...shares) : 0;
    const summary = `${family.name}: ${count(found.length)} ${things}, ${percent(lowest)} to ${percent(Math.max(0, ...shares))} used, mean ${percent(mean)}`;
    const svg = make("svg", undefined, { viewBox: `0 0 648 ${rows * (high + gap) + 6}`, role: "img", "aria-label": summary });
    shown.forEach((bar, number) => {
      const x = 4 + (number % columns) * width;
      const base = 4 + Math.floor(number / columns) * (high + gap) + high;
      const tall = (Math.min(bar.share, most) / most) * high;
      const wide = width > 6 ? width - 2 : width - 0.5;
      const group = make("g", make("title", `${bar.says}, ${percent(bar.share)}`));
      const full = base - high / most;
      group.append(make("rect", undefined, { class: "room", x, y: full, width: wide, height: high / most }));
      group.append(make("rect", undefined, { class: bar.share > 1 ? "used more" : "used", x, y: base - tall, width: wide, height: tall }));
      if (bar.share > 1) group.append(make("line", undefined, { class: "full", x1: x, x2: x + wide, y1: full, y2: full }));
      if (labelled) group.append(make("text", bar.label, { x: x + wide / 2, y: base + 11 }));
      svg.append(group);
    });
    const notes = [peak && "the fullest dimension of each bin", found.length > MOST_BARS && `the first ${count(MOST_BARS)}`];
    const more = notes.filter(Boolean).map((note) => ` (${note})`).join("");
    return make("figure", [make("figcaption", summary + more), svg]);
  }

  function table(result) {
    const inside = Array.from({ length: result.bins }, () => []);
    const left = [];
    result.alloc.forEach((place, ball) => (place === null ? left : inside[place]).push(ball));
    const simple = (result.resources ?? []).filter((family) => family.by_bin && family.sizes.length === 1);
    const heads = ["bin", "number", ...simple.map((family) => family.name)].map((text) => make("th", text, { scope: "col" }));
    heads.push(make("th", "balls", { scope: "col", class: "text" }));
    const rows = inside.slice(0, MOST_ROWS).map((balls, bin) => {
      const used = simple.map((family) => make("td", `${amount(family.used[bin])} of ${amount(family.capacity[bin])}`));
      const name = result.bin_names?.[bin] ?? `${bin}`;
      return make("tr", [make("th", name, { scope: "row" }), make("td", count(balls.length)), ...used, make("td", listed(balls, result.ball_names), { class: "text" })]);
    });
    const shown = result.bins > MOST_ROWS ? `The first ${count(MOST_ROWS)} of ${count(result.bins)} bins; the JSON has all.` : "What is in which bin";
    const whole = make("table", [make("caption", shown), make("thead", make("tr", heads)), make("tbody", rows)]);
    const parts = [make("div", whole, { class: "scroll", tabindex: "0", role: "region", "aria-label": "Bins and their balls" })];
    if (left.length) parts.unshift(make("p", `Not placed: ${listed(left, result.ball_names)}`, { class: "wrong" }));
    return parts;
  }

  // Goals, moves and notes, in words.
  function said({ goals, moves, notes, ball_names, bin_names }) {
    const ball = (number) => ball_names?.[number] ?? `${number}`;
    const bin = (number) => (number === null ? "nowhere" : bin_names?.[number] ?? `${number}`);
    const by = (terms) => (terms.length > 1 ? `; ${terms.map((term) => `${amount(term.value)} by ${term.text}`).join(", ")}` : "");
    const lines = goals.map(({ aim, text, value, bound, gap, terms }) => `${aim.toLowerCase()} ${text}: ${amount(value)} (${gap ? `bound ${amount(bound)}` : "no allocation is better"})${by(terms)}`);
    if (moves) {
      const each = moves.slice(0, MOST_MOVES).map((move) => `${ball(move.ball)} from ${bin(move.from)} to ${bin(move.to)}`);
      const more = moves.length > MOST_MOVES ? `, and ${count(moves.length - MOST_MOVES)} more` : "";
      lines.push(`Moves: ${each.length ? each.join(", ") : "none"}${more}`);
    }
    return [...lines, ...notes].map((line) => make("p", line));
  }

  function show(result) {
    const pictures = (result.resources ?? []).map((family) => picture(family, result.bin_names));
    if (!result.resources) pictures.push(make("p", "There are too many dimensions to draw.", { class: "soft" }));
    return [...said(result), ...pictures, make("h3", "Bins"), ...table(result)];
  }

  return { show, make, count, amount };
})();
