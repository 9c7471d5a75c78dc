import type { Shape } from "./shape.js";

/** How many corners a shape has. */
export function corners(shape: Shape): number {
  switch (shape.kind) {
    case "circle":
      return 0;
    case "square":
      return 4;
  }
}
