// The forms of a world of things: which there are, their looks, and how fast they go where.

import { $, make } from "./dom.js";

const rgb = (colour) => `rgb(${colour.join(", ")})`;
const DEGREES = 180 / Math.PI;

export class ThingsEditor {
  constructor(facts, lab) {
    this.facts = facts;
    this.lab = lab;
  }

  now() {}                          // nothing impossible happens in these worlds

  show() {
    const { scene } = this.lab, list = $("things"), panel = $("properties");
    const focused = list.contains(document.activeElement);
    list.replaceChildren();
    panel.replaceChildren();
    if (!scene) {
      list.append(make("span", { class: "faint" }, "A film cannot be edited; choose a scene to do so."));
      return;
    }
    scene.things.forEach((thing, n) => list.append(this.chip(thing, n)));
    if (scene.things.length < this.facts.most)
      list.append(make("button", { type: "button", "aria-label": `Add a ${this.facts.called}`, onclick: () => this.add() }, `+ ${this.facts.called}`));
    if (focused) list.querySelector("[aria-selected=true]")?.focus();
    if (scene.things[this.lab.selected]) this.properties(panel, this.lab.selected);
    if (this.facts.meetings.length) panel.append(this.choice("When balls meet, they", this.facts.meetings, scene.meeting, (value) => { scene.meeting = value; }));
  }

  chip(thing, n) {
    const { selected } = this.lab;
    return make("button", {
      type: "button", role: "tab", "aria-selected": String(n === selected), "data-thing": n, tabindex: n === selected ? "0" : "-1",
      onclick: () => this.lab.select(n),
    }, make("span", { class: "swatch", style: `background:${rgb(this.facts.colours[thing.colour])}` }), thing.shape ?? "ball");
  }

  properties(panel, n) {
    const { world } = this.lab, thing = world.now()[n], speed = Math.hypot(...thing.velocity);
    const flat = this.facts.world === "balls", angle = Math.round(Math.atan2(...(flat ? [-thing.velocity[1], thing.velocity[0]] : [-thing.velocity[0], thing.velocity[1]])) * DEGREES);
    let going = [speed, angle];
    const steer = () => {
      const [fast, way] = [going[0], going[1] / DEGREES];
      return flat ? [fast * Math.cos(way), -fast * Math.sin(way)] : [-fast * Math.sin(way), fast * Math.cos(way)];
    };
    for (const [name, options] of Object.entries(this.facts.looks)) panel.append(this.choice(name[0].toUpperCase() + name.slice(1), options, thing[name], (value) => { this.lab.scene.things[n][name] = value; }));
    panel.append(
      this.slider("Speed", speed, 0, this.facts.fastest * .95, .05, (value) => { going = [value, going[1]]; world.from((things) => { things[n].velocity = steer(); }); }, (value) => (value < .05 ? "rests" : value.toFixed(1))),
      this.slider("Direction", angle, -180, 180, 5, (value) => { going = [going[0], value]; world.from((things) => { things[n].velocity = steer(); }); }, (value) => `${value}°`),
      this.palette(n),
      make("button", { type: "button", class: "wide", disabled: this.lab.scene.things.length === 1, onclick: () => this.remove(n) }, `Take this ${this.facts.called} away`),
    );
  }

  add() {
    const { lab, facts } = this, { scene, world } = lab;
    world.from((things) => {
      const used = new Set(things.map((thing) => thing.colour)), colour = Object.keys(facts.colours).find((name) => !used.has(name)) ?? "red";
      things.push({ ...structuredClone(things[0]), colour, place: this.room(things), velocity: facts.world === "balls" ? [2, 1.5] : [0, 0], ...(facts.world === "balls" ? {} : { waits: 0 }) });
    });
    lab.select(scene.things.length - 1);
    lab.edited(true);
  }

  /** A place away from all others. */
  room(things) {
    const spots = this.facts.world === "balls" ? [16, 32, 48].flatMap((y) => [16, 32, 48].map((x) => [x, y])) : [-1.2, -.4, .4].flatMap((x) => [-1, 0, 1].map((y) => [x, y]));
    const free = (spot) => Math.min(...things.map(({ place }) => Math.hypot(place[0] - spot[0], place[1] - spot[1])));
    return spots.reduce((best, spot) => (free(spot) > free(best) ? spot : best));
  }

  remove(n) {
    this.lab.world.from((things) => things.splice(n, 1));
    this.lab.select(0);
    this.lab.edited(true);
  }

  choice(words, options, value, set) {
    const select = make("select", { onchange: () => { this.lab.world.from(() => {}); set(select.value); this.lab.edited(true); } });
    for (const option of options) select.append(make("option", { value: option, selected: option === value }, option));
    return make("label", {}, words, select);
  }

  slider(words, value, low, high, step, set, written) {
    const output = make("output", {}, written(value));
    const input = make("input", { type: "range", min: low, max: high, step, value });
    input.addEventListener("input", () => { output.textContent = written(Number(input.value)); set(Number(input.value)); this.lab.edited(false); this.lab.world.draw(); });
    input.addEventListener("change", () => this.lab.edited(true, false));
    return make("label", {}, words, make("span", { class: "with-value" }, input, output));
  }

  palette(n) {
    const row = make("div", { class: "palette wide", role: "group", "aria-label": "Colour" });
    for (const [name, colour] of Object.entries(this.facts.colours))
      row.append(make("button", {
        type: "button", style: `background:${rgb(colour)}`, "aria-label": name, title: name, "aria-pressed": String(name === this.lab.scene.things[n].colour),
        onclick: () => { this.lab.world.from(() => {}); this.lab.scene.things[n].colour = name; this.lab.edited(true); },
      }));
    return row;
  }
}
