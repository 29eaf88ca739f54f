// The page itself: its nodes by name, new nodes, and the colours of the palette.

/** The node with this id. */
export const $ = (id) => document.getElementById(id);

/** A new node. Attributes that begin with "on" are listeners; false and null are left out. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** A colour of palette.css, as it is by day or by night. */
export const tint = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** One of palette.css that is the same by day and by night, as [red, green, blue]. */
export function channels(name) {
  const number = Number.parseInt(tint(name).slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** The same, let through by so much. */
export const veil = (name, opacity) => `rgba(${channels(name).join(", ")}, ${opacity})`;
