import { newToken, tokenHash } from '@sluice/gateway/accounts/sessions/sessions.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { generateKeypair, signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { signInText, type SignInMessage } from '@sluice/gateway/accounts/sign-in/sign-in-message.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface CreatedKey {
  readonly id: string;
  readonly key: string;
}

/** What the dashboard's page does, without a browser: it stores the cookie and the CSRF token, and sends an origin. */
export class DashboardClient {
  readonly url: string;
  cookie: string | null = null;
  csrfToken: string | null = null;

  constructor(url: string) {
    this.url = url;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#read(await fetch(`${this.url}/dashboard/${path}`, { headers: { ...this.#cookieHeader(), ...headers } }));
  }

  /** A header that is empty here is omitted. */
  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const all: Record<string, string> = {
      'content-type': 'application/json',
      origin: this.url,
      ...(this.csrfToken === null ? {} : { 'x-csrf-token': this.csrfToken }),
      ...this.#cookieHeader(),
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
    return this.#read(
      await fetch(`${this.url}/dashboard/${path}`, {
        method: 'POST',
        headers: sent,
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    );
  }

  async readMe(): Promise<Answer> {
    const me = await this.get('me');
    this.csrfToken = me.body['csrfToken'] as string | null;
    return me;
  }

  async offer(): Promise<Omit<SignInMessage, 'address'> & { readonly nonce: string }> {
    const answer = await this.post('sign-in/nonce', {});
    if (answer.status !== 200) throw new Error(`no message to sign: ${answer.text}`);
    return answer.body as never;
  }

  async signIn(wallet: Keypair = generateKeypair()): Promise<Answer> {
    const answer = await this.post('sign-in', signed(wallet, { ...(await this.offer()), address: wallet.publicKey }));
    if (answer.status === 200) await this.readMe();
    return answer;
  }

  async makeKey(body: Readonly<Record<string, unknown>> = {}): Promise<CreatedKey> {
    const answer = await this.post('keys', { scopes: ['read', 'stream'], ...body });
    if (answer.status !== 200) throw new Error(`no key: ${answer.text}`);
    return answer.body as unknown as CreatedKey;
  }

  #cookieHeader(): Record<string, string> {
    return this.cookie === null ? {} : { cookie: this.cookie };
  }

  async #read(response: Response): Promise<Answer> {
    const set = response.headers.get('set-cookie');
    if (set !== null) this.cookie = set.includes('Max-Age=0') ? null : set.split(';')[0]!;
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: text === '' ? {} : JSON.parse(text) };
  }
}

/** What a wallet returns: the text of a message and its signature. */
export function signed(
  wallet: Keypair,
  message: SignInMessage | string,
): Readonly<Record<'publicKey' | 'signedMessage' | 'signature', string>> {
  const bytes = Buffer.from(typeof message === 'string' ? message : signInText(message));
  return {
    publicKey: wallet.publicKey,
    signedMessage: bytes.toString('base64'),
    signature: Buffer.from(signMessage(wallet, bytes)).toString('base64'),
  };
}

/** The token of a sign-in link, as `sluice accounts link` makes one. */
export async function linkToken(store: Store, accountId: string): Promise<string> {
  const token = newToken();
  const nowMs = Date.now();
  await store.oneTime.put({ hash: tokenHash(token), accountId, expiresAtMs: nowMs + 10 * 60_000 }, nowMs);
  return token;
}
