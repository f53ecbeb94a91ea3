// The replay: one or two runs on one time axis, at moments at which the states of all that is shown are known.
const data = JSON.parse(document.getElementById("replay-data").textContent);
if (data) startReplay(data);

function startReplay(data) {
  const at = (id) => document.getElementById(id);
  const [left, right, resource, moment, play] = ["left", "right", "resource", "moment", "play"].map(at);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
  const count = (number) => number.toLocaleString("en");
  let panels = [];
  let times = [0];
  let now = 0; // which of the times is shown
  let begun = false;
  let timer = 0;
  let wanted = 0; // the newest choice of runs wins, however long another one takes to unpack

  // ---- colours ----------------------------------------------------------------------------------------------------
  let colours = [];
  function mix() {
    const stops = dark.matches
      ? [[38, 46, 56], [30, 79, 120], [55, 131, 187], [134, 190, 226], [235, 246, 255]]
      : [[226, 232, 239], [170, 205, 230], [90, 160, 207], [28, 100, 168], [6, 36, 84]];
    colours = Array.from({ length: data.steps + 1 }, (_, level) => {
      const place = (level / data.steps) * (stops.length - 1);
      const low = Math.min(Math.floor(place), stops.length - 2);
      const part = stops[low].map((from, i) => Math.round(from + (stops[low + 1][i] - from) * (place - low)));
      return `rgb(${part.join(",")})`;
    });
    const scale = at("scale").getContext("2d");
    colours.forEach((colour, level) => {
      scale.fillStyle = colour;
      scale.fillRect(level, 0, 1, 12);
    });
    paint(at("scale-down").getContext("2d"), 0, 0, 12, data.down);
  }

  function paint(pen, x, y, size, level) {
    if (level === data.absent) return;
    const inner = size >= 5 ? size - 1 : size;
    if (level !== data.down) {
      pen.fillStyle = colours[level];
      pen.fillRect(x, y, inner, inner);
      return;
    }
    pen.strokeStyle = pen.fillStyle = dark.matches ? "#ff7b86" : "#c4122f";
    if (size < 6) {
      pen.fillRect(x, y, inner, inner);
      return;
    }
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x + 1, y + 1);
    pen.lineTo(x + inner - 1, y + inner - 1);
    pen.moveTo(x + inner - 1, y + 1);
    pen.lineTo(x + 1, y + inner - 1);
    pen.rect(x + 0.75, y + 0.75, inner - 1.5, inner - 1.5);
    pen.stroke();
  }

  // ---- grids ------------------------------------------------------------------------------------------------------
  // Where the cells of groups go on a canvas of this width: the largest cells that stay within the height.
  function arrange(groups, width, height) {
    for (let size = groups.length > 1 ? 20 : 28; ; size -= size > 8 ? 2 : 1) {
      const gap = size > 8 ? 6 : 3;
      const spots = [];
      let [x, y, tallest] = [0, 0, 0];
      groups.forEach(({ cells, pod }, number) => {
        const whole = groups.length === 1 ? Math.floor(width / size) : Math.ceil(Math.sqrt(1.6 * cells.length));
        const columns = Math.max(1, Math.min(whole, cells.length, Math.floor(width / size)));
        if (number && pod !== groups[number - 1].pod) x += 2 * gap;
        if (x + columns * size > width) [x, y, tallest] = [0, y + tallest + gap, 0];
        cells.forEach((cell, i) => spots.push([x + (i % columns) * size, y + Math.floor(i / columns) * size, cell, number]));
        tallest = Math.max(tallest, Math.ceil(cells.length / columns) * size);
        x += columns * size + gap;
      });
      if (y + tallest <= height || size <= 3) return { size, spots, height: y + tallest };
    }
  }

  // A canvas of cells; `name` says one in words, `heading` all of them.
  class Grid {
    constructor(panel, groups, tallest, name, heading) {
      Object.assign(this, { panel, groups, tallest, name, heading, chosen: -1 });
      this.title = document.createElement("h4");
      this.canvas = document.createElement("canvas");
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "img");
      panel.element.append(this.title, this.canvas);
      this.canvas.addEventListener("pointermove", (event) => this.choose(this.under(event)));
      this.canvas.addEventListener("pointerleave", () => this.choose(-1));
      this.canvas.addEventListener("blur", () => this.choose(-1));
      this.canvas.addEventListener("keydown", (event) => {
        const last = this.plan.spots.length - 1;
        const target = { ArrowRight: this.chosen + 1, ArrowDown: this.chosen + 1, ArrowLeft: this.chosen - 1,
          ArrowUp: this.chosen - 1, Home: 0, End: last }[event.key];
        if (target === undefined) return;
        event.preventDefault();
        this.choose(Math.max(0, Math.min(last, target)));
      });
    }

    lay() {
      const width = this.canvas.clientWidth;
      const ratio = devicePixelRatio || 1;
      this.plan = arrange(this.groups, width, this.tallest);
      this.canvas.style.height = `${this.plan.height}px`;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.plan.height * ratio);
      this.canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }

    draw() {
      const pen = this.canvas.getContext("2d");
      const { size, spots } = this.plan;
      pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
      for (const [x, y, cell] of spots) paint(pen, x, y, size, this.panel.level(this, cell));
      if (this.chosen >= 0) {
        const [x, y] = spots[this.chosen];
        pen.strokeStyle = getComputedStyle(this.canvas).color;
        pen.lineWidth = 2;
        pen.strokeRect(x, y, Math.max(size - 1, 3), Math.max(size - 1, 3));
      }
      this.title.textContent = this.heading();
      this.canvas.setAttribute("aria-label", this.title.textContent);
    }

    under(event) {
      const { size, spots } = this.plan;
      const [x, y] = [event.offsetX, event.offsetY];
      return spots.findIndex((spot) => x >= spot[0] && x < spot[0] + size && y >= spot[1] && y < spot[1] + size);
    }

    choose(spot) {
      if (spot === this.chosen) return;
      this.chosen = spot;
      this.panel.pointed.textContent = spot < 0 ? "" : this.name(this.plan.spots[spot]);
      this.draw();
    }
  }

  // ---- a run ------------------------------------------------------------------------------------------------------
  async function unpack(run) {
    if (run.states) return;
    const packed = Uint8Array.from(atob(run.data), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const width = bytes.length / run.time.length;
    for (let i = width; i < bytes.length; i++) bytes[i] += bytes[i - width]; // modulo 256, as it was taken apart
    Object.assign(run, { states: bytes, width, most: Math.max(...run.servers) });
  }

  class Panel {
    constructor(run, second) {
      this.run = run;
      this.moment = 0;
      this.element = document.createElement("article");
      this.element.className = second ? "panel second" : "panel";
      const title = document.createElement("h3");
      title.textContent = run.name;
      title.style.setProperty("--agent", shade(run));
      this.summary = document.createElement("p");
      this.summary.className = "summary";
      this.element.append(title, this.summary);
      at("panels").append(this.element);
      const layout = data.layouts[run.layout];
      const all = { cells: Array.from({ length: run.most }, (_, cell) => cell) };
      const racks = layout.servers.length ? layout.servers : [all];
      this.servers = new Grid(this, racks, 300, ([, , cell, rack]) => this.nameServer(cell, racks[rack].name),
        () => this.nameAll("server", "", all.cells, this.servers));
      this.tiers = layout.tiers.map((tier) => {
        const grid = new Grid(this, [tier], 120, ([, , cell]) => `link ${cell}: ${this.use(this.level(grid, cell))}`,
          () => this.nameAll("link", `${tier.name}: `, tier.cells, grid));
        return grid;
      });
      this.pointed = document.createElement("p");
      this.pointed.className = "pointed soft";
      this.pointed.setAttribute("aria-live", "polite");
      this.element.append(this.pointed);
    }

    get grids() {
      return [this.servers, ...this.tiers];
    }

    // Bytes of a moment: for every resource all servers, then all links.
    level(grid, cell, of = data.resources.indexOf(resource.value)) {
      const part = grid === this.servers ? of : data.resources.length;
      return this.run.states[this.moment * this.run.width + part * this.run.most + cell];
    }

    use(level) {
      return level === data.down ? "out of service" : level === data.absent ? "not there yet" : percent(level / data.steps);
    }

    nameServer(cell, rack) {
      const parts = data.resources.map((name, of) => `${name} ${this.use(this.level(this.servers, cell, of))}`);
      return `server ${cell}${rack ? ` of ${rack}` : ""}: ${parts.join(", ")}`;
    }

    nameAll(what, prefix, cells, grid) {
      const levels = cells.map((cell) => this.level(grid, cell)).filter((level) => level !== data.absent);
      const inUse = levels.filter((level) => level !== data.down);
      const highest = inUse.reduce((most, level) => Math.max(most, level), 0);
      const sum = inUse.reduce((some, level) => some + level, 0);
      const parts = [
        what === "link" ? `mean ${percent(sum / data.steps / Math.max(1, inUse.length))}` : "",
        `highest ${percent(highest / data.steps)}`,
        `${count(inUse.filter((level) => level === data.steps).length)} full`,
        `${count(inUse.filter((level) => level === 0).length)} empty`,
        levels.length > inUse.length ? `${count(levels.length - inUse.length)} out of service` : "",
      ];
      const shown = what === "server" ? ` (${resource.value})` : "";
      return `${prefix}${count(levels.length)} ${what}${levels.length === 1 ? "" : "s"}${shown}: ${parts.filter(Boolean).join(", ")}`;
    }

    show(time) {
      const run = this.run;
      const low = (this.moment = Math.max(0, run.time.findLastIndex((some) => some <= time)));
      const share = run.offered[low] ? ` (${percent(run.accepted[low] / run.offered[low])})` : "";
      const waiting = run.waiting[low] ? `, ${count(run.waiting[low])} waiting` : "";
      const held = data.resources.map((name) => `${name} ${percent(run.allocation[name][low])}`).join(", ");
      const over = time > run.time.at(-1) ? " This run is over." : time < run.time[0] ? " This run has not begun." : "";
      this.text = `${count(run.accepted[low])} of ${count(run.offered[low])} requests accepted${share}${waiting}. Allocated: ${held}.${over}`;
      this.summary.textContent = this.text;
      this.grids.forEach((grid) => grid.draw());
    }
  }

  // ---- the time axis ----------------------------------------------------------------------------------------------
  function clock(time) {
    const longest = times.at(-1);
    const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([some]) => longest >= 2 * some) || [1, "s"];
    return `${(time / size).toFixed(2)} ${unit}`;
  }

  // Moments that all runs have; before its first and after its last one a run stays as it is.
  function shared(runs) {
    const known = runs.map((run) => new Set(run.time));
    const fits = (time) => runs.every(
      (run, number) => time < run.time[0] || time > run.time.at(-1) || known[number].has(time));
    return [...new Set(runs.flatMap((run) => run.time))].filter(fits).sort((a, b) => a - b);
  }

  function nearest(time) {
    const after = times.findIndex((some) => some >= time);
    if (after < 1) return after < 0 ? times.length - 1 : 0;
    return times[after] - time < time - times[after - 1] ? after : after - 1;
  }

  // Where a time is on the axis, 0 to 1.
  const along = (time) => (time - times[0]) / (times.at(-1) - times[0] || 1);

  function show(number) {
    now = Math.max(0, Math.min(times.length - 1, number));
    const time = times[now];
    moment.value = time;
    at("clock").textContent = clock(time);
    panels.forEach((panel) => panel.show(time));
    moment.setAttribute("aria-valuetext",
      [clock(time), ...panels.map((panel) => `${panel.run.agent}: ${panel.text}`)].join(". "));
    const cursor = at("curve").querySelector("line");
    cursor.setAttribute("x1", 1000 * along(time));
    cursor.setAttribute("x2", 1000 * along(time));
  }

  // The colour that the agent has in every figure, as it stands on a light and on a dark page.
  const shade = (run) => `light-dark(${run.colour[0]}, ${run.colour[1]})`;

  function curve() {
    const most = Math.max(1, ...panels.flatMap(({ run }) => run.allocation[resource.value]));
    const lines = panels.map(({ run }, number) => {
      const points = run.allocation[resource.value].map(
        (share, i) => `${(1000 * along(run.time[i])).toFixed(1)},${(97 - 94 * share / most).toFixed(1)}`);
      return `<polyline class="${number ? "right" : "left"}" style="--agent: ${shade(run)}" points="${points.join(" ")}"></polyline>`;
    });
    at("curve").innerHTML = `${lines.join("")}<line y1="0" y2="100"></line>`;
    const names = panels.map(({ run }, number) => `${number ? "dashed" : "line"}: ${run.name}`);
    at("curve-caption").textContent = `Share of all ${resource.value} allocated, 0 to ${percent(most)}, from ${clock(times[0])} to ${clock(times.at(-1))} (${names.join("; ")})`;
  }

  // The page opens on the moment at which most was allocated.
  function busiest(run) {
    const shares = run.allocation[resource.value];
    return run.time[shares.indexOf(Math.max(...shares))];
  }

  async function choose() {
    const order = (wanted += 1);
    const runs = [left, right].filter((box) => box.value !== "").map((box) => data.runs[Number(box.value)]);
    await Promise.all(runs.map(unpack));
    if (order !== wanted) return;
    const time = begun ? times[now] : busiest(runs[0]);
    begun = true;
    at("panels").replaceChildren();
    panels = runs.map((run, number) => new Panel(run, number > 0));
    times = shared(runs);
    [moment.min, moment.max, now] = [times[0], times.at(-1), nearest(time)];
    relay();
  }

  function relay() {
    panels.forEach((panel) => panel.grids.forEach((grid) => grid.lay()));
    curve();
    show(now);
  }

  // ---- playing ----------------------------------------------------------------------------------------------------
  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }

  function toggle() {
    if (timer) {
      stop();
      return;
    }
    const last = times.length - 1;
    if (now >= last) show(0);
    // Who wants less motion gets a picture a second, and twenty of them.
    const step = calm.matches ? Math.max(1, Math.round(last / 20)) : 1;
    timer = setInterval(() => {
      show(now + step);
      if (now >= last) stop();
    }, calm.matches ? 1000 : 120);
    play.textContent = "Stop";
  }

  // ---- start ------------------------------------------------------------------------------------------------------
  const options = data.runs.map((run, number) => new Option(run.name, number));
  left.append(...options);
  right.append(new Option("nothing", ""), ...options.map((option) => option.cloneNode(true)));
  resource.append(...data.resources.map((name) => new Option(name, name)));
  const other = data.runs.findIndex((run, number) => number > 0 && run.point === data.runs[0].point);
  right.value = other > 0 ? String(other) : "";
  left.addEventListener("change", choose);
  right.addEventListener("change", choose);
  resource.addEventListener("change", () => {
    curve();
    show(now);
  });
  moment.addEventListener("input", () => {
    stop();
    show(nearest(moment.valueAsNumber));
  });
  moment.addEventListener("keydown", (event) => {
    const target = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0,
      End: times.length - 1, PageUp: now + 10, PageDown: now - 10 }[event.key];
    if (target === undefined && event.key !== " ") return;
    event.preventDefault();
    if (target === undefined) {
      toggle();
    } else {
      stop();
      show(target);
    }
  });
  play.addEventListener("click", toggle);
  dark.addEventListener("change", () => {
    mix();
    show(now);
  });
  addEventListener("resize", relay);
  at("player").hidden = false;
  mix();
  choose();
}
