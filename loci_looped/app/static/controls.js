// Buttons, keys, and films that are dropped on the page.

import { getJson, uploadFilm } from "./connection.js";
import { $, make } from "./dom.js";

async function openFilm(lab, file) {
  const state = $("upload-state"), limit = lab.facts.limits.upload;
  lab.player.pause();
  state.textContent = "";
  if (file.size > limit) {
    lab.notices.error(`${file.name} has ${(file.size / 2 ** 20).toFixed(0)} MB; the lab takes up to ${limit / 2 ** 20} MB. Cut it shorter or make it smaller; loci watch takes films of any size.`);
    return;
  }
  try {
    const clip = await uploadFilm(file, (share) => { state.textContent = share < 1 ? `Sending… ${(100 * share).toFixed(0)} %` : "Reading the film…"; });
    state.textContent = `${clip.name}: ${clip.frames} frames. ${clip.notes.join(" ")}`;
    await lab.openClip(clip);
  } catch (error) {
    state.textContent = "";
    lab.notices.error(error.message);
  }
}

export function connectControls(lab) {
  $("play").addEventListener("click", () => lab.player.toggle());
  $("restart").addEventListener("click", () => lab.player.start());
  $("step").addEventListener("click", () => { lab.player.pause(); lab.player.step(lab.eyes.dark); });
  $("scrub").addEventListener("input", () => { lab.player.pause(); lab.player.seek(Number($("scrub").value) + (lab.run.frames[0]?.frame ?? 0)); });
  $("undo").addEventListener("click", () => lab.codes.undo());
  $("adopt").addEventListener("click", () => lab.codes.adopt());
  $("share").addEventListener("click", () => lab.share());
  $("help").addEventListener("click", () => $("keys").showModal());
  const blink = $("blink");
  blink.addEventListener("pointerdown", () => lab.player.blink(true));
  for (const kind of ["pointerup", "pointerleave", "pointercancel"]) blink.addEventListener(kind, () => lab.player.blink(false));
  blink.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); lab.player.blink(true); } });
  blink.addEventListener("keyup", () => lab.player.blink(false));
  window.addEventListener("blur", () => lab.player.blink(false));

  const example = $("example"), open = async (seed) => {
    try { await lab.openScene(await getJson(`/api/scene?name=${encodeURIComponent(example.value)}&seed=${seed}`)); } catch (error) { lab.notices.error(error.message); }
  };
  example.append(...lab.facts.examples.map((name) => make("option", { value: name }, name)));
  example.addEventListener("change", () => open(0));
  $("another").addEventListener("click", () => {
    if (example.value === lab.facts.examples[0]) example.value = lab.facts.examples[1];      // the first is always the same
    open(Math.floor(Math.random() * 1e6));
  });
  $("film").addEventListener("change", () => { const [file] = $("film").files; $("film").value = ""; if (file) openFilm(lab, file); });
  const hasFiles = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  document.addEventListener("dragover", (event) => { if (hasFiles(event)) { event.preventDefault(); $("drop").hidden = false; } });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").hidden = true; });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    $("drop").hidden = true;
    if (event.dataTransfer.files[0]) openFilm(lab, event.dataTransfer.files[0]);
  });
}

export function connectKeys(lab) {
  const move = (steps) => { lab.player.pause(); lab.player.seek(lab.run.number + steps); };
  const keys = {
    " ": () => lab.player.toggle(), r: () => lab.player.start(), ".": () => { lab.player.pause(); lab.player.step(lab.eyes.dark); },
    ArrowLeft: (event) => move(event.shiftKey ? -10 : -1), ArrowRight: (event) => move(event.shiftKey ? 10 : 1),
    Home: () => move(-1e6), End: () => move(1e6), b: () => lab.player.blink(true), l: () => lab.eyes.toggle("dark"), d: () => lab.eyes.toggle("dream"), v: () => lab.editor.now(), s: () => lab.share(),
    "?": () => $("keys").showModal(), Escape: () => lab.codes.undo(),
  };
  const typing = (target) => target.matches?.("input, select, textarea") || $("keys").open;
  document.addEventListener("keydown", (event) => {
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && event.target.matches("button, a")) return;       // a button's own key
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (/^[1-9]$/.test(key)) lab.toggleSlot(Number(key) - 1);
    else if (keys[key] && !(event.repeat && key !== "ArrowLeft" && key !== "ArrowRight")) { event.preventDefault(); keys[key](event); }
  });
  document.addEventListener("keyup", (event) => { if (event.key.toLowerCase() === "b") lab.player.blink(false); });
}
