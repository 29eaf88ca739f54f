// Curves over time, one line per slot, with a cursor that can be dragged.

import { tint } from "./dom.js";

const ROWS = [
  { name: "surprise", words: "", height: 2.3, value: (slot) => slot.surprise },
  { name: "hidden", words: "hidden", height: 1, value: (slot) => slot.occlusion },
  { name: "position", words: "position gate", height: 1, value: (slot) => slot.gate[1] },
  { name: "gestalt", words: "gestalt gate", height: 1, value: (slot) => slot.gate[0] },
];
const LEFT = 4, GAP = 16;

export class Curves {
  ratio = 1;                        // pixels of the canvas per pixel of the page

  constructor(canvas, facts, lab) {
    this.canvas = canvas;
    this.facts = facts;
    this.lab = lab;
    const seek = (event) => {
      const box = canvas.getBoundingClientRect(), span = this.span();
      lab.player.seek(Math.round(((event.clientX - box.left) / box.width * canvas.width - LEFT) / (canvas.width - 2 * LEFT) * (span - 1)));
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); lab.player.pause(); seek(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
    this.resize();
    new ResizeObserver(() => { this.resize(); this.draw(); }).observe(canvas.parentElement);
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth - 28, ratio = Math.min(2, window.devicePixelRatio || 1);
    const narrow = width < 520;
    this.canvas.width = Math.max(200, Math.round(width * ratio));
    this.canvas.height = Math.round((narrow ? 230 : 250) * ratio);
    this.ratio = ratio;
  }

  span() { return Math.max(2, this.lab.run.length); }

  draw() {
    const { canvas, ratio } = this, pen = canvas.getContext("2d"), { run, reference } = this.lab, { frames } = run;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const span = this.span(), wide = canvas.width - 2 * LEFT;
    const x = (frame) => LEFT + frame / (span - 1) * wide;
    const top = Math.max(4, ...reference, ...frames.map((f) => Math.max(0, ...f.slots.map((s) => (s.bound ? s.surprise : 0)))));
    const gap = GAP * ratio, unit = (canvas.height - ROWS.length * gap) / ROWS.reduce((sum, row) => sum + row.height, 0);
    let base = 0;
    ROWS.forEach((row, index) => {
      const height = unit * row.height;
      base += height + gap;
      const y = (value) => base - 2 - Math.min(1, value / (index ? 1 : top)) * (height - 4);
      this.shadeHidden(pen, frames, x, base, height, tint("shade"));
      pen.strokeStyle = tint("grid");
      pen.lineWidth = ratio;
      pen.beginPath();
      pen.moveTo(LEFT, base);
      pen.lineTo(canvas.width - LEFT, base);
      pen.stroke();
      pen.fillStyle = tint("faint");
      pen.font = `${11 * ratio}px system-ui, sans-serif`;
      pen.textBaseline = "bottom";
      if (row.words) pen.fillText(row.words, LEFT, base - height - ratio);
      if (!index && reference.length) this.fillReference(pen, reference, x, y, base, tint("reference"));
      this.facts.slot_colours.forEach((colour, k) => {
        pen.strokeStyle = colour;
        pen.lineWidth = 2 * ratio;
        pen.lineJoin = "round";
        pen.beginPath();
        let down = false;
        for (const frame of frames) {
          const slot = frame.slots[k];
          if (!slot.bound) { down = false; continue; }
          const point = [x(frame.frame), y(row.value(slot))];
          if (down) pen.lineTo(...point);
          else pen.moveTo(...point);
          down = true;
        }
        pen.stroke();
      });
    });
    const cursor = run.number;
    if (cursor >= 0) {
      pen.strokeStyle = tint("ink");
      pen.lineWidth = 1.5 * ratio;
      pen.beginPath();
      pen.moveTo(x(cursor), 0);
      pen.lineTo(x(cursor), canvas.height);
      pen.stroke();
    }
  }

  shadeHidden(pen, frames, x, base, height, shade) {
    pen.fillStyle = shade;
    const hidden = (frame) => frame && (frame.dark || (frame.truth && frame.truth.some((thing) => thing.whole > 0 && thing.visible === 0)));
    let first = null;
    frames.forEach((frame, i) => {
      if (!hidden(frame)) return;
      first ??= frame.frame;
      if (hidden(frames[i + 1])) return;
      pen.fillRect(x(first - .5), base - height, x(frame.frame + .5) - x(first - .5), height);
      first = null;
    });
  }

  fillReference(pen, reference, x, y, base, shade) {
    pen.fillStyle = shade;
    pen.beginPath();
    pen.moveTo(x(0), base);
    reference.forEach((value, frame) => pen.lineTo(x(frame), y(value)));
    pen.lineTo(x(reference.length - 1), base);
    pen.fill();
  }
}
