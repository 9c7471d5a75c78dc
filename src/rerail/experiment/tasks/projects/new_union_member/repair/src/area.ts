import { never } from "./never.js";
import type { Shape } from "./shape.js";

/** The area of a shape. */
export function area(shape: Shape): number {
  switch (shape.kind) {
    case "circle":
      return Math.PI * shape.radius ** 2;
    case "square":
      return shape.side ** 2;
    case "triangle":
      return (shape.base * shape.height) / 2;
    default:
      return never(shape);
  }
}
