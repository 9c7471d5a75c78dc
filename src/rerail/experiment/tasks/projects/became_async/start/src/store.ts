/** A note and its tags. */
export interface Note {
  text: string;
  tags: string[];
}

const notes: Note[] = [
  { text: "buy milk", tags: ["home", "shop"] },
  { text: "file the report", tags: ["work"] },
];

/** All notes. */
export async function load(): Promise<Note[]> {
  return notes.map((note) => ({ ...note, tags: [...note.tags] }));
}
