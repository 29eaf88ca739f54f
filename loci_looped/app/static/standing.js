// What stands still in a film and hides others: that which was found, a rectangle that the user draws, or nothing.

import { $, veil } from "./dom.js";
import { drawGhost, pointerAt } from "./pictures.js";

const SMALLEST = .03;               // of the picture: less is a slip of the hand
const percent = (share) => Math.round(100 * share);

export class Standing {
  marking = false;                  // the next drag on the picture draws a rectangle
  corner = null;                    // where the drag began: [row, column], in shares of the picture
  rectangle = null;                 // [top, left, bottom, right] while it is being drawn

  constructor(lab) {
    this.lab = lab;
    this.canvas = $("world");
    this.sides = [0, 1, 2, 3].map((side) => $(`side-${side}`));
    $("mark").addEventListener("click", () => this.mark(!this.marking));
    $("as-found").addEventListener("click", () => this.choose(undefined));
    $("no-occluder").addEventListener("click", () => this.choose("none"));
    for (const side of this.sides) side.addEventListener("change", () => this.typed());
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.pull(event));
    this.canvas.addEventListener("pointerup", () => this.finish());
    this.canvas.addEventListener("pointercancel", () => { this.corner = this.rectangle = null; this.lab.world.draw(); });
  }

  // -------------------------------------------------------------------------------------------- drawing it

  mark(on) {
    this.marking = on;
    this.lab.player.pause();
    $("mark").setAttribute("aria-pressed", String(on));
    this.canvas.style.touchAction = on ? "none" : "";
    this.canvas.style.cursor = on ? "crosshair" : "";
    if (on) this.canvas.scrollIntoView({ block: "nearest" });
    this.say();
  }

  at(event) {
    const [column, row] = pointerAt(this.canvas, event), inside = (share) => Math.min(1, Math.max(0, share));
    return [inside(row / this.canvas.height), inside(column / this.canvas.width)];
  }

  begin(event) {
    if (!this.marking || !this.lab.clip) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.corner = this.at(event);
  }

  pull(event) {
    if (!this.corner) return;
    const [row, column] = this.at(event), [top, left] = this.corner;
    this.rectangle = [Math.min(row, top), Math.min(column, left), Math.max(row, top), Math.max(column, left)];
    this.lab.world.draw();
  }

  finish() {
    const drawn = this.rectangle;
    if (!this.corner) return;
    this.corner = this.rectangle = null;
    if (!drawn || Math.min(drawn[2] - drawn[0], drawn[3] - drawn[1]) < SMALLEST) { this.lab.world.draw(); return; }
    this.mark(false);
    this.choose(drawn.map((share) => Math.round(1000 * share) / 1000));
  }

  /** The sides as numbers, for those who do not drag. */
  typed() {
    const [top, left, bottom, right] = this.sides.map((side) => Number(side.value) / 100);
    if (this.sides.some((side) => side.value === "")) return;
    if (!(top >= 0 && left >= 0 && bottom <= 1 && right <= 1 && top < bottom && left < right)) {
      this.lab.notices.show("The rectangle must lie inside the picture: left before right, top above bottom, from 0 to 100 %.");
      return;
    }
    this.choose([top, left, bottom, right]);
  }

  /** The film from its beginning, with this occluder: a rectangle, "none", or undefined for what was found. */
  async choose(occluder) {
    const { lab } = this;
    if (!lab.clip) return;
    this.mark(false);
    const before = lab.clip.occluder;
    lab.clip = { ...lab.clip, occluder };
    if (await lab.player.start({ keepReference: true })) lab.player.play();
    else lab.clip = { ...lab.clip, occluder: before };
  }

  // -------------------------------------------------------------------------------------------- showing it

  /** A film has been opened. */
  show() {
    const { lab } = this;
    if (!lab.clip) { if (this.marking) this.mark(false); return; }
    const { occluder } = lab.clip;
    this.sides.forEach((side, i) => { side.value = Array.isArray(occluder) ? percent(occluder[i]) : ""; });
    this.say();
  }

  say() {
    const { lab } = this, { occluder } = lab.clip ?? {};
    const mask = lab.run.occluder, share = mask ? percent(mask.data.filter((value) => value).length / mask.data.length) : 0;
    $("standing-state").textContent = this.marking ? "Drag over the thing in the picture of the world: from one corner to the other."
      : Array.isArray(occluder) ? `You marked ${share} % of the picture. What is behind it stays in mind.`
        : occluder === "none" ? "Nothing: what never moves is background, and what passes behind it vanishes into the wall."
          : mask ? `Something was seen to hide others, on ${share} % of the picture: it is outlined. If that is wrong, draw it yourself.`
            : "Nothing was found. If something stands before what moves, draw a rectangle over it.";
  }

  draw(canvas) {
    const pen = canvas.getContext("2d"), mask = this.lab.run.occluder;
    if (this.rectangle) {
      const [top, left, bottom, right] = this.rectangle;
      const box = [left * canvas.width, top * canvas.height, (right - left) * canvas.width, (bottom - top) * canvas.height];
      pen.fillStyle = veil("hidden", .25);
      pen.fillRect(...box);
      pen.strokeStyle = veil("hidden", 1);
      pen.lineWidth = 3;
      pen.strokeRect(...box);
    } else if (mask && !this.marking) {
      drawGhost(canvas, mask.data, mask.shape);
    }
  }
}
