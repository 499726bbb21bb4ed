"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const panes = all(".pane").map((element, number) => ({
    ...data.panes[number], number, element, scroll: one(".scroll", element), ruler: one(".ruler", element),
    lines: new Map(all(".l[data-k]", element).map((line) => [Number(line.dataset.k), line])),
  }));
  const keys = new Map(data.keys.map((key) => [key.id, key]));
  const elements = new Map(all(".key").map((element) => [element.dataset.id, element]));
  const recipe = one("#recipe .scroll");
  const live = one("#live"), cards = one("#cards"), selected = one("#selected");
  const pin = one("#pin"), fold = one("#fold"), find = one("#find"), only = one("#only");
  const narrow = matchMedia("(max-width: 60rem)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const KINDS = ["own", "rel", "gap"];
  const FEW = 12; // A field with more lines decides too much to point at.

  // What every line carries: pane, then line, then [key, kind].
  const carried = panes.map(() => new Map());
  for (const key of data.keys) {
    key.panes.forEach((lines, number) => {
      for (const kind of KINDS) {
        for (const line of lines[kind]) {
          if (!carried[number].has(line)) carried[number].set(line, []);
          carried[number].get(line).push([key, kind]);
        }
      }
    });
  }

  let current = null; // {key} or {pane, line}
  let kept = false;
  let lit = [];

  const same = (a, b) => a && b && a.key === b.key && a.pane === b.pane && a.line === b.line;
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const name = (key) => (key.kind === "operation" ? key.id.slice(5).replaceAll("_", " ") : key.id);
  const place = (pane, line) => {
    const element = pane.lines.get(line);
    const path = element.closest(".file").dataset.path;
    return `${pane.key === "source" ? path.split("/").pop() : path}:${one("b", element).textContent}`;
  };
  const text = (pane, line) => one("code", pane.lines.get(line)).textContent.trim();

  function mark(element, kind) {
    if (!element) return;
    element.classList.add(kind);
    if (kind !== "gap") element.setAttribute("aria-selected", "true");
    lit.push(element);
  }

  function markLines(key, kinds, except) {
    key.panes.forEach((lines, number) => {
      if (number === except) return;
      for (const kind of kinds) {
        for (const line of lines[kind]) mark(panes[number].lines.get(line), kind);
      }
    });
  }

  function clear() {
    for (const element of lit) {
      element.classList.remove("own", "rel", "gap", "on");
      element.setAttribute("aria-selected", "false");
    }
    lit = [];
  }

  function show(selection, from) {
    if (same(selection, current) && lit.length) return;
    current = selection;
    clear();
    if (selection.key) {
      const { key } = selection;
      markLines(key, KINDS);
      mark(elements.get(key.id), "on");
      rove(elements.get(key.id));
      for (const id of key.ops) mark(elements.get(`step:${id}`), "rel");
      for (const other of data.keys) {
        if (key.kind === "operation" && other.ops.includes(key.id.slice(5))) mark(elements.get(other.id), "rel");
      }
    } else {
      const { pane, line } = selection;
      mark(pane.lines.get(line), "on");
      const found = carried[pane.number].get(line) || [];
      const operations = found.filter(([key]) => key.kind === "operation");
      for (const [key, kind] of found) if (kind !== "gap") mark(elements.get(key.id), kind === "own" ? "on" : "rel");
      // Its counterparts: the same operation, or else what the same field decides.
      for (const [key, kind] of operations.length ? operations : found) {
        const few = key.panes.every((lines) => lines.own.length <= FEW);
        if (kind === "own" && (few || operations.length)) markLines(key, ["own"], pane.number);
      }
    }
    describe(selection);
    scroll(selection, from);
    rule();
  }

  function scroll(selection, from) {
    if (narrow.matches) return;
    for (const pane of panes) {
      if (pane === from || pane.element.hidden) continue;
      const first = one(".l.own", pane.scroll) || one(".l.rel", pane.scroll) || one(".l.gap", pane.scroll);
      if (first) into(pane.scroll, first);
    }
    if (!selection.key && from !== "recipe") {
      const first = one(".field.on", recipe) || one(".field.rel", recipe);
      if (first) into(recipe, first);
    }
  }

  function into(box, element) {
    const outer = box.getBoundingClientRect(), inner = element.getBoundingClientRect();
    if (inner.top >= outer.top + 40 && inner.bottom <= outer.bottom - 20) return;
    const way = inner.top - outer.top - outer.height / 3;
    const far = still.matches || Math.abs(way) > outer.height; // pointing is quick
    box.scrollTo({ top: box.scrollTop + way, behavior: far ? "instant" : "smooth" });
  }

  function rule() {
    for (const pane of panes) {
      pane.ruler.replaceChildren();
      if (pane.element.hidden) continue;
      const height = pane.scroll.scrollHeight, top = pane.scroll.getBoundingClientRect().top - pane.scroll.scrollTop;
      for (const element of all(".l.own, .l.rel", pane.scroll)) {
        const tick = document.createElement("u");
        if (!element.classList.contains("own")) tick.className = "rel";
        tick.style.top = `${(100 * (element.getBoundingClientRect().top - top)) / height}%`;
        pane.ruler.append(tick);
      }
    }
  }

  // What is selected, in words.

  function add(parent, tag, words, css) {
    const element = document.createElement(tag);
    if (css) element.className = css;
    if (words) element.textContent = words;
    parent.append(element);
    return element;
  }

  function go(parent, css, words, action) {
    const button = add(parent, "button", words, `goto ${css}`);
    button.type = "button";
    button.addEventListener("click", action);
    return button;
  }

  const goLine = (parent, pane, line, kind) => go(parent, kind, ` ${text(pane, line)}`, () => visit(pane, line))
    .prepend(add(parent, "b", place(pane, line)));
  const goKey = (parent, key, kind) => go(parent, `key ${kind}`, key.value ? `${name(key)}: ${key.value}` : name(key),
    () => keep({ key }, "recipe"));

  function describe(selection) {
    cards.replaceChildren();
    const words = selection.key ? describeKey(selection.key) : describeLine(selection);
    clearTimeout(describe.timer);
    describe.timer = setTimeout(() => { live.textContent = words; }, 150);
    pin.hidden = false;
    pin.textContent = kept ? "Kept" : "Keep";
    pin.setAttribute("aria-pressed", String(kept));
  }

  function describeKey(key) {
    const spoken = [];
    selected.textContent = key.kind === "operation" ? `step: ${name(key)}` : `${key.id}: ${key.value}`;
    const card = add(cards, "div", "", "card");
    if (key.note) add(card, "p", `From: ${key.note}`, "soft");
    if (key.about) {
      const about = add(card, "p"); // with `names` as code
      key.about.split("`").forEach((part, number) => add(about, number % 2 ? "code" : "span", part));
    }
    if (key.ops.length) add(card, "p", `Shapes: ${key.ops.map((id) => id.replaceAll("_", " ")).join(", ")}`, "soft");
    key.panes.forEach((lines, number) => {
      const pane = panes[number];
      const about = add(cards, "div", "", "card");
      add(about, "h3", pane.title);
      for (const found of lines.judged) {
        const judged = add(about, "p");
        add(judged, "span", `${found.side ? `${found.side}: ` : ""}${found.verdict}`, `pill ${found.verdict}`);
        add(judged, "span", [found.code, found.evidence].filter(Boolean).join(", "), "soft");
        add(about, "p", found.how);
      }
      // Of related lines, those of the training step say most.
      const step = new Set(key.ops.flatMap((id) => keys.get(`step:${id}`)?.panes[number].own || []));
      const related = [...lines.rel].sort((a, b) => step.has(b) - step.has(a) || a - b);
      const known = new Set(); // two sides often have the same line
      const shown = KINDS.flatMap((kind) => (kind === "rel" ? related : lines[kind]).map((line) => [line, kind]))
        .filter(([line, kind]) => !known.has(kind + text(pane, line)) && known.add(kind + text(pane, line)));
      const most = narrow.matches ? 4 : 6;
      for (const [line, kind] of shown.slice(0, most)) goLine(about, pane, line, kind);
      if (shown.length > most) add(about, "p", `and ${plural(shown.length - most, "line")} more`, "soft");
      if (!lines.own.length && !lines.rel.length && lines.gap.length) {
        add(about, "p", "This value emits nothing. Another one would add lines behind these.", "soft");
      }
      if (lines.none) add(about, "p", lines.none, "soft");
      const count = lines.own.length + lines.rel.length;
      const verdict = lines.judged.map((found) => found.verdict).join(" and ");
      spoken.push(`${pane.title}${verdict ? ` ${verdict}` : ""}, ${count ? plural(count, "line") : "no lines"}`);
    });
    return `${selected.textContent}. ${spoken.join("; ")}.`;
  }

  function describeLine({ pane, line }) {
    selected.textContent = `${pane.title}, ${place(pane, line)}  ${text(pane, line)}`;
    const found = carried[pane.number].get(line) || [];
    const groups = [
      [pane.key === "source" ? "Says" : "Changes with", found.filter(([key, kind]) => key.kind === "field" && kind === "own")],
      ["Also depends on", found.filter(([key, kind]) => key.kind === "field" && kind === "rel")],
      ["Would be followed by more lines with another", found.filter(([key, kind]) => key.kind === "field" && kind === "gap")],
      ["Part of the operation", found.filter(([key]) => key.kind === "operation")],
    ];
    const spoken = [];
    for (const [title, entries] of groups) {
      if (!entries.length) continue;
      const card = add(cards, "div", "", "card");
      add(card, "h3", title);
      for (const [key, kind] of entries) goKey(card, key, kind);
      spoken.push(`${title} ${entries.map(([key]) => name(key)).join(", ")}`);
    }
    if (!found.some(([, kind]) => kind !== "gap") || line in data.dark[pane.number]) {
      const why = data.reasons[data.dark[pane.number][line]] || dark(pane);
      add(add(cards, "div", "", "card"), "p", why);
      spoken.push(why);
    }
    return `${place(pane, line)}. ${spoken.join(". ")}`;
  }

  const dark = (pane) => (pane.key === "source" ? "No field of the recipe was read from this line." : data.unchanged);

  // Selecting.

  function keep(selection, from) {
    kept = !(kept && same(selection, current));
    show(selection, from);
    describe(selection);
    if (kept && selection.key) {
      try { history.replaceState(null, "", `#${encodeURIComponent(selection.key.id)}`); } catch { /* a page without an address */ }
    }
  }

  function letGo() {
    kept = false;
    if (current) describe(current);
  }

  function visit(pane, line) {
    kept = true;
    view(pane.key, true);
    const element = pane.lines.get(line);
    if (narrow.matches) element.scrollIntoView({ block: "center" }); else into(pane.scroll, element);
    focus(element);
    if (current) describe(current);
  }

  function selectionOf(target) {
    const key = target.closest(".key");
    if (key) return [{ key: keys.get(key.dataset.id) }, "recipe"];
    const line = target.closest(".l[data-k]");
    if (!line) return [null, null];
    const pane = panes[Number(line.closest(".pane").dataset.pane)];
    return [{ pane, line: Number(line.dataset.k) }, pane];
  }

  let waiting = 0;
  document.addEventListener("pointerover", (event) => {
    clearTimeout(waiting);
    if (kept || event.pointerType === "touch") return;
    const [selection, from] = selectionOf(event.target);
    if (selection) waiting = setTimeout(() => show(selection, from), 40);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#detail, header, .tools, #table")) return;
    const [selection, from] = selectionOf(event.target);
    if (selection) keep(selection, from);
  });
  document.addEventListener("focusin", (event) => {
    const [selection, from] = selectionOf(event.target);
    if (!selection) return;
    rove(event.target);
    if (!kept && event.target.matches(":focus-visible")) show(selection, from);
  });
  pin.addEventListener("click", () => current && keep(current));

  // The keyboard: one stop for each list; arrows move within it and between columns.

  const options = (box) => all("[role=option]", box).filter((option) => option.offsetParent !== null);
  function rove(element) {
    for (const option of all("[tabindex='0']", element.closest("[role=listbox]"))) option.tabIndex = -1;
    element.tabIndex = 0;
  }
  function focus(element) {
    rove(element);
    element.focus({ focusVisible: true });
  }
  for (const box of all("[role=listbox]")) one("[role=option]", box)?.setAttribute("tabindex", "0");

  function across(from, step) {
    const shown = ["recipe", ...panes.filter((pane) => !pane.element.hidden)];
    const start = from.closest(".pane") ? panes[Number(from.closest(".pane").dataset.pane)] : "recipe";
    for (let at = shown.indexOf(start) + step; at >= 0 && at < shown.length; at += step) {
      const box = shown[at] === "recipe" ? recipe : shown[at].scroll;
      if (box === recipe && find.value) { find.value = ""; filter(); }
      const first = [".field.on", ".op.on", ".l.own", ".l.rel", ".l.gap", ".field.rel"]
        .flatMap((css) => all(css, box)).find((element) => element.offsetParent !== null);
      if (!first) continue;
      if (!kept && current) keep(current);
      if (shown[at] !== "recipe") view(shown[at].key, true);
      return focus(first);
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (event.target === find && find.value) { find.value = ""; filter(); return; }
      return letGo();
    }
    if (event.key === "/" && event.target !== find) { event.preventDefault(); return find.focus(); }
    const box = event.target.closest("[role=listbox]");
    if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
    const list = options(box), at = list.indexOf(event.target.closest("[role=option]"));
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: list.length - 1, PageDown: at + 20, PageUp: at - 20 };
    if (event.key in moves) {
      event.preventDefault();
      focus(list[Math.max(0, Math.min(list.length - 1, moves[event.key]))]);
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      event.preventDefault();
      across(event.target, event.key === "ArrowRight" ? 1 : -1);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      keep(...selectionOf(event.target));
    }
  });

  // Columns and filters.

  function view(key, open) {
    if (narrow.matches) {
      document.body.dataset.view = key;
      for (const column of all(".column")) column.classList.toggle("shown", column.dataset.view === key);
      for (const button of all(".view")) button.setAttribute("aria-pressed", String(button.dataset.view === key));
      return;
    }
    const [button, column] = all(`[data-view="${CSS.escape(key)}"]`);
    column.hidden = open === undefined ? !column.hidden : !open;
    button.setAttribute("aria-pressed", String(!column.hidden));
    rule();
  }
  for (const button of all(".view")) button.addEventListener("click", () => view(button.dataset.view));

  function layout() {
    if (narrow.matches) {
      for (const column of all(".column")) column.hidden = false;
      view(document.body.dataset.view || "recipe");
    } else {
      delete document.body.dataset.view;
      const wide = document.body.classList.contains("compares");
      all(".column").forEach((column, number) => view(column.dataset.view, !(wide && number > 1)));
    }
  }
  narrow.addEventListener("change", layout);

  function filter() {
    const wanted = find.value.trim().toLowerCase();
    for (const field of all(".field")) {
      const fits = field.getAttribute("aria-label").toLowerCase().includes(wanted);
      field.hidden = !fits || Boolean(only && only.checked && !field.classList.contains("differs"));
    }
    for (const section of all(".section")) section.hidden = !all(".field:not([hidden])", section).length;
    const [first] = options(one(".fields"));
    if (first && !options(one(".fields")).some((option) => option.tabIndex === 0)) rove(first);
  }
  find.addEventListener("input", filter);
  if (only) only.addEventListener("change", filter);
  fold.addEventListener("click", () => {
    const folded = one("#detail").classList.toggle("folded");
    fold.textContent = folded ? "More" : "Less";
    fold.setAttribute("aria-expanded", String(!folded));
  });

  // In the frame of a notebook the address of a part is one of the notebook.
  for (const link of all("a.skip")) link.addEventListener("click", (event) => {
    event.preventDefault();
    one(link.getAttribute("href")).focus();
  });

  if (narrow.matches) selected.textContent = "Tap a field or a line";

  // The start: the field in the address, or one that says much.

  layout();
  let wanted = "";
  try { wanted = decodeURIComponent(location.hash.slice(1)); } catch { /* no field has such a name */ }
  const told = (key) => key.panes.reduce((sum, { own, rel, judged }) => sum
    + 10 * (own.length > 0 && own.length < 4) + 3 * (rel.length > 0) + judged.some((found) => found.verdict !== "exact"), 0);
  const best = data.keys.reduce((a, b) => (told(b) > told(a) ? b : a));
  if (keys.has(wanted)) keep({ key: keys.get(wanted) });
  else if (!narrow.matches) show({ key: best });
  if (narrow.matches && keys.has(wanted)) elements.get(wanted).scrollIntoView({ block: "center" });
  else if (!narrow.matches) into(recipe, elements.get((keys.get(wanted) || best).id));
  document.body.classList.add("ready");
})();
