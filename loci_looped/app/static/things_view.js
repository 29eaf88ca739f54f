// The picture of a world of things with places and speeds: balls in a box, or things on a table; drag them, or their arrows.

import { Camera } from "./camera.js";
import { tint, veil } from "./dom.js";
import { pointerAt } from "./pictures.js";

const ARROW = { balls: 6, collide: .45 };       // length of an arrow per unit of speed, in units of place
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** World places <-> canvas pixels: of the flat box, and of the table seen by its camera. */
function projection(facts, canvas) {
  if (facts.world === "balls") {
    const scale = canvas.width / facts.box;
    return { out: ([x, y]) => [x * scale, y * scale], back: ([column, row]) => [column / scale, row / scale], radius: () => facts.radius * scale };
  }
  const camera = new Camera(facts.camera, canvas.width, canvas.height), level = facts.radius;
  return {
    out: ([x, y]) => camera.project([x, y, level]),
    back: ([column, row]) => camera.onLevel(column, row, level)?.slice(0, 2) ?? null,
    radius: ([x, y]) => 1.5 * level * camera.scale([x, y, level]),
  };
}

export class ThingsView {
  bitmap = null;
  drag = null;                      // what the hand holds: {thing, part, offset}

  constructor(canvas, facts, lab) {
    Object.assign(this, { canvas, facts, lab, arrow: ARROW[facts.world], place: projection(facts, canvas) });
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => this.drop());
    canvas.addEventListener("keydown", (event) => this.nudge(event));
  }

  frameOf(run) { return Math.max(0, run.number); }

  async showJpeg(bytes) {
    this.bitmap = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
    this.draw();
  }

  /** How things are at the moment that is shown. */
  now() {
    const { scene, run } = this.lab, told = run.moment?.things;
    if (!scene || !told?.length || told.length !== scene.things.length || scene.since > run.number) return scene?.things ?? [];
    return scene.things.map((thing, n) => ({ ...thing, ...told[n] }));
  }

  /** From the moment that is shown on, things are as they are now, and then as `change` makes them. */
  from(change) {
    const { lab } = this, things = this.now();
    lab.scene.things = things.map((thing) => ({ ...thing, place: [...thing.place], velocity: [...thing.velocity] }));
    lab.scene.since = Math.max(0, lab.run.number);
    change(lab.scene.things);
    if (lab.run.moment) lab.run.moment.things = lab.scene.things.map(({ place, velocity, yaw, waits }) => ({ place, velocity, ...(yaw === undefined ? {} : { yaw, waits }) }));
  }

  draw() {
    const { canvas, lab } = this, pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = true;
    if (this.bitmap) pen.drawImage(this.bitmap, 0, 0, canvas.width, canvas.height);
    const thing = this.now()[lab.selected];
    if (!lab.scene || !thing) return;
    pen.beginPath();
    pen.arc(...this.place.out(thing.place), this.place.radius(thing.place) + 4, 0, 2 * Math.PI);
    this.outline(pen, 3);
    const tip = this.tip(thing), base = this.place.out(thing.place), length = Math.hypot(tip[0] - base[0], tip[1] - base[1]);
    pen.beginPath();
    if (length > 8) {
      const [x, y] = [(tip[0] - base[0]) / length, (tip[1] - base[1]) / length];
      pen.moveTo(...base);
      pen.lineTo(...tip);
      pen.moveTo(tip[0] - 12 * x + 8 * y, tip[1] - 12 * y - 8 * x);
      pen.lineTo(...tip);
      pen.lineTo(tip[0] - 12 * x - 8 * y, tip[1] - 12 * y + 8 * x);
    } else pen.arc(...base, 5, 0, 2 * Math.PI);
    this.outline(pen, 3);
  }

  tip({ place, velocity }) { return this.place.out(place.map((value, axis) => value + this.arrow * velocity[axis])); }

  outline(pen, width) {
    pen.lineJoin = pen.lineCap = "round";
    for (const [colour, thick] of [[veil("casing", .7), width + 2.5], [tint("visible"), width]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = thick;
      pen.stroke();
    }
  }

  // -------------------------------------------------------------------------------------------- dragging

  hit(at, reach) {
    const things = this.now(), near = (point, r) => Math.hypot(point[0] - at[0], point[1] - at[1]) < r;
    const chosen = things[this.lab.selected];
    if (chosen && near(this.tip(chosen), reach)) return { thing: this.lab.selected, part: "arrow" };
    for (let n = things.length - 1; n >= 0; n--) if (near(this.place.out(things[n].place), Math.max(reach, this.place.radius(things[n].place)))) return { thing: n, part: "body" };
    return null;
  }

  grab(event) {
    if (!this.lab.scene) return;
    const at = pointerAt(this.canvas, event), found = this.hit(at, event.pointerType === "touch" ? 34 : 16);
    if (!found) return;
    event.preventDefault();
    this.lab.player.pause();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.classList.add("dragging");
    this.lab.select(found.thing);
    const point = this.place.back(at), thing = this.now()[found.thing];
    this.drag = { ...found, offset: point ? point.map((value, axis) => value - thing.place[axis]) : [0, 0] };
  }

  move(event) {
    if (!this.drag) return;
    const point = this.place.back(pointerAt(this.canvas, event)), { thing, part, offset } = this.drag;
    if (!point) return;
    this.from((things) => {
      if (part === "arrow") things[thing].velocity = this.bounded(point.map((value, axis) => (value - things[thing].place[axis]) / this.arrow));
      else things[thing].place = this.inside(point.map((value, axis) => value - offset[axis]));
    });
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
    const { facts, lab } = this, flat = facts.world === "balls";
    const step = { ArrowLeft: flat ? [-1, 0] : [0, -1], ArrowRight: flat ? [1, 0] : [0, 1], ArrowUp: flat ? [0, -1] : [-1, 0], ArrowDown: flat ? [0, 1] : [1, 0] }[event.key];
    if (!step || !lab.scene) return;
    event.preventDefault();
    event.stopPropagation();
    const size = (event.shiftKey ? 3 : 1) * (flat ? 1 : .1);
    this.from((things) => { things[lab.selected].place = this.inside(things[lab.selected].place.map((value, axis) => value + step[axis] * size)); });
    lab.edited(true);
    this.draw();
  }

  inside(place) {
    if (this.facts.world === "balls") return place.map((value) => clamp(value, this.facts.radius, this.facts.box - this.facts.radius));
    return [clamp(place[0], -2.4, 1.4), clamp(place[1], -3.4, 3.4)];
  }

  bounded(velocity) {
    const speed = Math.hypot(...velocity), most = this.facts.fastest * .95;
    return speed > most ? velocity.map((value) => value * most / speed) : velocity;
  }
}
