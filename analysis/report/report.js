"use strict";

// Tables: a click on a heading sorts, text in the box above leaves the rows whose names have all of its words.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
  };
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (one, other) => {
        const a = value(one, column);
        const b = value(other, column);
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // what is missing comes last
        const order = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
        return down ? -order : order;
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
  const box = document.getElementById(`${table.id}-filter`);
  if (box) {
    const count = document.getElementById(`${table.id}-count`);
    box.closest(".filter").hidden = false;
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of body.rows) {
        const names = [...row.cells].filter((cell) => cell.matches("th, .text"));
        const text = names.map((cell) => cell.textContent.toLowerCase()).join("\n");
        row.hidden = !words.every((word) => text.includes(word));
        left += row.hidden ? 0 : 1;
      }
      count.textContent = `${left} of ${body.rows.length} rows`;
    });
  }
}

// What is cut at the right fades out, so that it shows that there is more to scroll to.
for (const box of document.querySelectorAll(".scroll")) {
  const fade = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  box.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(fade).observe(box);
}

for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source); // no clipboard here: one key is left to press
      button.textContent = "Selected: press Ctrl+C";
    }
  });
}
