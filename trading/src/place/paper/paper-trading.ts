import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { paperBalanceEndpoint, paperSol, paperWalletEndpoint, type PaperWallet } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { paperKeystore } from '../../signer/custody/passphrase.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '@sluice/gateway/http/endpoint.ts';
import { rawAmount } from '../../quote/amounts.ts';
import { wrongFields } from '../../quote/best-quote.ts';
import { shownStart, type PaperBalanceOf } from '@sluice/gateway/reads/wallets/paper-balance.ts';
import type { PaperBalance } from '@sluice/gateway/store/sql/tables/orders/paper.ts';
import { limitsOf, type StoredWallet } from '@sluice/gateway/store/sql/tables/wallets.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { chainForOrder, type ChainIdentity } from '../../nodes/chain-identity.ts';
import { orRefusal } from '../admission/admission.ts';
import type { Refusal } from '../outcome.ts';
import { mayUseWallet, type WalletAccess } from '@sluice/gateway/accounts/wallet-access.ts';
import { randomBytes } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isOnCurve } from '@sluice/shared/solana/addresses/curve.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';

/** Maximum number of paper wallets of one account. */
const maxPaperWallets = 100;
const tooMany = {
  error: 'FORBIDDEN',
  message: `An account has at most ${maxPaperWallets} paper wallets. Reset the balance of one.`,
  details: { limit: maxPaperWallets },
} as const;
const full = { error: 'UPSTREAM_UNAVAILABLE', message: 'The store has no space for another paper wallet.' } as const;
const nothing = new Uint8Array(0);

/** Makes a paper wallet: an address off the curve, for which no secret key exists. */
export async function createPaperWallet(
  { wallets, time }: Pick<Store, 'wallets' | 'time'>,
  { accountId, label }: { readonly accountId: string | null; readonly label: string | null },
): Promise<StoredWallet | (Refusal & { readonly message: string })> {
  const of = accountId === operatorAccountId ? null : accountId;
  const createdAtMs = time.nowMs();
  await wallets.insertKeystore(paperKeystore, { salt: nothing, proof: nothing }, createdAtMs);
  const wallet = { publicKey: addressWithoutKey(), accountId: of, label, imported: false, sealedSeed: nothing, createdAtMs };
  const inserted = await wallets.insert(paperKeystore, wallet, limitsOf(of, maxPaperWallets));
  if (inserted === 'stored') return wallet;
  return inserted === 'account_full' ? tooMany : full;
}

function addressWithoutKey(): string {
  for (;;) {
    const bytes = randomBytes(32);
    if (!isOnCurve(bytes)) return encodeBase58(bytes);
  }
}

export interface PaperTrading {
  /** Null: the server does not trade on paper. */
  readonly balanceOf: PaperBalanceOf | null;
  readonly endpoints: readonly BoundEndpoint[];
}

const notOnPaper: Refusal = { error: 'FORBIDDEN', message: 'This server does not trade on paper. Its operator sets TRADING=paper.' };
const specs: readonly EndpointSpec[] = [paperWalletEndpoint, paperBalanceEndpoint];
/** For a server that does not trade on paper. */
export const noPaper: PaperTrading = { balanceOf: null, endpoints: specs.map((spec) => bindEndpoint(spec, () => notOnPaper)) };

export interface PaperTradingParts {
  readonly store: Pick<Store, 'paper' | 'wallets' | 'time'>;
  readonly chain: Pick<ChainIdentity, 'status'>;
  readonly wallets: Pick<WalletAccess, 'mayUse'>;
}

type Answer = EndpointAnswer<typeof paperWalletEndpoint>;

/** Reads and sets paper balances, on every gateway. */
export function openPaperTrading({ store, chain, wallets }: PaperTradingParts): PaperTrading {
  const set = async (wallet: StoredWallet, amount: number, reset: boolean): Promise<Answer> => {
    const known = chainForOrder(chain);
    if ('error' in known) return known;
    const lamports = lamportsOf(amount);
    if (typeof lamports !== 'bigint') return lamports;
    const place = { wallet: wallet.publicKey, genesisHash: known.genesisHash };
    return { json: shown(wallet, await store.paper.set(place, { lamports, reset, atMs: store.time.nowMs() })) };
  };
  const create = async (accountId: string | null, text: string, amount: number): Promise<Answer> => {
    if (/\p{C}/u.test(text)) return wrongFields({ label: 'must have printable characters only' });
    const known = chainForOrder(chain);
    if ('error' in known) return known;
    const lamports = lamportsOf(amount);
    if (typeof lamports !== 'bigint') return lamports;
    const wallet = await createPaperWallet(store, { accountId, label: text === '' ? null : text });
    return 'error' in wallet ? wallet : set(wallet, amount, true);
  };
  return {
    balanceOf: (owner, publicKey) =>
      orRefusal(async () => {
        if (!(await wallets.mayUse(owner, publicKey))) return null;
        const known = chainForOrder(chain);
        return 'error' in known ? known : store.paper.balance({ wallet: publicKey, genesisHash: known.genesisHash });
      }),
    endpoints: [
      bindEndpoint(paperWalletEndpoint, ({ principal, body: { label = '', amount = paperSol.start } }) =>
        principal === null ? { error: 'UNAUTHENTICATED' } : orRefusal(() => create(principal.accountId, label.trim(), amount)),
      ),
      bindEndpoint(paperBalanceEndpoint, ({ principal, body: { publicKey, amount, reset = false } }) => {
        if (principal === null) return { error: 'UNAUTHENTICATED' };
        return orRefusal(async () => {
          const wallet = await store.wallets.byPublicKey(paperKeystore, publicKey);
          return wallet === null || !mayUseWallet(principal, wallet) ? noSuchWallet(publicKey) : set(wallet, amount, reset);
        });
      }),
    ],
  };
}

function noSuchWallet(publicKey: string): Refusal {
  return { error: 'FORBIDDEN', message: 'There is no such paper wallet that this key may use.', details: { publicKey } };
}

function lamportsOf(amount: number): bigint | Refusal {
  if (amount === 0) return 0n;
  const raw = rawAmount(amount, solDecimals, 'SOL');
  return raw.ok ? raw.raw : wrongFields({ amount: raw.fault });
}

function shown({ publicKey, label }: StoredWallet, { lamports, startLamports, startedAtMs }: PaperBalance): PaperWallet {
  return {
    publicKey,
    label,
    amount: String(lamports),
    decimals: solDecimals,
    uiAmount: toUi(lamports, solDecimals),
    ...shownStart({ startLamports, startedAtMs }),
  };
}
