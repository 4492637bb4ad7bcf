"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Hover, touch and arrow keys show what stands at a place of a chart.
  const tip = document.getElementById("tip");
  const hide = () => {
    tip.hidden = true;
    all(".stop.at").forEach((stop) => stop.classList.remove("at"));
  };
  const show = (stop, x, y) => {
    const entry = JSON.parse(stop.closest(".scene").dataset.tips)[stop.dataset.stop];
    hide();
    stop.classList.add("at");
    const head = document.createElement("b");
    head.textContent = entry.h;
    const table = document.createElement("table");
    for (const [ink, name, value] of entry.r) {
      const row = table.insertRow();
      const cell = row.insertCell();
      if (ink) {
        const swatch = document.createElement("i");
        swatch.className = "swatch " + ink;
        cell.append(swatch);
      }
      cell.append(name);
      row.insertCell().textContent = value;
    }
    tip.replaceChildren(head, table);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 18 + box.width > innerWidth - 8 ? x - 18 - box.width : x + 18;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = Math.max(8, Math.min(y - box.height / 2, innerHeight - box.height - 8)) + "px";
  };
  const middle = (stop) => {
    const box = (stop.querySelector(".rule") || stop).getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  for (const svg of all(".scene > svg")) {
    const stops = all(".stop", svg);
    svg.addEventListener("pointermove", (event) => {
      const stop = event.target.closest(".stop");
      if (stop) show(stop, event.clientX, event.clientY);
      else hide();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || !stops.length) return;
      event.preventDefault();
      const at = stops.findIndex((stop) => stop.classList.contains("at"));
      const next = at < 0 ? (step > 0 ? 0 : stops.length - 1) : Math.max(0, Math.min(stops.length - 1, at + step));
      show(stops[next], ...middle(stops[next]));
    });
  }

  // A legend's key switches its series in all charts.
  for (const key of all("button.key")) {
    key.addEventListener("click", () => {
      const on = key.getAttribute("aria-pressed") === "false";
      all(`button.key[data-s="${key.dataset.s}"]`).forEach((k) => k.setAttribute("aria-pressed", on));
      all(`.scene svg [data-s="${key.dataset.s}"]`).forEach((mark) => mark.classList.toggle("off", !on));
    });
  }

  // A name that is pointed at shows the band of its series.
  for (const name of all("button.key[data-s], svg .label[data-s]")) {
    const light = (on) =>
      all(`svg .band[data-s="${name.dataset.s}"]`, name.closest("figure")).forEach((band) => band.classList.toggle("lit", on));
    for (const event of ["pointerenter", "focus"]) name.addEventListener(event, () => light(true));
    for (const event of ["pointerleave", "blur"]) name.addEventListener(event, () => light(false));
  }

  // A table that does not fit says that it goes on.
  const hint = () =>
    all(".scroll-hint").forEach((p) => {
      const box = p.nextElementSibling;
      p.hidden = box.scrollWidth <= box.clientWidth + 1 || box.scrollLeft + box.clientWidth >= box.scrollWidth - 1;
    });
  addEventListener("resize", hide);
  addEventListener("resize", hint);
  all(".scroll-hint").forEach((p) => p.nextElementSibling.addEventListener("scroll", hint));
  hint();

  // A choice shows one pane of its figure.
  const choose = (figure, index) => {
    all(".pane", figure).forEach((pane, i) => pane.classList.toggle("on", i === index));
    all(".choose button", figure).forEach((button, i) => button.setAttribute("aria-pressed", i === index));
  };
  for (const figure of all("figure")) {
    all(".choose button", figure).forEach((button, i) => button.addEventListener("click", () => choose(figure, i)));
    all(".choose select", figure).forEach((select) => select.addEventListener("change", () => choose(figure, select.selectedIndex)));
  }

  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.previousElementSibling;
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "copied";
      } catch {
        // Without a secure context there is no clipboard: select the text, so that one key copies it.
        getSelection().selectAllChildren(code);
        button.textContent = "selected";
      }
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
  }
})();
