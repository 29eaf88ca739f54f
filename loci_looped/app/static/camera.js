// The pinhole camera of the scenes: world (x towards us, y right, z up) <-> canvas pixels.

export class Camera {
  constructor(facts, width, height) {
    this.position = facts.position;
    [this.right, this.up, this.forward] = facts.axes;
    this.width = width;
    this.height = height;
    this.focal = facts.focal * width;
  }

  /** [x, y, z] -> [column, row] on the canvas. */
  project(point) {
    const d = point.map((value, i) => value - this.position[i]);
    const dot = (axis) => d[0] * axis[0] + d[1] * axis[1] + d[2] * axis[2];
    const depth = Math.max(0.05, dot(this.forward));
    return [this.width / 2 + this.focal * dot(this.right) / depth, this.height / 2 - this.focal * dot(this.up) / depth];
  }

  /** Pixels per world unit at a point. */
  scale(point) {
    const d = point.map((value, i) => value - this.position[i]);
    return this.focal / Math.max(0.05, d[0] * this.forward[0] + d[1] * this.forward[1] + d[2] * this.forward[2]);
  }

  ray(column, row) {
    const across = (column - this.width / 2) / this.focal, upward = (this.height / 2 - row) / this.focal;
    return [0, 1, 2].map((i) => this.right[i] * across + this.up[i] * upward + this.forward[i]);
  }

  /** Where the ray through a pixel meets the level z = height; null above the horizon. */
  onLevel(column, row, height) {
    const ray = this.ray(column, row);
    if (ray[2] >= -1e-4) return null;
    const reach = (height - this.position[2]) / ray[2];
    return this.position.map((value, i) => value + ray[i] * reach);
  }

  /** Where the ray through a pixel meets the upright plane x = depth. */
  onUpright(column, row, depth) {
    const ray = this.ray(column, row);
    const reach = (depth - this.position[0]) / ray[0];
    return this.position.map((value, i) => value + ray[i] * reach);
  }
}
