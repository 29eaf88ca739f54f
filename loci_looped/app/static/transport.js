// The words and the slider below the picture of the world, and the peaks above the curves.

import { $ } from "./dom.js";

export function showTransport({ run, player, clip }) {
  const scrub = $("scrub"), now = run.number;
  $("play").textContent = player.playing ? "Pause" : run.isOver ? "Play again" : "Play";
  $("play").setAttribute("aria-pressed", String(player.playing));
  scrub.disabled = run.frames.length < 2;
  scrub.max = Math.max(0, run.frames.length - 1);
  scrub.value = Math.max(0, run.cursor);
  scrub.setAttribute("aria-valuetext", now < 0 ? "nothing seen yet" : `frame ${now}`);
  $("clock").textContent = now < 0 ? `${(run.length / run.fps || 0).toFixed(1)} s` : `${run.time.toFixed(1)} s · frame ${now}`;
  $("world-state").textContent = clip ? clip.name : player.playing ? "runs on while you change it" : "drag things about";
}

export function showPeaks({ run, reference }) {
  const worst = run.worst(), peak = Math.max(0, ...worst), before = Math.max(0, ...reference);
  const words = [];
  if (worst.length) words.push(`peak ${peak.toFixed(1)} bits${peak > 0 ? ` at frame ${run.frames[worst.indexOf(peak)].frame}` : ""}`);
  if (reference.length) words.push(`the run before (grey): ${before.toFixed(1)}`);
  $("peaks").textContent = words.join(" · ");
  $("peaks").dataset.peak = peak;
  $("peaks").dataset.before = before;
}
