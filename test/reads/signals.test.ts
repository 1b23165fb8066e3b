import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Blockhashes } from '../../trading/src/state/chain/blockhashes.ts';
import { ChainView } from '../../trading/src/state/chain/chain-view.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { startDeadline } from '@sluice/shared/runtime/abort/deadline.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { whenAborted, type Abortable } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { quietChain } from '../simnet/support/test-chain.ts';
import { collectGarbage } from '../support/garbage.ts';
import { until } from '../support/gateway.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { BookHarness } from './harness.ts';

const log = createLog({ level: 'silent', name: 'test' });

/** The last calls may still be in registers. */
const stillInHand = 6;

/** A node that listens to its signal, as a connection does, until it has answered; and how many of its signals still exist. */
function listeningNode(answer: (method: string) => unknown): { rpc: Rpc; signals: WeakRef<Abortable>[]; left: () => number } {
  const signals: WeakRef<Abortable>[] = [];
  const rpc: Rpc = {
    call: async (method, _params, signal, accept) => {
      const forget = whenAborted(signal!, () => undefined);
      signals.push(new WeakRef(signal!));
      await new Promise((resolve) => setImmediate(resolve));
      forget();
      const result = answer(method);
      await accept?.(result);
      return result;
    },
  };
  const left = (): number => {
    collectGarbage();
    return signals.filter((signal) => signal.deref() !== undefined).length;
  };
  return { rpc, signals, left };
}

describe('an answered call', () => {
  it('frees its signal after reading a wallet', async () => {
    const { rpc, signals, left } = listeningNode((method) => ({ context: { slot: 1 }, value: method === 'getBalance' ? 5 : [] }));
    const portfolioOf = new BookHarness(quietChain()).portfolio(rpc);
    for (let n = 0; n < 50; n++) expect(await portfolioOf(addressOf(n))).toHaveProperty('holdings');
    expect(signals).toHaveLength(150);
    await until('the signals to be gone', () => left() <= stillInHand);
  });

  it('frees its signal after reading a blockhash', async () => {
    const value = { blockhash: addressOf(7), lastValidBlockHeight: 1_000 };
    const { rpc, signals, left } = listeningNode(() => ({ context: { slot: 900 }, value }));
    for (let n = 0; n < 20; n++) {
      const life = new AbortController();
      const blockhashes = new Blockhashes([rpc, rpc], new ChainView(2), log, life.signal);
      blockhashes.start();
      await until('the blockhash', () => blockhashes.current !== null);
      life.abort();
    }
    expect(signals).toHaveLength(40);
    await until('the signals to be gone', () => left() <= stillInHand);
  });
});

it('a deadline fires even if garbage is collected before', async () => {
  let fired = 0;
  for (let n = 0; n < 20; n++) whenAborted(startDeadline(20), () => fired++);
  await pause(0);
  collectGarbage();
  await until('all to have passed', () => fired === 20);
});
