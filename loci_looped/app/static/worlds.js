// Which picture and which forms a world has, and the words on the page that belong to it.

import { $, make } from "./dom.js";
import { Editor } from "./editor.js";
import { ThingsEditor } from "./things_editor.js";
import { ThingsView } from "./things_view.js";
import { WorldView } from "./world.js";

const WORDS = {
  balls: {
    question: "The eyes are shut. Where are the balls now?",
    picture: "The box with its balls. Drag a ball, or the tip of its arrow; with the arrow keys you move the selected one.",
    steps: [
      ["Play", ", and watch the network follow the balls. It has never been told what a collision is."],
      ["Dream on", ": its eyes are shut, the film goes on. It imagines where the balls bounce; beside it you see where they really are."],
      ["Take hold", " of a ball while it dreams. The network cannot know, and its dream parts from the world."],
    ],
  },
  collide: {
    question: "The lights go out. What does the network expect to see?",
    picture: "The table. Drag a thing, or the tip of its arrow; with the arrow keys you move the selected one.",
    steps: [
      ["Play", ", and see things slide and bump into each other."],
      ["Lights out", ": black frames. The network must notice by itself that they tell nothing, and go on with what it expects."],
      ["Change", " who hits whom: give a thing another place, speed or direction, also while it runs."],
    ],
  },
};

/** The classes that draw and edit scenes of this world. */
export function partsOf(facts) {
  const words = WORDS[facts.world];
  if (!words) return { View: WorldView, Editor };
  document.querySelector("header p").textContent = words.question;
  $("world").setAttribute("aria-label", words.picture);
  document.querySelector(".try").replaceChildren(...words.steps.map(([bold, rest]) => make("li", {}, make("b", {}, bold), rest)));
  $("impossible").hidden = true;
  for (const node of document.querySelectorAll("#keys kbd")) if (node.textContent === "V") { node.parentNode.nextElementSibling.remove(); node.parentNode.remove(); }
  const [height, width] = facts.size;
  for (const id of ["world", "believes", "sees", "expected"]) $(id).height = Math.round($(id).width * height / width);
  document.body.classList.toggle("square", height === width);
  return { View: ThingsView, Editor: ThingsEditor };
}
