// Two switches beside Blink: lights out (black frames, the gate must close by itself) and a dream (no frames at all).

import { $, make } from "./dom.js";

export function eyes(lab) {
  const state = { dark: false, dream: false };
  const buttons = {};
  const shown = () => { for (const [name, button] of Object.entries(buttons)) button.setAttribute("aria-pressed", String(state[name])); };
  const toggle = (name) => {
    const on = !state[name];
    Object.assign(state, { dark: false, dream: false, [name]: on });
    shown();
    if (on && !lab.player.playing && lab.run.frames.length) lab.player.play();
  };
  const button = (name, words, title) => make("button", { type: "button", id: name, "aria-pressed": "false", title, onclick: () => toggle(name) }, words);
  buttons.dark = button("dark", "Lights out", "Black frames until you press it again: the network must notice by itself (L)");
  buttons.dream = button("dream", "Dream on", "The network's eyes are shut until you press it again; the film goes on (D)");
  $("blink").after(buttons.dark, buttons.dream);
  state.toggle = toggle;
  return state;
}
