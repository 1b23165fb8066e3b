import { Sluice, SluiceError } from '@sluice/client';
import type { StatusAnswer } from '@sluice/shared/wire/rest/operations/operations.ts';
import { RequestsLeft } from './requests-left.ts';
import { Store } from './store.ts';
import { WatchedSluice } from './stream-state.ts';

export interface Account {
  readonly id: string;
  readonly kind: 'operator' | 'holder';
  readonly wallet: string | null;
  readonly plan: string;
}

/** The answer of `GET /dashboard/me`. */
export interface Me {
  readonly account: Account | null;
  readonly csrfToken: string | null;
  readonly signIn: { readonly open: boolean; readonly why?: string };
  readonly trading: 'off' | 'paper' | 'live';
}

/** Null until the server answered. */
export const me = new Store<Me | null>(null);
/** The id of the key with which the page acts; null while nobody is signed in. */
export const pageKey = new Store<string | null>(null);
/** Whether the chain is simulated; null while unknown. */
export const simulated = new Store<boolean | null>(null);

/** The venues that ingest reads; null while unknown. */
export const readVenues = new Store<readonly string[] | null>(null);

const noAnswer = 'The gateway does not answer.';

/** Calls an endpoint of the dashboard. With a body it changes something. Rejects with a `SluiceError`. */
export async function ask<T>(path: string, body?: object): Promise<T> {
  const csrfToken = me.value?.csrfToken ?? null;
  const response = await fetch(`/dashboard/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    cache: 'no-store',
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(body !== undefined && csrfToken !== null && { 'X-CSRF-Token': csrfToken }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // The session has ended, here or elsewhere.
  if (response.status === 401 && me.value?.account !== null && path !== 'me') await readMe();
  return answerOf<T>(response);
}

/** The body of an answer. Throws the error that it describes. */
async function answerOf<T>(response: Response): Promise<T> {
  const answer = (await response.json()) as {
    readonly error?: { code: never; message: string; retryable: boolean; details: Record<string, unknown> };
  };
  if (response.ok) return answer as T;
  const { error } = answer;
  if (error === undefined) throw new Error(`HTTP ${response.status}`);
  throw new SluiceError(error.message, { ...error, status: response.status });
}

/** Reads who is signed in, and chooses the key with which the page acts. */
export async function readMe(): Promise<void> {
  const answer = await ask<Me>('me');
  const before = me.value?.account?.id ?? null;
  me.set(answer);
  const now = answer.account?.id ?? null;
  if (now === before && pageKey.value !== null) return;
  pageKey.set(now === null ? null : (await ask<{ readonly id: string }>('page-key', {})).id);
}

/** Whether orders would spend real coins now. Asks again, because a server that restarts may change it under an open page. */
export async function spendsRealCoins(): Promise<boolean> {
  const [isSimulated] = await Promise.all([readChain(), readMe()]);
  return me.value?.trading === 'live' && isSimulated !== true;
}

export async function readStatus(): Promise<StatusAnswer> {
  const response = await fetch('/status', { cache: 'no-store' });
  if (!response.ok) throw new Error(`The gateway answered ${response.status}.`);
  return (await response.json()) as StatusAnswer;
}

/** Reads from the status which venues are read, and whether the chain is simulated; null if that is unknown. */
export async function readChain(): Promise<boolean | null> {
  const status = await readStatus();
  // A gateway without ingest for a moment reads what it read before.
  const venues = status.chain?.venues ?? readVenues.value;
  if (venues?.join() !== readVenues.value?.join()) readVenues.set(venues);
  const isSimulated = status.cluster.simulated;
  simulated.set(isSimulated);
  return isSimulated;
}

export const requestsLeft = new RequestsLeft();

function noteLimit({ headers, ok }: Response): void {
  // An image can come from the browser's cache, with the headers of a past answer.
  if (ok && headers.get('Content-Type')?.startsWith('image/') === true) return;
  requestsLeft.note(Number(headers.get('X-RateLimit-Limit')), Number(headers.get('X-RateLimit-Remaining')), performance.now());
}

/** Signs the page's requests with the session. The gateway then treats them as requests of the key. */
export async function asSession(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('X-CSRF-Token', me.value?.csrfToken ?? '');
  headers.set('X-Sluice-Key', pageKey.value ?? '');
  requestsLeft.spend();
  const response = await fetch(input, { ...init, headers });
  noteLimit(response);
  // The session has ended, for example in another tab: the page then asks to sign in.
  if (response.status === 401 && me.value?.account !== null) await readMe();
  return response;
}

/** The bytes of an image, or null if the token has none. */
export async function sessionImage(path: string): Promise<Blob | null> {
  const response = await asSession(path);
  return response.ok ? response.blob() : null;
}

async function ticket(): Promise<string> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' };
  try {
    return (await answerOf<{ readonly ticket: string }>(await asSession('/api/ws-ticket', init))).ticket;
  } catch (error) {
    // The client shows this text while it reconnects.
    if (error instanceof TypeError) throw new TypeError(noAnswer, { cause: error });
    throw error;
  }
}

/** The client with which the page uses the public interface. */
export const sluice = new WatchedSluice({ url: location.origin, fetch: asSession, ticket });

/** For quotes: the next one is requested soon anyway, so none is worth a second attempt or a long wait. */
export const quoting = new Sluice({ url: location.origin, fetch: asSession, retries: 0, timeoutMs: 4_000 });

export function faultText(error: unknown): string {
  // What `fetch` rejects with. Browsers word it differently.
  if (error instanceof TypeError) return noAnswer;
  if (!(error instanceof SluiceError)) return error instanceof Error ? error.message : String(error);
  if (error.code === 'NETWORK') return noAnswer;
  const fields = Object.entries((error.details['fields'] ?? {}) as Readonly<Record<string, string>>);
  return fields.length === 0 ? error.message : fields.map(([name, what]) => `${name} ${what}`).join('; ');
}
