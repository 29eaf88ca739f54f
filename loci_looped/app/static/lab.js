// The lab: what is open, what is selected, what has been taken away. Its parts change it, its views draw it.

import { SceneChanges } from "./changes.js";
import { CodeEdit } from "./codes.js";
import { Connection, LabError } from "./connection.js";
import { Curves } from "./curves.js";
import { $ } from "./dom.js";
import { eyes } from "./eyes.js";
import { Mind } from "./mind.js";
import { Notices } from "./notices.js";
import { Player } from "./player.js";
import { Run } from "./run.js";
import { clone, toFragment } from "./scene.js";
import { Standing } from "./standing.js";
import { showPeaks, showTransport } from "./transport.js";
import { showVerdict } from "./verdict.js";
import { partsOf } from "./worlds.js";

export class Lab {
  clip = null;                      // a film that is open, otherwise null
  scene = null;                     // a scene that is open, otherwise null
  selected = 0;                     // number of a mover, or "screen"
  run = new Run();
  reference = [];                   // the surprise of the run before, per frame
  taken = new Map();                // slots the user has taken away (true) or put back (false)

  constructor(facts) {
    this.facts = facts;
    this.scene = clone(facts.opening);
    this.connection = new Connection((words) => this.lost(words));
    this.notices = new Notices();
    this.player = new Player(this);
    this.changes = new SceneChanges(this);
    this.codes = new CodeEdit(this);
    const parts = partsOf(facts);
    this.world = new parts.View($("world"), facts, this);
    this.mind = new Mind(facts, this);
    this.curves = new Curves($("curves"), facts, this);
    this.editor = new parts.Editor(facts, this);
    this.eyes = eyes(this);         // lights out, or a dream, until somebody says otherwise
    this.standing = new Standing(this);
  }

  // ---------------------------------------------------------------- the server

  /** The answer of the server, null if there is none; then the page says why. */
  async ask(request) {
    try {
      const answer = await this.connection.ask(request);
      if (request.type !== "preview") this.notices.solved();
      return answer;
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.player.pause();
      this.notices.error(error.message);
      return null;
    }
  }

  lost(words) {
    this.player.pause();
    this.run.ended = true;          // a new connection knows nothing of this film: play starts anew
    this.notices.error(words, ["Try again", () => this.player.start()]);
  }

  // ---------------------------------------------------------------- the world

  async openScene(scene) {
    Object.assign(this, { scene, clip: null, selected: 0 });
    this.taken.clear();
    await this.player.start({ keepReference: false });
    this.editor.show();
  }

  async openClip(clip) {
    Object.assign(this, { clip, scene: null });
    this.taken.clear();
    this.editor.show();
    await this.player.start({ keepReference: false });
    this.player.play();
  }

  select(thing) {
    this.selected = thing;
    this.editor.show();
    this.world.draw();
  }

  /** The scene has been edited; `final` when the hand is off it, `redraw` when the forms must follow. */
  edited(final, redraw = true) {
    if (final && redraw) this.editor.show();
    this.changes.add(final);
  }

  async share() {
    if (!this.scene) { this.notices.show("A film cannot be put into a link; share a scene instead."); return; }
    history.replaceState(null, "", `#${toFragment(this.scene, this.facts.opening)}`);
    try {
      await navigator.clipboard.writeText(location.href);
      this.notices.calm("The link to this scene has been copied. Whoever runs a lab can open it.");
    } catch {
      this.notices.calm("The address of this page is now a link to this scene.");
    }
  }

  // ---------------------------------------------------------------- the mind

  isShown(k) { return this.taken.has(k) ? !this.taken.get(k) : k !== this.run.moment.screen; }

  toggleSlot(k) {
    if (!this.run.moment?.slots[k]?.bound) return;
    this.taken.set(k, this.isShown(k));
    this.show();
  }

  // ---------------------------------------------------------------- showing

  /** The top of the scale of surprise. */
  highest() { return Math.max(4, ...this.run.worst(), ...this.reference); }

  showTransport() { showTransport(this); }

  show() {
    const { moment, isLatest, ended } = this.run;
    this.mind.draw(moment, this.codes.belief, this.codes.slots);
    this.curves.draw();
    this.showTransport();
    $("edited").hidden = !this.codes.isOpen;
    $("adopt").disabled = !isLatest || ended;
    $("adopt").title = isLatest ? "" : "Only the belief about the latest frame can be changed for good";
    showPeaks(this);
    showVerdict(moment);
    if (moment) this.notices.sayNews(this.mind.inWords(moment));
  }
}
