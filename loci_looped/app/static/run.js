// One run over a scene or a film: what has been seen so far, and the moment that is shown.

const LONGEST_MEMORY = 1000;        // frames kept for going back in time
const USUAL_FPS = 25 / 3;

export class Run {
  frames = [];                      // what the server told about each frame, oldest first
  length = 0;                       // frames of the whole film; 0 while unknown
  fps = USUAL_FPS;
  background = null;                // null until the server has opened it
  occluder = null;                  // where something stands still and hides others, if that is known of a film
  cursor = -1;                      // which of `frames` is shown
  ended = false;

  get moment() { return this.frames[this.cursor] ?? null; }
  get number() { return this.moment?.frame ?? -1; }
  get time() { return Math.max(0, this.number) / this.fps; }
  get isLatest() { return this.cursor === this.frames.length - 1; }
  get isOver() { return this.ended || (this.length > 0 && this.frames.length >= this.length); }

  opened({ length, fps, background, occluder = null }) { Object.assign(this, { length, fps, background, occluder }); }

  /** A frame has been seen; it is the one to show. */
  push(message, dark) {
    message.dark = dark;
    message.belief = {
      masks: message.masks, colours: message.colours, nearness: message.slots.map((slot) => slot.nearness),
      index: message.slots.flatMap((slot, k) => (slot.bound ? [k] : [])),
    };
    this.frames.push(message);
    if (this.frames.length > LONGEST_MEMORY) this.frames.shift();
    this.cursor = this.frames.length - 1;
  }

  /** Show the frame with this number, or the nearest one that is remembered. */
  seek(number) { this.cursor = Math.min(this.frames.length - 1, Math.max(0, number - this.frames[0].frame)); }

  /** Largest surprise of all slots but the screen's, per frame. */
  worst() {
    return this.frames.map((frame) => Math.max(0, ...frame.slots.map((slot, k) => (slot.bound && k !== frame.screen ? slot.surprise : 0))));
  }
}
