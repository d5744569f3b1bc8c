// The pool bench (docs/bench.rst): a script of CUDA calls, buttons that write into it, and the
// pictures of its run so far. Every step runs the script again from its first line, on the
// project's own C in the browser (simulated_device.js), so a step back is a run with a line less.
"use strict";

(() => {
  const root = document.getElementById("pool-bench");
  if (!root) return;
  const ready = JSON.parse(root.dataset.scripts);

  // ---- what is on the page ----

  const make = (tag, properties = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties))
      if (name in node) node[name] = value;
      else node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  let fields = 0;
  const labelled = (words, control) => {
    control.id = `bench-field-${fields++}`;
    const label = make("label", { htmlFor: control.id }, words);
    return make("span", { className: "bench-field" }, label, control);
  };
  const choice = (values) =>
    make(
      "select",
      {},
      ...values.map(([value, words]) => make("option", { value }, words || value)),
    );
  const button = (words, action, title = "") => {
    const node = make("button", { type: "button", title }, words);
    node.addEventListener("click", action);
    return node;
  };

  const script = make("textarea", { wrap: "off", spellcheck: false, autocapitalize: "off" });
  const gutter = make("pre", { className: "bench-gutter", "aria-hidden": "true" });
  const place = make("p", { className: "bench-place", "aria-live": "polite" });
  const messages = make("div", { className: "bench-messages", "aria-live": "polite" });
  const memory = make("div", { className: "picture" });
  const order = make("div", { className: "picture" });
  const program = make("code");
  const size = make("input", { type: "number", min: 1, max: 960, value: 64 });
  const streams = choice([["s1"], ["s2"], ["s3"], ["s4"]]);
  const allocations = choice([["a"]]);
  const events = choice([["e"]]);
  const titles = ready.map((one, at) => [String(at), one.title]);
  const scripts = choice([["", "choose a script"], ...titles]);
  const schedules = choice([["measured"], ["instant"], ["late"], ["random:1"], ["random:2"]]);
  const limits = choice([["", "none"], ["32 MiB"], ["64 MiB"], ["128 MiB"], ["256 MiB"]]);
  const sizes = ["0 MiB", "32 MiB", "48 MiB", "64 MiB", "128 MiB", "UINT64_MAX"];
  const thresholds = choice(sizes.map((one) => [one]));
  // The rungs of the reuse ladder: the journal's word for each, its policy, and why an allocation
  // has the memory that it has (simulator/mem/rungs.def).
  const rungs = JSON.parse(root.dataset.rungs);
  const policies = rungs
    .filter((rung) => rung.policy)
    .map((rung) => ({
      name: rung.policy,
      box: make("input", { type: "checkbox", checked: true }),
    }));
  const origins = Object.fromEntries(rungs.map((rung) => [rung.name, rung.because]));

  // ---- the state ----

  let lines = 0; // how many lines of the script have run
  let past = []; // scripts and lines before each change by a button
  let running = null; // the last run that was started
  let drawnFor = 0; // the width of the pictures' place when they were drawn

  const textLines = () => script.value.replace(/\n+$/, "").split("\n");
  const stops = () => benchPictures.commandsOf(script.value).map((command) => command.line);

  const remember = () => past.push([script.value, lines]);

  // Inserts a line behind those that have run, and runs it.
  const add = (line) => {
    remember();
    const all = script.value.trim() ? textLines() : [];
    all.splice(lines, 0, line);
    script.value = `${all.join("\n")}\n`;
    lines += 1;
    show();
  };

  const undo = () => {
    if (!past.length) return;
    [script.value, lines] = past.pop();
    show();
  };

  const stepTo = (line) => {
    lines = line;
    show();
  };
  const back = () => stepTo(stops().filter((line) => line < lines).slice(-1)[0] || 0);
  const on = () => stepTo(stops().find((line) => line > lines) || textLines().length);

  // A limit belongs to the pool's creation, which is the first call.
  const setLimit = () => {
    remember();
    const all = textLines().filter((line) => !/^\s*cudaMemPoolCreate/.test(line));
    if (limits.value) {
      const at = all.findIndex((line) => line.trim() && !/^\s*\/\//.test(line));
      all.splice(at < 0 ? all.length : at, 0, `cudaMemPoolCreate(maxSize, ${limits.value})`);
    }
    lines = Math.max(0, lines + all.length - textLines().length);
    script.value = `${all.join("\n")}\n`;
    show();
  };

  const fresh = (taken, letters) => [...letters].find((one) => !taken.includes(one)) || "z";

  const calls = [
    ["cudaMallocAsync", () => {
      const name = fresh(names("cudaMallocAsync", 0), "abcdfghijklmnopqrtuvwxyz");
      add(`cudaMallocAsync(${name}, ${size.value} MiB, ${streams.value})`);
      allocations.value = name;
    }],
    ["cudaFreeAsync", () => add(`cudaFreeAsync(${allocations.value}, ${streams.value})`)],
    ["cudaFree", () => add(`cudaFree(${allocations.value})`)],
    ["launch_fill", () => add(`launch_fill(${allocations.value}, ${streams.value})`)],
    ["cudaEventRecord", () => {
      const taken = names("cudaEventRecord", 0);
      const name = ["e", "e2", "e3", "e4", "e5", "e6"].find((one) => !taken.includes(one)) || "e7";
      add(`cudaEventRecord(${name}, ${streams.value})`);
      events.value = name;
    }],
    ["cudaStreamWaitEvent", () => add(`cudaStreamWaitEvent(${streams.value}, ${events.value})`)],
    ["cudaStreamSynchronize", () => add(`cudaStreamSynchronize(${streams.value})`)],
    ["cudaDeviceSynchronize", () => add("cudaDeviceSynchronize()")],
    ["cudaEventSynchronize", () => add(`cudaEventSynchronize(${events.value})`)],
    ["cudaStreamQuery", () => add(`cudaStreamQuery(${streams.value})`)],
    ["cudaEventQuery", () => add(`cudaEventQuery(${events.value})`)],
    ["cudaMemPoolTrimTo", () => add(`cudaMemPoolTrimTo(${size.value} MiB)`)],
    ["launch_hold", () => add(`launch_hold(${streams.value})`)],
    ["gate_open", () => add(`gate_open(${streams.value})`)],
  ];

  // The names that a call of the script has as this argument.
  function names(call, argument) {
    const all = benchPictures.commandsOf(script.value).filter((one) => one.name === call);
    return [...new Set(all.map((one) => one.words[argument]))];
  }

  const setOptions = (select, values, otherwise) => {
    const chosen = select.value;
    const all = values.length ? values : [otherwise];
    select.replaceChildren(...all.map((value) => make("option", { value }, value)));
    select.value = all.includes(chosen) ? chosen : all[all.length - 1];
  };

  // The controls show what the script has set so far.
  function showControls() {
    setOptions(allocations, names("cudaMallocAsync", 0), "a");
    const waited = names("cudaStreamWaitEvent", 1);
    setOptions(events, [...new Set([...names("cudaEventRecord", 0), ...waited])], "e");
    const set = {};
    let limit = "";
    for (const command of benchPictures.commandsOf(script.value)) {
      if (command.name === "cudaMemPoolCreate") [, limit] = command.words;
      if (command.line <= lines && command.name === "cudaMemPoolSetAttribute")
        [, set[command.words[0]]] = command.words;
    }
    for (const { name, box } of policies) box.checked = set[name] !== "0";
    const threshold = set.ReleaseThreshold || "0 MiB";
    for (const [select, value] of [[thresholds, threshold], [limits, limit]]) {
      if (![...select.options].some((one) => one.value === value))
        select.append(make("option", { value }, value));
      select.value = value;
    }
  }

  // ---- a run, and what it shows ----

  const message = (kind, heading, text) =>
    make(
      "div",
      { className: `bench-message ${kind}` },
      make("strong", {}, heading),
      make("pre", {}, text),
    );

  function showRun(result, text) {
    const journal = result.journal.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    const steps = benchPictures.stepsOf(text, journal, lines);
    const named = [...text.matchAll(/\bs([1-4])\b/g)].map((one) => Number(one[1]));
    const limit = journal.find((line) => line.call === "cudaMemPoolCreate");
    drawnFor = memory.clientWidth;
    const width = Math.max(300, drawnFor);
    memory.innerHTML = benchPictures.memory(steps, limit ? limit.max_size : 0, width);
    order.innerHTML = benchPictures.order(
      steps,
      benchPictures.unorderedOf(journal),
      width,
      Math.max(1, ...named),
    );
    const last = steps[steps.length - 1];
    const from = last && last.call && last.call.from;
    place.textContent = last
      ? `Line ${last.line} of ${textLines().length}: ${last.text}. ${origins[from] || ""}`
      : "No line has run.";
    const shown = [];
    const errors = result.errors.replace(/\bline:(\d+)/g, "line $1");
    if (errors) {
      const heading = /^hazard:/m.test(errors) ? "The checker reports" : "The run ended";
      shown.push(message("bad", heading, errors.trim()));
    }
    if (result.output) shown.push(message("", "The program prints", result.output.trim()));
    messages.replaceChildren(...shown);
    root.dataset.state = "shown";
    root.dataset.reserved = last ? last.reserved : 0;
  }

  function showGutter() {
    const all = Math.max(textLines().length, 1);
    script.rows = Math.max(all + 1, 8);
    gutter.textContent = Array.from({ length: all }, (_, at) =>
      `${at + 1 === lines ? "▶" : " "}${String(at + 1).padStart(3)}`).join("\n");
  }

  async function show() {
    const text = script.value;
    lines = Math.min(lines, textLines().length);
    showGutter();
    showControls();
    const mine = (running = {});
    root.dataset.state = "runs";
    const environment = { SIM_CHECK: "noleaks", SIM_SCHEDULE: schedules.value };
    try {
      const bench = (...words) => simulatedDevice.run("docs/live/bench", words, environment);
      const result = await bench("run", String(lines), text);
      if (mine !== running) return;
      showRun(result, text);
      const source = await bench("c", text);
      program.textContent = source.output || source.errors;
    } catch (reason) {
      messages.replaceChildren(message("bad", "The simulated device failed", String(reason)));
      root.dataset.state = "failed";
    }
  }

  // ---- the link ----

  const link = () =>
    `#${new URLSearchParams({ script: script.value, lines, schedule: schedules.value })}`;

  const share = async () => {
    history.replaceState(null, "", link());
    try {
      await navigator.clipboard.writeText(location.href);
      place.textContent = "The link to this script is copied.";
    } catch (refused) {
      place.textContent = "The address of this page is now the link to this script.";
    }
  };

  function open() {
    const shared = new URLSearchParams(location.hash.slice(1));
    if (shared.get("script") !== null) {
      script.value = shared.get("script");
      lines = Number(shared.get("lines")) || 0;
      if ([...schedules.options].some((one) => one.value === shared.get("schedule")))
        schedules.value = shared.get("schedule");
    } else {
      script.value = ready[0].text;
      lines = textLines().length;
    }
    show();
  }

  // ---- putting it together ----

  scripts.addEventListener("change", () => {
    if (!scripts.value) return;
    remember();
    script.value = ready[Number(scripts.value)].text;
    lines = textLines().length;
    show();
  });
  let typing = 0;
  script.addEventListener("input", () => {
    showGutter();
    clearTimeout(typing);
    typing = setTimeout(() => stepTo(textLines().length), 300);
  });
  schedules.addEventListener("change", show);
  limits.addEventListener("change", setLimit);
  thresholds.addEventListener("change", () =>
    add(`cudaMemPoolSetAttribute(ReleaseThreshold, ${thresholds.value})`));
  for (const { name, box } of policies)
    box.addEventListener("change", () =>
      add(`cudaMemPoolSetAttribute(${name}, ${box.checked ? 1 : 0})`));
  new ResizeObserver(() => {
    if (drawnFor && Math.abs(memory.clientWidth - drawnFor) > 8) show();
  }).observe(root);

  const group = (name, ...nodes) =>
    make("fieldset", {}, make("legend", {}, name), ...nodes);
  root.replaceChildren(
    make("div", { className: "bench-row" },
      labelled("Ready script", scripts),
      labelled("Schedule", schedules),
      button("Copy a link", share, "Copies the address of this page with the script in it")),
    make("div", { className: "bench-columns" },
      make("div", {},
        labelled("Script, a call to a line", script).firstChild,
        make("div", { className: "bench-script" }, gutter, script),
        make("div", { className: "bench-row" },
          button("Step back", back),
          button("Step on", on),
          button("Run all", () => stepTo(textLines().length)),
          button("Undo", undo, "Takes the last change by a button back")),
        place,
        group("The pool",
          make("div", { className: "bench-row" },
            labelled("maxSize", limits),
            labelled("ReleaseThreshold", thresholds)),
          ...policies.map(({ name, box }) => labelled(name, box)))),
      make("div", {},
        group("Add a call",
          make("div", { className: "bench-row" },
            labelled("MiB", size),
            labelled("stream", streams),
            labelled("allocation", allocations),
            labelled("event", events)),
          make("div", { className: "bench-calls" },
            ...calls.map(([name, action]) => button(name, action)))))),
    messages,
    make("h2", {}, "Memory"), memory,
    make("h2", {}, "Order"), order,
    make(
      "details",
      {},
      make("summary", {}, "As a C program"),
      make("pre", { tabIndex: 0 }, program),
    ),
  );
  open();
})();
