import { createUser } from "../create.js";
import { byName, entry } from "../directory.js";
import { firstWord, greeting } from "../greeting.js";
import type { User } from "../user.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | undefined => undefined;

holds<Same<typeof greeting, (user: User) => string>>();
holds<Same<typeof firstWord, (user: User) => string>>();
holds<Same<typeof byName, (users: readonly User[]) => User[]>>();
holds<Same<typeof entry, (label: { name: string }, user: User) => string>>();
holds<Same<typeof createUser, (id: number, name: string, email: string) => User>>();
holds<Same<keyof User, "id" | "fullName" | "email">>();
