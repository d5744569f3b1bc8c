// Runs a lesson on its page: a button below the program's output, its argument and the schedule as
// fields. What it needs is loaded when the button is first used: the simulated device, the rules by
// which a journal becomes steps, and the text of the programs. The page's stepper shows the run.
"use strict";

(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  let loading = null;

  const load = (file) =>
    new Promise((resolve, reject) => {
      const element = document.createElement("script");
      element.src = folder + file;
      element.onload = resolve;
      element.onerror = () => reject(new Error(`${element.src} could not be loaded`));
      document.head.append(element);
    });

  const start = (box) => {
    const [program, argument, schedule] = box.querySelectorAll("select, input");
    const [output, errors] = box.querySelectorAll("pre");
    const steps = box.querySelector(".live-steps");

    // Hands the run to the stepper (stepper.js), and links to it.
    const stepThrough = ({ journal }) => {
      const lines = journal.split("\n").filter(Boolean).map((line) => JSON.parse(line));
      const label = [`your run: ${program.selectedOptions[0].text}`, argument.value.trim(),
        schedule.value].filter(Boolean).join(", ");
      try {
        const run = runSteps.withReports(runSteps(lines, window.workbookProgram), lines);
        document.dispatchEvent(new CustomEvent("workbook:run", { detail: { label, run } }));
        steps.innerHTML = '<a href="#stepper">Step through this run</a>';
      } catch (reason) {
        steps.textContent = `The stepper cannot show it: ${reason.message}.`;
      }
    };

    box.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      output.textContent = "It runs.";
      errors.textContent = "";
      steps.textContent = "";
      try {
        loading = loading || Promise.all(JSON.parse(box.dataset.scripts).map(load));
        await loading;
        // What is on the page is shown first: the run takes the page's only thread.
        await new Promise((shown) => setTimeout(shown, 20));
        const words = argument.value.trim() ? argument.value.trim().split(/\s+/) : [];
        const environment = { SIM_SCHEDULE: schedule.value };
        const result = await simulatedDevice.run(program.value, words, environment);
        output.textContent = result.output;
        stepThrough(result);
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
