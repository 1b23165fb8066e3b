import { curvePrice } from '../../support/chain/curve-price.ts';
import { tokensOf, tradeOnChain, trader, type QuotedCoin } from '../../support/chain/quoted-trades.ts';
import { withChildren, type TriggerBody, type TriggerClient, type TriggerView } from '../../support/clients/trigger-client.ts';
import type { CrashWorld } from '../crash-world.ts';

/** How a trigger must have ended when its scene is over. */
export type Ending = 'fired' | 'cancelled' | 'expired';

/** A trigger that was armed, or one of its children. */
export interface Armed {
  readonly what: string;
  readonly wallet: string;
  readonly body: TriggerBody;
  readonly ending: Ending;
  /** How many orders it places. */
  readonly orders: number;
  /** Set when it was armed. */
  triggerId: string | null;
}

/** One coin, and triggers of every kind that its two rises fire or do not fire. */
export interface Scene {
  readonly coin: QuotedCoin;
  readonly armed: readonly Armed[];
  /** Wallets whose triggers fire at the first rise. */
  readonly firing: readonly string[];
  /** What each wallet had before. */
  readonly before: ReadonlyMap<string, { readonly lamports: bigint; readonly tokens: bigint }>;
  /** Arms what is not armed yet. */
  arm(): Promise<void>;
  /** By a fifth; the second time by two thirds of the first price. Does nothing the third time. */
  rise(): void;
  readonly rises: number;
  /** All triggers of this coin, as their owner reads them. */
  views(): Promise<readonly TriggerView[]>;
}

const [firstLamports, secondLamports] = [3_000_000_000n, 6_500_000_000n];
const thresholds = { first: 1.1, second: 1.45, fall: 0.3, never: 1_000 } as const;
const buySol = 0.05;
const followedSol = 1;
/** The pool of a new coin is that deep in every sense. */
const minDepthSol = 0.1;
/** Long enough for every crash of a run. */
const patience = { retries: 20, retryForMs: 900_000 } as const;
const timerMs = 1_200;
const expiryMs = 4_000;
const every = { every: '2s', times: 2 } as const;
export const ladder = ['40%', '60%'] as const;

const priceIs = (op: '>=' | '<=', value: number): TriggerBody => ({ metric: 'priceSol', op, value });

/** A new coin, wallets for it, and triggers that are not armed yet. `nowMs` is wall time. */
export async function openScene(world: CrashWorld, client: TriggerClient, nowMs: () => number): Promise<Scene> {
  const coin = world.newCoin();
  const { mint } = coin;
  const [exit, entry, follower, timer, saver, idle] = (await Promise.all([
    world.newWallet(coin),
    ...Array.from({ length: 5 }, () => world.newWallet()),
  ])) as { readonly publicKey: string }[];
  const price = curvePrice(world.chain, mint);
  const common = { mint, slippage: 45, minDepthSol, ...patience };
  const armed: Armed[] = [];
  const add = (what: string, wallet: string, fields: TriggerBody, parts: Partial<Armed> = {}): void => {
    const body = { publicKey: wallet, ...common, ...fields };
    armed.push({ what, wallet, body, ending: 'fired', orders: 1, triggerId: null, ...parts });
  };
  const rung = (amount: string): TriggerBody => ({
    side: 'sell',
    amount,
    slippage: 45,
    minDepthSol,
    ...patience,
    when: priceIs('>=', price * thresholds.second),
  });
  const sell = { side: 'sell', ocoGroup: `exit of ${mint}` } as const;
  add('take profit', exit!.publicKey, { ...sell, amount: '50%', when: priceIs('>=', price * thresholds.first) });
  add(
    'stop loss',
    exit!.publicKey,
    { ...sell, amount: '100%', when: priceIs('<=', price * thresholds.fall) },
    { ending: 'cancelled', orders: 0 },
  );
  add('entry with a ladder', entry!.publicKey, {
    side: 'buy',
    amount: buySol,
    confirm: 'confirmed',
    when: priceIs('>=', price * thresholds.first),
    ...withChildren(ladder.map(rung)),
  });
  add('follower', follower!.publicKey, {
    side: 'buy',
    amount: '1% of trade',
    maxAmount: buySol,
    when: { account: trader.publicKey, side: 'buy', minSol: followedSol },
  });
  const soon = { side: 'buy', amount: buySol } as const;
  add('timer', timer!.publicKey, { ...soon, when: { at: nowMs() + timerMs } });
  add('saver', saver!.publicKey, { ...soon, when: every }, { orders: every.times });
  const never = { ...soon, when: priceIs('>=', price * thresholds.never) };
  add('never', idle!.publicKey, never, { ending: 'cancelled', orders: 0 });
  add('expiring', idle!.publicKey, { ...never, expiresAt: nowMs() + expiryMs }, { ending: 'expired', orders: 0 });
  let rises = 0;
  const { chain } = world;
  const holdings = (wallet: string) => ({ lamports: chain.account(wallet)?.lamports ?? 0n, tokens: tokensOf(chain, coin, wallet) });
  return {
    coin,
    armed,
    before: new Map(armed.map(({ wallet }) => [wallet, holdings(wallet)])),
    firing: [exit!.publicKey, entry!.publicKey, follower!.publicKey],
    get rises() {
      return rises;
    },
    arm: async () => {
      await Promise.all(
        armed.map(async (one) => {
          one.triggerId ??= (await client.arm(one.body, `${one.what}:${mint}`.replaceAll(' ', '-'))).triggerId;
        }),
      );
    },
    rise: () => {
      const amount = [firstLamports, secondLamports][rises++];
      if (amount === undefined) return;
      const { err, logs } = tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount }, 1n);
      if (err !== null) throw new Error(logs.join('\n'));
    },
    views: () => client.list({ mint }),
  };
}
