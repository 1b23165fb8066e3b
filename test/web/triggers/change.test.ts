import { describe, expect, it } from 'vitest';
import { makeChange, unfinished, type Change, type Pad, type TriggerServer } from '@sluice/site/web/trading/triggers/change.ts';
import type { Trigger, TriggerBody } from '@sluice/site/web/trading/triggers/trigger.ts';
import { aTrigger } from './a-trigger.ts';

const body: TriggerBody = {
  side: 'sell',
  publicKey: 'Wa11et',
  mint: 'M1nt',
  amount: '100%',
  when: { position: 'profitPct', op: '<=', value: -45 },
};
const change: Change = { cancels: 'trg_old', arms: body, idempotencyKey: 'k1', atMs: 1 };

/** The storage of a browser, which outlives the page. */
function pad(): Pad {
  const texts = new Map<string, string>();
  return {
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => void texts.set(name, text),
    removeItem: (name) => void texts.delete(name),
  };
}

/** Triggers as a server has them. Connections end at the given requests: `before` the server acts, or `after` it, so that the answer is lost. */
class Server implements TriggerServer {
  readonly states = new Map<string, Trigger['status']>([['trg_old', 'armed']]);
  readonly #byKey = new Map<string, string>();
  readonly #losses: ('before' | 'after' | null)[];
  mostArmed = 1;
  readonly mayHaveActed = (error: unknown): boolean => (error as Error).message === 'lost';

  constructor(losses: readonly ('before' | 'after' | null)[]) {
    this.#losses = [...losses];
  }

  async cancel(triggerId: string): Promise<Trigger> {
    return this.#request(() => {
      if (this.states.get(triggerId) === 'armed') this.states.set(triggerId, 'cancelled');
      return triggerId;
    });
  }

  async arm(_body: TriggerBody, idempotencyKey: string): Promise<Trigger> {
    return this.#request(() => {
      const id = this.#byKey.get(idempotencyKey) ?? `trg_new${this.#byKey.size}`;
      if (!this.#byKey.has(idempotencyKey)) this.states.set(id, 'armed');
      this.#byKey.set(idempotencyKey, id);
      return id;
    });
  }

  get armed(): readonly string[] {
    return [...this.states].flatMap(([id, status]) => (status === 'armed' ? [id] : []));
  }

  #request(act: () => string): Trigger {
    const loss = this.#losses.shift() ?? null;
    if (loss === 'before') throw new Error('lost');
    const id = act();
    this.mostArmed = Math.max(this.mostArmed, this.armed.length);
    if (loss === 'after') throw new Error('lost');
    return aTrigger({ triggerId: id, status: this.states.get(id)! });
  }
}

describe('a change of a trigger', () => {
  const losses = [null, 'before', 'after'] as const;
  const histories = losses.flatMap((first) => losses.flatMap((second) => losses.map((third) => [first, second, third] as const)));

  it.each(histories)('lost at %s, %s, %s: never two are armed, and it is finished later', async (...lost) => {
    const [server, storage] = [new Server(lost), pad()];
    for (let attempt = 0; attempt < 5; attempt++) {
      const next = attempt === 0 ? change : unfinished(storage, 2)[0];
      if (next === undefined) break;
      await makeChange(server, storage, next).catch(() => undefined);
      // If none is armed, the change is written down.
      if (!server.armed.includes('trg_old') && server.armed.length === 0) expect(unfinished(storage, 2)).toEqual([change]);
    }
    expect([server.armed, server.mostArmed, unfinished(storage, 2)]).toEqual([['trg_new0'], 1, []]);
  });

  it('arms nothing in the place of a trigger that fires, or has ended', async () => {
    for (const status of ['firing', 'fired', 'expired', 'failed'] as const) {
      const [server, storage] = [new Server([]), pad()];
      server.states.set('trg_old', status);
      expect(await makeChange(server, storage, change)).toBeNull();
      expect([server.armed, unfinished(storage, 2)]).toEqual([[], []]);
    }
  });

  it('is not offered again if the server refused to cancel', async () => {
    const [server, storage] = [new Server([]), pad()];
    server.cancel = async () => Promise.reject(new Error('NOT_FOUND'));
    await expect(makeChange(server, storage, change)).rejects.toThrow('NOT_FOUND');
    expect([server.armed, unfinished(storage, 2)]).toEqual([['trg_old'], []]);
  });

  it('is written down with others, for as long as the server knows its key', async () => {
    const [server, storage] = [new Server(['before', 'before']), pad()];
    const other = { ...change, cancels: 'trg_other', idempotencyKey: 'k2' };
    await expect(makeChange(server, storage, change)).rejects.toThrow('lost');
    await expect(makeChange(server, storage, other)).rejects.toThrow('lost');
    expect(unfinished(storage, 2)).toEqual([change, other]);
    const almostDayMs = 23 * 3_600_000;
    expect(unfinished(storage, almostDayMs)).toEqual([change, other]);
    expect(unfinished(storage, almostDayMs + 1)).toEqual([]);
  });
});
