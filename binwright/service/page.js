"use strict";

const { make, count } = Answer;
const at = (id) => document.getElementById(id);
const [text, gutter, band, verdict, state] = ["text", "gutter", "band", "verdict", "state"].map(at);
const OPEN = ["queued", "running"];
let job = null; // the one that is shown
let stream = null;
let wrong = null; // the first mistake, with its line

// ---- asking ---------------------------------------------------------------------------------------------------------
async function ask(method, path, body) {
  const asked = { method };
  if (body) Object.assign(asked, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  let answer;
  try {
    answer = await fetch(path, asked);
  } catch {
    throw Object.assign(new Error("The service does not answer."), { status: 0 });
  }
  const said = await answer.json();
  if (!answer.ok) {
    const { message, remedy } = said.error;
    throw Object.assign(new Error(`${message}. ${remedy}`), { status: answer.status });
  }
  return said;
}

// ---- the editor -----------------------------------------------------------------------------------------------------
function number() {
  const lines = text.value.split("\n").length;
  const parts = Array.from({ length: lines }, (_, i) => (wrong?.line === i + 1 ? make("b", `${i + 1}`) : `${i + 1}`));
  gutter.replaceChildren(...parts.flatMap((part) => [part, "\n"]), "\n");
  scroll();
}

function scroll() {
  gutter.scrollTop = text.scrollTop;
  band.hidden = !wrong?.line;
  if (wrong?.line) band.style.top = `calc(.6rem + ${wrong.line - 1} * 1.5rem - ${text.scrollTop}px)`;
}

// The caret where the mistake is.
function jump({ line, column }) {
  const start = text.value.split("\n").slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
  text.focus();
  text.setSelectionRange(start, start);
  const tall = parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (line - 4) * tall);
}

// ---- checking while you type ----------------------------------------------------------------------------------------
let timer = 0;
let newest = 0; // only the answer to the newest text counts
function changed() {
  sessionStorage.setItem("text", text.value);
  wrong = null;
  number();
  files();
  clearTimeout(timer);
  timer = setTimeout(check, 250);
}

// What the files that the text names are, as far as they are chosen.
function files() {
  const says = Data.says(text.value);
  at("files-row").hidden = !says.length;
  at("files-say").textContent = says.join(" ");
}

async function check() {
  const asked = (newest += 1);
  if (!text.value.trim()) {
    verdict.replaceChildren();
    return;
  }
  let said;
  try {
    said = await ask("POST", "/v1/check", { text: text.value, tables: Data.tables(text.value) });
  } catch (error) {
    if (asked === newest) verdict.replaceChildren(make("span", error.message, { class: "wrong" }));
    if (error.status === 429) timer = setTimeout(check, 1000);
    return;
  }
  if (asked !== newest) return;
  if (said.ok) {
    const { balls, bins, dims } = said.properties;
    verdict.replaceChildren(make("span", `Compiles: ${count(balls)} balls, ${bins} bins, ${count(dims)} dimensions.`, { class: "best" }));
  } else {
    mistake(said.errors[0]);
  }
}

function mistake(found) {
  wrong = found;
  const says = `${found.message}. ${found.remedy}`;
  if (found.line) {
    const button = make("button", `Line ${found.line}, column ${found.column}: ${says}`, { type: "button", class: "wrong" });
    button.addEventListener("click", () => jump(found));
    verdict.replaceChildren(button);
  } else {
    verdict.replaceChildren(make("span", says, { class: "wrong" }));
  }
  number();
}

// ---- running --------------------------------------------------------------------------------------------------------
async function run() {
  at("run").disabled = true;
  say("Submitting.");
  at("answer").replaceChildren();
  at("progress").hidden = at("download").hidden = true;
  const asked = { text: text.value, tables: Data.tables(text.value), ...from(), time: at("time").valueAsNumber || 10, seed: at("seed").valueAsNumber || 0 };
  if (at("priority").value) asked.priority = at("priority").valueAsNumber;
  if (at("device").value) asked.device = at("device").value;
  try {
    show(await ask("POST", "/v1/problems", asked));
  } catch (error) {
    say(error.message, "wrong");
    at("run").disabled = false;
    return;
  }
  follow();
}

// Where the balls are, how many may move, and which bins are to be empty: what of that is asked for.
function from() {
  const asked = {};
  const { alloc, ball_names: balls, bin_names: bins } = job?.result ?? {};
  const place = (bin) => (bins && bin !== null ? bins[bin] : bin);
  if (at("from").checked && alloc) {
    asked.now = balls ? Object.fromEntries(balls.map((ball, i) => [ball, place(alloc[i])])) : alloc.map(place);
    if (at("moves").value) asked.moves = at("moves").valueAsNumber;
  }
  const drain = at("drain").value.split(",").map((bin) => bin.trim()).filter(Boolean);
  if (drain.length) asked.drain = drain.map((bin) => (/^\d+$/.test(bin) ? Number(bin) : bin));
  return asked;
}

function follow() {
  stream?.close();
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
  say("Cancelling.");
  try {
    const found = await ask("DELETE", `/v1/problems/${job.id}`);
    if (!OPEN.includes(found.state)) show(found);
  } catch (error) {
    say(error.message, "wrong");
  }
}

// A fact about the search; one that there is not is not shown.
function fact(name, text) {
  at(name).textContent = text;
  at(name).parentElement.hidden = !text;
}

function say(what, kind = "") {
  if (state.textContent !== what) state.replaceChildren(make("span", what, { class: kind }));
}

const STATES = {
  queued: ({ place }) => [place ? `Waiting for its turn: number ${count(place)} in the queue.` : "Waiting for its turn.", ""],
  running: (now) => [now.progress ? "Searching." : "Compiling.", ""],
  done: ({ result }) => [outcome(result), ["optimal", "solved"].includes(result.status) ? "best" : "wrong"],
  cancelled: ({ result }) => [result ? `Cancelled. The best until then: ${outcome(result)}` : "Cancelled.", ""],
  refused: ({ error }) => [`${error.message}. ${error.remedy}`, "wrong"],
  failed: ({ error }) => [`${error.message}. ${error.remedy}`, "wrong"],
};

function outcome({ status, placed, balls, bins, used, searched, bound, impossible }) {
  const known = searched ? ` (bound ${count(bound)})` : "";
  return `${status[0].toUpperCase()}${status.slice(1)}: ${count(placed)} of ${count(balls)} balls in ${used < bins ? `${count(used)} of ` : ""}${count(bins)} bins${known}.${impossible ? ` Not all can be placed: ${impossible}.` : ""}`;
}

function show(now) {
  const news = job?.id !== now.id || job.state !== now.state;
  job = now;
  if (news) Jobs.changed();
  const open = OPEN.includes(now.state);
  at("run").disabled = open;
  if (!open || state.textContent !== "Cancelling.") {
    say(...STATES[now.state](now));
    at("cancel").disabled = !open;
  }
  const shown = now.result ?? now.progress;
  at("progress").hidden = !shown;
  if (shown) {
    fact("goals", shown.goals.map((goal) => Answer.amount(goal.value ?? goal)).join(", "));
    fact("bins", shown.searched ? count(shown.bins) : ""); // the others are given, and no finding
    fact("bound", shown.searched ? count(shown.bound) : "");
    at("placed").textContent = `${count(shown.placed)} of ${count(shown.balls)}`;
    at("checked").textContent = count(shown.checked);
    at("rate").textContent = shown.seconds ? count(Math.round(shown.checked / shown.seconds)) : "";
    at("seconds").textContent = shown.seconds.toFixed(1);
  }
  if (open) return;
  stream?.close();
  if (now.error?.line) mistake(now.error);
  if (now.result) {
    at("answer").replaceChildren(...Answer.show(now.result));
    at("json").href = `/v1/problems/${now.id}`;
    at("json").download = `${now.id}.json`;
    at("download").hidden = false;
    at("from-row").hidden = false;
  }
}

// ---- the rest -------------------------------------------------------------------------------------------------------
text.addEventListener("input", changed);
text.addEventListener("scroll", scroll);
at("files").addEventListener("change", async (event) => {
  await Data.choose(event.target.files);
  changed();
});
at("run").addEventListener("click", run);
at("cancel").addEventListener("click", cancel);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !at("run").disabled) {
    event.preventDefault();
    run();
  }
  if (event.key === "Escape") cancel();
});
at("example").addEventListener("change", (event) => {
  if (!event.target.value) return;
  text.value = examples[event.target.value];
  text.scrollTop = 0;
  changed();
});
let examples = {};
(async () => {
  text.value = sessionStorage.getItem("text") ?? "";
  number();
  const devices = await ask("GET", "/v1/devices");
  at("devices").hidden = devices.length < 2;
  at("device").append(...devices.map(({ device, name }) => make("option", name ? `${device}: ${name}` : device, { value: device })));
  examples = await ask("GET", "/v1/examples");
  at("example").append(...Object.keys(examples).map((name) => make("option", name, { value: name })));
  if (!text.value) {
    at("example").value = "vm-placement";
    text.value = examples["vm-placement"];
  }
  changed();
})();
