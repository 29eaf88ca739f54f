// Codes of slots that the user has changed: first imagined, then perhaps believed.

const codeOf = ({ bound, gestalt, position, size, priority }) => ({ bound, gestalt, position, size, priority });

export class CodeEdit {
  edit = null;                      // {frame, slots, belief} while there are changes
  imagining = false;                // is the server drawing them?
  again = false;                    // have they changed since it was asked?

  constructor(lab) { this.lab = lab; }

  get isOpen() { return this.edit !== null; }
  /** What is believed at the moment that is shown, with the changes. */
  get belief() { return this.edit ? this.edit.belief : this.lab.run.moment?.belief; }
  get slots() { return this.edit ? this.edit.slots : this.lab.run.moment?.slots; }

  forget() { this.edit = null; }

  undo() {
    this.forget();
    this.lab.show();
  }

  begin() {
    this.lab.player.pause();
    const { moment } = this.lab.run;
    this.edit ??= {
      frame: moment.frame, belief: moment.belief,
      slots: moment.slots.map((slot) => ({ ...slot, gestalt: [...slot.gestalt], position: [...slot.position] })),
    };
  }

  flip(k, bit) {
    this.begin();
    const { gestalt } = this.edit.slots[k];
    gestalt[bit] = gestalt[bit] > .5 ? 0 : 1;
    this.imagine();
  }

  move(k, position) {
    this.begin();
    this.edit.slots[k].position = position;
    this.imagine();
  }

  /** Have the changed codes drawn, never with more than one request at a time. */
  async imagine() {
    this.lab.show();
    if (this.imagining) { this.again = true; return; }
    this.imagining = true;
    do {
      this.again = false;
      const { edit } = this;
      const answer = await this.lab.ask({ type: "decode", slots: edit.slots.map(codeOf) });
      if (answer && this.edit === edit) {
        edit.belief = { ...edit.belief, masks: answer.masks, colours: answer.colours, nearness: answer.nearness };
        this.lab.show();
      }
    } while (this.again && this.edit);
    this.imagining = false;
  }

  /** From now on the network believes this. */
  async adopt() {
    if (!this.edit) return;
    const answer = await this.lab.ask({ type: "adopt", frame: this.edit.frame, slots: this.edit.slots.map(codeOf) });
    if (!answer) return;
    const { moment } = this.lab.run;
    moment.belief = this.edit.belief;
    this.edit.slots.forEach((slot, k) => Object.assign(moment.slots[k], { gestalt: slot.gestalt, position: slot.position }));
    this.forget();
    this.lab.notices.say("The network now believes this. Press Play to see what becomes of it.");
    this.lab.show();
  }
}
