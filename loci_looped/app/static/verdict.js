// Is this film of the network's world? One sentence above the pictures, the facts behind it on demand.

import { $, make } from "./dom.js";

export function showVerdict(moment) {
  const box = $("verdict"), verdict = moment?.verdict;
  box.hidden = !verdict;
  if (!verdict) return;
  box.classList.toggle("stranger", !verdict.at_home);
  const summary = box.querySelector("summary");
  if (summary.textContent !== verdict.sentence) summary.textContent = verdict.sentence;
  box.querySelector("ul").replaceChildren(...verdict.facts.map((fact) => make("li", {}, fact)));
}
