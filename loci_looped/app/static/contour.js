// Outlines of soft masks: marching squares with interpolation, joined to lines.

// For each of the 16 cases the edges that are crossed: 0 top, 1 right, 2 bottom, 3 left.
const CASES = [[], [[3, 2]], [[2, 1]], [[3, 1]], [[1, 0]], [[3, 0], [1, 2]], [[2, 0]], [[3, 0]],
  [[0, 3]], [[0, 2]], [[0, 1], [2, 3]], [[0, 1]], [[1, 3]], [[1, 2]], [[2, 3]], []];

/** Lines [[column, row], ...] in pixels along which mask (values 0..255, height x width) crosses the middle. */
export function outlines(mask, height, width, level = 127.5) {
  const at = (row, column) => row < 0 || column < 0 || row >= height || column >= width ? 0 : mask[row * width + column];
  const starts = new Map();
  for (let row = -1; row < height; row++) {
    for (let column = -1; column < width; column++) {
      const a = at(row, column), b = at(row, column + 1), c = at(row + 1, column + 1), d = at(row + 1, column);
      const which = (a > level) * 8 + (b > level) * 4 + (c > level) * 2 + (d > level);
      const crossing = (edge) => {
        const share = (from, to) => (level - from) / (to - from);
        if (edge === 0) return [column + share(a, b), row];
        if (edge === 1) return [column + 1, row + share(b, c)];
        if (edge === 2) return [column + share(d, c), row + 1];
        return [column, row + share(a, d)];
      };
      const name = (edge) => edge === 0 ? `h${row},${column}` : edge === 2 ? `h${row + 1},${column}`
        : edge === 3 ? `v${row},${column}` : `v${row},${column + 1}`;
      for (const [from, to] of CASES[which]) starts.set(name(from), { point: crossing(from), next: name(to) });
    }
  }
  const lines = [];
  while (starts.size) {
    const [first] = starts.keys();
    const line = [];
    let key = first;
    while (starts.has(key)) {
      const { point, next } = starts.get(key);
      starts.delete(key);
      line.push([Math.min(width - .5, Math.max(-.5, point[0])), Math.min(height - .5, Math.max(-.5, point[1]))]);
      key = next;
    }
    if (line.length > 2) lines.push([...line, line[0]]);
  }
  return lines;
}

/** Pieces of a line with their state: [{hidden, points}], so that hidden ones can be dashed. */
export function pieces(line, isHidden) {
  const found = [];
  for (const point of line) {
    const hidden = isHidden(point), last = found[found.length - 1];
    if (last && last.hidden === hidden) last.points.push(point);
    else found.push({ hidden, points: last ? [last.points[last.points.length - 1], point] : [point] });
  }
  return found.filter((piece) => piece.points.length > 1);
}

/** Rounder: corners of a closed line are cut twice (Chaikin). Masks of the truth are hard-edged and need it. */
export function rounded(line) {
  for (let turn = 0; turn < 2; turn++) {
    const finer = [];
    for (let i = 0; i + 1 < line.length; i++) {
      const [a, b] = [line[i], line[i + 1]];
      finer.push([.75 * a[0] + .25 * b[0], .75 * a[1] + .25 * b[1]], [.25 * a[0] + .75 * b[0], .25 * a[1] + .75 * b[1]]);
    }
    line = [...finer, finer[0]];
  }
  return line;
}
