// Texts in the user's language, which the page brings along.

const texts = JSON.parse(document.getElementById("texts").textContent);

/** A text with its values. */
export const say = (name, values = {}) =>
  texts[name].replace(/\{(\w+)\}/g, (place, key) => (key in values ? String(values[key]) : place));
