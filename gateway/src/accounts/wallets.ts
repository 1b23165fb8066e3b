import type { Faucet } from '../reads/chain/faucet.ts';
import { mayUseWallet } from './wallet-access.ts';
import { operatorAccountId, type StoredAccount } from '../store/sql/tables/accounts.ts';
import { limitsOf, type StoredWallet, type WalletInsertion } from '../store/sql/tables/wallets.ts';
import type { Store } from '../store/store.ts';
import { labelOf, wrongLabel, type Outcome } from './keys.ts';
import type { DefaultWalletBody, ImportBody, NewWalletBody } from './schemas.ts';

/** Maximum number of wallets in one list, the newest ones. The list also has the number of the others. */
const maxListed = 200;
/** Keys of the account whose default wallets are listed, the newest ones. */
const maxListedKeys = 50;
/** Wallets that an account can make or import in the page. The operator can make more by commands. */
const maxPerAccount = 100;

/** `secret_key`: the text is not a secret key; `what` says why, without any part of it. `paper`: wallets on paper have no secret keys. */
export type SealOutcome =
  | { readonly ok: true; readonly wallet: Pick<StoredWallet, 'publicKey' | 'sealedSeed'> }
  | { readonly ok: false; readonly reason: 'paper' | 'unavailable' }
  | { readonly ok: false; readonly reason: 'secret_key'; readonly what: string };

/** Seals the wallet of this secret key; null: a new wallet. Never rejects. */
export type SealWallet = (secretKey: string | null) => Promise<SealOutcome>;

export interface WalletParts {
  readonly store: Store;
  readonly keystore: string;
  readonly seal: SealWallet;
  readonly faucet: Faucet;
}

const isOf = (account: StoredAccount, wallet: Pick<StoredWallet, 'accountId'>): boolean => mayUseWallet({ accountId: account.id }, wallet);
const noSuchWallet: Outcome = { error: 'NOT_FOUND', message: 'Your account has no such wallet on this server.' };
const noSigner: Outcome = {
  error: 'UPSTREAM_UNAVAILABLE',
  message:
    'No signing process is ready to seal the wallet. On the machine of the server, `sluice wallets create` makes one, and says what is missing.',
};
const onPaper: Outcome = { error: 'FORBIDDEN', message: 'On paper, `POST /paper/wallets` makes wallets. They have no secret keys.' };
const notInserted: Readonly<Record<Exclude<WalletInsertion, 'stored'>, Outcome>> = {
  exists: { error: 'FORBIDDEN', message: 'This wallet is on the server already.' },
  account_full: { error: 'FORBIDDEN', message: `An account has at most ${maxPerAccount} wallets.`, details: { limit: maxPerAccount } },
  full: { error: 'UPSTREAM_UNAVAILABLE', message: 'The keystore has no space for another wallet.' },
};
const badLabel: Outcome = { error: 'INVALID_REQUEST', details: { fields: { label: wrongLabel } } };

/** The custodial wallets of an account, newest first, without their sealed seeds, and the keys that trade with them by default. */
export async function listOwnWallets({ store, keystore, faucet }: WalletParts, account: StoredAccount): Promise<unknown> {
  const own = (await store.wallets.list(keystore)).filter((wallet) => isOf(account, wallet));
  const listed = own.slice(-maxListed).toReversed();
  const all = await (account.id === operatorAccountId ? store.keys.all() : store.keys.ofAccount(account.id));
  const live = all.filter((key) => key.revokedAtMs === null && mayUseWallet(key, { accountId: account.id }));
  const keys = live.slice(-maxListedKeys).toReversed();
  const defaults = await Promise.all(keys.map(({ id }) => store.wallets.defaultOf(keystore, { keyId: id, accountId: account.id })));
  return {
    wallets: listed.map(({ publicKey, label, imported, createdAtMs }) => ({ publicKey, label, imported, createdAtMs })),
    unlisted: own.length - listed.length,
    keys: keys.map(({ id, label }, at) => ({ id, prefix: `sluice_${id}`, label, defaultWallet: defaults[at] })),
    hasFaucet: faucet.isOpen(),
  };
}

/** Makes a wallet, or imports that of a secret key, which is in no answer. */
export async function addWallet(
  { store, keystore, seal }: WalletParts,
  account: StoredAccount,
  body: NewWalletBody | ImportBody,
): Promise<Outcome> {
  const secretKey = 'secretKey' in body ? body.secretKey : null;
  const label = labelOf(body);
  if (label === undefined) return badLabel;
  const sealed = await seal(secretKey);
  if (!sealed.ok) {
    if (sealed.reason === 'secret_key')
      return { error: 'INVALID_REQUEST', details: { fields: { secretKey: `is not a secret key: ${sealed.what}` } } };
    return sealed.reason === 'paper' ? onPaper : noSigner;
  }
  const accountId = account.id === operatorAccountId ? null : account.id;
  const wallet = { ...sealed.wallet, accountId, label, imported: secretKey !== null, createdAtMs: store.time.nowMs() };
  const inserted = await store.wallets.insert(keystore, wallet, limitsOf(accountId, maxPerAccount));
  return inserted === 'stored' ? { value: { publicKey: wallet.publicKey } } : notInserted[inserted];
}

export async function nameWallet(parts: WalletParts, account: StoredAccount, publicKey: string, body: NewWalletBody): Promise<Outcome> {
  const label = labelOf(body);
  if (label === undefined) return badLabel;
  if ((await ownWallet(parts, account, publicKey)) === null) return noSuchWallet;
  await parts.store.wallets.setLabel(parts.keystore, publicKey, label);
  return { value: { publicKey, label } };
}

/** Sets the default wallet of a key. */
export async function chooseDefault(
  parts: WalletParts,
  account: StoredAccount,
  publicKey: string,
  { keyId }: DefaultWalletBody,
): Promise<Outcome> {
  if ((await ownWallet(parts, account, publicKey)) === null) return noSuchWallet;
  const key = await parts.store.keys.byId(keyId);
  if (key === null || key.revokedAtMs !== null || !mayUseWallet(key, { accountId: account.id })) {
    return { error: 'NOT_FOUND', message: 'Your account has no such key.' };
  }
  await parts.store.wallets.setDefault(parts.keystore, keyId, publicKey);
  return { value: { publicKey, keyId } };
}

/** Gives simulated coins to a wallet of the account. */
export async function useFaucet(parts: WalletParts, account: StoredAccount, publicKey: string): Promise<Outcome> {
  if (!parts.faucet.isOpen()) return { error: 'FORBIDDEN', message: 'Only live trading on a simulated chain has a faucet.' };
  if ((await ownWallet(parts, account, publicKey)) === null) return noSuchWallet;
  return (await parts.faucet.give(publicKey))
    ? { value: { publicKey } }
    : { error: 'UPSTREAM_UNAVAILABLE', message: 'The simulated chain does not answer.' };
}

async function ownWallet({ store, keystore }: WalletParts, account: StoredAccount, publicKey: string): Promise<StoredWallet | null> {
  const wallet = await store.wallets.byPublicKey(keystore, publicKey);
  return wallet !== null && isOf(account, wallet) ? wallet : null;
}
