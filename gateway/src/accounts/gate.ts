import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Static, TObject } from 'typebox';
import type { Authenticator } from '../auth/principal.ts';
import { errorAnswer, jsonAnswer, refusalAnswer, type Refusal } from '../http/answers.ts';
import { bodyCheck } from '../http/body/body.ts';
import { clientAddressOf } from '../http/callers/client-address.ts';
import { retryAfterSeconds } from '../http/headers/rate-headers.ts';
import type { Route } from '../http/router.ts';
import { networkOf } from '../ratelimit/address-limit.ts';
import { inProcessLimiter } from '../ratelimit/local-limits.ts';
import type { Quota } from '../ratelimit/limiter.ts';
import type { StoredAccount } from '../store/sql/tables/accounts.ts';
import type { Store } from '../store/store.ts';
import type { HttpAnswer, HttpRequest } from '../transport/transport.ts';
import type { UsageOfKeys } from '../usage/endpoints.ts';
import type { Nonces } from './sign-in/nonces.ts';
import { mayRead, originOfChange, publicOrigins, type PublicOrigin, type PublicOrigins } from './public-origins.ts';
import { beginSession, findSession, isCsrfTokenOf, maxSessionMs, sessionCookie, sessionTokenOf } from './sessions/sessions.ts';
import type { SignedIn } from './sessions/sessions.ts';
import type { WalletParts } from './wallets.ts';
import type { SignInFault, SignInOutcome } from './sign-in/sign-in.ts';

export interface DashboardOptions {
  readonly store: Store;
  readonly nonces: Nonces;
  readonly authenticator: Pick<Authenticator, 'refresh' | 'writeUses'>;
  /** What keys use on this gateway. */
  readonly usage: UsageOfKeys;
  readonly config: Pick<Config, 'plans' | 'host' | 'tls' | 'publicUrl' | 'signUp' | 'trustedProxies' | 'trading'>;
  readonly wallets: Omit<WalletParts, 'store'>;
  /** The port on which the gateway listens; called once it does. */
  readonly port: () => number;
  readonly log: Logger;
}

/** Requests from one address, signed in or not. */
const requestQuota: Quota = { perMinute: 240, burst: 60 };
/** Sign-in requests from one address. One sign-in needs two: a nonce and a message. */
const signInQuota: Quota = { perMinute: 20, burst: 20 };
/** Changes of one account's keys. */
const changeQuota: Quota = { perMinute: 30, burst: 20 };

type VisitorHandler<B> = (request: HttpRequest, body: B, origin: PublicOrigin) => Promise<HttpAnswer>;
type ChangeHandler<B> = (
  request: HttpRequest,
  signedIn: SignedIn,
  body: B,
  origin: PublicOrigin,
  segments: readonly string[],
) => Promise<HttpAnswer>;

/** Wraps the handlers of the dashboard's routes with their checks: limits, origin, session, CSRF token and form. */
export class Gate {
  readonly #options: DashboardOptions;
  /** It counts for this gateway alone, because it protects only the work of this gateway. */
  readonly #limiter = inProcessLimiter();
  readonly #clientAddress: ReturnType<typeof clientAddressOf>;

  constructor(options: DashboardOptions) {
    this.#options = options;
    this.#clientAddress = clientAddressOf(options.config.trustedProxies);
  }

  origins(): PublicOrigins {
    return publicOrigins(this.#options.config, this.#options.port());
  }

  /** A route that changes nothing. */
  read(path: string, handler: (request: HttpRequest, signedIn: SignedIn | null) => HttpAnswer | Promise<HttpAnswer>): Route {
    const answer = async (request: HttpRequest): Promise<HttpAnswer> => {
      const refusal = await this.#limit(request, `address:${this.#addressOf(request)}`, requestQuota);
      if (refusal !== null) return refusal;
      if (!mayRead(request, this.origins())) return foreign(request);
      return handler(request, await this.#signedIn(request));
    };
    return { method: 'GET', path, handler: answer };
  }

  /** A route that answers visitors with a session. */
  list(path: string, make: (account: StoredAccount) => Promise<unknown>): Route {
    return this.read(path, async (request, signedIn) =>
      signedIn === null ? refusalAnswer(request, notSignedIn) : jsonAnswer(await make(signedIn.account)),
    );
  }

  /** A route for a change that any visitor of our pages may make. */
  visitor<Body extends TObject>(path: string, schema: Body | undefined, handler: VisitorHandler<Static<Body>>): Route {
    const check = bodyCheck<Static<Body>>({ body: schema });
    return {
      method: 'POST',
      path,
      handler: async (request, body) => {
        const refusal = await this.#limit(request, `sign-in:${this.#addressOf(request)}`, signInQuota);
        if (refusal !== null) return refusal;
        const origin = this.#originOf(request);
        if ('status' in origin) return origin;
        const read = check(request, body);
        return read.ok ? handler(request, read.value, origin) : refusalAnswer(request, read);
      },
    };
  }

  /** A route for a change that requires a visitor who is signed in. */
  change<Body extends TObject>(path: string, schema: Body | undefined, handler: ChangeHandler<Static<Body>>): Route {
    const check = bodyCheck<Static<Body>>({ body: schema });
    return {
      method: 'POST',
      path,
      handler: async (request, body, segments) => {
        const refusal = await this.#limit(request, `address:${this.#addressOf(request)}`, requestQuota);
        if (refusal !== null) return refusal;
        const origin = this.#originOf(request);
        if ('status' in origin) return origin;
        const signedIn = await this.#signedIn(request);
        if (signedIn === null) return refusalAnswer(request, notSignedIn);
        if (!isCsrfTokenOf(signedIn, request.headers.get('x-csrf-token'))) {
          return errorAnswer(request, 'FORBIDDEN', 'The header X-CSRF-Token is missing, or belongs to another session.');
        }
        const read = check(request, body);
        if (!read.ok) return refusalAnswer(request, read);
        const tooMany = await this.#limit(request, `account:${signedIn.account.id}`, changeQuota);
        return tooMany ?? handler(request, signedIn, read.value, origin, segments);
      },
    };
  }

  /** Answers a sign-in. It ends the browser's previous session and begins a new one, so that no one else can know its token. */
  async signIn(request: HttpRequest, origin: PublicOrigin, outcome: SignInOutcome): Promise<HttpAnswer> {
    const { store, log } = this.#options;
    if (!outcome.ok) return this.#refuse(request, outcome.fault);
    const { accountId, isNew } = outcome;
    if (isNew) log.info({ accountId }, 'account_created');
    const before = sessionTokenOf(request.headers.get('cookie'), origin.secure);
    const token = await beginSession(store, accountId, before, store.time.nowMs());
    if (token === null) return this.#refuse(request, 'account');
    log.info({ accountId }, 'signed_in');
    return jsonAnswer({ signedIn: true }, { headers: { 'Set-Cookie': sessionCookie(token, origin.secure, maxSessionMs / 1000) } });
  }

  #refuse(request: HttpRequest, fault: SignInFault): HttpAnswer {
    this.#options.log.debug({ fault, requestId: request.requestId }, 'sign_in_refused');
    // Reported only after the wallet has proven itself. Before that, a disabled account looks like a missing one.
    if (fault === 'sign_up' || fault === 'account')
      return errorAnswer(request, 'FORBIDDEN', 'This wallet has no account here. Ask the operator for one.');
    return errorAnswer(request, 'UNAUTHENTICATED', linkFaults[fault] ?? 'The sign-in was refused. Start it again.');
  }

  async #signedIn(request: HttpRequest): Promise<SignedIn | null> {
    const origins = this.origins();
    const token = origins.ok ? sessionTokenOf(request.headers.get('cookie'), origins.secure) : null;
    return token === null ? null : findSession(this.#options.store, token, this.#options.store.time.nowMs());
  }

  #originOf(request: HttpRequest): PublicOrigin | HttpAnswer {
    const origins = this.origins();
    if (!origins.ok) return errorAnswer(request, 'FORBIDDEN', origins.why);
    return originOfChange(request, origins) ?? foreign(request);
  }

  #addressOf(request: HttpRequest): string {
    return networkOf(this.#clientAddress(request.remoteAddress, () => request.headers.get('x-forwarded-for')));
  }

  async #limit(request: HttpRequest, key: string, quota: Quota): Promise<HttpAnswer | null> {
    const decision = await this.#limiter.take(key, quota, 1);
    if (decision.admitted) return null;
    const seconds = retryAfterSeconds(decision);
    const message = `Too many requests. The next one is accepted in ${seconds} s.`;
    return refusalAnswer(request, { error: 'RATE_LIMIT', message, details: { retryAfterSeconds: seconds }, retryAfterSeconds: seconds });
  }
}

const anotherLink =
  'On the machine of the server, `sluice accounts link` prints another one (in a clone of the project: `npx -y pnpm@12 sluice accounts link`).';
const linkFaults: Readonly<Partial<Record<SignInFault, string>>> = {
  link_used: `This sign-in link was used already. Each link works once. ${anotherLink}`,
  link: `This sign-in link has expired, or belongs to another server. ${anotherLink}`,
};

const notSignedIn: Refusal = { error: 'UNAUTHENTICATED', message: 'Sign in first.' };

function foreign(request: HttpRequest): HttpAnswer {
  return errorAnswer(request, 'FORBIDDEN', 'Only the page of the dashboard may send this request. PUBLIC_URL sets its address.');
}
