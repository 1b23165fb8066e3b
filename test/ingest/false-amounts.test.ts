import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { programId as dbcProgram } from '../../venues/src/meteora/dbc/program.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { RpcError, type RpcPool } from '@sluice/shared/solana/rpc/rpc.ts';
import { venues } from '@sluice/venues/registry.ts';
import { describe, expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { TransactionFetcher } from '../../ingest/src/sources/rpc/transaction-fetcher.ts';
import { fixtureBytes, fixtureJson, fixturesNote, fixturesPresent } from '../golden/fixtures.ts';
import { until } from '../support/until.ts';
import { ConfirmedFollower } from './confirmed-follower.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { accountJson, type ScriptedNode } from './scripted-node.ts';
import { addressOf, signatureOf } from './pump-frames.ts';
import { patient, World } from './settling-world.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';

/** Recorded swaps: the coin, and the raw amounts as clients get them. */
const swaps = {
  'meteora-dbc': {
    file: 'meteora-dbc/swap_2026_09_via_dflow_Ud4ww399gUfh',
    mint: '5jWGJESXtvxxa59GjZ1v7fLzn1o9ekzHKJWTkp9iax7',
    amounts: ['18002931206802', '8395358021'],
  },
  'raydium-cpmm': {
    file: 'raydium-cpmm/v4_then_cpmm_transfer_fee_via_jupiter_GCeRpjvfNXZB',
    mint: '3C3pXiWCKr3BFEKHkWzuHWmcbYWAoGLE26BTmFHtTBj4',
    amounts: ['13377864233688', '6559652940'],
  },
} as const;
type VenueName = keyof typeof swaps;

type Balances = { readonly uiTokenAmount: { amount: string; decimals: number } }[];

interface Recorded extends Record<string, unknown> {
  readonly transaction: { readonly signatures: readonly string[] };
  readonly meta: {
    readonly logMessages: string[];
    readonly innerInstructions: { readonly instructions: { data?: string }[] }[];
    readonly preTokenBalances: Balances;
    readonly postTokenBalances: Balances;
  };
}

function recorded(name: VenueName): Recorded {
  return (fixtureJson(`venues/${swaps[name].file}.json`) as { readonly result: Recorded }).result;
}

/** Offsets of amounts that a liar doubles: of CPMM's SwapEvent, and of what DBC's EvtSwap and EvtSwap2 give the trader. */
const offsets: Readonly<Record<string, readonly number[]>> = {
  '40c6cde8260871e2': [56, 64],
  '1b3c15d58aaabb93': [98],
  bd4233a826507599: [115],
};

function doubled(event: Uint8Array): Buffer {
  const bytes = Buffer.from(event);
  for (const at of offsets[bytes.subarray(0, 8).toString('hex')] ?? [])
    bytes.writeBigUInt64LE(BigInt.asUintN(64, bytes.readBigUInt64LE(at) * 2n), at);
  return bytes;
}

function withFalseAmounts(of: Recorded): Recorded {
  const copy = structuredClone(of);
  const { logMessages, innerInstructions } = copy.meta;
  const prefix = 'Program data: ';
  for (const [at, line] of logMessages.entries()) {
    if (line.startsWith(prefix)) logMessages[at] = prefix + doubled(Buffer.from(line.slice(prefix.length), 'base64')).toString('base64');
  }
  for (const one of innerInstructions.flatMap(({ instructions }) => instructions)) {
    const data = one.data === undefined ? null : decodeBase58(one.data);
    if (data !== null && data.length > 16) one.data = encodeBase58(Buffer.concat([data.subarray(0, 8), doubled(data.subarray(8))]));
  }
  return copy;
}

/** The true log and the true events, with other facts around them. */
const otherFacts: Readonly<Record<string, (of: Recorded, mint: string) => Recorded>> = {
  'account keys': (of, mint) => JSON.parse(JSON.stringify(of).replaceAll(mint, addressOf('another coin'))) as Recorded,
  'token balances': (of) => {
    const copy = structuredClone(of);
    for (const { uiTokenAmount } of [...copy.meta.preTokenBalances, ...copy.meta.postTokenBalances]) {
      uiTokenAmount.amount += '0';
      uiTokenAmount.decimals++;
    }
    return copy;
  },
};

const withSignature = (of: Recorded, signature: string): Recorded => ({
  ...of,
  transaction: { ...of.transaction, signatures: [signature] },
});

/** The process with three endpoints, of which the first one lies. */
async function start(sources: Config['sources'], name: VenueName, falsified = withFalseAmounts) {
  const truth = recorded(name);
  const lie = falsified(truth);
  const [signature] = truth.transaction.signatures;
  const world = await World.of(3, patient, sources);
  const at = world.next;
  const configs = {
    '4qPV7yiEKhGdywcr11kH2y5xwPR3wuyoVAb6hhxdYuNn': accountJson(dbcProgram, fixtureBytes('accounts/meteora-dbc/fee_in_quote_config.bin')),
  };
  for (const [address, account] of Object.entries(configs)) world.accounts.set(address, account);
  world.transactions.set(signature!, { result: { ...truth, slot: at } });
  world.transactionsOf.set(world.nodes[0]!, new Map([[signature!, { result: { ...lie, slot: at } }]]));
  world.slot(at, at - 1);
  world.blocks.set(at, { bank: 'only', names: [], others: [signature!] });
  const amountsIn = (entries: readonly LogEntry[]): (readonly [string, string])[] =>
    entries
      .flatMap(eventsOfEntry)
      .flatMap((event) => (event.type === 'trade' && event.pool === name ? [[event.baseAmount, event.quoteAmount]] : []));
  const amounts = async () => amountsIn(await world.bus.tail(4_096));
  /** What a client at `confirmed` gets. */
  async function entriesAtConfirmed() {
    const follower = new ConfirmedFollower();
    for (const entry of await world.bus.tail(4_096)) follower.take(entry);
    return follower.entries;
  }
  const amountsAtConfirmed = async () => amountsIn(await entriesAtConfirmed());
  return { world, at, signature: signature!, truth, lie, amounts, amountsAtConfirmed, entriesAtConfirmed };
}

const show = (node: ScriptedNode, slot: number, transaction: Recorded): void =>
  node.notify('transactionNotification', 'transactionSubscribe', {
    signature: transaction.transaction.signatures[0],
    slot,
    transaction: { transaction: transaction.transaction, meta: transaction.meta, version: transaction['version'] ?? 'legacy' },
  });

describe.skipIf(!fixturesPresent).each(Object.keys(swaps) as VenueName[])(
  `false amounts of %s from one of three endpoints (${fixturesNote})`,
  (name) => {
    it('that reports first are retracted, published again as two others have them, and reported with the number of the endpoint', async () => {
      const { world, at, signature, truth, lie, amounts, amountsAtConfirmed } = await start(['transaction-subscribe'], name);
      show(world.nodes[0]!, at, lie);
      await until('the lie is published', async () => (await amounts()).length === 1);
      const [wrong] = await amounts();
      for (const node of world.nodes.slice(1)) show(node, at, truth);
      await until('it is contested', () => world.ingest.stats().sightings.otherContents > 0);
      world.confirm(at);
      await world.settled(at);
      await until('the truth is published', async () => (await amounts()).length === 2);
      expect(wrong).not.toEqual(swaps[name].amounts);
      expect((await amounts())[1]).toEqual(swaps[name].amounts);
      expect(await amountsAtConfirmed()).toEqual([swaps[name].amounts]);
      const [source] = world.ingest.stats().sources;
      expect(source).toMatchObject({ name: 'transaction-subscribe', contradicted: 1 });
      const warned = world.lines.filter(({ name: line, data }) => line === 'source_contradicted' && data['source'] !== 'rpc');
      expect(warned).toMatchObject([
        { level: 'warn', data: { source: 'transaction-subscribe', endpoint: 1, signature, slot: at, total: 1 } },
      ]);
      expect(JSON.stringify(warned)).not.toContain('127.0.0.1');
    });

    it.each(Object.keys(otherFacts).flatMap((what) => [[what, 'first'] as const, [what, 'second'] as const]))(
      'other %s in a report that comes %s are retracted, with all that was published by them, and blamed on the endpoint',
      async (what, place) => {
        const { mint } = swaps[name];
        const started = await start(['transaction-subscribe'], name, (of) => otherFacts[what]!(of, mint));
        const { world, at, signature, truth, lie, entriesAtConfirmed } = started;
        const [liar, honest, other] = world.nodes as [ScriptedNode, ScriptedNode, ScriptedNode];
        const [twin, later] = ['twin', 'later'].map((one) => withSignature(truth, signatureOf(one))) as [Recorded, Recorded];
        const signatures = [signature, signatureOf('twin'), signatureOf('later')];
        world.transactions.set(signatures[1]!, { result: { ...twin, slot: at } });
        world.blocks.set(at, { bank: 'only', names: [], others: signatures });
        const tradesIn = (entries: readonly LogEntry[]) =>
          entries.flatMap(eventsOfEntry).flatMap((event) => {
            if (event.type !== 'trade' || event.pool !== name) return [];
            const { id, mint: coin, quoteMint, baseDecimals, quoteDecimals, trader, traderBalance = null } = event;
            return [{ signature: id.split(':')[0]!, facts: [coin, quoteMint, baseDecimals, quoteDecimals, trader, traderBalance] }];
          });
        const published = async () => tradesIn(await world.bus.tail(4_096));
        show(place === 'first' ? liar : honest, at, place === 'first' ? lie : truth);
        await until('the first is published', async () => (await published()).length === 1);
        // Another trade in the same pool, before anybody contradicts the lie.
        show(honest, at, twin);
        await until('the second is published', async () => (await published()).length === 2);
        show(place === 'first' ? honest : liar, at, place === 'first' ? truth : lie);
        await until('it is contested', () => world.ingest.stats().sightings.otherContents > 0);
        show(other, at, later);
        await until('the third is published', async () => (await published()).some((one) => one.signature === signatures[2]));
        world.confirm(at);
        await world.settled(at);
        await until('all are confirmed', async () => tradesIn(await entriesAtConfirmed()).length === 3);
        const found = tradesIn(await entriesAtConfirmed());
        const [{ facts }] = (await published()).filter((one) => one.signature === signatures[2]) as [(typeof found)[number]];
        expect(facts[0]).toBe(mint);
        expect(found.map((one) => one.signature).toSorted()).toEqual(signatures.toSorted());
        expect(found.map((one) => one.facts)).toEqual([facts, facts, facts]);
        const [first] = await published();
        if (place === 'first') expect(first!.facts).not.toEqual(facts);
        else expect(first!.facts).toEqual(facts);
        const blamed = world.ingest.metrics().filter((one) => one.name === 'sluice_ingest_endpoint_contradicted_total');
        expect(Object.fromEntries(blamed.map(({ labels, value }) => [`${labels['source']} ${labels['endpoint']}`, value]))).toEqual({
          'transaction-subscribe 1': 1,
          'rpc 1': 1,
        });
      },
    );

    it('that answers with them to a request for the transaction are never published', async () => {
      const { world, at, signature, truth, amounts, amountsAtConfirmed } = await start(['logs'], name);
      const { logMessages } = truth.meta;
      for (const node of world.nodes) node.logs(signature, logMessages, { slot: at });
      world.confirm(at);
      await until('it is published', async () => (await amounts()).length > 0);
      await world.settled(at);
      expect(await amounts()).toEqual([swaps[name].amounts]);
      expect(await amountsAtConfirmed()).toEqual([swaps[name].amounts]);
    });
  },
);

describe('a vote on a transaction', () => {
  const signature = signatureOf('voted');
  const decoder = new Decoder(venues, () => {});
  const truth = wholeTransaction(signature, [curveBuy({ solAmount: 1n })]);
  const lie = wholeTransaction(signature, [curveBuy({ solAmount: 2n })]);
  const down = new RpcError('unreachable', 0, 'down');
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  /** An endpoint gives these answers in turn, and the last one again. */
  const endpoint =
    (afterMs: number, ...answers: unknown[]) =>
    async () => {
      await pause(afterMs);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof RpcError) throw answer;
      return answer;
    };
  function fetcherOf(calls: readonly (() => Promise<unknown>)[], options = {}) {
    const each = calls.map((call) => ({ call }));
    return new TransactionFetcher({ each } as unknown as RpcPool, { giveUpAfterMs: 1_000, ...options });
  }
  const fetchFrom = (fetcher: TransactionFetcher) =>
    fetcher.fetch(signature, truth.slot, new AbortController().signal, (whole) => decoder.read(whole));
  const expected = (solAmount: bigint) => ({ kind: 'read', transaction: { events: [{ event: { quoteAmount: solAmount } }] } });

  it.each([0, 1, 2])('waits for a majority while others do not have it yet, if endpoint %i lies at once', async (liar) => {
    const calls = [0, 1, 2].map((at) => (at === liar ? endpoint(0, lie) : endpoint(1, null, null, truth)));
    expect(await fetchFrom(fetcherOf(calls, { giveUpAfterMs: 5_000 }))).toMatchObject(expected(1n));
  });

  it.each([
    ['never has it', [endpoint(0, null), endpoint(0, down)]],
    ['is only slow', [endpoint(60_000, truth), endpoint(0, down)]],
    ['never has it either', [endpoint(0, null)]],
  ])('does not believe one endpoint alone if another one %s', async (_why, others) => {
    const lost = { kind: 'lost', reason: 'too few endpoints have it', unreachable: false };
    expect(await fetchFrom(fetcherOf([endpoint(0, lie), ...others]))).toEqual(lost);
  });

  it('believes the only endpoint that is not down', async () => {
    expect(await fetchFrom(fetcherOf([endpoint(0, down), endpoint(0, truth), endpoint(0, down)]))).toMatchObject(expected(1n));
  });

  it('does not take the time and the place in the block from one endpoint', async () => {
    const forged = { ...truth, blockTime: 4_000_000_000, transactionIndex: 77 };
    const one = await fetchFrom(fetcherOf([endpoint(0, forged), endpoint(1, truth), endpoint(1, truth)]));
    expect(one).toMatchObject({ kind: 'read', transaction: { blockTime: null, index: null } });
    const stated = { ...truth, transactionIndex: 5 };
    const all = await fetchFrom(fetcherOf([endpoint(0, stated), endpoint(1, stated), endpoint(1, forged)]));
    expect(all).toMatchObject({ kind: 'read', transaction: { blockTime: truth.blockTime, index: 5 } });
  });

  it('asks an endpoint that hangs after the others', async () => {
    let asked = 0;
    const hangs = async () => {
      asked++;
      await pause(60_000);
    };
    const fetcher = fetcherOf([hangs, endpoint(1, truth), endpoint(1, truth)], { maxConcurrent: 4 });
    const found = await Promise.all(Array.from({ length: 40 }, () => fetchFrom(fetcher)));
    expect(found.every(({ kind }) => kind === 'read')).toBe(true);
    expect(asked).toBe(4);
  });
});
