"use strict";
/*
 * Starts the page: reads the model that is in the file, and talks to the notebook that the page may be shown in.
 *
 * The page (page/*.js) defines
 *
 *   mountExplorer(root, model, engine, options) -> {setCase(case)}
 *
 * which builds everything inside of root. options.case is the case to begin with (checked, by number), or null;
 * options.onCase(case) is to be called after every change of the findings, once per change; options.embedded says that
 * the page is shown inside of another one, as in a notebook. setCase(case) shows other findings, as if the person had
 * entered them, but does not call onCase. Inside of a notebook the page runs in a sandbox without an origin: setting the
 * fragment, local storage and the clipboard may throw there.
 */

function boot() {
  const model = JSON.parse(document.getElementById("bntk-model").textContent);
  const engine = createEngine(model);
  const embedded = window.parent !== window;
  const tell = (given) => {
    if (embedded) window.parent.postMessage({ bntk: "case", case: engine.writeCase(given) }, "*");
  };
  const first = model.case ? engine.readCase(model.case).case : null;
  const page = mountExplorer(document.getElementById("bntk"), model, engine, { case: first, onCase: tell, embedded });
  if (!embedded) return;
  // Whoever shows the page may set its case; readCase takes nothing that is not a case.
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && event.data && event.data.bntk === "setCase") {
      page.setCase(engine.readCase(event.data.case).case);
    }
  });
  window.parent.postMessage({ bntk: "ready" }, "*");
}

boot();
