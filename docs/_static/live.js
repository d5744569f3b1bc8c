// Runs a lesson on its page: a button below the program's output, its argument and the schedule as
// fields. The simulated device (simulated_device.js) is loaded when the button is first used.
"use strict";

(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  let loading = null;

  const loadDevice = () => {
    loading = loading || new Promise((resolve, reject) => {
      const element = document.createElement("script");
      element.src = `${folder}simulated_device.js`;
      element.onload = resolve;
      element.onerror = () => reject(new Error(`${element.src} could not be loaded`));
      document.head.append(element);
    });
    return loading;
  };

  const start = (box) => {
    const [program, argument, schedule] = box.querySelectorAll("select, input");
    const [output, errors] = box.querySelectorAll("pre");
    box.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      output.textContent = "It runs.";
      errors.textContent = "";
      try {
        await loadDevice();
        // What is on the page is shown first: the run takes the page's only thread.
        await new Promise((shown) => setTimeout(shown, 20));
        const words = argument.value.trim() ? argument.value.trim().split(/\s+/) : [];
        const environment = { SIM_SCHEDULE: schedule.value };
        const result = await simulatedDevice.run(program.value, words, environment);
        output.textContent = result.output;
        errors.textContent = `${result.errors}Its exit status: ${result.status}.`;
      } catch (reason) {
        output.textContent = "";
        errors.textContent = `The program could not run: ${reason}.`;
      }
    });
    box.hidden = false;
  };

  document.querySelectorAll(".live").forEach(start);
})();
