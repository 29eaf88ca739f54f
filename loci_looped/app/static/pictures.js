// Small pictures of the network on large canvases: crisp pixels, smooth lines on top.

import { outlines, pieces, rounded } from "./contour.js";
import { tint, veil } from "./dom.js";

const casing = () => veil("casing", .9);
const scratch = document.createElement("canvas");

/** Draw an RGB picture {data, shape: [H, W, 3]} over the whole canvas, every pixel a square. */
export function drawPixels(canvas, picture) {
  const [height, width] = picture.shape;
  const image = new ImageData(width, height);
  for (let i = 0, j = 0; i < picture.data.length; i += 3, j += 4) {
    image.data[j] = picture.data[i];
    image.data[j + 1] = picture.data[i + 1];
    image.data[j + 2] = picture.data[i + 2];
    image.data[j + 3] = 255;
  }
  scratch.width = width;
  scratch.height = height;
  scratch.getContext("2d").putImageData(image, 0, 0);
  const pen = canvas.getContext("2d");
  pen.imageSmoothingEnabled = false;
  pen.drawImage(scratch, 0, 0, canvas.width, canvas.height);
}

/** Where things are seen when nearer slots cover farther ones. `belief` = {masks, colours, index, nearness}. */
export function visibleMasks(belief, shown) {
  const [count, height, width] = belief.masks.shape;
  const order = [...Array(count).keys()].filter((n) => shown(belief.index[n]))
    .sort((a, b) => belief.nearness[belief.index[b]] - belief.nearness[belief.index[a]]);
  const through = new Float32Array(height * width).fill(1), masks = new Map();
  for (const n of order) {
    const visible = new Float32Array(height * width);
    for (let i = 0, j = n * height * width; i < visible.length; i++, j++) {
      const cover = belief.masks.data[j] / 255;
      visible[i] = cover * through[i];
      through[i] *= 1 - cover;
    }
    masks.set(belief.index[n], visible);
  }
  return { masks, through };
}

/** The believed scene with only the slots that are `shown`. */
export function compose(belief, background, shown) {
  const [height, width] = background.shape;
  const { masks, through } = visibleMasks(belief, shown);
  const data = new Uint8Array(height * width * 3);
  for (let i = 0; i < height * width; i++)
    for (let c = 0; c < 3; c++) data[3 * i + c] = through[i] * background.data[3 * i + c];
  for (const [slot, visible] of masks) {
    const offset = belief.index.indexOf(slot) * height * width * 3;
    for (let i = 0; i < height * width; i++)
      for (let c = 0; c < 3; c++) data[3 * i + c] += visible[i] * belief.colours.data[offset + 3 * i + c];
  }
  return { data, shape: background.shape };
}

function stroke(pen, points, colour, width, dash) {
  for (const [shade, thick] of [[casing(), width + 2.5], [colour, width]]) {
    pen.beginPath();
    points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.setLineDash(dash);
    pen.strokeStyle = shade;
    pen.lineWidth = thick;
    pen.stroke();
  }
  pen.setLineDash([]);
}

/** Outline of one mask (bytes) on a canvas; dashed where `visible` (0..1) says it is out of sight. */
export function drawOutline(canvas, mask, visible, [height, width], colour, thickness = 2.5) {
  const pen = canvas.getContext("2d"), sx = canvas.width / width, sy = canvas.height / height;
  const hidden = ([x, y]) => {
    let whole = 0, seen = 0;
    for (const row of [Math.floor(y), Math.ceil(y)]) for (const column of [Math.floor(x), Math.ceil(x)]) {
      const i = Math.min(height - 1, Math.max(0, row)) * width + Math.min(width - 1, Math.max(0, column));
      whole += mask[i] / 255;
      seen += visible ? visible[i] : 0;
    }
    return seen < .5 * whole;
  };
  pen.lineJoin = pen.lineCap = "round";
  for (const line of outlines(mask, height, width))
    for (const piece of pieces(line, hidden)) {
      const points = piece.points.map(([x, y]) => [(x + .5) * sx, (y + .5) * sy]);
      stroke(pen, points, colour, thickness, piece.hidden ? [8, 7] : []);
    }
}

/** A faint dotted outline: something that has been taken away. */
export function drawGhost(canvas, mask, [height, width], colour = veil("visible", .85)) {
  const pen = canvas.getContext("2d"), sx = canvas.width / width, sy = canvas.height / height;
  pen.setLineDash([2.5, 6]);
  pen.lineCap = "round";
  for (const [shade, thick] of [[veil("casing", .55), 4], [colour, 2]]) {
    pen.strokeStyle = shade;
    pen.lineWidth = thick;
    for (const line of outlines(mask, height, width)) {
      pen.beginPath();
      rounded(line).forEach(([x, y], i) => (i ? pen.lineTo((x + .5) * sx, (y + .5) * sy) : pen.moveTo((x + .5) * sx, (y + .5) * sy)));
      pen.stroke();
    }
  }
  pen.setLineDash([]);
}

/** Position code (y, x) in [-1, 1] -> canvas [column, row], and back. */
export function toCanvas(canvas, [y, x], [height, width]) {
  return [((x + 1) / 2 * (width - 1) + .5) / width * canvas.width, ((y + 1) / 2 * (height - 1) + .5) / height * canvas.height];
}
export function fromCanvas(canvas, [column, row], [height, width]) {
  return [(row / canvas.height * height - .5) / (height - 1) * 2 - 1, (column / canvas.width * width - .5) / (width - 1) * 2 - 1];
}

/** The dot of a slot with its number; a ring if the object is hidden. */
export function drawDot(canvas, [x, y], colour, label, hidden, radius = 9) {
  const pen = canvas.getContext("2d");
  const disc = (r, shade) => { pen.beginPath(); pen.arc(x, y, r, 0, 2 * Math.PI); pen.fillStyle = shade; pen.fill(); };
  disc(radius + 2.5, casing());
  disc(radius, colour);
  if (hidden) disc(radius * .5, casing());
  if (!label) return;
  pen.font = `600 ${Math.round(radius * 2)}px system-ui, sans-serif`;
  const width = pen.measureText(label).width + 12, tall = radius * 2.6;
  const left = x + radius + 6 + width < canvas.width ? x + radius + 6 : x - radius - 6 - width;
  const top = Math.min(canvas.height - tall, Math.max(0, y - tall / 2));
  pen.beginPath();
  pen.roundRect(left, top, width, tall, 6);
  pen.fillStyle = colour;
  pen.fill();
  pen.fillStyle = tint("casing");
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(label, left + width / 2, top + tall / 2 + 1);
}

/** Pixel of the canvas under a pointer. */
export function pointerAt(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width * canvas.width, (event.clientY - box.top) / box.height * canvas.height];
}
