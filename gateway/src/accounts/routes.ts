import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { errorAnswer, jsonAnswer } from '../http/answers.ts';
import type { Route, RouteHandler } from '../http/router.ts';
import { StoreUnavailableError } from '../store/store-unavailable.ts';
import type { HttpAnswer, HttpRequest } from '../transport/transport.ts';
import { Gate, notSignedIn, type DashboardOptions } from './gate.ts';
import { choosePageKey } from './sessions/page-key.ts';
import { deleteKey, listKeys, makeKey, rotateKey, type KeysOutcome } from './keys.ts';
import type { PublicOrigins } from './sign-in/public-origins.ts';
import { DefaultWalletBody, ImportBody, LinkBody, NewKeyBody, NewWalletBody, RotateBody, SignInBody } from './schemas.ts';
import type { StoredAccount } from '../store/sql/tables/accounts.ts';
import { endedSessionCookie } from './sessions/session-cookie.ts';
import type { SignedIn } from './sessions/sessions.ts';
import { chooseDefault, createWallet, importWallet, listOwnWallets, nameWallet, useFaucet, type WalletParts } from './wallets.ts';
import { offerSignIn, signInByLink, signInByWallet } from './sign-in/sign-in.ts';

/**
 * The routes under `/dashboard/` that the page of the dashboard calls: signing in, and keys. They require the cookie of a session; API keys
 * are not accepted. No other origin may call them, not even one in CORS_ORIGINS. They are not part of the public API.
 */
export function dashboardRoutes(options: DashboardOptions): Route[] {
  const gate = new Gate(options);
  const { store, nonces, config, log, authenticator } = options;
  const answerChange = async (request: HttpRequest, { account }: SignedIn, what: string, outcome: KeysOutcome): Promise<HttpAnswer> => {
    if (!('value' in outcome)) return keysAnswer(request, outcome);
    await authenticator.refresh();
    log.info({ accountId: account.id, keyId: (outcome.value as { id: string }).id }, what);
    return keysAnswer(request, outcome);
  };
  const wallets: WalletParts = { store, ...options.wallets };
  const routes: Route[] = [
    {
      method: 'GET',
      path: '/dashboard/me',
      handler: (request) => gate.read(request, (signedIn) => me(gate.origins(), config, signedIn)),
    },
    gate.visitor('/dashboard/sign-in/nonce', undefined, async (_request, _body, origin) =>
      jsonAnswer(offerSignIn(nonces, origin, store.time.nowMs())),
    ),
    gate.visitor('/dashboard/sign-in', SignInBody, async (request, body: SignInBody, origin) =>
      gate.signIn(request, origin, await signInByWallet({ store, nonces, signUp: config.signUp }, body, origin, store.time.nowMs())),
    ),
    gate.visitor('/dashboard/sign-in/link', LinkBody, async (request, body: { token: string }, origin) =>
      gate.signIn(request, origin, await signInByLink(store, body.token, store.time.nowMs())),
    ),
    gate.change('/dashboard/sign-out', undefined, async (_request, signedIn, _body, origin) => {
      await store.sessions.remove(signedIn.session.tokenHash);
      log.info({ accountId: signedIn.account.id }, 'signed_out');
      return jsonAnswer({ signedOut: true }, { headers: { 'Set-Cookie': endedSessionCookie(origin.secure) } });
    }),
    {
      method: 'GET',
      path: '/dashboard/keys',
      handler: (request) =>
        gate.read(request, async (signedIn) => {
          if (signedIn === null) return notSignedIn(request);
          await authenticator.writeUses();
          return keysAnswer(request, await listKeys(options, signedIn.account, store.time.nowMs()));
        }),
    },
    {
      method: 'GET',
      path: '/dashboard/wallets',
      handler: (request) =>
        gate.read(request, async (signedIn) =>
          signedIn === null ? notSignedIn(request) : jsonAnswer(await listOwnWallets(wallets, signedIn.account)),
        ),
    },
    ...walletRoutes(gate, wallets, log),
    gate.change('/dashboard/page-key', undefined, async (request, { account }) => {
      const outcome = await choosePageKey(store, account, store.time.nowMs());
      if ('value' in outcome) await authenticator.refresh();
      return keysAnswer(request, outcome);
    }),
    gate.change('/dashboard/keys', NewKeyBody, async (request, signedIn, body: NewKeyBody) =>
      answerChange(request, signedIn, 'key_created', await makeKey(store, signedIn.account, body, store.time.nowMs())),
    ),
    gate.change(
      '/dashboard/keys/{id}/rotate',
      RotateBody,
      async (request, signedIn, body: { overlapSeconds: number }, _origin, [id = '']) =>
        answerChange(request, signedIn, 'key_rotated', await rotateKey(store, signedIn.account, id, body.overlapSeconds)),
    ),
    gate.change('/dashboard/keys/{id}/delete', undefined, async (request, signedIn, _body, _origin, [id = '']) =>
      answerChange(request, signedIn, 'key_deleted', await deleteKey(store, signedIn.account, id)),
    ),
  ];
  return routes.map((route) => ({ ...route, handler: whileStoreAnswers(route.handler, log) }));
}

/** Changes of the account's wallets. */
function walletRoutes(gate: Gate, wallets: WalletParts, log: Logger): Route[] {
  const walletAnswer = (request: HttpRequest, account: StoredAccount, what: string, outcome: KeysOutcome): HttpAnswer => {
    // An error may repeat what was sent, which may be a secret key.
    if ('value' in outcome) log.info({ accountId: account.id, wallet: (outcome.value as { publicKey: string }).publicKey }, what);
    return keysAnswer(request, outcome);
  };
  return [
    gate.change('/dashboard/wallets', NewWalletBody, async (request, { account }, body: NewWalletBody) =>
      walletAnswer(request, account, 'wallet_created', await createWallet(wallets, account, body)),
    ),
    gate.change('/dashboard/wallets/import', ImportBody, async (request, { account }, body: ImportBody) =>
      walletAnswer(request, account, 'wallet_imported', await importWallet(wallets, account, body)),
    ),
    gate.change(
      '/dashboard/wallets/{publicKey}/label',
      NewWalletBody,
      async (request, { account }, body: NewWalletBody, _origin, [id = '']) =>
        walletAnswer(request, account, 'wallet_named', await nameWallet(wallets, account, id, body)),
    ),
    gate.change(
      '/dashboard/wallets/{publicKey}/default',
      DefaultWalletBody,
      async (request, { account }, body: DefaultWalletBody, _origin, [id = '']) =>
        walletAnswer(request, account, 'default_wallet_set', await chooseDefault(wallets, account, id, body)),
    ),
    gate.change('/dashboard/wallets/{publicKey}/faucet', undefined, async (request, { account }, _body, _origin, [id = '']) =>
      walletAnswer(request, account, 'faucet_used', await useFaucet(wallets, account, id)),
    ),
  ];
}

/** While the store does not answer, no session can be checked, and the caller must try again. */
function whileStoreAnswers(handler: RouteHandler, log: Logger): RouteHandler {
  return async (request, body, segments) => {
    try {
      return await handler(request, body, segments);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      log.warn({ reason: error.message, requestId: request.requestId }, 'dashboard_store_unavailable');
      return errorAnswer(request, 'UPSTREAM_UNAVAILABLE', 'Accounts cannot be looked up at present. Try again in a moment.');
    }
  };
}

/** Who is signed in, or how to sign in. */
function me(origins: PublicOrigins, { signUp, trading }: Pick<Config, 'signUp' | 'trading'>, signedIn: SignedIn | null): HttpAnswer {
  const signIn = origins.ok ? { open: true, signUp } : { open: false, why: origins.why };
  if (signedIn === null) return jsonAnswer({ account: null, csrfToken: null, signIn, trading });
  const { account, csrfToken, session } = signedIn;
  const { id, kind, wallet, plan } = account;
  return jsonAnswer({ account: { id, kind, wallet, plan }, csrfToken, signIn, trading, signedInAtMs: session.createdAtMs });
}

function keysAnswer(request: HttpRequest, outcome: KeysOutcome): HttpAnswer {
  return 'value' in outcome ? jsonAnswer(outcome.value) : errorAnswer(request, outcome.error, outcome.message, outcome.details);
}
