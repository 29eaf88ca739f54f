// Changes of the scene on their way to the server: only the newest counts, and one request is out at a time.

export class SceneChanges {
  isNew = false;                    // something has changed since the server was told
  isRough = false;                  // the hand is still on it: a quick picture will do
  sending = false;

  constructor(lab) { this.lab = lab; }

  /** The scene has been edited; `final` when the hand is off it. */
  add(final) {
    this.isRough = !final;
    this.isNew = true;
    if (!this.sending) this.send();
  }

  async send() {
    const { player } = this.lab;
    this.sending = true;
    while (this.isNew) {
      this.isNew = false;
      await player.inTurn(() => this.tell());
      if (!player.playing && this.lab.scene) await player.preview(this.isRough);
    }
    this.sending = false;
  }

  async tell() {
    const { scene, run } = this.lab;
    if (!scene || run.ended) return;            // play starts anew anyway
    if (run.frames.length) {
      const answer = await this.lab.ask({ type: "change", scene });
      if (answer) run.length = answer.length;
    } else {
      run.background = null;                    // nothing has been seen yet: the next frame opens it anew
    }
  }
}
