import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Static, TObject } from 'typebox';
import { errorAnswer, jsonAnswer, refusalAnswer } from '../http/answers.ts';
import type { Route, RouteHandler } from '../http/router.ts';
import type { StoredAccount } from '../store/sql/tables/accounts.ts';
import { StoreUnavailableError } from '../store/store-unavailable.ts';
import type { HttpAnswer } from '../transport/transport.ts';
import { Gate, type DashboardOptions } from './gate.ts';
import { deleteKey, listKeys, makeKey, rotateKey, type Outcome } from './keys.ts';
import { DefaultWalletBody, ImportBody, LinkBody, NewKeyBody, NewWalletBody, RotateBody, SignInBody } from './schemas.ts';
import { choosePageKey } from './sessions/page-key.ts';
import { endedSessionCookie, type SignedIn } from './sessions/sessions.ts';
import type { PublicOrigins } from './public-origins.ts';
import { offerSignIn, signInByLink, signInByWallet } from './sign-in/sign-in.ts';
import { addWallet, chooseDefault, listOwnWallets, nameWallet, useFaucet, type WalletParts } from './wallets.ts';

/**
 * The routes under `/dashboard/` that the page of the dashboard calls: signing in, and keys. They require the cookie of a session; API keys
 * are not accepted. No other origin may call them, not even one in CORS_ORIGINS. They are not part of the public API.
 */
export function dashboardRoutes(options: DashboardOptions): Route[] {
  const gate = new Gate(options);
  const { store, nonces, config, log, authenticator } = options;
  const wallets: WalletParts = { store, ...options.wallets };
  const nowMs = (): number => store.time.nowMs();
  /** A change of a key or a wallet. `name`: in the log; null: not logged. `id`: the parameter in the path. */
  const change = <Body extends TObject>(
    name: string | null,
    path: string,
    schema: Body | undefined,
    work: (account: StoredAccount, body: Static<Body>, id: string) => Promise<Outcome>,
  ): Route =>
    gate.change(path, schema, async (request, { account }, body, _origin, [id = '']) => {
      const outcome = await work(account, body, id);
      // An error may repeat what was sent, which may be a secret key.
      if (!('value' in outcome)) return refusalAnswer(request, outcome);
      const { id: keyId, publicKey: wallet } = outcome.value as { readonly id?: string; readonly publicKey?: string };
      if (keyId !== undefined) await authenticator.refresh();
      if (name !== null) log.info({ accountId: account.id, ...(keyId === undefined ? { wallet } : { keyId }) }, name);
      return jsonAnswer(outcome.value);
    });
  const keyRoutes = [
    gate.list('/dashboard/keys', async (account) => {
      await authenticator.writeUses();
      return listKeys(options, account, nowMs());
    }),
    change(null, '/dashboard/page-key', undefined, (account) => choosePageKey(store, account, nowMs())),
    change('key_created', '/dashboard/keys', NewKeyBody, (account, body) => makeKey(store, account, body, nowMs())),
    change('key_rotated', '/dashboard/keys/{id}/rotate', RotateBody, (account, body, id) =>
      rotateKey(store, account, id, body.overlapSeconds),
    ),
    change('key_deleted', '/dashboard/keys/{id}/delete', undefined, (account, _body, id) => deleteKey(store, account, id)),
  ];
  const ofWallet = '/dashboard/wallets/{publicKey}';
  const walletRoutes = [
    gate.list('/dashboard/wallets', (account) => listOwnWallets(wallets, account)),
    change('wallet_created', '/dashboard/wallets', NewWalletBody, (account, body) => addWallet(wallets, account, body)),
    change('wallet_imported', '/dashboard/wallets/import', ImportBody, (account, body) => addWallet(wallets, account, body)),
    change('wallet_named', `${ofWallet}/label`, NewWalletBody, (account, body, id) => nameWallet(wallets, account, id, body)),
    change('default_wallet_set', `${ofWallet}/default`, DefaultWalletBody, (account, body, id) =>
      chooseDefault(wallets, account, id, body),
    ),
    change('faucet_used', `${ofWallet}/faucet`, undefined, (account, _body, id) => useFaucet(wallets, account, id)),
  ];
  const routes: Route[] = [
    gate.read('/dashboard/me', (_request, signedIn) => me(gate.origins(), config, signedIn)),
    gate.visitor('/dashboard/sign-in/nonce', undefined, async (_request, _body, origin) =>
      jsonAnswer(offerSignIn(nonces, origin, nowMs())),
    ),
    gate.visitor('/dashboard/sign-in', SignInBody, async (request, body, origin) =>
      gate.signIn(request, origin, await signInByWallet({ store, nonces, signUp: config.signUp }, body, origin, nowMs())),
    ),
    gate.visitor('/dashboard/sign-in/link', LinkBody, async (request, body, origin) =>
      gate.signIn(request, origin, await signInByLink(store, body.token, nowMs())),
    ),
    gate.change('/dashboard/sign-out', undefined, async (_request, signedIn, _body, origin) => {
      await store.sessions.remove(signedIn.session.tokenHash);
      log.info({ accountId: signedIn.account.id }, 'signed_out');
      return jsonAnswer({ signedOut: true }, { headers: { 'Set-Cookie': endedSessionCookie(origin.secure) } });
    }),
    ...keyRoutes,
    ...walletRoutes,
  ];
  return routes.map((route) => ({ ...route, handler: whileStoreAnswers(route.handler, log) }));
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

function me(origins: PublicOrigins, { signUp, trading }: Pick<Config, 'signUp' | 'trading'>, signedIn: SignedIn | null): HttpAnswer {
  const signIn = origins.ok ? { open: true, signUp } : { open: false, why: origins.why };
  if (signedIn === null) return jsonAnswer({ account: null, csrfToken: null, signIn, trading });
  const { account, csrfToken, session } = signedIn;
  const { id, kind, wallet, plan } = account;
  return jsonAnswer({ account: { id, kind, wallet, plan }, csrfToken, signIn, trading, signedInAtMs: session.createdAtMs });
}
