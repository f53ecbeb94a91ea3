
// A page that `binwright watch --serve` gives: sections change as runs finish, and the report takes its place at the end.
{
  const lost = document.createElement("p");
  lost.className = "wrong";
  lost.setAttribute("role", "status");
  document.querySelector("header").append(lost);
  const stream = new EventSource(`events?${encodeURIComponent(document.querySelector("main").dataset.state)}`);
  stream.addEventListener("open", () => (lost.textContent = ""));
  stream.addEventListener("error", () => (lost.textContent = "Not connected: this is as of when it was."));
  stream.addEventListener("reload", () => location.reload());
  stream.addEventListener("message", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const section = document.getElementById(id);
      if (!section) return location.reload(); // it is new: it has a link among the contents, too
      const before = section.querySelector(".scroll");
      const [left, focused] = [before?.scrollLeft ?? 0, before !== null && before === document.activeElement];
      section.outerHTML = html;
      const box = document.querySelector(`#${id} .scroll`);
      if (box) box.scrollLeft = left;
      if (box && focused) box.focus({ preventScroll: true });
    }
  });
}
