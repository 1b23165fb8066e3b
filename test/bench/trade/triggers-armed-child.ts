import { createBus } from '@sluice/shared/bus/create.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { TriggerLog } from '../../../followers/src/index.ts';
import type { Watch } from '../../../followers/src/triggers/watch.ts';
import { silentLog } from '../../contract/bus-harness.ts';
import { addressOf } from '../../support/events/stream-events.ts';

/** The measured process. argv: `watch` or `decode`, URL of Redis, triggers, mints. */
const [, , role = '', redisUrl = '', watches = '0', mints = '1'] = process.argv;

/** One in five is a trailing stop, one in five is in USD; the others are limits around a price of 1 SOL. */
function watchAt(index: number): Watch {
  const share = 0.02 + 0.6 * ((index * 0.618_033_988_749) % 1);
  const kind = (index + Math.floor(index / Number(mints))) % 5;
  const isRise = Math.floor(index / 5) % 2 === 0;
  const when: Watch['when'] =
    kind === 0
      ? { kind: 'trailing', metric: 'priceSol', percent: 100 * share }
      : kind === 1
        ? { kind: 'level', metric: 'priceUsd', op: isRise ? '>=' : '<=', value: 150 * (isRise ? 1 + share : 1 - share) }
        : { kind: 'level', metric: 'priceSol', op: isRise ? '>=' : '<=', value: isRise ? 1 + share : 1 - share };
  const terms = { confirm: 'processed', minDepthSol: 1, holdMs: 500, watermark: null, armedAtMs: 0, nextAtMs: null } as const;
  const mint = addressOf(index % Number(mints));
  return {
    id: `trg_${String(index).padStart(26, '0')}`,
    mint,
    side: isRise ? 'buy' : 'sell',
    when,
    publicKey: addressOf(900_000),
    ...terms,
  };
}

const bus = await createBus({ redisUrls: [redisUrl], log: silentLog });
let entries = 0;
let fired = 0;
if (role === 'watch') {
  const log = new TriggerLog({
    bus,
    checkpoint: async () => null,
    save: async () => 'stored',
    readPrices: async () => new Map(),
    onMet: () => void (fired += log.takeMet(1_000).length),
    unixMs: () => systemClock.wallMs(),
    log: silentLog,
  });
  for (let index = 0; index < Number(watches); index++) log.add(watchAt(index));
  setInterval(() => {
    log.tick(systemClock.steadyMs(), systemClock.wallMs(), 150 + Math.sin(systemClock.steadyMs() / 5_000));
    fired += log.takeMet(1_000).length;
    entries = log.stats?.events ?? 0;
  }, 20);
} else {
  const subscriber = await bus.subscriber();
  await subscriber.start({ onEntry: ({ event }) => void (entries += Number(event.type === 'price')), onLost: () => undefined });
}
process.on('message', () => {
  globalThis.gc?.();
  process.send?.({ entries, fired, ...process.memoryUsage() });
});
process.send?.('ready');
