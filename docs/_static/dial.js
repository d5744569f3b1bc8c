// The first screen's loop, whose release threshold the reader drags: with the knob in the picture
// or the slider below it. What each call costs and what the pool keeps is from a run that was made
// while the book was built (workbook/dial.py). The loop goes round slowly, in proportion to its
// times, until Pause; where less movement is wanted, it stands.
"use strict";

(() => {
    const place = document.querySelector(".dial-live");
    if (!place) return;
    const rows = JSON.parse(place.dataset.rows);
    const NAMES = ["allocate", "fill", "free", "synchronize"];
    const SIZE = 128; // MiB, of the loop's allocation
    const UNIT = 1.25; // pixels for a MiB
    const BASE = 206; // where 0 MiB is
    const SLOW = 4.2; // milliseconds of the screen for a microsecond
    const LEAST = 400;
    const total = ([, costs]) => costs.reduce((sum, one) => sum + one, 0);
    const yOf = (mib) => BASE - mib * UNIT;
    let at = 0; // the row
    let phase = 0; // the call that has just returned
    let timer = 0;
    let plays = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    let isSeen = false;

    place.innerHTML = `<div class="dial-loop"><pre aria-hidden="true"><span>for (;;) {</span><span
        data-call="0">  cudaMallocAsync(&amp;a, 128 MiB, s);</span><span
        data-call="1">  launch_fill(a, s);</span><span
        data-call="2">  cudaFreeAsync(a, s);</span><span
        data-call="3">  cudaStreamSynchronize(s);</span><span>}</span></pre>
        <svg aria-hidden="true" width="164" height="226" viewBox="0 0 164 226"></svg></div>
        <div class="dial-set"><label for="dial-threshold">release threshold</label>
        <input id="dial-threshold" type="range" min="0" max="${rows.length - 1}" value="0">
        <output for="dial-threshold"></output><button type="button"></button></div>
        <p class="dial-cost">one round takes <strong></strong><em></em></p>
        <div class="dial-strip" aria-hidden="true">${"<i></i>".repeat(NAMES.length)}</div>
        <p class="dial-why" aria-live="polite"></p>`;
    const part = (selector) => place.querySelector(selector);
    const [svg, slider, button] = ["svg", "input", "button"].map(part);
    const link = document.querySelector('.dial-words a[href*="bench.html"]');

    const text = (x, y, words, kind = "", anchor = "start") =>
        `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;

    const middle = (y, words, kind) => text(64, y, words, kind, "middle");

    function draw() {
        const [threshold, , kept] = rows[at];
        const has = phase === 3 ? kept : SIZE;
        const parts = [];
        for (let mib = 0; mib <= SIZE; mib += 32)
            parts.push(text(28, yOf(mib) + 4, mib, "", "end"));
        for (let mib = 0; mib < SIZE; mib += 32) {
            const isThere = mib < has;
            const kind = isThere ? "segment" : "gone ghost";
            parts.push(`<rect class="${kind}" x="34" y="${yOf(mib + 32)}" width="60" ` +
                `height="${32 * UNIT}" style="transform: translateY(${isThere ? 0 : -6}px)"/>`);
        }
        const [top, high] = [yOf(SIZE) + 2, SIZE * UNIT - 4];
        if (phase < 2)
            parts.push(`<rect class="used" x="37" y="${top}" width="54" height="${high}"/>`,
                middle(yOf(64) + 4, "128", "on"));
        else if (phase === 2)
            parts.push(`<path class="freed" transform="translate(37 ${top})" ` +
                `d="${workbook.hatched(54, high, 8)}"/>`);
        else if (kept < SIZE)
            parts.push(middle(yOf((kept + SIZE) / 2) - 2, `↑ ${SIZE - kept}`, "back"));
        if (phase === 3 && kept) parts.push(middle(yOf(kept / 2) + 4, `${kept} kept`));
        const y = yOf(threshold);
        parts.push(`<g class="handle"><path d="M31 ${y}H97"/><circle class="knob" cx="97" ` +
            `cy="${y}" r="7"/><circle class="reach" cx="97" cy="${y}" r="20"/></g>`);
        parts.push(text(106, y + 4, `${threshold} MiB`, "threshold"));
        svg.innerHTML = parts.join("");
        for (const line of place.querySelectorAll("[data-call]"))
            line.classList.toggle("now", Number(line.dataset.call) === phase);
    }

    const why = ([threshold, , kept]) => kept === SIZE
        ? "The pool keeps all 128 MiB, so the next round needs nothing from the device. What is " +
            "left is the wait for the fill."
        : kept
            ? `The synchronization returns ${SIZE - kept} MiB, in segments of 32 MiB, until no ` +
                `more than ${threshold} are left. The next allocation fetches them again.`
            : "The synchronization returns everything, and the next allocation fetches 128 MiB " +
                "again.";

    function choose(row) {
        at = Math.max(0, Math.min(rows.length - 1, row));
        const [threshold, costs] = rows[at];
        const all = total(rows[at]);
        const slowest = total(rows[0]);
        slider.value = at;
        slider.setAttribute("aria-valuetext",
            `${threshold} MiB: one round takes ${all.toFixed(0)} µs`);
        part("output").textContent = `${threshold} MiB`;
        part("strong").textContent = `${all.toFixed(0)} µs`;
        part("em").textContent = all < slowest ? `${(slowest / all).toFixed(1)} times as fast`
            : "the default";
        place.querySelectorAll(".dial-strip i").forEach((one, call) => {
            const share = (costs[call] / slowest) * 100;
            one.style.width = `${share}%`;
            one.textContent = share > 24 ? `${NAMES[call]} ${costs[call].toFixed(0)} µs` : "";
        });
        part(".dial-why").textContent = why(rows[at]);
        if (link) link.href = linkOf(threshold);
        draw();
    }

    // The bench with this loop's script and threshold (bench.js).
    function linkOf(threshold) {
        const round = (name) => [`cudaMallocAsync(${name}, 128 MiB, s1)`,
            `launch_fill(${name}, s1)`, `cudaFreeAsync(${name}, s1)`, "cudaStreamSynchronize(s1)"];
        const script = ["// One attribute decides what a round costs: change the number",
            `cudaMemPoolSetAttribute(ReleaseThreshold, ${threshold} MiB)`,
            ...round("a"), ...round("b")].join("\n");
        const [page] = link.href.split("#");
        return `${page}#${new URLSearchParams({ script: `${script}\n`, lines: 3 })}`;
    }

    function go() {
        clearTimeout(timer);
        button.textContent = plays ? "Pause" : "Play";
        if (!plays || !isSeen) return;
        timer = setTimeout(() => {
            phase = (phase + 1) % NAMES.length;
            draw();
            go();
        }, Math.max(LEAST, rows[at][1][phase] * SLOW));
    }

    slider.addEventListener("input", () => choose(Number(slider.value)));
    button.addEventListener("click", () => {
        plays = !plays;
        go();
    });
    // The knob takes the finger; the rest of the picture leaves it to the page.
    svg.addEventListener("pointerdown", (event) => {
        if (!event.target.closest(".handle")) return;
        event.preventDefault();
        svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
        if (!svg.hasPointerCapture(event.pointerId)) return;
        const box = svg.getBoundingClientRect();
        const mib = (BASE - ((event.clientY - box.top) * 226) / box.height) / UNIT;
        choose(rows.findLastIndex(([threshold]) => threshold <= Math.max(0, mib + 8)));
    });
    new IntersectionObserver(([{ isIntersecting }]) => {
        isSeen = isIntersecting;
        go();
    }).observe(place);
    choose(0);
    go();
})();
