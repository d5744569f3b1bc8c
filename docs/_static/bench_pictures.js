// Draws the pool bench's two pictures from a journal: memory over calls, and the order of host and
// streams. The form is that of the book's pictures (docs/extensions/memory_picture.py and
// order_picture.py), and so are its classes (pictures.css).
"use strict";

const benchPictures = (() => {
  const MIB = 2 ** 20;
  const SEGMENT = 32 * MIB;
  const RUNS = { launch_fill: "fill", launch_hold: "hold" };

  // ---- the run, line by line ----

  // Each line of the script that is a call: its number, the call's name and arguments.
  function commandsOf(script) {
    return script.split("\n").flatMap((text, index) => {
      const match = /^\s*(\w+)\s*\((.*)\)/.exec(text.replace(/\/\/.*/, ""));
      if (!match) return [];
      const words = match[2].split(",").map((word) => word.trim());
      return [{ line: index + 1, name: match[1], words, text: match[0].trim() }];
    });
  }

  // The calls that stand in a line of the script, which is what the journal's file and line say.
  const callsOf = (journal) => journal.filter((line) => line.number && line.file === "line");

  // The lines of the script that have run, each with its line of the journal (`call`), what the
  // pool had before and after, and what it put into a stream: work (`run`), or when its turn came.
  function stepsOf(script, journal, lines) {
    // The first of each: what the program does at its end stands in the last line.
    const calls = new Map(callsOf(journal).reverse().map((call) => [call.line, call]));
    const runs = new Map();
    const turns = new Map();
    for (const line of journal) {
      if (line.did === "run") runs.set(line.of, line);
      if (line.did === "turn") turns.set(line.of, line.t);
      if (line.turn !== undefined) turns.set(line.number, line.turn);
    }
    const steps = [];
    let reserved = 0;
    let used = 0;
    let threshold = 0;
    for (const command of commandsOf(script)) {
      if (command.line > lines || command.name === "cudaMemPoolCreate") continue;
      const step = { ...command, before: reserved, threshold };
      if (command.name !== "gate_open") {
        step.call = calls.get(command.line);
        if (!step.call) break;
        for (const line of journal)
          if (line.n < step.call.n && line.reserved !== undefined) reserved = line.reserved;
        if (step.call.reserved !== undefined) reserved = step.call.reserved;
        if (step.call.used !== undefined) used = step.call.used;
        if (step.call.attribute === "cudaMemPoolAttrReleaseThreshold") threshold = step.call.value;
        step.run = runs.get(step.call.number);
        step.turn = turns.get(step.call.number);
      }
      steps.push({ ...step, reserved, used, threshold });
    }
    return steps;
  }

  // What the checker reported of two lines of the script, as pairs of these.
  function unorderedOf(journal) {
    const lines = new Map(callsOf(journal).map((call) => [call.number, call.line]));
    return journal
      .filter((line) => line.unordered || line.kind === "use after free")
      .map((line) => [lines.get(line.earlier), lines.get(line.later)])
      .filter(([earlier, later]) => earlier && later && earlier !== later);
  }

  // ---- SVG ----

  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const mib = (bytes) => String(Math.round((bytes / MIB) * 100) / 100);

  function canvas() {
    const parts = [];
    return {
      parts,
      rectangle: (kind, x, y, width, height, more = "") =>
        parts.push(
          `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" ${more}/>`,
        ),
      line: (kind, x1, y1, x2, y2) =>
        parts.push(`<line class="${kind}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`),
      text: (kind, x, y, words, anchor = "start") =>
        parts.push(
          `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">` +
            `${escaped(words)}</text>`,
        ),
      // A box with lines that rise from left to right.
      hatched: (kind, x, y, width, height) => {
        let path = `M${x} ${y}h${width}v${height}h${-width}z`;
        for (let along = 7; along < width + height; along += 7) {
          path += `M${x + Math.max(0, along - height)} ${y + Math.min(along, height)}`;
          path += `L${x + Math.min(along, width)} ${y + Math.max(0, along - width)}`;
        }
        parts.push(`<path class="${kind}" d="${path}"/>`);
      },
      arrow: (kind, x1, y1, x2, y2) => {
        const length = Math.hypot(x2 - x1, y2 - y1) || 1;
        const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
        const [x, y] = [x2 - 9 * dx, y2 - 9 * dy];
        parts.push(
          `<line class="${kind}" x1="${x1}" y1="${y1}" x2="${x}" y2="${y}"/>` +
            `<polygon class="${kind}" points="${x2},${y2} ${x - 4 * dy},${y + 4 * dx} ` +
            `${x + 4 * dy},${y - 4 * dx}"/>`,
        );
      },
    };
  }

  function svg(parts, width, height, title, description) {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" aria-label="${escaped(`${title}. ${description}`)}">` +
      `${parts.join("")}</svg>`
    );
  }

  // A key below a picture: [kind, words] with a sample of each kind. Returns the next free y.
  function key(draw, entries, width, top) {
    let x = 4;
    let y = top;
    for (const [kind, words] of entries) {
      const room = 34 + words.length * 7;
      if (x + room > width) {
        x = 4;
        y += 20;
      }
      if (/threshold|limit|event|inserted|missing/.test(kind)) {
        draw.line(kind, x, y + 7, x + 22, y + 7);
      } else if (/^pending/.test(kind)) {
        draw.hatched(kind, x, y, 22, 14);
      } else {
        draw.rectangle(kind, x, y, 22, 14);
      }
      draw.text("key", x + 28, y + 12, words);
      x += room + 14;
    }
    return y + 24;
  }

  // ---- memory over calls ----

  const POLICIES = {
    ReuseFollowEventDependencies: "events",
    ReuseAllowOpportunistic: "opport.",
    ReuseAllowInternalDependencies: "internal",
  };
  const MEMORY_CALLS = {
    cudaMallocAsync: (step) => ["allocate", step.words[0]],
    cudaFreeAsync: (step) => ["free", step.words[0]],
    cudaFree: (step) => ["cudaFree", step.words[0]],
    cudaStreamSynchronize: (step) => ["synchr.", step.words[0]],
    cudaEventSynchronize: (step) => ["synchr.", step.words[0]],
    cudaDeviceSynchronize: () => ["synchr.", "device"],
    cudaStreamQuery: (step) => ["query", step.words[0]],
    cudaEventQuery: (step) => ["query", step.words[0]],
    cudaMemPoolTrimTo: (step) => ["trim to", step.words[0]],
    cudaMemPoolSetAttribute: (step) =>
      step.words[0] === "ReleaseThreshold"
        ? ["threshold", step.words[1].replace("UINT64_MAX", "maximum")]
        : [POLICIES[step.words[0]], step.words[1] === "0" ? "off" : "on"],
  };

  // Which segments are mapped: those that allocations lie on, and then the lowest.
  function mapped(live, reserved) {
    const segments = new Set();
    for (const one of live)
      for (let s = Math.floor(one.offset / SEGMENT); s * SEGMENT < one.offset + one.bytes; s++)
        segments.add(s);
    for (let s = 0; segments.size < Math.round(reserved / SEGMENT); s++) segments.add(s);
    return segments;
  }

  const WAITS = /^cuda(Stream|Event|Device)Synchronize$|^cudaFree$/;

  // Keeps which frees the host has waited for: those before a synchronization in the order of
  // streams and events. Returns what takes a call and gives the numbers of the allocations.
  function freesOver() {
    const streams = {};
    const events = {};
    const all = new Set();
    const of = (stream) => (streams[stream] = streams[stream] || new Set());
    return (call) => {
      if (call.result !== "cudaSuccess") return new Set();
      if (call.call === "cudaFreeAsync" && call.allocation) {
        of(call.stream).add(call.allocation);
        all.add(call.allocation);
      } else if (call.call === "cudaEventRecord") {
        events[call.event] = new Set(of(call.stream));
      } else if (call.call === "cudaStreamWaitEvent") {
        for (const one of events[call.event] || []) of(call.stream).add(one);
      } else if (WAITS.test(call.call) || call.acquired) {
        if (call.stream !== undefined) return of(call.stream);
        return call.event === undefined ? all : events[call.event] || new Set();
      }
      return new Set();
    };
  }

  // What of the pending frees no live allocation lies on.
  function withoutTaken(pending, live) {
    let left = pending;
    for (const taken of live)
      left = left.flatMap((freed) => {
        const end = freed.offset + freed.bytes;
        const takenEnd = taken.offset + taken.bytes;
        if (freed.offset >= takenEnd || taken.offset >= end) return [freed];
        return [
          { ...freed, bytes: taken.offset - freed.offset },
          { ...freed, offset: takenEnd, bytes: end - takenEnd },
        ].filter((rest) => rest.bytes > 0);
      });
    return left;
  }

  // The columns: a step of MEMORY_CALLS each, with what is live, pending and mapped after it.
  function columnsOf(steps) {
    const live = new Map();
    const allocations = [];
    const over = freesOver();
    let before = new Set();
    let pending = [];
    const columns = steps
      .map((step) => {
        // Calls that have no column, such as a record, count, too.
        const waited = step.call ? over(step.call) : new Set();
        return { step, waited: new Set(waited) };
      })
      .filter(({ step }) => MEMORY_CALLS[step.name])
      .map(({ step, waited }, index) => {
        const { call } = step;
        const succeeded = ["cudaSuccess", "cudaErrorNotReady"].includes(call.result);
        if (step.name === "cudaMallocAsync" && call.allocation) {
          const allocation = {
            name: step.words[0],
            stream: call.stream,
            offset: call.offset,
            bytes: call.bytes,
            from: index,
            to: null,
          };
          live.set(call.allocation, allocation);
          allocations.push(allocation);
        } else if (/^cudaFree/.test(step.name) && live.has(call.allocation)) {
          const freed = live.get(call.allocation);
          freed.to = index;
          live.delete(call.allocation);
          if (step.name === "cudaFreeAsync")
            pending.push({ ...freed, number: call.allocation, freedIn: call.stream });
        }
        pending = pending.filter((freed) => !waited.has(freed.number));
        pending = withoutTaken(pending, live.values());
        const now = mapped(live.values(), step.reserved);
        const gone = [...before].filter((segment) => !now.has(segment));
        before = now;
        const words = MEMORY_CALLS[step.name](step);
        return { step, words, now, gone, pending, succeeded };
      });
    return { columns, allocations };
  }

  function memory(steps, limit, width) {
    const { columns, allocations } = columnsOf(steps);
    if (!columns.length) return "";
    const axis = 44;
    const column = 72;
    const perStrip = Math.max(2, Math.floor((width - axis - 4) / column));
    const top = Math.max(
      2,
      ...columns.map((one) => Math.max(0, ...one.now, ...one.gone) + 1),
      ...allocations.map((one) => Math.ceil((one.offset + one.bytes) / SEGMENT)),
    );
    // A threshold that is far beyond what the pool has is not drawn.
    const isDrawn = (threshold) => threshold > 0 && threshold < 64 * SEGMENT;
    const most = Math.max(0, ...steps.map((step) => step.threshold).filter(isDrawn));
    const segments = Math.max(top, Math.ceil(most / SEGMENT), Math.ceil(limit / SEGMENT));
    const high = Math.max(12, Math.min(30, Math.floor(260 / segments)));
    const draw = canvas();
    let y = 4;
    for (let first = 0; first < columns.length; first += perStrip) {
      const strip = columns.slice(first, first + perStrip);
      // 0 is at the bottom: more memory is higher.
      const ground = y + 36 + segments * high;
      const yOf = (bytes) => ground - (bytes / SEGMENT) * high;
      const xOf = (index) => axis + (index - first) * column;
      const labels = Math.max(1, Math.ceil(16 / high));
      for (let s = 0; s <= segments; s += labels)
        draw.text("figure", axis - 6, yOf(s * SEGMENT) + 4, String(s * 32), "end");
      strip.forEach((one, at) => {
        const x = xOf(first + at);
        draw.text(one.succeeded ? "bold" : "bad", x + 3, y + 12, one.words[0]);
        draw.text("", x + 3, y + 28, one.words[1].slice(0, 9));
        for (const s of one.now) {
          draw.rectangle("segment", x, yOf((s + 1) * SEGMENT), column, high);
        }
        for (const s of one.gone) {
          draw.rectangle("gone", x + 2, yOf((s + 1) * SEGMENT), column - 4, high);
        }
        for (const place of one.pending) {
          const pendingHigh = (place.bytes / SEGMENT) * high - 2;
          if (pendingHigh < 4) continue;
          const at = yOf(place.offset + place.bytes) + 1;
          draw.hatched(`pending s-${place.freedIn}`, x + 2, at, column - 4, pendingHigh);
        }
      });
      for (const allocation of allocations) {
        const from = Math.max(allocation.from, first);
        const end = allocation.to === null ? columns.length : allocation.to;
        const to = Math.min(end, first + strip.length);
        if (from >= to) continue;
        const height = Math.max(4, (allocation.bytes / SEGMENT) * high - 2);
        const kind = `used s-${allocation.stream}`;
        const wide = (to - from) * column - 4;
        const at = yOf(allocation.offset) - 1 - height;
        draw.rectangle(kind, xOf(from) + 2, at, wide, height);
        if (height < 12) continue;
        draw.text("on", xOf(from) + 8, at + height / 2 + 5, allocation.name);
      }
      strip.forEach((one, at) => {
        const { threshold } = one.step;
        const x = xOf(first + at);
        if (isDrawn(threshold))
          draw.line("threshold", x, yOf(threshold), x + column, yOf(threshold));
        draw.text("figure", x + 3, yOf(0) + 18, `${mib(one.step.used)} used`);
        draw.text("figure", x + 3, yOf(0) + 34, `${mib(one.step.reserved)} res.`);
      });
      if (limit)
        draw.line("limit", axis, yOf(limit), xOf(first + strip.length), yOf(limit));
      draw.text("figure", axis - 6, yOf(0) + 18, "MiB", "end");
      y = yOf(0) + 48;
    }
    const entries = [["segment", "reserved, in segments of 32 MiB"]];
    for (const stream of new Set(allocations.map((one) => one.stream)))
      entries.push([`used s-${stream}`, `allocated in s${stream}`]);
    const hatched = columns.flatMap((one) => one.pending)[0];
    if (hatched) entries.push([`pending s-${hatched.freedIn}`, "freed, the free is pending"]);
    if (columns.some((one) => one.gone.length)) entries.push(["gone", "returned by this call"]);
    if (most) entries.push(["threshold", "release threshold"]);
    if (limit) entries.push(["limit", "maxSize"]);
    y = key(draw, entries, width, y);
    const rows = columns.map(
      (one) =>
        `${one.words.join(" ")}: used ${mib(one.step.used)}, reserved ${mib(one.step.reserved)}`,
    );
    const last = columns[columns.length - 1].step;
    const title = `Memory: ${mib(last.used)} MiB used, ${mib(last.reserved)} MiB reserved`;
    return svg(draw.parts, width, y, title, rows.join("; "));
  }

  // ---- the order of host and streams ----

  const FAR = Number.MAX_SAFE_INTEGER;

  // What is in the streams: work with its times, and the points of allocations, frees, records and
  // waits, which take no time, at their turn. What never came is far away.
  function piecesOf(steps) {
    const records = {};
    const freed = {};
    const at = {};
    const pieces = [];
    for (const step of steps) {
      const { call } = step;
      if (!call || call.stream === undefined || call.result !== "cudaSuccess") continue;
      const { start = FAR, finish = FAR } = step.run || { start: step.turn, finish: step.turn };
      const piece = { step, stream: call.stream, start, finish, source: null, kind: "point" };
      if (RUNS[call.call]) {
        piece.kind = RUNS[call.call];
        piece.words = piece.kind === "hold" ? "hold" : `fill ${step.words[0]}`;
      } else if (call.call === "cudaEventRecord") {
        piece.words = `record ${step.words[0]}`;
        records[call.event] = piece;
      } else if (call.call === "cudaStreamWaitEvent") {
        piece.words = `wait for ${step.words[1]}`;
        piece.source = records[call.event] || null;
      } else if (call.call === "cudaMallocAsync" && call.allocation) {
        piece.words = `allocate ${step.words[0]}`;
        at[call.allocation] = call.offset;
        if (call.from === "internal") piece.source = freed[call.offset];
        piece.inserted = call.from === "internal";
      } else if (call.call === "cudaFreeAsync") {
        piece.words = `free ${step.words[0]}`;
        freed[at[call.allocation]] = piece;
      } else continue;
      pieces.push(piece);
    }
    return pieces;
  }

  // Rows from top to bottom: the beginning of each call and of each piece, in order of time; what
  // never ends comes last.
  function rowsOf(steps, pieces) {
    // To open a gate is no call: it comes when the call before it has ended.
    let ended = 0;
    const rows = steps.map((step, index) => {
      const time = step.call ? step.call.t : ended;
      if (step.call) ended = step.call.end;
      return { step, time, host: true, order: index };
    });
    pieces.forEach((piece, index) => {
      rows.push({ piece, time: piece.start, host: false, order: steps.length + index });
    });
    rows.sort((a, b) => a.time - b.time || a.order - b.order);
    rows.forEach((row, index) => {
      row.index = index;
      if (row.piece) row.piece.row = row;
    });
    return rows;
  }

  // `unordered`: pairs of line numbers, each two accesses that nothing orders.
  function order(steps, unordered, width, streams) {
    if (!steps.length) return "";
    const pieces = piecesOf(steps);
    const rows = rowsOf(steps, pieces);
    const narrow = width < 560;
    const high = 26;
    const head = 30;
    const host = Math.min(narrow ? 128 : 270, Math.round(width * 0.4));
    const apart = (width - host - 12) / streams;
    const yOf = (index) => head + index * high;
    const bottom = yOf(rows.length);
    const draw = canvas();
    const back = canvas();
    const xOf = (stream) => host + 12 + (stream - 1) * apart + 10;
    draw.text("heading", 4, 18, "host");
    for (let stream = 1; stream <= streams; stream++) {
      draw.text("heading", xOf(stream), 18, `s${stream}`);
      back.line("stream", xOf(stream), head - 4, xOf(stream), bottom);
    }
    const byLine = {};
    for (const row of rows) {
      const y = yOf(row.index);
      if (row.host) {
        const { step } = row;
        const { call } = step;
        const failed = call && !["cudaSuccess", "cudaErrorNotReady"].includes(call.result);
        const waits = call && WAITS.test(step.name) && call.end - call.t > 2000;
        let end = row.index + 1;
        while (waits && end < rows.length && rows[end].time < call.end) end++;
        back.rectangle(waits ? "waits" : "call", 2, y + 1, host - 8, (end - row.index) * high - 3);
        const attribute = step.name === "cudaMemPoolSetAttribute";
        const short = attribute ? step.words.join(" ") : step.name.replace(/^cuda/, "");
        const text = narrow || attribute ? short : step.text;
        const room = Math.floor((host - 20) / 7);
        const words = text.length > room ? `${text.slice(0, room - 1)}…` : text;
        draw.text(failed ? "code bad" : "code", 8, y + 17, words);
        step.y = y + 13;
      } else {
        const { piece } = row;
        const x = xOf(piece.stream);
        const step = piece.step;
        byLine[step.line] = { x, y: y + 12, stream: piece.stream };
        if (piece.kind === "point") {
          draw.line("point", x - 6, y + 12, x + 6, y + 12);
          draw.text("halo", x + 12, y + 17, piece.words);
        } else {
          const after = rows.find((one) => one.index > row.index && one.time >= piece.finish);
          const end = after ? Math.max(after.index, row.index + 1) : rows.length;
          const kind = piece.kind === "hold" ? "hold" : `work s-${piece.stream}`;
          const room = Math.min(apart - 18, 150);
          back.rectangle(kind, x - 5, y + 2, room, (end - row.index) * high - 4);
          const open = piece.finish === FAR;
          const words = piece.kind === "hold" && open ? "held" : piece.words;
          draw.text("halo", x + 4, y + 17, words);
        }
      }
    }
    const sources = new Set();
    for (const piece of pieces) {
      const from = piece.step.y;
      const to = yOf(piece.row.index) + 12;
      back.arrow("own", host - 6, from, xOf(piece.stream) - 8, to);
      if (piece.source && piece.source.stream !== piece.stream) {
        const kind = piece.inserted ? "inserted" : "event";
        sources.add(kind);
        const side = piece.stream > piece.source.stream ? 1 : -1;
        back.arrow(
          kind,
          xOf(piece.source.stream) + 6 * side,
          yOf(piece.source.row.index) + 12,
          side > 0 ? xOf(piece.stream) - 8 : xOf(piece.stream) + 16 + 7 * piece.words.length,
          to,
        );
      }
    }
    for (const [earlier, later] of unordered) {
      const [from, to] = [byLine[earlier], byLine[later]];
      if (!from || !to) continue;
      sources.add("missing");
      draw.line("missing", from.x, from.y, to.x, to.y);
      const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
      draw.line("missing", x - 6, y - 6, x + 6, y + 6);
      draw.line("missing", x - 6, y + 6, x + 6, y - 6);
    }
    const words = {
      waits: "the host waits",
      hold: "held by its gate",
      event: "an event orders",
      inserted: "a wait that the pool inserts",
      missing: "nothing orders these",
    };
    const entries = Object.entries(words).filter(
      ([kind]) =>
        sources.has(kind) || back.parts.some((part) => part.startsWith(`<rect class="${kind}"`)),
    );
    const end = key(draw, entries, width, bottom + 8);
    const calls = steps.map((step) => step.text).join(", ");
    const work = pieces.map((piece) => `${piece.words} in s${piece.stream}`).join(", ");
    const title = "Order, from top to bottom, not to scale";
    const description = `The host calls: ${calls}. The streams: ${work}.`;
    return svg([...back.parts, ...draw.parts], width, end, title, description);
  }

  return { commandsOf, stepsOf, unorderedOf, memory, order };
})();

if (typeof module === "object") module.exports = benchPictures;
