import { startIngest } from '@sluice/ingest/ingest.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import type { StreamEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { tokenAmount } from '../simnet/layout/token-state.ts';
import { deriveTokenAccount } from '../simnet/layout/derive.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { freezeChain } from './events/frozen-chain.ts';
import { startTestGateway, until, type TestGateway, type TestGatewayOptions } from './gateway.ts';
import { testConfig } from './test-config.ts';

/** A gateway with a simulated market that has traded and is now frozen. */
export interface MarketGateway {
  readonly server: TestGateway;
  /** Tokens that were traded on venues with quotes; those that ended on a curve come first. */
  readonly mints: readonly string[];
  /** Wallets that traded. */
  readonly wallets: readonly string[];
  /** A wallet that still holds the first of these tokens that any wallet holds, and at least one SOL. */
  holder(): { readonly publicKey: string; readonly mint: string };
  /**
   * Ends ingest, and repeats its last status: the chain is visible, and nothing happens on it. Otherwise a frozen chain would count as
   * unreachable after some seconds.
   */
  freeze(): Promise<void>;
  /** Ends everything in reverse order of the start. */
  close(): Promise<void>;
}

export interface MarketGatewayOptions extends Omit<TestGatewayOptions, 'bus' | 'market'> {
  readonly seed: number;
  /** How long the market trades. */
  readonly slots: number;
}

/** Simnet, ingest and a gateway in this process. */
export async function startMarketGateway({ seed, slots, config, ...options }: MarketGatewayOptions): Promise<MarketGateway> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).toReversed()) await end();
  };
  try {
    const log = createLog({ level: 'silent', name: 'test' });
    const simnet = await startSimnet({ seed, autoStart: false, market: { completeEverySeconds: 15, boostedShare: 0 } });
    closers.push(() => simnet.close());
    const bus = await createBus({ redisUrls: null, log });
    closers.push(() => bus.close());
    const market = await createMarket({ redisUrls: null, log });
    closers.push(() => market.close());
    const trades: TradeEvent[] = [];
    let entries = 0;
    const subscriber = await bus.subscriber();
    await subscriber.start({
      onEntry: ({ json }) => {
        entries++;
        const event = JSON.parse(Buffer.from(json).toString()) as StreamEvent;
        if (event.type === 'trade') trades.push(event);
      },
      onLost: () => {
        throw new Error('entries were lost');
      },
    });
    closers.push(() => subscriber.close());
    const used = { ...testConfig, ...config, rpc: { httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] } };
    // Redis of the settings counts requests; the market is in this process.
    const ingest = await startIngest({ config: { ...used, redisUrls: null }, bus, market, log, signal: new AbortController().signal });
    closers.push(() => ingest.close());
    const server = await startTestGateway({ ...options, config: used, bus, market });
    closers.push(() => server.close());
    await until('ingest to see the chain', () => ingest.stats().endpointsUp === 1 && ingest.stats().leads);
    for (let slot = 0; slot < slots; slot++) {
      simnet.chain.advance();
      let advancedMs = performance.now();
      await until('ingest to follow', () => {
        // After a pause of the machine, ingest may count the node as unreachable. It fills the gap at the next slot.
        if (performance.now() - advancedMs > 1_000) {
          simnet.chain.advance();
          advancedMs = performance.now();
        }
        return simnet.chain.slot - ingest.stats().slot < 8;
      });
    }
    await until(
      'the record of the market to have all',
      async () => trades.length > 0 && ((await market.checkpoint())?.offset ?? 0) >= entries,
    );
    const onCurve = trades.filter(({ pool }) => pool === 'pump');
    const all = [...onCurve, ...trades.filter(({ pool }) => pool === 'pump-amm')];
    const { chain } = simnet;
    const mints = [...new Set(all.map(({ mint }) => mint))].filter((mint) => chain.account(mint) !== null);
    const wallets = [...new Set(all.map(({ trader }) => trader))];
    const holds = (publicKey: string, mint: string): boolean => {
      const accounts = [tokenProgram, token2022Program].map((program) =>
        chain.account(deriveTokenAccount(publicKey, mint, program).address),
      );
      return (chain.account(publicKey)?.lamports ?? 0n) >= 10n ** 9n && accounts.some((account) => tokenAmount(account) > 10n ** 6n);
    };
    return {
      server,
      mints,
      wallets,
      holder: () => {
        for (const mint of mints) {
          const publicKey = wallets.find((one) => holds(one, mint));
          if (publicKey !== undefined) return { publicKey, mint };
        }
        throw new Error('no wallet holds anything');
      },
      freeze: async () => {
        const stop = await freezeChain(bus, ingest);
        closers.push(async () => stop());
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
