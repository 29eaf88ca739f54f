// Scenes are the descriptions that Python reads and writes (loci_looped.data.scenes.scene_json); here is what the editor does to them.

export const clone = (value) => structuredClone(value);

/** Where a mover is on the floor at a time: constant velocity, changed by its turns. */
export function place(mover, time) {
  let [x, y] = mover.start, [vx, vy] = mover.velocity, clock = 0;
  for (const [moment, velocity] of mover.turns || []) {
    if (moment >= time) break;
    x += vx * (moment - clock);
    y += vy * (moment - clock);
    clock = moment;
    [vx, vy] = velocity;
  }
  return [x + vx * (time - clock), y + vy * (time - clock)];
}

/** Put a mover at [x, y] at a time, its speed unchanged. */
export function moveTo(mover, time, [x, y]) {
  const [nowX, nowY] = place(mover, time);
  mover.start = [mover.start[0] + x - nowX, mover.start[1] + y - nowY];
}

/** The speed along the lane, changed so that the mover stays where it is at this time. */
export function setSpeed(mover, time, speed) {
  const here = place(mover, time);
  mover.velocity = [mover.velocity[0], speed];
  mover.turns = [];
  moveTo(mover, time, here);
}

/** When the screen begins to fall; null if it never does. */
export function fallsAt(screen) {
  const last = screen.angle[screen.angle.length - 1];
  if (Math.abs(last[1]) < 45) return null;
  const upright = screen.angle.filter(([, angle]) => angle === 0);
  return upright.length ? upright[upright.length - 1][0] : null;
}

export function setFall(screen, time) {
  screen.angle = time === null ? [[0, 0]] : time <= 0.05 ? [[0, 0], [1.6, 90]] : [[0, 0], [time, 0], [time + 1.6, 90]];
}

export function violationFor(kind, scene, mover, time, extra) {
  if (!kind) return null;
  const violation = { kind, time, mover };
  const velocity = scene.movers[mover].velocity[1];
  if (kind === "teleport") violation.jump = [0, (velocity < 0 ? -1 : 1) * 1.2];
  if (kind === "colour" || kind === "shape") violation[kind] = extra;
  return violation;
}

export const duration = (scene) => scene.num_frames / scene.fps;

// ---------------------------------------------------------------------------------------------- sharing

/** Without what is the default anyway, so that links stay short. */
export function compact(scene, opening) {
  const short = {};
  for (const [name, value] of Object.entries(scene)) {
    const usual = opening[name];
    if (["backdrop", "noise", "fps", "noise_seed"].includes(name) && JSON.stringify(value) === JSON.stringify(usual)) continue;
    if (value === null || (Array.isArray(value) && value.length === 0)) continue;
    short[name] = value;
  }
  return short;
}

export function toFragment(scene, opening) {
  const bytes = new TextEncoder().encode(JSON.stringify(compact(scene, opening)));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `scene=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The scene of a link, null if there is none; one that cannot be read is an error. What is missing is taken from the opening scene. */
export function fromFragment(fragment, opening) {
  const match = /^#?scene(?:=|%3D)(.*)$/i.exec(fragment);
  if (!match) return null;
  const text = atob(decodeURIComponent(match[1]).replaceAll("-", "+").replaceAll("_", "/"));
  const scene = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
  if (typeof scene !== "object" || scene === null || !Array.isArray(opening.movers ? scene.movers : scene.things)) throw new Error("no scene");
  return opening.movers ? { ...clone(opening), screen: null, violation: null, ...scene } : { ...clone(opening), ...scene };
}
