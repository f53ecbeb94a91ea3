"use strict";

const at = (id) => document.getElementById(id);
const OPEN = ["queued", "running"];
const MOST_BARS = 500;
const MOST_ROWS = 500;
const count = (number) => number.toLocaleString("en");
const amount = (number) => number.toLocaleString("en", { maximumSignificantDigits: 6 });
let job = null; // the one that is shown
let stream = null;
let examples = {};

function make(tag, content = [], attributes = {}) {
  const svg = ["svg", "rect", "g", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...[content].flat());
  return element;
}

async function ask(method, path, body) {
  const how = body ? { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } } : { method };
  const answer = await fetch(path, how).catch(() => {
    throw new Error("The service does not answer.");
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(`${content.detail}.`);
  return content;
}

function say(what, kind = "") {
  if (at("state").textContent !== what) at("state").replaceChildren(make("span", what, { class: kind }));
}

// ---- running --------------------------------------------------------------------------------------------------------
async function run() {
  at("run").disabled = true;
  say("Submitting.");
  const [time, seed] = ["time", "seed"].map((id) => at(id).valueAsNumber);
  try {
    show(await ask("POST", "/v1/problems", { text: at("text").value, time: time || 2, seed: seed || 0 }));
  } catch (error) {
    say(error.message, "wrong");
    at("run").disabled = false;
    return;
  }
  if (!OPEN.includes(job.state)) return;
  stream = new EventSource(`/v1/problems/${job.id}/events`);
  stream.addEventListener("job", (event) => show(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    const lost = stream.readyState === EventSource.CLOSED;
    say(lost ? "The service does not tell more about this job." : "The connection is lost; trying again.", "wrong");
    at("run").disabled = !lost;
  });
}

async function cancel() {
  if (at("cancel").disabled) return;
  at("cancel").disabled = true;
  await ask("DELETE", `/v1/problems/${job.id}`).catch((error) => say(error.message, "wrong"));
}

function found({ placed, balls, bins, bound, searched, goals }) {
  const goal = goals.length ? `, goals ${goals.map((one) => amount(one.value ?? one)).join(", ")}` : "";
  return `${count(placed)} of ${count(balls)} balls in ${count(bins)} bins${searched ? ` (bound ${count(bound)})` : ""}${goal}`;
}

const outcome = (result) => `${result.status[0].toUpperCase()}${result.status.slice(1)}: ${found(result)}. ${result.impossible}`;
const mistake = ({ error }) => `${error.line ? `Line ${error.line}, column ${error.column}: ` : ""}${error.message}. ${error.remedy}`;
const STATES = {
  queued: () => ["Waiting for its turn.", ""],
  running: ({ progress }) => [progress ? `Searching: ${found(progress)}, ${count(progress.checked)} checked.` : "Compiling.", ""],
  done: ({ result }) => [outcome(result), ["optimal", "solved"].includes(result.status) ? "best" : "wrong"],
  cancelled: ({ result }) => [result ? `Cancelled. The best until then: ${outcome(result)}` : "Cancelled.", ""],
  refused: (now) => [mistake(now), "wrong"],
  failed: (now) => [mistake(now), "wrong"],
};

function show(now) {
  job = now;
  const open = OPEN.includes(now.state);
  at("run").disabled = open;
  at("cancel").disabled = !open;
  say(...STATES[now.state](now));
  if (open) return;
  stream?.close();
  if (now.error?.line) jump(now.error);
  at("download").hidden = !now.result;
  at("json").href = `/v1/problems/${now.id}`;
  at("answer").replaceChildren(...(now.result ? answer(now.result) : []));
}

// The caret where the mistake is.
function jump({ line, column }) {
  const lines = at("text").value.split("\n").slice(0, line - 1);
  const start = lines.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
  at("text").focus();
  at("text").setSelectionRange(start, start);
}

// ---- the answer: what is used of each resource, and what is in which bin --------------------------------------------
const share = (used, capacity) => (capacity > 0 ? used / capacity : used > 0 ? Infinity : 0);

// A bar for the fullest dimension of each bin; of a resource that bins do not have, for each dimension.
function picture(family, bins) {
  const byBin = family.sizes[0] === bins;
  const each = byBin ? family.sizes.slice(1).reduce((product, size) => product * size, 1) : 1;
  const bars = [];
  for (let first = 0; each && first < family.used.length; first += each) {
    let full = first;
    for (let dim = first; dim < first + each; dim += 1) {
      if (share(family.used[dim], family.capacity[dim]) > share(family.used[full], family.capacity[full])) full = dim;
    }
    bars.push([family.used[full], family.capacity[full]]);
  }
  const shares = bars.map(([used, capacity]) => share(used, capacity));
  const most = Math.max(1, ...shares.filter(Number.isFinite));
  const percent = (part) => (part === Infinity ? "over" : `${(100 * part).toFixed(0)}\u00a0%`);
  const range = `${percent(Math.min(...shares, Infinity))} to ${percent(Math.max(0, ...shares))} used`;
  const summary = `${family.name}: ${count(bars.length)} ${byBin ? "bins" : "dimensions"}, ${bars.length ? range : "nothing"}`;
  const wide = Math.min(60, 640 / Math.max(1, Math.min(bars.length, MOST_BARS)));
  const svg = make("svg", [], { viewBox: "0 0 648 98", role: "img", "aria-label": summary });
  bars.slice(0, MOST_BARS).forEach(([used, capacity], bin) => {
    const [x, tall, width] = [4 + bin * wide, (90 * Math.min(shares[bin], most)) / most, wide * 0.92];
    const title = make("title", `${family.name}[${bin}]: ${amount(used)} of ${amount(capacity)}`);
    const room = make("rect", [], { class: "room", x, y: 94 - 90 / most, width, height: 90 / most });
    const bar = make("rect", [], { class: shares[bin] > 1 ? "used more" : "used", x, y: 94 - tall, width, height: tall });
    svg.append(make("g", [title, room, bar]));
  });
  return make("figure", [make("figcaption", summary), svg]);
}

function answer(result) {
  const ball = (number) => result.ball_names?.[number] ?? `${number}`;
  const bin = (number) => (number === null ? "nowhere" : result.bin_names?.[number] ?? `${number}`);
  const inside = Array.from({ length: result.bins }, () => []);
  const left = [];
  result.alloc.forEach((place, number) => (place === null ? left : inside[place]).push(ball(number)));
  const goals = result.goals.map(({ aim, text, value, bound, gap }) =>
    `${aim.toLowerCase()} ${text}: ${amount(value)} (${gap ? `bound ${amount(bound)}` : "no allocation is better"})`);
  const lines = [...goals, ...result.notes].map((line) => make("p", line));
  if (left.length) lines.push(make("p", `Not placed: ${left.join(", ")}`, { class: "wrong" }));
  const heads = ["bin", "number"].map((text) => make("th", text, { scope: "col" }));
  heads.push(make("th", "balls", { scope: "col", class: "text" }));
  const rows = inside.slice(0, MOST_ROWS).map((balls, place) =>
    make("tr", [make("th", bin(place), { scope: "row" }), make("td", count(balls.length)), make("td", balls.join(", "), { class: "text" })]));
  const table = make("table", [make("thead", make("tr", heads)), make("tbody", rows)]);
  const more = result.bins > MOST_ROWS ? [make("p", `The first ${count(MOST_ROWS)} bins; the JSON has all.`)] : [];
  const scroll = make("div", table, { class: "scroll", tabindex: "0", role: "region", "aria-label": "Bins and their balls" });
  return [...lines, ...(result.resources ?? []).map((family) => picture(family, result.bins)), scroll, ...more];
}

// ---- the start: an example, solved ----------------------------------------------------------------------------------
at("run").addEventListener("click", run);
at("cancel").addEventListener("click", cancel);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !at("run").disabled) run();
  if (event.key === "Escape") cancel();
});
at("example").addEventListener("change", (event) => {
  at("text").value = examples[event.target.value];
});
(async () => {
  try {
    examples = await ask("GET", "/v1/examples");
  } catch (error) {
    say(error.message, "wrong");
    return;
  }
  at("example").append(...Object.keys(examples).map((name) => make("option", name, { value: name })));
  at("example").value = "vm-placement";
  at("text").value = examples["vm-placement"];
  run();
})();
