"use strict";
// A page that its server updates: what has changed is replaced. Folds, choices, focus and scroll positions stay.
(() => {
  const bar = document.getElementById("progress");
  const page = document.getElementById("page");
  const [meter, now, time, said] = ["progress", ".now", ".time", ".said"].map((part) => bar.querySelector(part));
  const parts = (root) => [...root.querySelectorAll("header, main > *, footer")];
  const controls = (part) => [...part.querySelectorAll("summary, button, select, input, a, [tabindex]")];
  let sent = parts(page).map((part) => part.cloneNode(true));

  const replace = (old, part) => {
    old.replaceWith(part);
    part.dispatchEvent(new CustomEvent("part", { bubbles: true }));
    if (old.id !== part.id) return;
    const after = controls(part);
    controls(old).forEach((was, i) => {
      const is = after[i];
      if (is?.tagName !== was.tagName) return;
      if (was.tagName === "SUMMARY") is.parentElement.open = was.parentElement.open;
      const pressed = was.getAttribute("aria-pressed");
      if (pressed !== is.getAttribute("aria-pressed") && (was.dataset.s || pressed === "true")) is.click();
      if (is.tagName === "SELECT" && is.selectedIndex !== was.selectedIndex) {
        is.selectedIndex = was.selectedIndex;
        is.dispatchEvent(new Event("change"));
      }
      is.scrollLeft = was.scrollLeft;
      if (was === focused) is.focus({ preventScroll: true });
    });
  };
  let focused;

  const show = (html) => {
    const next = new DOMParser().parseFromString(html, "text/html");
    const content = next.getElementById("page") ?? next.body;
    const fresh = parts(content);
    const pristine = fresh.map((part) => part.cloneNode(true));
    const top = (part) => part.getBoundingClientRect().top;
    const here = parts(page);
    const anchor = here.findIndex((part) => part.getBoundingClientRect().bottom > 0);
    const before = anchor < 0 ? 0 : top(here[anchor]);
    focused = document.activeElement;
    const boxes = () => [...page.querySelectorAll("input[type=checkbox]")];
    const chosen = boxes().filter((box) => box.checked).map((box) => box.value);
    if (fresh.length !== here.length) page.replaceChildren(...content.childNodes);
    else fresh.forEach((part, i) => part.isEqualNode(sent[i]) || replace(here[i], document.adoptNode(part)));
    if (fresh.length !== here.length) page.dispatchEvent(new CustomEvent("part", { bubbles: true }));
    sent = pristine;
    boxes().forEach((box) => (box.checked = chosen.includes(box.value)));
    const moved = parts(page)[anchor];
    if (moved) scrollBy({ top: top(moved) - before, behavior: "instant" });
    return next;
  };

  const events = new EventSource(bar.dataset.events);
  events.addEventListener("page", (event) => show(event.data));
  // A list depends on what its reader asked for, so it is asked for again.
  events.addEventListener("changed", async () => {
    const reply = await fetch(location.href);
    if (!reply.ok) return;
    const next = show(await reply.text());
    now.textContent = said.textContent = next.querySelector("#progress .now").textContent;
  });
  events.addEventListener("progress", (event) => {
    const { part, sentence, time: spent, over } = JSON.parse(event.data);
    const tenth = (value) => Math.floor((value ?? 0) * 10);
    if (over || tenth(part) !== tenth(meter?.value)) said.textContent = sentence;
    if (meter && part !== null) meter.value = part;
    now.textContent = sentence;
    time.textContent = spent;
    bar.classList.toggle("over", over);
    if (over) events.close();
  });
  events.addEventListener("error", () => (time.textContent = "The server does not answer."));
})();
