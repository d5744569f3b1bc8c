// Makes a hundred random scripts of the pool bench, and runs each in a page that has the simulated
// device (live_page.py). The value is a promise of files: for script N there are N.txt, N.journal
// and N.unchecked, the journal of a run with SIM_CHECK=off.
"use strict";

// A generator of whole numbers below `most`, the same for each seed.
function generator(seed) {
    let state = BigInt(seed) * 2654435761n + 1n;
    return (most) => {
        state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
        return Number((state >> 33n) % BigInt(most));
    };
}

function randomScript(seed) {
    const below = generator(seed);
    const one = (list) => list[below(list.length)];
    const sizes = ["1 KiB", "512 KiB", "2 MiB", "8 MiB", "31 MiB", "33 MiB", "64 MiB"];
    const policies = ["FollowEventDependencies", "AllowOpportunistic", "AllowInternalDependencies"];
    const lines = [];
    const live = [];
    const all = [];
    const events = [];
    const held = new Set();
    const stream = () => `s${1 + below(3)}`;
    // Mostly what is live: what was freed may end the run.
    const allocation = () => one(live.length && below(12) ? live : all);
    const openGates = () => {
        for (const name of held) lines.push(`gate_open(${name})`);
        held.clear();
    };
    const allocate = () => {
        const name = `a${all.length + 1}`;
        lines.push(`cudaMallocAsync(${name}, ${one(sizes)}, ${stream()})`);
        live.push(name);
        all.push(name);
    };
    const free = () => {
        const name = allocation();
        const at = live.indexOf(name);
        if (at >= 0) live.splice(at, 1);
        lines.push(below(8) ? `cudaFreeAsync(${name}, ${stream()})` : `cudaFree(${name})`);
    };
    const hold = () => {
        const name = stream();
        if (held.has(name)) return;
        held.add(name);
        lines.push(`launch_hold(${name})`);
    };
    const record = () => {
        if (events.length < 4) events.push(`e${events.length + 1}`);
        lines.push(`cudaEventRecord(${one(events)}, ${stream()})`);
    };
    const synchronize = () => {
        if (below(10)) openGates();
        lines.push(one([`cudaStreamSynchronize(${stream()})`, "cudaDeviceSynchronize()"]));
    };
    const set = () => {
        const threshold = `ReleaseThreshold, ${one(["0 MiB", "32 MiB", "100 MiB", "UINT64_MAX"])}`;
        const policy = `Reuse${one(policies)}, ${below(2)}`;
        lines.push(`cudaMemPoolSetAttribute(${one([threshold, policy])})`);
    };
    // A stream that is held frees, and another one allocates as much: behind an event, or not.
    const handOver = () => {
        const [from, to] = below(2) ? ["s1", "s2"] : ["s2", "s3"];
        const [first, second] = [`a${all.length + 1}`, `a${all.length + 2}`];
        const size = one(sizes);
        lines.push(`cudaMallocAsync(${first}, ${size}, ${from})`);
        if (!held.has(from)) lines.push(`launch_hold(${from})`);
        held.add(from);
        lines.push(`launch_fill(${first}, ${from})`, `cudaFreeAsync(${first}, ${from})`);
        if (below(2)) lines.push(`cudaEventRecord(e1, ${from})`, `cudaStreamWaitEvent(${to}, e1)`);
        lines.push(`cudaMallocAsync(${second}, ${size}, ${to})`);
        if (!events.includes("e1")) events.push("e1");
        all.push(first, second);
        live.push(second);
    };
    const steps = [
        handOver, handOver,
        allocate, allocate, allocate, free, free, hold, record, synchronize,
        () => lines.push(`launch_fill(${allocation()}, ${stream()})`),
        () => lines.push(`launch_fill(${allocation()}, ${stream()})`),
        () => events.length && lines.push(`cudaStreamWaitEvent(${stream()}, ${one(events)})`),
        () => events.length && lines.push(`cudaStreamWaitEvent(${stream()}, ${one(events)})`),
        () => lines.push(`cudaStreamQuery(${stream()})`),
        () => events.length && lines.push(`cudaEventQuery(${one(events)})`),
        () => lines.push(`cudaMemPoolTrimTo(${one(["0 MiB", "32 MiB", "64 MiB"])})`),
        openGates, set,
    ];
    if (!below(3)) lines.push(`cudaMemPoolCreate(maxSize, ${one(["64 MiB", "128 MiB"])})`);
    allocate();
    while (lines.length < 26) one(steps)();
    openGates();
    return `${lines.join("\n")}\n`;
}

(async () => {
    const files = {};
    for (let seed = 1; seed <= 100; seed++) {
        const script = randomScript(seed);
        const words = ["run", "200", script];
        const run = (check) => simulatedDevice.run("docs/live/bench", words, { SIM_CHECK: check });
        files[`${seed}.txt`] = script;
        files[`${seed}.journal`] = (await run("on")).journal;
        files[`${seed}.unchecked`] = (await run("off")).journal;
    }
    return files;
})();
