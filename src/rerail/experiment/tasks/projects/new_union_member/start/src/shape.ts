/** A circle. */
export interface Circle {
  kind: "circle";
  radius: number;
}

/** A rectangle with four equal sides. */
export interface Square {
  kind: "square";
  side: number;
}

/** A triangle with a right angle between base and height. */
export interface Triangle {
  kind: "triangle";
  base: number;
  height: number;
}

export type Shape = Circle | Square | Triangle;
