// The picture of the world: what is there, drawn by the server, with handles to drag things about.

import { Camera } from "./camera.js";
import { tint, veil } from "./dom.js";
import { drawGhost, pointerAt } from "./pictures.js";
import { duration, moveTo, place } from "./scene.js";

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const LANES = [-2.6, 1.2], SIDES = [-4.5, 4.5];

export class WorldView {
  bitmap = null;
  drag = null;                      // what the hand holds: {thing, part, offset}

  constructor(canvas, facts, lab) {
    this.canvas = canvas;
    this.lab = lab;
    this.camera = new Camera(facts.camera, canvas.width, canvas.height);
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => this.drop());
    canvas.addEventListener("keydown", (event) => this.nudge(event));
  }

  /** The number by which the server knows the moment that is shown. */
  frameOf(run) { return Math.round(run.time * this.lab.scene.fps); }

  async showJpeg(bytes) {
    this.bitmap = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
    this.draw();
  }

  draw() {
    const { canvas, lab } = this, pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = true;
    pen.imageSmoothingQuality = "high";
    if (this.bitmap) pen.drawImage(this.bitmap, 0, 0, canvas.width, canvas.height);
    const { moment } = lab.run;
    if (moment && moment.true_masks) {
      const [, height, width] = moment.true_masks.shape, count = height * width;
      moment.truth.forEach((thing, o) => {
        if (thing.kind === "screen" || thing.whole === 0 || thing.visible > .6 * thing.whole) return;
        const mask = moment.true_masks.data.subarray(o * count, (o + 1) * count).map((value) => (value ? 255 : 0));
        drawGhost(canvas, mask, [height, width]);
      });
    }
    if (!lab.scene) { lab.standing.draw(canvas); return; }
    if (lab.selected === "screen" && lab.scene.screen) this.drawScreenHandles(pen);
    else if (lab.scene.movers[lab.selected]) this.drawMoverHandles(pen, lab.scene.movers[lab.selected]);
  }

  drawMoverHandles(pen, mover) {
    const time = this.lab.run.time, end = duration(this.lab.scene);
    pen.lineWidth = 2.5;
    pen.setLineDash([1, 9]);
    pen.lineCap = "round";
    pen.strokeStyle = veil("visible", .9);
    pen.beginPath();
    for (let t = 0; t <= end + .01; t += .25) {
      const [x, y] = place(mover, t);
      const [column, row] = this.camera.project([x, y, 0]);
      if (t === 0) pen.moveTo(column, row);
      else pen.lineTo(column, row);
    }
    pen.stroke();
    pen.setLineDash([]);
    const [x, y] = place(mover, time);
    pen.beginPath();
    for (let turn = 0; turn <= 32; turn++) {
      const angle = turn / 16 * Math.PI;
      const [column, row] = this.camera.project([x + mover.size * 1.35 * Math.cos(angle), y + mover.size * 1.35 * Math.sin(angle), 0]);
      if (turn) pen.lineTo(column, row);
      else pen.moveTo(column, row);
    }
    this.outline(pen, 3);
    const speed = mover.velocity[1];
    if (Math.abs(speed) > .05) {
      const tip = this.camera.project([x, y + Math.sign(speed) * (mover.size * 1.35 + .25 + .25 * Math.abs(speed)), 0]);
      const base = this.camera.project([x, y + Math.sign(speed) * mover.size * 1.35, 0]);
      pen.beginPath();
      pen.moveTo(...base);
      pen.lineTo(...tip);
      pen.moveTo(tip[0] - Math.sign(speed) * 9, tip[1] - 7);
      pen.lineTo(...tip);
      pen.lineTo(tip[0] - Math.sign(speed) * 9, tip[1] + 7);
      this.outline(pen, 3);
    }
  }

  corners(screen) {
    const at = (side, height) => this.camera.project([screen.x, screen.y + side * screen.half_width, height]);
    return [at(-1, 0), at(1, 0), at(1, 2 * screen.half_height), at(-1, 2 * screen.half_height)];
  }

  handles(screen) {
    const at = (y, z) => this.camera.project([screen.x, y, z]);
    return {
      width: at(screen.y + screen.half_width, screen.half_height),
      height: at(screen.y, 2 * screen.half_height),
    };
  }

  drawScreenHandles(pen) {
    const { screen } = this.lab.scene;
    pen.beginPath();
    this.corners(screen).forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    this.outline(pen, 2.5);
    for (const [x, y] of Object.values(this.handles(screen))) {
      pen.beginPath();
      pen.arc(x, y, 9, 0, 2 * Math.PI);
      pen.fillStyle = tint("visible");
      pen.fill();
      this.outline(pen, 2);
    }
  }

  outline(pen, width) {
    pen.lineJoin = "round";
    pen.strokeStyle = veil("casing", .6);
    pen.lineWidth = width + 2.5;
    pen.stroke();
    pen.strokeStyle = tint("visible");
    pen.lineWidth = width;
    pen.stroke();
  }

  // -------------------------------------------------------------------------------------------- dragging

  hit([column, row], reach) {
    const { scene, selected } = this.lab, near = ([x, y], r) => Math.hypot(x - column, y - row) < r;
    if (selected === "screen" && scene.screen)
      for (const [name, point] of Object.entries(this.handles(scene.screen))) if (near(point, reach)) return { thing: "screen", part: name };
    const time = this.lab.run.time;
    const movers = scene.movers.map((mover, index) => {
      const [x, y] = place(mover, time), centre = [x, y, mover.size];
      return { index, x, point: this.camera.project(centre), radius: this.camera.scale(centre) * mover.size * 1.15 };
    }).sort((a, b) => b.x - a.x);
    for (const { index, point, radius } of movers) if (near(point, Math.max(reach, radius))) return { thing: index };
    if (scene.screen) {
      const corners = this.corners(scene.screen), xs = corners.map((c) => c[0]), ys = corners.map((c) => c[1]);
      if (column > Math.min(...xs) && column < Math.max(...xs) && row > Math.min(...ys) && row < Math.max(...ys)) return { thing: "screen", part: "body" };
    }
    return null;
  }

  grab(event) {
    if (!this.lab.scene) return;
    const at = pointerAt(this.canvas, event), found = this.hit(at, event.pointerType === "touch" ? 34 : 18);
    if (!found) return;
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.classList.add("dragging");
    this.lab.select(found.thing);
    const { scene } = this.lab;
    if (found.thing === "screen") {
      const point = this.camera.onUpright(...at, scene.screen.x);
      this.drag = { ...found, offset: point[1] - scene.screen.y };
    } else {
      const mover = scene.movers[found.thing], point = this.camera.onLevel(...at, mover.size), now = place(mover, this.lab.run.time);
      this.drag = { ...found, offset: point ? [point[0] - now[0], point[1] - now[1]] : [0, 0] };
    }
  }

  move(event) {
    if (!this.drag) return;
    const at = pointerAt(this.canvas, event), { scene } = this.lab;
    if (this.drag.thing === "screen") {
      const point = this.camera.onUpright(...at, scene.screen.x), { screen } = scene;
      if (this.drag.part === "width") screen.half_width = clamp(Math.abs(point[1] - screen.y), .3, 1.6);
      else if (this.drag.part === "height") screen.half_height = clamp(point[2] / 2, .25, 1.2);
      else screen.y = clamp(point[1] - this.drag.offset, -2.6, 2.6);
    } else {
      const mover = scene.movers[this.drag.thing], point = this.camera.onLevel(...at, mover.size);
      if (!point) return;
      moveTo(mover, this.lab.run.time, [clamp(point[0] - this.drag.offset[0], ...LANES), clamp(point[1] - this.drag.offset[1], ...SIDES)]);
    }
    this.lab.edited(false);
    this.draw();
  }

  drop() {
    this.canvas.classList.remove("dragging");
    if (!this.drag) return;
    this.drag = null;
    this.lab.edited(true);
  }

  nudge(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const { scene, selected } = this.lab;
    if (!step || !scene) return;
    event.preventDefault();
    event.stopPropagation();
    const size = event.shiftKey ? .3 : .1;
    if (selected === "screen") {
      if (!scene.screen) return;
      scene.screen.y = clamp(scene.screen.y + step[1] * size, -2.6, 2.6);
      scene.screen.half_height = clamp(scene.screen.half_height - step[0] * size / 2, .25, 1.2);
    } else if (scene.movers[selected]) {
      const mover = scene.movers[selected], [x, y] = place(mover, this.lab.run.time);
      moveTo(mover, this.lab.run.time, [clamp(x + step[0] * size, ...LANES), clamp(y + step[1] * size, ...SIDES)]);
    }
    this.lab.edited(true);
    this.draw();
  }
}
