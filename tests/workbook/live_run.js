// Runs a program of build/live/live.js: node live_run.js PROGRAM [ARGUMENT]... It prints what the
// program prints, and ends with its status.
"use strict";

const path = require("path");
const device = require(path.resolve("build/live/live.js"));

device.run(process.argv[2], process.argv.slice(3), {}).then((result) => {
  process.stdout.write(result.output);
  process.stderr.write(result.errors);
  process.exitCode = result.status;
});
