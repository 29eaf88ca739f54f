// The lab: what is open, what has been seen so far, what is playing; everything else draws it.

import { Connection, LabError } from "./connection.js";
import { Curves } from "./curves.js";
import { Editor, make } from "./editor.js";
import { Mind } from "./mind.js";
import { clone, toFragment } from "./scene.js";
import { WorldView } from "./world.js";

const $ = (id) => document.getElementById(id);
const LONGEST_MEMORY = 1000;        // frames kept for going back in time

export class Lab {
  constructor(facts) {
    this.facts = facts;
    this.connection = new Connection((words) => this.lost(words));
    this.scene = clone(facts.opening);
    this.clip = null;
    this.selected = 0;
    this.run = this.freshRun();
    this.last = [];                 // the surprise of the run before
    this.playing = false;
    this.blinking = false;
    this.taken = new Map();         // slots the user has taken away (true) or put back (false)
    this.edit = null;               // changed codes: {frame, slots, belief}
    this.world = new WorldView($("world"), facts, this);
    this.mind = new Mind(facts, this);
    this.curves = new Curves($("curves"), facts, this);
    this.editor = new Editor(facts, this);
    this.heard = { slots: "", at: 0 };
    this.lane = Promise.resolve();
  }

  freshRun() { return { frames: [], length: 0, fps: 25 / 3, background: null, cursor: -1, ended: false }; }

  // ---------------------------------------------------------------- what the views ask

  moment() { return this.run.frames[this.run.cursor] || null; }
  frames() { return this.run.frames; }
  length() { return this.run.length; }
  cursor() { return this.moment()?.frame ?? -1; }
  background() { return this.run.background; }
  reference() { return this.last; }
  codes() { return this.edit ? this.edit.slots : this.moment().slots; }
  highest() { return Math.max(.02, ...Curves.worst(this.run.frames), ...this.last); }
  time() { return Math.max(0, this.cursor()) / this.run.fps; }
  isShown(k, moment) { return this.taken.has(k) ? !this.taken.get(k) : k !== moment.screen; }

  // ---------------------------------------------------------------- opening and playing

  /** What changes the run happens one after the other, however fast the fingers are. */
  inTurn(task) {
    const done = this.lane.then(task);
    this.lane = done.catch(() => {});
    return done;
  }

  /** From the beginning, and wait. */
  start(options) {
    this.pause();
    return this.inTurn(() => this.open(options));
  }

  async open({ keepReference = true } = {}) {
    if (keepReference && this.run.frames.length > 5) this.last = Curves.worst(this.run.frames);
    if (!keepReference) this.last = [];
    this.edit = null;
    this.run = this.freshRun();
    const opened = await this.ask(this.clip ? { type: "open", clip: this.clip.clip } : { type: "open", scene: this.scene });
    if (!opened) return false;
    Object.assign(this.run, { length: opened.length, fps: opened.fps, background: opened.background });
    await this.showView(opened.view);
    this.show();
    return true;
  }

  async ask(request) {
    try {
      const answer = await this.connection.ask(request);
      if (this.complaint && request.type !== "preview") this.notice("");
      return answer;
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.pause();
      this.notice(error.message);
      this.complaint = true;          // until something works again
      return null;
    }
  }

  /** One frame on; false at the end, or if it did not work. */
  step(blackout = false) { return this.inTurn(() => this.stepNow(blackout)); }

  async stepNow(blackout) {
    if (!this.run.background && !(await this.open())) return false;
    const message = await this.ask({ type: "next", blackout });
    if (!message) return false;
    if (message.type === "end") { this.run.ended = true; return false; }
    message.dark = blackout;
    message.belief = {
      masks: message.masks, colours: message.colours, nearness: message.slots.map((slot) => slot.nearness),
      index: message.slots.flatMap((slot, k) => (slot.bound ? [k] : [])),
    };
    this.run.frames.push(message);
    if (this.run.frames.length > LONGEST_MEMORY) this.run.frames.shift();
    this.run.cursor = this.run.frames.length - 1;
    this.edit = null;
    await this.showView(message.view);
    this.show();
    return true;
  }

  isOver() { return this.run.ended || (this.run.length > 0 && this.run.frames.length >= this.run.length); }

  play() {
    if (this.playing) return;
    this.playing = true;
    this.showTransport();
    if (this.isOver()) this.inTurn(() => this.open());
    if (!this.looping) this.loop();
  }

  async loop() {
    this.looping = true;
    while (this.playing) {
      const begin = performance.now();
      if (!(await this.step(this.blinking))) { this.pause(); break; }
      const wait = 1000 / this.run.fps / Number($("speed").value) - (performance.now() - begin);
      await new Promise((resolve) => { setTimeout(resolve, Math.max(0, wait)); });
    }
    this.looping = false;
    this.showTransport();
  }

  pause() {
    const stopped = this.playing;
    this.playing = false;
    this.showTransport();
    if (stopped && this.scene && !this.run.ended && this.connection.isOpen) this.preview();
  }

  /** A finer picture of the world at this moment than there was time for while it ran. */
  async preview(rough = false) {
    const scene = clone(this.scene), at = this.run.cursor;
    const preview = await this.ask({ type: "preview", scene, frame: Math.round(this.time() * scene.fps), rough });
    if (preview && !this.playing && at === this.run.cursor) await this.showView(preview.view);
  }

  blink(on) {
    if (this.blinking === on) return;
    this.blinking = on;
    $("blink").setAttribute("aria-pressed", String(on));
    if (on && !this.playing) this.step(true);
  }

  seek(index) {
    if (!this.run.frames.length) return;
    this.run.cursor = Math.min(this.run.frames.length - 1, Math.max(0, index - this.run.frames[0].frame));
    this.edit = null;
    const moment = this.moment();
    if (moment.view) this.showView(moment.view);
    this.show();
  }

  lost(words) {
    this.pause();
    this.run.ended = true;          // a new connection knows nothing of this film: play starts anew
    this.notice(words, ["Try again", () => this.start()]);
    this.complaint = true;
  }

  // ---------------------------------------------------------------- changing the world

  select(thing) {
    this.selected = thing;
    this.editor.show();
    this.world.draw();
  }

  /** The scene has been edited; `final` when the hand is off it, `redraw` when the forms must follow. */
  edited(final, redraw = true) {
    if (final && redraw) this.editor.show();
    this.rough = !final;
    this.changed = true;
    if (!this.sending) this.send();
  }

  /** Tell the lab about the newest state of the scene, never more than one request at a time. */
  async send() {
    this.sending = true;
    while (this.changed) {
      this.changed = false;
      await this.inTurn(() => this.tellChange());
      if (!this.playing && this.scene) await this.preview(this.rough);
    }
    this.sending = false;
  }

  async tellChange() {
    if (!this.scene || this.run.ended) return;          // play starts anew anyway
    if (this.run.frames.length) {
      const answer = await this.ask({ type: "change", scene: this.scene });
      if (answer) this.run.length = answer.length;
    } else {
      this.run.background = null;                       // nothing has been seen yet: the next frame opens it anew
    }
  }

  async openScene(scene) {
    this.scene = scene;
    this.clip = null;
    this.selected = 0;
    this.taken.clear();
    await this.start({ keepReference: false });
    this.editor.show();
  }

  async openClip(clip) {
    this.clip = clip;
    this.scene = null;
    this.taken.clear();
    this.editor.show();
    await this.start({ keepReference: false });
    this.play();
  }

  // ---------------------------------------------------------------- changing the mind

  toggleSlot(k) {
    const moment = this.moment();
    if (!moment || !moment.slots[k]?.bound) return;
    this.taken.set(k, this.isShown(k, moment));
    this.show();
  }

  startEdit() {
    this.pause();
    const moment = this.moment();
    if (!this.edit) this.edit = { frame: moment.frame, belief: moment.belief, slots: moment.slots.map((slot) => ({ ...slot, gestalt: [...slot.gestalt], position: [...slot.position] })) };
  }

  flip(k, bit) {
    this.startEdit();
    const { gestalt } = this.edit.slots[k];
    gestalt[bit] = gestalt[bit] > .5 ? 0 : 1;
    this.imagine();
  }

  moveSlot(k, position) {
    this.startEdit();
    this.edit.slots[k].position = position;
    this.imagine();
  }

  async imagine() {
    this.show();
    if (this.imagining) { this.imaginingAgain = true; return; }
    this.imagining = true;
    do {
      this.imaginingAgain = false;
      const { edit } = this;
      const answer = await this.ask({ type: "decode", slots: edit.slots.map(codeOf) });
      if (answer && this.edit === edit) {
        edit.belief = { ...edit.belief, masks: answer.masks, colours: answer.colours, nearness: answer.nearness };
        this.show();
      }
    } while (this.imaginingAgain && this.edit);
    this.imagining = false;
  }

  async adopt() {
    if (!this.edit) return;
    const answer = await this.ask({ type: "adopt", frame: this.edit.frame, slots: this.edit.slots.map(codeOf) });
    if (!answer) return;
    const moment = this.moment();
    moment.belief = this.edit.belief;
    this.edit.slots.forEach((slot, k) => Object.assign(moment.slots[k], { gestalt: slot.gestalt, position: slot.position }));
    this.edit = null;
    this.say("The network now believes this. Press Play to see what becomes of it.");
    this.show();
  }

  // ---------------------------------------------------------------- showing

  async showView(bytes) {
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
    this.world.show(bitmap);
  }

  show() {
    const moment = this.moment();
    this.mind.draw(moment, this.edit ? this.edit.belief : moment?.belief, this.edit ? this.edit.slots : moment?.slots);
    this.curves.draw();
    this.showTransport();
    const latest = this.run.cursor === this.run.frames.length - 1;
    $("edited").hidden = !this.edit;
    $("adopt").disabled = !latest || this.run.ended;
    $("adopt").title = latest ? "" : "Only the belief about the latest frame can be changed for good";
    this.showPeaks();
    this.announce(moment);
  }

  showTransport() {
    const scrub = $("scrub"), { frames, cursor, length } = this.run;
    $("play").textContent = this.playing ? "Pause" : this.isOver() ? "Play again" : "Play";
    $("play").setAttribute("aria-pressed", String(this.playing));
    scrub.disabled = frames.length < 2;
    scrub.max = Math.max(0, frames.length - 1);
    scrub.value = Math.max(0, cursor);
    const now = this.cursor();
    scrub.setAttribute("aria-valuetext", now < 0 ? "nothing seen yet" : `frame ${now}`);
    $("clock").textContent = now < 0 ? `${(length / this.run.fps || 0).toFixed(1)} s` : `${(now / this.run.fps).toFixed(1)} s · frame ${now}`;
    $("world-state").textContent = this.clip ? this.clip.name : this.playing ? "runs on while you change it" : "drag things about";
  }

  showPeaks() {
    const worst = Curves.worst(this.run.frames), peak = Math.max(0, ...worst), before = Math.max(0, ...this.last);
    const words = [];
    if (worst.length) words.push(`peak ${peak.toFixed(3)}${peak > 0 ? ` at frame ${this.run.frames[worst.indexOf(peak)].frame}` : ""}`);
    if (this.last.length) words.push(`the run before (grey): ${before.toFixed(3)}`);
    $("peaks").textContent = words.join(" · ");
    $("peaks").dataset.peak = peak;
    $("peaks").dataset.before = before;
  }

  /** For those who listen: what has changed about the slots, at most once a second. */
  announce(moment) {
    if (!moment) return;
    const words = moment.slots.map((slot, k) => `slot ${this.facts.slot_names[k]} ${this.mind.word(slot, k, moment)}`).filter((text) => !text.endsWith("empty")).join(", ");
    if (words === this.heard.slots || performance.now() - this.heard.at < 1000) return;
    this.heard = { slots: words, at: performance.now() };
    this.say(words);
  }

  say(words) { $("live").textContent = words; }

  notice(words, action = null, calm = false) {
    const box = $("notice");
    this.complaint = false;
    clearTimeout(this.fading);
    box.hidden = !words;
    box.classList.toggle("calm", calm);
    box.replaceChildren(make("span", {}, words));
    if (action) box.append(make("button", { type: "button", onclick: action[1] }, action[0]));
    else box.append(make("button", { type: "button", class: "close", "aria-label": "Close this message", onclick: () => this.notice("") }, "×"));
    if (calm) this.fading = setTimeout(() => this.notice(""), 6000);
  }

  async share() {
    if (!this.scene) { this.notice("A film cannot be put into a link; share a scene instead."); return; }
    history.replaceState(null, "", `#${toFragment(this.scene, this.facts.opening)}`);
    try {
      await navigator.clipboard.writeText(location.href);
      this.notice("The link to this scene has been copied. Whoever runs a lab can open it.", null, true);
    } catch {
      this.notice("The address of this page is now a link to this scene.", null, true);
    }
  }
}

const codeOf = ({ bound, gestalt, position, size, priority }) => ({ bound, gestalt, position, size, priority });
