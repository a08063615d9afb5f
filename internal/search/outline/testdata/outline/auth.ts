import { createHash, randomBytes } from 'node:crypto';
import type { User } from '../users/User';

const { sign, verify } = jwt;
const SECRET = process.env.SECRET ?? 'don\'t { tell';
export const EXPIRY = 3600;
export const routes = [
  { path: '/login', handler: login },
];

/** interface Hidden {} */
export interface Token<T extends { id: string } = User> {
  value: string;
  refresh(): Promise<Token<T>>;
}

export type Result<T> =
  | { ok: true; value: T }
  | { ok: false; error: Error };

type Handler = (req: Request) => { status: number };

export enum Level { Low, High }
export const enum Bit { On = 1 }

@Injectable({ scope: 'request' })
export abstract class AuthService<T extends object = {}> extends Base<{ a: 1 }> implements Service {
  static readonly pattern = /[/'"{]+\/{2}/g;
  private cache = new Map<string, { at: number }>();
  #key = `k-${[1, 2].map((n) => { return `${n}}`; })}-{`;

  constructor(private readonly users: UserRepository, private options: { ttl: number } = { ttl: 1 }) {
    super();
  }

  @Log()
  async login(name: string, password: string): Promise<{ token: string }> {
    if (name.length / 2 > 3) {
      return { token: this.#hash(name) };
    }
    function inner() {}
    return fail(/}/);
  }

  get size(): number { return this.cache.size }
  set size(n) { }
  get(key: string) { return this.cache.get(key) }
  static async *walk<T>(from: T): AsyncGenerator<T> { yield from }
  #hash(text: string) {
    return createHash('sha256').update(text).digest('hex')
  }
  abstract refresh(token: string): Promise<void>
  onEvent = async (e: Event): Promise<void> => {
    this.cache.clear()
  }
  overloaded(a: string): void;
  overloaded(a: number): void;
  overloaded(a: any) {}
}

export default async function handler(req: Request): Promise<Response> {
  return new Response(`${req.url}`)
}

function overload(a: string): string
function overload(a: number): number
function overload(a: any): any {
  return a
}

const arrow = (a: number): { b: number } => ({ b: a });
const single = x => x + 1
const typed: Handler = async <T,>(req: T) => {
  return { status: 200 };
};
let value = compute()
  .then((x) => x)
export let counter = 0

declare module 'express' {
  interface Locals { user: User }
}
export namespace Inner.Deep {
  export function visible() {}
}
declare global {
  interface Window { app: unknown }
}
if (value) {
  function hidden() {}
}
