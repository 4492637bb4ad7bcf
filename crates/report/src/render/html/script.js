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

  // A table that does not fit says that it goes on.
  const hint = () =>
    all(".scroll-hint").forEach((p) => {
      const box = p.nextElementSibling;
      p.hidden = box.scrollWidth <= box.clientWidth + 1 || box.scrollLeft + box.clientWidth >= box.scrollWidth - 1;
    });

  // A choice shows one pane of its figure.
  const choose = (figure, index) => {
    all(".pane", figure).forEach((pane, i) => pane.classList.toggle("on", i === index));
    all(".choose button", figure).forEach((button, i) => button.setAttribute("aria-pressed", i === index));
  };

  // A page that is updated is attached part by part.
  const attach = (root) => {
    for (const svg of all(".scene > svg", root)) {
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
    for (const key of all("button.key", root)) {
      key.addEventListener("click", () => {
        const on = key.getAttribute("aria-pressed") === "false";
        all(`button.key[data-s="${key.dataset.s}"]`).forEach((k) => k.setAttribute("aria-pressed", on));
        all(`.scene svg [data-s="${key.dataset.s}"]`).forEach((mark) => mark.classList.toggle("off", !on));
      });
    }

    // A name that is pointed at shows the band of its series.
    for (const name of all("button.key[data-s], svg .label[data-s]", root)) {
      const light = (on) =>
        all(`svg .band[data-s="${name.dataset.s}"]`, name.closest("figure")).forEach((band) => band.classList.toggle("lit", on));
      for (const event of ["pointerenter", "focus"]) name.addEventListener(event, () => light(true));
      for (const event of ["pointerleave", "blur"]) name.addEventListener(event, () => light(false));
    }

    all(".scroll-hint", root).forEach((p) => p.nextElementSibling.addEventListener("scroll", hint));
    hint();

    for (const figure of all("figure", root)) {
      all(".choose button", figure).forEach((button, i) => button.addEventListener("click", () => choose(figure, i)));
      all(".choose select", figure).forEach((select) => select.addEventListener("change", () => choose(figure, select.selectedIndex)));
    }

    // A flame graph: a search, a zoom, and keys as WAI-ARIA has them for a tree whose items stand side by side.
    for (const graph of all(".flames", root)) {
      const part = (selector) => graph.querySelector(selector);
      const [tools, search, found, whole] = [".flame-tools", "input", "output", "button"].map(part);
      const [tree, at] = [".flame-tree", ".flame-at"].map(part);
      const frames = all(".flame", tree);
      const root = frames[0];
      const label = (frame) => frame.firstElementChild;
      const caller = (frame) => frame.parentElement.closest(".flame");
      const set = (element, values) => Object.entries(values).forEach((value) => element.setAttribute(...value));
      set(tree, { role: "tree", "aria-label": label(root).textContent, "aria-orientation": "horizontal" });
      for (const frame of frames) {
        const level = 1 + Number(caller(frame)?.getAttribute("aria-level") ?? 0);
        const calls = frame.children[1];
        set(frame, { role: "treeitem", "aria-label": label(frame).title, "aria-level": level, tabindex: frame === root ? 0 : -1 });
        if (calls) {
          set(calls, { role: "group" });
          set(frame, { "aria-expanded": true });
        }
      }
      tools.hidden = false;

      // Narrower boxes cannot be told apart: enlarge their caller first.
      const isWide = (frame) => frame.offsetWidth >= 4;
      const tell = (frame) => (at.textContent = label(frame).title);
      const go = (to) => {
        let frame = to;
        while (!isWide(frame) && caller(frame)) frame = caller(frame);
        frames.forEach((one) => (one.tabIndex = one === frame ? 0 : -1));
        frame.focus({ preventScroll: true });
        label(frame).scrollIntoView({ block: "nearest" });
      };
      const enlarge = (frame, next = frame) => {
        frames.forEach((one) => one.classList.toggle("on", one.contains(frame)));
        whole.hidden = frame === root;
        go(next);
      };
      const pointed = (event) => event.target.closest(".flame > span")?.parentElement;
      tree.addEventListener("focusin", (event) => tell(event.target));
      tree.addEventListener("pointerover", (event) => pointed(event) && tell(pointed(event)));
      tree.addEventListener("click", (event) => pointed(event) && enlarge(pointed(event)));
      whole.addEventListener("click", () => enlarge(root));
      tree.addEventListener("keydown", (event) => {
        const frame = event.target;
        const wide = (list) => [...list].filter(isWide);
        const beside = (step) => {
          const siblings = wide(frame.parentElement.children);
          return siblings[siblings.indexOf(frame) + step];
        };
        const action = {
          ArrowDown: () => go(wide(frame.children[1]?.children ?? [])[0] ?? frame),
          ArrowUp: () => go(caller(frame) ?? frame),
          ArrowLeft: () => go(beside(-1) ?? frame),
          ArrowRight: () => go(beside(1) ?? frame),
          Home: () => go(root),
          Enter: () => enlarge(frame),
          " ": () => enlarge(frame),
          Escape: () => enlarge(root, frame),
        }[event.key];
        if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        action();
      });
      search.addEventListener("input", () => {
        const wanted = search.value.trim().toLowerCase();
        const isHit = (frame) => wanted && frame !== root && label(frame).textContent.toLowerCase().includes(wanted);
        frames.forEach((frame) => frame.classList.toggle("hit", Boolean(isHit(frame))));
        // A sample counts once: by its outermost function that is found.
        const outermost = all(".hit", tree).filter((frame) => !caller(frame).closest(".hit"));
        const share = outermost.reduce((sum, frame) => sum + Number(frame.dataset.share), 0);
        found.textContent = wanted && (outermost.length ? `${(100 * share).toFixed(1)}% of the time` : "not found");
      });
    }

    for (const button of all(".copy", root)) {
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
  };

  attach(document);
  document.addEventListener("part", (event) => attach(event.target));
  addEventListener("resize", hide);
  addEventListener("resize", hint);
})();
