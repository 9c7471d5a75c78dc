/** Somebody who can be written to, perhaps by mail. Without an email there is no such field. */
export interface Contact {
  name: string;
  email?: string;
}
