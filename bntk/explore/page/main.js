"use strict";
function mountExplorer(root, model, engine, options) {
  root.textContent = `${model.variables.length} variables`;
  return { setCase() {} };
}
