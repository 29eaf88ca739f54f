// Begin: ask the server for the facts, open the scene of the link or the usual one.

import { getJson } from "./connection.js";
import { connectControls, connectKeys } from "./controls.js";
import { $ } from "./dom.js";
import { Lab } from "./lab.js";
import { clone, fromFragment } from "./scene.js";

async function main() {
  let facts;
  try { facts = await getJson("/api/facts"); } catch {
    $("notice").hidden = false;
    $("notice").textContent = "The lab does not answer. Is `loci lab` still running?";
    return;
  }
  const lab = new Lab(facts);
  window.lab = lab;                 // for the curious, and for the tests
  connectControls(lab);
  connectKeys(lab);
  $("footer").textContent = `Network ${facts.network}: ${facts.slots} slots, ${facts.gestalt} gestalt bits, ${facts.size[0]} × ${facts.size[1]} pixels.`;
  let shared = null;
  let unreadable = false;
  try { shared = fromFragment(location.hash, facts.opening); } catch { unreadable = true; }
  if (shared) lab.scene = shared;
  lab.mind.blank();
  // A scene from a link may be anything: only when the server has accepted it is it shown.
  if (!(await lab.player.start()) && shared) {
    const words = $("notice").querySelector("span").textContent;
    lab.scene = clone(facts.opening);
    await lab.player.start();
    lab.notices.show(`The scene of the link cannot be opened: ${words}`);
  }
  if (unreadable) lab.notices.show("The scene in this link cannot be read: the link was cut short or changed on its way. Here is the usual scene.");
  lab.editor.show();
  lab.world.draw();
  window.addEventListener("hashchange", () => location.reload());
}

main();
