// What the theme leaves out for readers without a mouse or without a picture of the page.
document.addEventListener("DOMContentLoaded", () => {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  each(".md-search", (dialog) => dialog.setAttribute("aria-label", "Search"));
  each("#__search, #__drawer", (toggle) => toggle.setAttribute("aria-hidden", "true"));
  each("nav.md-nav nav.md-nav", (part, i) => part.setAttribute("aria-label", `Pages, part ${i + 1}`));
  each("nav.md-nav nav.md-nav", (part) => part.removeAttribute("aria-labelledby"));
  // The theme wraps wide tables and adds the copy button later.
  const later = () => {
    each("pre > code, .md-typeset__scrollwrap", (block) => (block.tabIndex = 0));
    each("nav.md-code__nav", (buttons, i) => buttons.setAttribute("aria-label", `Code block ${i + 1}`));
  };
  new MutationObserver(later).observe(document.querySelector("article") ?? document.body, { childList: true, subtree: true });
  later();
  each(".verdicts", filters);
});

// Lets a reader of published values see the misses, a table or an agent alone; without it, everything is there.
function filters(box) {
  const parts = [];
  for (const one of box.children) {
    if (one.tagName === "H2") parts.push({ name: one.firstChild.textContent, shown: [], rows: [] });
    parts.at(-1)?.shown.push(one);
  }
  const agents = new Set();
  for (const part of parts) {
    for (const table of part.shown.flatMap((one) => (one.matches("table") ? [one] : [...one.querySelectorAll("table")]))) {
      const column = table.rows[0].cells[1].textContent.trim() ? 0 : 1; // behind that of the metrics, where there is one
      let above = "";
      for (const row of table.tBodies[0].rows) {
        const label = row.cells[0];
        if (!label.textContent.trim()) {
          label.replaceChildren(Object.assign(document.createElement("span"), { className: "again", textContent: above }));
        }
        above = label.textContent;
        part.rows.push([row, row.cells[column].textContent.trim()]);
        agents.add(row.cells[column].textContent.trim());
      }
    }
  }
  const form = document.createElement("form");
  form.className = "filters";
  form.innerHTML = `<label>Table <select></select></label> <label>Agent <select></select></label>
    <label><input type="checkbox"> only rows with something not reproduced</label> <output></output>`;
  const [table, agent] = form.querySelectorAll("select"), missed = form.querySelector("input");
  table.append(new Option("all", ""), ...parts.filter((part) => part.rows.length).map((part) => new Option(part.name)));
  agent.append(new Option("all", ""), ...[...agents].map((name) => new Option(name)));
  form.addEventListener("input", () => {
    let shown = 0;
    box.classList.toggle("filtered", Boolean(table.value || agent.value || missed.checked));
    for (const part of parts) {
      const there = part.rows.filter(([row, name]) => {
        row.hidden = (agent.value && name !== agent.value) || (missed.checked && !row.querySelector("strong"));
        return !row.hidden;
      });
      const empty = part.rows.length ? !there.length : agent.value || table.value;
      const hidden = Boolean(empty || (table.value && part.name !== table.value));
      part.shown.forEach((one) => (one.hidden = hidden));
      if (!hidden) shown += there.length;
    }
    form.querySelector("output").textContent = `${shown} rows`;
  });
  box.querySelector("h2")?.before(form);
}
