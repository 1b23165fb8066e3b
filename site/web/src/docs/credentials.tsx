import { Sluice } from '@sluice/client';
import { asSession, faultText, me, pageKey, readMe, sluice } from '../state/server.ts';
import { Store, useStore } from '../state/store.ts';

/** The API key that the reader typed. It is in the memory of this page only. */
const typedKey = new Store('');
/** Why the session cannot be used. */
const sessionFault = new Store<string | null>(null);
/** Counts changes of the credentials. */
export const credentials = new Store(0);

const changed = (): void => credentials.set(credentials.value + 1);
typedKey.follow(changed);
pageKey.follow(changed);

/** Finds out whether the reader is signed in to the dashboard. */
export async function openCredentials(): Promise<void> {
  try {
    await readMe();
  } catch (error) {
    sessionFault.set(faultText(error));
  }
}

export type Caller = 'key' | 'session' | null;

/** As whom requests are sent: a typed key comes first. */
export function caller(): Caller {
  return typedKey.value !== '' ? 'key' : pageKey.value === null ? null : 'session';
}

export const apiKey = (): string => typedKey.value;

/** Sends a request as the caller. */
export function sendAs(path: string, init: RequestInit = {}): Promise<Response> {
  const who = caller();
  if (who === 'session') return asSession(path, init);
  const headers = new Headers(init.headers);
  if (who === 'key') headers.set('Authorization', `Bearer ${typedKey.value}`);
  // The cookie of the session must not be used together with a key.
  return fetch(path, { ...init, headers, credentials: 'omit' });
}

/** A client of this gateway, as the caller; null if there is none. */
export function client(): Sluice | null {
  const who = caller();
  if (who === null) return null;
  return who === 'session' ? sluice : new Sluice({ url: location.origin, apiKey: typedKey.value });
}

/** Says who sends the requests, and accepts a key. */
export function CallerField() {
  useStore(credentials);
  const account = useStore(me)?.account ?? null;
  const fault = useStore(sessionFault);
  const name = account === null ? '' : account.kind === 'operator' ? 'the operator' : (account.wallet ?? account.id);
  return (
    <div>
      <p>
        {caller() === 'key' ? (
          'Sent with the API key below.'
        ) : caller() === 'session' ? (
          <>
            Sent as the signed-in session of {name}, with the key <code>{pageKey.value}</code>.
          </>
        ) : (
          <>
            Not signed in{fault === null ? '' : ` (${fault})`}. <a href="/">Sign in to the dashboard</a>, or type an API key.
          </>
        )}
      </p>
      <label>
        <span>API key (only this page has it, until it is closed)</span>
        <input
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={typedKey.value}
          onInput={({ currentTarget }) => typedKey.set(currentTarget.value.trim())}
        />
      </label>
    </div>
  );
}
