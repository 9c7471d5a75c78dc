/** A person who has an account. */
export interface User {
  id: number;
  fullName: string;
  email: string;
}
