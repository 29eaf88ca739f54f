// What the network sees, expected and believes, and its slots with their codes.

import { $, channels, make, tint } from "./dom.js";
import { compose, drawDot, drawGhost, drawOutline, drawPixels, fromCanvas, pointerAt, toCanvas, visibleMasks } from "./pictures.js";

const EYE = '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M2 10c3.5-6 12.5-6 16 0-3.5 6-12.5 6-16 0z"/><circle cx="10" cy="10" r="2.4"/><path class="slash" d="M3.5 16.5l13-13"/></svg>';

const BARS = [
  ["hidden", "how much of the object is hidden"], ["position", "how far the gate for the position is open: 0 is pure imagination"],
  ["gestalt", "how far the gate for the gestalt is open: 0 is pure imagination"], ["surprise", "in bits: one ordinary film in 2^bits holds something as unusual"],
];

export class Mind {
  drag = null;                      // the slot the hand holds

  constructor(facts, lab) {
    this.facts = facts;
    this.lab = lab;
    this.cards = facts.slot_names.map((name, k) => this.card(name, k));
    $("slots").append(...this.cards.map((card) => card.node));
    const canvas = $("believes");
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { this.drag = null; canvas.classList.remove("dragging"); });
  }

  // -------------------------------------------------------------------------------------------- slots

  card(name, k) {
    const state = make("span"), toggle = make("button", { type: "button", onclick: () => this.lab.toggleSlot(k) });
    toggle.innerHTML = EYE;
    const thumbs = ["The whole object, hidden parts red", "The whole object in its believed colours"].map((words) => make("canvas", { role: "img", "aria-label": words, title: words }));
    for (const canvas of thumbs) [canvas.height, canvas.width] = this.facts.size;
    const bits = make("div", { class: "bits", role: "group", "aria-label": `Gestalt code of slot ${name}` });
    const buttons = Array.from({ length: this.facts.gestalt }, (_, bit) => make("button", {
      type: "button", tabindex: bit ? "-1" : "0", "aria-label": `bit ${bit + 1}`, onclick: () => this.lab.codes.flip(k, bit),
      onkeydown: (event) => this.walk(event, k, bit),
    }));
    bits.append(...buttons);
    const bars = make("div", { class: "bars" }), fills = [], numbers = [];
    for (const [words, meaning] of BARS) {
      fills.push(make("b"));
      numbers.push(make("span"));
      bars.append(make("span", { title: meaning }, words), make("i", {}, fills[fills.length - 1]), numbers[numbers.length - 1]);
    }
    const node = make("article", { class: "card slot empty", "aria-label": `Slot ${name}`, style: `--slot:${this.facts.slot_colours[k]}` },
      make("header", {}, make("b", {}, name), state, toggle), make("div", { class: "thumbs" }, ...thumbs), bits, bars);
    return { node, state, toggle, thumbs, buttons, fills, numbers };
  }

  walk(event, k, bit) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8 }[event.key];
    const next = this.cards[k].buttons[bit + step];
    if (!step || !next) return;
    event.preventDefault();
    event.stopPropagation();
    this.cards[k].buttons[bit].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // -------------------------------------------------------------------------------------------- drawing

  /** Draw a moment; `belief` is what is believed in it, perhaps after the user has changed its codes. */
  draw(moment, belief, codes) {
    if (!moment) {
      this.blank();
      return;
    }
    const size = this.facts.size, shown = (k) => this.lab.isShown(k);
    const all = visibleMasks(belief, () => true).masks, count = size[0] * size[1];
    const mask = (k) => { const n = belief.index.indexOf(k); return belief.masks.data.subarray(n * count, (n + 1) * count); };

    const sees = $("sees");
    drawPixels(sees, moment.seen);
    drawPixels($("expected"), moment.expected);
    const believes = $("believes");
    drawPixels(believes, compose(belief, this.lab.run.background, shown));
    for (const k of belief.index) {
      const colour = this.facts.slot_colours[k], hidden = moment.slots[k].occlusion > .5;
      drawOutline(sees, mask(k), all.get(k), size, colour, 3.5);
      if (shown(k)) {
        drawOutline(believes, mask(k), all.get(k), size, colour, 3);
        drawDot(believes, toCanvas(believes, codes[k].position, size), colour, this.facts.slot_names[k], hidden);
      } else {
        drawGhost(believes, mask(k), size);
      }
      drawDot(sees, toCanvas(sees, codes[k].position, size), colour, "", hidden, 8);
    }
    this.cards.forEach((card, k) => this.fill(card, k, moment, belief, all, codes));
    this.describe(moment);
  }

  blank() {
    for (const id of ["sees", "expected", "believes"]) {
      const canvas = $(id), pen = canvas.getContext("2d");
      pen.fillStyle = tint("night");
      pen.fillRect(0, 0, canvas.width, canvas.height);
      if (id !== "believes") continue;
      pen.fillStyle = tint("night-faint");
      pen.font = "24px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.fillText("Press Play: the network has seen nothing yet", canvas.width / 2, canvas.height / 2);
    }
    for (const card of this.cards) {
      card.node.classList.add("empty");
      card.state.textContent = "empty";
      card.toggle.hidden = true;
      for (const canvas of card.thumbs) canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
      for (const button of card.buttons) { button.className = ""; button.disabled = true; }
      card.fills.forEach((fill) => { fill.style.width = "0"; });
      card.numbers.forEach((number) => { number.textContent = ""; });
    }
    $("mind-state").textContent = "";
    $("phantom").hidden = true;
    $("believes-note").textContent = "";
  }

  fill(card, k, moment, belief, visible, codes) {
    const slot = moment.slots[k], name = this.facts.slot_names[k], shown = this.lab.isShown(k);
    card.node.classList.toggle("empty", !slot.bound);
    card.state.textContent = this.word(slot, k, moment);
    card.toggle.hidden = !slot.bound;
    card.toggle.title = shown ? `Take slot ${name} out of the picture` : `Put slot ${name} back into the picture`;
    card.toggle.setAttribute("aria-pressed", String(!shown));
    card.toggle.setAttribute("aria-label", `${shown ? "Take slot" : "Put slot"} ${name} ${shown ? "away from" : "back into"} the belief`);
    this.thumbs(card, k, belief, visible);
    card.buttons.forEach((button, bit) => {
      const on = codes[k].gestalt[bit] > .5;
      button.disabled = !slot.bound;
      button.className = `${slot.bound && on ? "on" : ""} ${slot.bound && on !== (slot.gestalt[bit] > .5) ? "changed" : ""}`;
      button.setAttribute("aria-pressed", String(on));
    });
    const scale = this.lab.highest();
    [slot.occlusion, slot.gate[1], slot.gate[0], slot.surprise / scale].forEach((value, i) => {
      card.fills[i].style.width = slot.bound ? `${Math.min(100, 100 * value).toFixed(0)}%` : "0";
      const number = i === 3 ? slot.surprise : value;
      card.numbers[i].textContent = slot.bound ? (i === 3 ? number.toFixed(1) : number.toFixed(2)) : "";
    });
  }

  word(slot, k, moment) {
    if (!slot.bound) return "empty";
    if (slot.phantom) return "not there";
    if (k === moment.screen) return "screen";
    return slot.occlusion > .8 ? "hidden" : slot.occlusion > .2 ? "partly" : "seen";
  }

  /** The whole object: white where it is seen, red where it is hidden; and in its colours. */
  thumbs(card, k, belief, visible) {
    const [height, width] = this.facts.size, n = belief.index.indexOf(k);
    const pens = card.thumbs.map((canvas) => canvas.getContext("2d"));
    if (n < 0) { pens.forEach((pen) => pen.clearRect(0, 0, width, height)); return; }
    const ground = channels("nothing"), white = channels("visible"), red = channels("hidden");
    const images = pens.map(() => new ImageData(width, height)), seen = visible.get(k);
    for (let i = 0; i < height * width; i++) {
      const whole = belief.masks.data[n * height * width + i] / 255, hidden = Math.max(0, whole - seen[i]);
      const at = 3 * (n * height * width + i), colour = belief.colours.data;
      images[0].data.set([...ground.map((dark, c) => dark + seen[i] * (white[c] - dark) + hidden * (red[c] - dark)), 255], 4 * i);
      images[1].data.set([...ground.map((dark, c) => dark + whole * (colour[at + c] - dark)), 255], 4 * i);
    }
    pens.forEach((pen, i) => pen.putImageData(images[i], 0, 0));
  }

  /** Every slot that holds something, for those who listen. */
  inWords(moment) {
    return moment.slots.map((slot, k) => [slot, k]).filter(([slot]) => slot.bound)
      .map(([slot, k]) => `slot ${this.facts.slot_names[k]} ${this.word(slot, k, moment)}`).join(", ");
  }

  describe(moment) {
    const names = this.facts.slot_names, held = moment.slots.map((slot, k) => [slot, k]).filter(([slot]) => slot.bound);
    const hidden = held.filter(([slot, k]) => slot.occlusion > .8 && k !== moment.screen).map(([, k]) => names[k]);
    const phantoms = held.filter(([slot]) => slot.phantom).map(([, k]) => names[k]);
    const away = held.filter(([, k]) => !this.lab.isShown(k)).map(([, k]) => names[k]);
    $("mind-state").textContent = held.length === 0 ? "holds nothing in mind yet"
      : `holds ${held.length} object${held.length > 1 ? "s" : ""} in mind${hidden.length ? `, hidden: ${hidden.join(", ")}` : ""}`;
    $("phantom").hidden = phantoms.length === 0;
    $("phantom").textContent = phantoms.length ? `believes in something that is not there: ${phantoms.join(", ")}` : "";
    $("believes-note").textContent = away.length ? (away.length === 1 && moment.screen !== null && away[0] === names[moment.screen]
      ? "the screen is taken away" : `taken away: ${away.join(", ")}`) : "";
    $("believes").setAttribute("aria-label", `What the network believes at frame ${moment.frame}: ${this.inWords(moment) || "nothing"}`);
  }

  // -------------------------------------------------------------------------------------------- moving a slot

  grab(event) {
    const moment = this.lab.run.moment, canvas = $("believes"), at = pointerAt(canvas, event);
    if (!moment) return;
    let best = null;
    moment.slots.forEach((slot, k) => {
      if (!slot.bound || !this.lab.isShown(k)) return;
      const [x, y] = toCanvas(canvas, this.lab.codes.slots[k].position, this.facts.size), distance = Math.hypot(x - at[0], y - at[1]);
      if (distance < 40 && (!best || distance < best.distance)) best = { k, distance };
    });
    if (!best) return;
    event.preventDefault();
    this.lab.player.pause();
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("dragging");
    this.drag = best.k;
  }

  move(event) {
    if (this.drag === null) return;
    const canvas = $("believes"), limit = (value) => Math.min(1, Math.max(-1, value));
    this.lab.codes.move(this.drag, fromCanvas(canvas, pointerAt(canvas, event), this.facts.size).map(limit));
  }
}
