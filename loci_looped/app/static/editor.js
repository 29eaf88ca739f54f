// The forms beside the picture: things in the scene, their properties, and what impossible thing happens.

import { $, make } from "./dom.js";
import { clone, duration, fallsAt, place, setFall, setSpeed, violationFor } from "./scene.js";

const KINDS = {
  "": "nothing", vanish: "vanishes", appear: "appears", teleport: "jumps ahead", colour: "changes colour",
  shape: "changes shape", stop: "stops", pass: "passes through",
};

const rgb = (colour) => `rgb(${colour.join(", ")})`;

export class Editor {
  constructor(facts, lab) {
    this.facts = facts;
    this.lab = lab;
    for (const id of ["violation", "violation-extra", "violation-mover"]) $(id).addEventListener("change", () => this.violate(id));
    $("violation-time").addEventListener("input", () => this.violate("violation-time"));
    $("now").addEventListener("click", () => this.now());
  }

  show() {
    for (const id of ["try", "editor", "impossible"]) $(id).hidden = !this.lab.scene;
    $("standing").hidden = !this.lab.clip;
    this.showThings();
    this.showProperties();
    this.showViolation();
  }

  // -------------------------------------------------------------------------------------------- things

  showThings() {
    const { scene, selected } = this.lab, list = $("things");
    const focused = document.activeElement && list.contains(document.activeElement);
    list.replaceChildren();
    if (!scene) {
      list.append(make("span", { class: "faint" }, "A film cannot be edited; choose a scene to do so."));
      return;
    }
    const chip = (thing, colour, words) => make("button", {
      type: "button", role: "tab", "aria-selected": String(thing === selected), "data-thing": thing,
      tabindex: thing === selected ? "0" : "-1", onclick: () => this.lab.select(thing),
      onkeydown: (event) => this.walk(event),
    }, make("span", { class: "swatch", style: `background:${rgb(this.facts.colours[colour])}` }), words);
    scene.movers.forEach((mover, index) => list.append(chip(index, mover.colour, mover.shape)));
    if (scene.screen) list.append(chip("screen", scene.screen.colour, "screen"));
    if (scene.movers.length < this.facts.limits.movers)
      list.append(make("button", { type: "button", onclick: () => this.addMover(), "aria-label": "Add a mover" }, "+ mover"));
    if (!scene.screen) list.append(make("button", { type: "button", onclick: () => this.addScreen(), "aria-label": "Add a screen" }, "+ screen"));
    if (focused) list.querySelector("[aria-selected=true]")?.focus();
  }

  walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const tabs = [...$("things").querySelectorAll("[role=tab]")];
    const next = tabs[(tabs.indexOf(event.currentTarget) + step + tabs.length) % tabs.length];
    next.click();
  }

  addMover() {
    const { scene } = this.lab, used = new Set([...scene.movers.map((m) => m.colour), scene.screen?.colour]);
    const free = Object.keys(this.facts.colours).filter((name) => !used.has(name));
    const side = scene.movers.length % 2 ? 1 : -1, time = this.lab.run.time;
    const mover = clone(scene.movers[0]);
    Object.assign(mover, { shape: "cube", colour: free[0] || "green", size: .34, velocity: [0, -side * 1.0], turns: [], yaw: 0 });
    mover.start = [-.5 - .45 * scene.movers.length, side * 2.2 + side * time];
    scene.movers.push(mover);
    this.lab.select(scene.movers.length - 1);
    this.lab.edited(true);
  }

  addScreen() {
    this.lab.scene.screen = clone(this.facts.opening.screen);
    this.lab.select("screen");
    this.lab.edited(true);
  }

  remove() {
    const { scene, selected } = this.lab;
    if (selected === "screen") scene.screen = null;
    else if (scene.movers.length > 1) {
      scene.movers.splice(selected, 1);
      if (scene.violation) {
        if (scene.violation.mover === selected) scene.violation = null;
        else if (scene.violation.mover > selected) scene.violation.mover -= 1;
      }
      scene.collisions = [];
    } else return;
    this.lab.select(0);
    this.lab.edited(true);
  }

  // -------------------------------------------------------------------------------------------- properties

  showProperties() {
    const { scene, selected } = this.lab, panel = $("properties");
    panel.replaceChildren();
    $("impossible").disabled = !scene;
    if (!scene) return;
    if (selected === "screen" && scene.screen) this.screenProperties(panel, scene.screen);
    else if (scene.movers[selected]) this.moverProperties(panel, scene.movers[selected]);
    const last = selected !== "screen" && scene.movers.length === 1;
    panel.append(make("button", { type: "button", class: "wide", disabled: last, "aria-describedby": last && "last-mover", onclick: () => this.remove() },
      selected === "screen" ? "Take the screen away" : "Take this mover away"));
    if (last) panel.append(make("span", { class: "faint wide", id: "last-mover" }, "The last mover stays: a scene needs one. Add another first."));
  }

  moverProperties(panel, mover) {
    const time = () => this.lab.run.time;
    panel.append(
      this.choice("Shape", this.facts.shapes, mover.shape, (value) => { mover.shape = value; }),
      this.slider("Size", mover.size, .2, .6, .02, (value) => { mover.size = value; }),
      this.slider("Speed", mover.velocity[1], -2, 2, .1, (value) => setSpeed(mover, time(), value),
        (value) => (Math.abs(value) < .05 ? "rests" : value < 0 ? `← ${(-value).toFixed(1)}` : `${value.toFixed(1)} →`)),
      this.slider("Lane (towards us)", place(mover, time())[0], -2.6, 1.2, .1, (value) => { mover.start = [mover.start[0] + value - place(mover, time())[0], mover.start[1]]; }),
      this.palette(mover),
    );
  }

  screenProperties(panel, screen) {
    const falls = fallsAt(screen), end = Math.round(duration(this.lab.scene) * 10) / 10;
    panel.append(
      this.slider("Width", 2 * screen.half_width, .6, 3.2, .1, (value) => { screen.half_width = value / 2; }),
      this.slider("Height", 2 * screen.half_height, .5, 2.4, .1, (value) => { screen.half_height = value / 2; }),
      this.slider("Place (left to right)", screen.y, -2.6, 2.6, .1, (value) => { screen.y = value; }),
      this.slider("Falls at", falls === null ? end : falls, 0, end, .1,
        (value) => setFall(screen, value >= end - .05 ? null : value), (value) => (value >= end - .05 ? "never" : `${value.toFixed(1)} s`)),
      this.palette(screen),
    );
  }

  choice(words, options, value, set) {
    const select = make("select", { onchange: () => { set(select.value); this.lab.edited(true); } });
    for (const option of options) select.append(make("option", { value: option, selected: option === value }, option));
    return make("label", {}, words, select);
  }

  slider(words, value, low, high, step, set, written = (number) => number.toFixed(step < .1 ? 2 : 1)) {
    const output = make("output", {}, written(value));
    const input = make("input", { type: "range", min: low, max: high, step, value });
    input.addEventListener("input", () => { output.textContent = written(Number(input.value)); set(Number(input.value)); this.lab.edited(false); });
    input.addEventListener("change", () => this.lab.edited(true, false));
    return make("label", {}, words, make("span", { class: "with-value" }, input, output));
  }

  palette(thing) {
    const row = make("div", { class: "palette wide", role: "group", "aria-label": "Colour" });
    for (const [name, colour] of Object.entries(this.facts.colours))
      row.append(make("button", {
        type: "button", style: `background:${rgb(colour)}`, "aria-label": name, title: name, "aria-pressed": String(name === thing.colour),
        onclick: () => { thing.colour = name; this.lab.edited(true); row.querySelector(`[aria-label=${name}]`)?.focus(); },
      }));
    return row;
  }

  // -------------------------------------------------------------------------------------------- the impossible

  showViolation() {
    const { scene } = this.lab;
    if (!scene) return;
    const violation = scene.violation, kinds = ["", ...this.facts.violations.filter((kind) => kind !== "pass" || violation?.kind === "pass")];
    const fill = (select, options, value) => select.replaceChildren(
      ...options.map(([option, words]) => make("option", { value: option, selected: String(option) === String(value) }, words)));
    fill($("violation"), kinds.map((kind) => [kind, KINDS[kind] || kind]), violation?.kind ?? "");
    fill($("violation-mover"), scene.movers.map((mover, index) => [index, `${mover.colour} ${mover.shape}`]), violation?.mover ?? 0);
    const time = $("violation-time"), end = duration(scene);
    time.max = end.toFixed(1);
    time.value = violation?.time ?? Math.min(end, 3.5);
    time.disabled = $("violation-mover").disabled = !violation;
    $("violation-time-value").textContent = violation ? `${violation.time.toFixed(1)} s` : "–";
    const extra = violation && (violation.kind === "colour" || violation.kind === "shape");
    $("violation-extra-label").hidden = !extra;
    if (extra) {
      $("violation-extra-label").querySelector("span").textContent = violation.kind === "colour" ? "To colour" : "To shape";
      const options = violation.kind === "colour" ? Object.keys(this.facts.colours) : this.facts.shapes;
      fill($("violation-extra"), options.map((option) => [option, option]), violation[violation.kind]);
    }
    const kind = violation?.kind ?? "vanish", mover = scene.movers[violation?.mover ?? this.target()];
    $("now").textContent = `Do it now: the ${mover.colour} ${mover.shape} ${KINDS[kind]}`;
  }

  target() {
    const { selected } = this.lab;
    return selected === "screen" ? 0 : selected;
  }

  /** A new colour or shape that differs from the old one. */
  other(kind, mover) {
    const options = kind === "colour" ? Object.keys(this.facts.colours) : this.facts.shapes;
    return options[(options.indexOf(mover[kind]) + 3) % options.length];
  }

  violate(changed) {
    const { scene } = this.lab, kind = $("violation").value;
    const index = changed === "violation" && !scene.violation ? this.target() : Number($("violation-mover").value);
    const extra = changed === "violation-extra" ? $("violation-extra").value : scene.violation?.[kind] || this.other(kind, scene.movers[index]);
    scene.violation = violationFor(kind, scene, index, Number($("violation-time").value), extra);
    this.showViolation();
    this.lab.edited(true, false);
  }

  now() {
    const { scene } = this.lab;
    if (!scene) return;
    const kind = scene.violation?.kind || "vanish", index = scene.violation?.mover ?? this.target();
    // The frame that comes next is the first in which it has happened.
    const time = Math.round((this.lab.run.time + .04) * 1000) / 1000;
    scene.violation = violationFor(kind, scene, index, time, scene.violation?.[kind] || this.other(kind, scene.movers[index]));
    this.showViolation();
    this.lab.edited(true, false);
    this.lab.notices.say(`At ${time.toFixed(1)} s the ${scene.movers[index].colour} ${scene.movers[index].shape} ${KINDS[kind]}.`);
  }
}
