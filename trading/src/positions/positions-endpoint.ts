import { amountOf, type Position } from '@sluice/followers/positions/position.ts';
import { decodePosition, decodeWalletState } from '@sluice/followers/positions/stored.ts';
import { WalletState } from '@sluice/followers/positions/wallet-state.ts';
import { mayUseWallet } from '@sluice/gateway/accounts/wallet-access.ts';
import type { Principal } from '@sluice/gateway/auth/principal.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '@sluice/gateway/http/endpoint.ts';
import type { TokenPrices } from '@sluice/gateway/reads/tokens/token-prices.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { followedWallets, maxPositions, positionsEndpoint, type WalletPosition } from '@sluice/shared/wire/rest/wallets/positions.ts';
import { chainForOrder, type ChainIdentity } from '../nodes/chain-identity.ts';
import { orRefusal } from '../place/admission/admission.ts';
import { ownRow, placeOf } from './position-follower.ts';
import { positionObject } from './position-object.ts';

/** How long a request waits for the history of a new wallet, and for a comparison with the chain. */
const historyWithinMs = 4_000;
const checkWithinMs = 1_500;
const lookEveryMs = 40;
/** After a request has waited in vain for a wallet, others do not wait for this long, because nothing can be read while a chain makes no slots. */
const vainForMs = 30_000;
/** A comparison that is not older is not repeated. */
const freshMs = 2_000;
/** Cold tokens whose price is read for one answer. The others have no value in it. */
const maxPriceReads = 90;
/** Questions that are remembered, so that they are not stored again within `freshMs`. */
const maxAsked = 10_000;

export interface PositionsReads {
  readonly store: Store;
  readonly mode: Config['trading'];
  readonly keystore: string;
  readonly chain: Pick<ChainIdentity, 'status'>;
  readonly prices: TokenPrices;
  readonly simulated: () => boolean;
  /** If this process keeps the positions, it looks for the question at once. */
  readonly hurry: () => void;
  readonly signal: AbortSignal;
}

type Answer = EndpointAnswer<typeof positionsEndpoint>;

/** `/positions/{publicKey}`, on every gateway: from the store, where the holder of the trading role keeps the positions. */
export function positionsBinding(parts: PositionsReads): BoundEndpoint {
  const asked = new Recent<number>(maxAsked);
  /** When a request last waited in vain, by wallet. */
  const vain = new Recent<number>(maxAsked);
  return bindEndpoint(positionsEndpoint, ({ principal, params: { publicKey } }): Answer | Promise<Answer> => {
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    if (!isAddress(publicKey)) return { error: 'INVALID_REQUEST', details: { fields: { publicKey: 'is not an address' } } };
    const known = chainForOrder(parts.chain);
    if ('error' in known) return known;
    const place = placeOf(parts.mode, known.genesisHash);
    return orRefusal(async (): Promise<Answer> => {
      const { store, keystore } = parts;
      const custodial = await store.wallets.byPublicKey(keystore, publicKey);
      if (custodial !== null && !mayUseWallet(principal, custodial)) return notYours(publicKey);
      const askedAtMs = await follow(parts, asked, principal, publicKey);
      const wallet = await readState(parts, vain, { place, wallet: publicKey, askedAtMs });
      const isCurrent = wallet?.paperSinceMs == null || (await isOfThisStart(store, wallet, known.genesisHash));
      return { json: await answerOf(parts, publicKey, isCurrent ? wallet : null, wallet !== null) };
    });
  });
}

function notYours(publicKey: string): Answer {
  return { error: 'FORBIDDEN', message: 'The wallet belongs to another account of this server.', details: { publicKey } };
}

/** Notes that the key asks for the wallet. Returns when it did. */
async function follow(parts: PositionsReads, asked: Recent<number>, { keyId, plan }: Principal, wallet: string): Promise<number> {
  const nowMs = parts.store.time.nowMs();
  const name = `${keyId} ${wallet}`;
  const last = asked.get(name);
  if (last !== undefined && nowMs - last < freshMs && nowMs >= last) return last;
  await parts.store.walletStates.follow({ keyId, wallet, askedAtMs: nowMs }, followedWallets[plan.name]);
  asked.set(name, nowMs);
  parts.hurry();
  return nowMs;
}

/** The stored state, once its history is known and its balances were compared, or as it is after a while. Null: nothing is stored yet. */
async function readState(
  { store, signal }: PositionsReads,
  vain: Recent<number>,
  { place, wallet, askedAtMs }: { readonly place: string; readonly wallet: string; readonly askedAtMs: number },
): Promise<WalletState | null> {
  const startMs = performance.now();
  const mayWait = startMs - (vain.get(wallet) ?? Number.NEGATIVE_INFINITY) > vainForMs;
  for (;;) {
    const state = stateOf(wallet, await store.walletStates.rowsOf(place, wallet));
    const waitedMs = performance.now() - startMs;
    const isKnown = state !== null && !state.isBehind;
    const isFresh = isKnown && (state.paperSinceMs !== null || state.checkedAtMs >= askedAtMs - freshMs);
    if (isFresh || signal.aborted || !mayWait) return state;
    if (waitedMs > (isKnown ? checkWithinMs : historyWithinMs)) {
      vain.set(wallet, performance.now());
      return state;
    }
    await pause(lookEveryMs, signal, { ref: false });
  }
}

function stateOf(wallet: string, rows: ReadonlyMap<string, string>): WalletState | null {
  const own = rows.get(ownRow);
  if (own === undefined) return null;
  const positions = [...rows].flatMap(([mint, text]) => (mint === ownRow ? [] : [[mint, decodePosition(text)] as const]));
  return new WalletState(wallet, decodeWalletState(own), new Map(positions));
}

/** Whether the balance of a paper wallet was not reset since these positions were stored. */
async function isOfThisStart({ paper }: Store, { wallet, paperSinceMs }: WalletState, genesisHash: string): Promise<boolean> {
  return (await paper.balance({ wallet, genesisHash })).startedAtMs === paperSinceMs;
}

async function answerOf(parts: PositionsReads, publicKey: string, wallet: WalletState | null, isKnown: boolean) {
  const { prices, simulated, store } = parts;
  const held = [...(wallet?.mints ?? [])].flatMap((mint) => {
    const position = wallet!.current(mint);
    return position === null || isEmpty(position) ? [] : [{ mint, position }];
  });
  const worth = await worthOf(prices, held);
  const all = held.map(({ mint, position }) => positionObject(mint, position, worth.get(mint) ?? null)).toSorted(byValue);
  const isChecked = wallet !== null && wallet.checkedAtMs > 0;
  return {
    publicKey,
    asOfMs: store.time.nowMs(),
    ...(simulated() ? { simulated: true as const } : {}),
    complete: isKnown && wallet?.isBehind !== true,
    cut: wallet?.isCut ?? false,
    checkedAtMs: isChecked ? wallet.checkedAtMs : null,
    checkedSlot: isChecked ? wallet.checkedSlot : null,
    positions: all.slice(0, maxPositions),
    omittedPositions: Math.max(0, all.length - maxPositions),
  };
}

/** Only fees, of an order whose trade is not known yet. */
function isEmpty(position: Position): boolean {
  return amountOf(position) === 0n && position.buys + position.sells === 0;
}

async function worthOf(prices: TokenPrices, held: readonly { readonly mint: string; readonly position: Position }[]) {
  const found = new Map(held.map(({ mint }) => [mint, prices.known(mint)]));
  const cold = held.filter(({ mint, position }) => found.get(mint) === null && amountOf(position) > 0n).slice(0, maxPriceReads);
  await Promise.all(cold.map(async ({ mint }) => found.set(mint, await prices.read(mint))));
  return found;
}

function byValue(a: WalletPosition, b: WalletPosition): number {
  return (b.valueSol ?? -1) - (a.valueSol ?? -1) || (a.mint < b.mint ? -1 : 1);
}
