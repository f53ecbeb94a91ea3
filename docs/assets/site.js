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
});
