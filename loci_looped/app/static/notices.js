// What the lab says: messages at the top of the page, and words for those who listen.

import { $, make } from "./dom.js";

const SECONDS_OF_CALM = 6;
const SECONDS_BETWEEN_WORDS = 1;

export class Notices {
  isError = false;                  // stays until something works again
  fading = 0;                       // the timer of a message that goes by itself
  said = { words: "", at: 0 };

  /** Something did not work. `action` is [words on the button, what it does]. */
  error(words, action = null) {
    this.show(words, action);
    this.isError = true;
  }

  /** Something worked: an error that is still shown is out of date. */
  solved() { if (this.isError) this.show(""); }

  /** Good news; it goes by itself. */
  calm(words) {
    this.show(words, null, true);
    this.fading = setTimeout(() => this.show(""), 1000 * SECONDS_OF_CALM);
  }

  show(words, action = null, calm = false) {
    const box = $("notice");
    this.isError = false;
    clearTimeout(this.fading);
    box.hidden = !words;
    box.classList.toggle("calm", calm);
    box.replaceChildren(make("span", {}, words));
    if (action) box.append(make("button", { type: "button", onclick: action[1] }, action[0]));
    else box.append(make("button", { type: "button", class: "close", "aria-label": "Close this message", onclick: () => this.show("") }, "×"));
  }

  say(words) { $("live").textContent = words; }

  /** Say it if it is new, at most once a second. */
  sayNews(words) {
    if (words === this.said.words || performance.now() - this.said.at < 1000 * SECONDS_BETWEEN_WORDS) return;
    this.said = { words, at: performance.now() };
    this.say(words);
  }
}
