// Opening, playing, blinking and going back in time. What changes the run happens one thing after the other.

import { $ } from "./dom.js";
import { Run } from "./run.js";
import { clone } from "./scene.js";

export class Player {
  playing = false;                  // should frames follow each other?
  looping = false;                  // is the loop that shows them still at work?
  blinking = false;
  lane = Promise.resolve();         // ends with the newest task

  constructor(lab) { this.lab = lab; }

  /** After all that has been asked for before, however fast the fingers are. */
  inTurn(task) {
    const done = this.lane.then(task);
    this.lane = done.catch(() => {});
    return done;
  }

  // ---------------------------------------------------------------- opening

  /** From the beginning, and wait. */
  start(options) {
    this.pause();
    return this.inTurn(() => this.open(options));
  }

  async open({ keepReference = true } = {}) {
    const { lab } = this;
    if (keepReference && lab.run.frames.length > 5) lab.reference = lab.run.worst();
    if (!keepReference) lab.reference = [];
    lab.codes.forget();
    lab.run = new Run();
    if (lab.scene?.things) lab.scene.since = 0;         // what was changed on the way is how it begins now
    const opened = await lab.ask(lab.clip ? { type: "open", clip: lab.clip.clip, occluder: lab.clip.occluder } : { type: "open", scene: lab.scene });
    if (!opened) return false;
    lab.run.opened(opened);
    lab.standing.show();
    await lab.world.showJpeg(opened.view);
    lab.show();
    return true;
  }

  // ---------------------------------------------------------------- playing

  /** One frame on; false at the end, or if it did not work. */
  step(blackout = false) { return this.inTurn(() => this.stepNow(blackout)); }

  async stepNow(blackout) {
    const { lab } = this;
    if (!lab.run.background && !(await this.open())) return false;
    const message = await lab.ask({ type: "next", blackout, dream: lab.eyes.dream });
    if (!message) return false;
    if (message.type === "end") { lab.run.ended = true; return false; }
    lab.run.push(message, blackout || lab.eyes.dream);
    lab.codes.forget();
    await lab.world.showJpeg(message.view);
    lab.show();
    return true;
  }

  play() {
    if (this.playing) return;
    this.playing = true;
    this.lab.showTransport();
    if (this.lab.run.isOver) this.inTurn(() => this.open());
    if (!this.looping) this.loop();
  }

  async loop() {
    this.looping = true;
    while (this.playing) {
      const begin = performance.now();
      if (!(await this.step(this.blinking || this.lab.eyes.dark))) { this.pause(); break; }
      const wait = 1000 / this.lab.run.fps / Number($("speed").value) - (performance.now() - begin);
      await new Promise((resolve) => { setTimeout(resolve, Math.max(0, wait)); });
    }
    this.looping = false;
    this.lab.showTransport();
  }

  pause() {
    const stopped = this.playing, { lab } = this;
    this.playing = false;
    lab.showTransport();
    if (stopped && lab.scene && !lab.run.ended && lab.connection.isOpen) this.preview();
  }

  toggle() { return this.playing ? this.pause() : this.play(); }

  /** A finer picture of the world at this moment than there was time for while it ran. */
  async preview(rough = false) {
    const { lab } = this, scene = clone(lab.scene), at = lab.run.cursor;
    const preview = await lab.ask({ type: "preview", scene, frame: lab.world.frameOf(lab.run), rough });
    if (preview && !this.playing && at === lab.run.cursor) await lab.world.showJpeg(preview.view);
  }

  blink(on) {
    if (this.blinking === on) return;
    this.blinking = on;
    $("blink").setAttribute("aria-pressed", String(on));
    if (on && !this.playing) this.step(true);
  }

  seek(number) {
    const { lab } = this;
    if (!lab.run.frames.length) return;
    lab.run.seek(number);
    lab.codes.forget();
    if (lab.run.moment.view) lab.world.showJpeg(lab.run.moment.view);
    lab.show();
  }
}
