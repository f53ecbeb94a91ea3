"use strict";

// The list of your jobs: newest first, in pages; it follows what waits and runs while the page is seen.
const Jobs = (() => {
  const EVERY = 2000; // milliseconds between two looks, while a job waits or runs
  const list = at("jobs");
  let timer = 0;
  let newest = 0; // only the answer to the newest question counts
  let open = false; // is there a job that is not over?

  const address = (before) => {
    const query = new URLSearchParams({ limit: "20" });
    if (at("states").value) query.set("state", at("states").value);
    if (before) query.set("before", before);
    return `/v1/jobs?${query}`;
  };

  function row(one) {
    const show = make("button", one.title || one.id, { type: "button", title: one.id });
    show.addEventListener("click", () => look(one.id));
    const says = one.error ? `${one.state}: ${one.error.message}` : one.status ? `${one.state}: ${one.status}` : one.state;
    const cells = [make("td", show, { class: "text" }), make("td", says, { class: "text" }), make("td", `${one.priority}`)];
    cells.push(make("td", one.place ? count(one.place) : ""), make("td", new Date(one.submitted).toLocaleString()));
    const end = make("button", "Cancel", { type: "button", "aria-label": `Cancel ${one.title || one.id}` });
    end.addEventListener("click", () => stop(one.id, end));
    cells.push(make("td", OPEN.includes(one.state) ? end : "", { class: "text" }));
    return make("tr", cells, job?.id === one.id ? { class: "shown" } : {});
  }

  async function tell(before) {
    const asked = (newest += 1);
    clearTimeout(timer);
    try {
      const { jobs, next } = await ask("GET", address(before));
      if (asked !== newest) return;
      const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
      const rows = jobs.map(row);
      if (before) list.append(...rows);
      else list.replaceChildren(...rows);
      if (!before && focused >= 0) list.querySelectorAll("button")[focused]?.focus();
      at("listed").textContent = list.children.length ? "" : "There are none.";
      at("older").hidden = !next;
      at("older").dataset.before = next ?? "";
      open = jobs.some(({ state: now }) => OPEN.includes(now));
    } catch (error) {
      at("listed").textContent = error.message;
      open = true; // it may be better later
    }
    if (open && !before && !document.hidden) timer = setTimeout(() => tell(), EVERY);
  }

  async function look(id) {
    try {
      at("answer").replaceChildren();
      at("download").hidden = true;
      show(await ask("GET", `/v1/problems/${id}`));
      follow();
      at("answer-heading").focus();
    } catch (error) {
      say(error.message, "wrong");
    }
  }

  async function stop(id, button) {
    button.disabled = true;
    try {
      await ask("DELETE", `/v1/problems/${id}`);
    } catch (error) {
      at("listed").textContent = error.message;
    }
    tell();
  }

  at("states").addEventListener("change", () => tell());
  at("older").addEventListener("click", (event) => tell(event.target.dataset.before));
  document.addEventListener("visibilitychange", () => document.hidden || tell());
  tell();
  return { changed: () => tell() };
})();
