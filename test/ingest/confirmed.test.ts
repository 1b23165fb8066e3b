import { afterEach, describe, expect, it } from 'vitest';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import { clockSysvar } from '@sluice/shared/solana/well-known.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import { Confirmations } from '../../ingest/src/continuity/confirmations.ts';
import { SlotLedger } from '../../ingest/src/continuity/slot-ledger.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { readRecord, type LogRecord } from '../../ingest/src/publisher/log-tail.ts';
import { readLogsHead, readLogsLines } from '../../ingest/src/sources/pubsub/logs.ts';
import { recordingLog } from './harness.ts';
import { until } from '../support/until.ts';
import { whirlpoolBytes } from './pump-frames.ts';
import { buyFrames } from './log-frames.ts';
import { accountAnswers, accountJson, startScriptedNode, type ScriptedNode } from './scripted-node.ts';
import { testConfig } from '../support/test-config.ts';

describe('a confirmed slot', () => {
  it('counts at once with one endpoint, and with three when the second reports it', () => {
    const alone = new Confirmations();
    expect([alone.take(0, 10, 0), alone.take(0, 11, 1), alone.take(0, 11, 2)]).toEqual([true, true, false]);
    const three = new Confirmations();
    for (const endpoint of [0, 1, 2]) three.take(endpoint, 10, 0);
    expect([three.take(0, 11, 1), three.take(1, 11, 2), three.take(2, 11, 3)]).toEqual([false, true, false]);
  });

  it('of a fork that only one of three reports does not count', () => {
    const votes = new Confirmations();
    for (const endpoint of [0, 1, 2]) votes.take(endpoint, 100, 0);
    for (let slot = 101; slot < 1_000; slot++) {
      const nowMs = (slot - 101) * 400;
      for (const invented of [2 * slot + 1, 2 * slot + 1_001]) expect(votes.take(0, invented, nowMs)).toBe(false);
      expect([votes.take(1, 2 * slot, nowMs), votes.take(2, 2 * slot, nowMs)]).toEqual([false, true]);
    }
    expect(votes.outvoted).toBeGreaterThan(500);
  });

  it('of two endpoints counts if both reported it, or the other one is silent', () => {
    const votes = new Confirmations();
    votes.take(1, 9, 0);
    expect([votes.take(0, 10, 100), votes.take(0, 11, 200), votes.take(1, 10, 300), votes.take(1, 11, 400)]).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect([votes.take(0, 12, 3_300), votes.take(0, 13, 3_500)]).toEqual([false, true]);
  });
});

describe('slots below the confirmed one', () => {
  const fates = (ledger: SlotLedger, slots: readonly number[]): string[] =>
    slots.map((slot) => (ledger.isDead(slot) ? 'dead' : ledger.isAlive(slot) ? 'alive' : 'open'));

  function opened(...parents: readonly (readonly [slot: number, parent: number | null])[]): SlotLedger {
    const ledger = new SlotLedger();
    ledger.resume(10);
    for (const [slot, parent] of parents) ledger.report(slot, parent);
    return ledger;
  }

  it('live or die by the parents that sources report, as far back as these reach', () => {
    const whole = opened([11, 10], [12, 11], [13, 11], [14, 13]);
    expect(whole.confirm(14)).toEqual({ alive: [11, 13, 14], dead: [12] });
    const broken = opened([11, null], [12, null], [13, 11], [14, 12], [15, 14]);
    expect(broken.confirm(15)).toEqual({ alive: [12, 14, 15], dead: [13] });
    expect(fates(broken, [11, 12, 13])).toEqual(['open', 'alive', 'dead']);
  });

  it('wait for their block if endpoints contradict each other about a parent, or none reports it', () => {
    const ledger = opened([11, 10], [12, 11], [13, 12], [13, 11]);
    expect(ledger.confirm(13)).toEqual({ alive: [13], dead: [] });
    expect(fates(ledger, [11, 12, 13])).toEqual(['open', 'open', 'alive']);
    // The confirmed block of 13 names its parent.
    expect(ledger.link(13, 11)).toEqual({ alive: [11], dead: [12] });
    ledger.giveUp([14]);
    ledger.complete(14);
    expect(ledger.counts).toMatchObject({ seen: 2, dead: 1, unjudged: 1 });
  });
});

describe('an endpoint that confirms a fork of its own', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  const frame = buyFrames(1)[0]!;
  const head = readLogsHead(frame)!;
  const clock = accountJson('Sysvar1111111111111111111111111111111111111', Buffer.alloc(40));
  const confirm = (slot: number, ...nodes: readonly ScriptedNode[]): void => {
    for (const node of nodes) {
      node.notify('accountNotification', 'accountSubscribe', { context: { slot }, value: clock }, ([address]) => address === clockSysvar);
    }
  };

  /**
   * A trade that the last of several endpoints reports. Then the first endpoint reports that the next slot skipped it, and confirms that
   * slot.
   */
  async function lie(count: number) {
    const nodes: ScriptedNode[] = [];
    const accounts = new Map([[solPricePool.address, accountJson(whirlpoolProgram, whirlpoolBytes(150))]]);
    for (let index = 0; index < count; index++) {
      const node = await startScriptedNode();
      node.onCall = accountAnswers(accounts, 1_000);
      closers.push(() => node.close());
      nodes.push(node);
    }
    const bus = createInProcessBus();
    closers.push(() => bus.close());
    const rpc = { httpUrls: nodes.map(({ httpUrl }) => httpUrl), wsUrls: nodes.map(({ wsUrl }) => wsUrl) };
    const config = { ...testConfig, rpc };
    const ingest = await startIngest({ config, bus, log: recordingLog([]), signal: new AbortController().signal });
    closers.push(() => ingest.close());
    await until('all are up', () => {
      const { endpoints, leads } = ingest.stats();
      return leads && endpoints.every(({ state, slot }) => state === 'up' && slot > 1_000);
    });
    // From here on the test reports the slots.
    for (const node of nodes) node.reportsSlots = false;
    const at = Math.max(...nodes.map(({ slot }) => slot)) + 1;
    const report = (slot: number, parent: number, ...reporters: readonly ScriptedNode[]): void => {
      for (const node of reporters) node.notify('slotNotification', 'slotSubscribe', { slot, parent, root: 1 });
    };
    const confirmedBy = (slot: number) => until(`slot ${slot} is confirmed`, () => ingest.stats().continuity!.confirmed === slot);
    for (const slot of [at - 1, at]) report(slot, slot - 1, ...nodes);
    confirm(at - 1, ...nodes);
    await confirmedBy(at - 1);
    nodes.at(-1)!.logs(head.signature, readLogsLines(frame, head)!, { slot: at });
    await until('it is published', () => ingest.stats().events.trades === 1);
    const [liar, ...honest] = nodes as [ScriptedNode, ...ScriptedNode[]];
    report(at + 1, at - 1, liar);
    confirm(at + 1, liar);
    liar.account(solPricePool.address, whirlpoolProgram, whirlpoolBytes(151));
    await until('the lie was received', () => Math.round(ingest.stats().solUsd?.price ?? 0) === 151);
    const said = async (): Promise<LogRecord[]> => {
      await until(
        'all is in the log',
        () => ingest.stats().publisher.buffered === 0 && ingest.stats().continuity!.settlement.pending === 0,
      );
      await new Promise(setImmediate);
      return (await bus.tail(1_000)).flatMap((entry) => readRecord(entry) ?? []);
    };
    const kinds = async (): Promise<string[]> => (await said()).flatMap(({ kind }) => (kind === 'slots' ? [] : [kind]));
    return { at, honest, report, confirmedBy, said, kinds };
  }

  it('is believed if it is alone', async () => {
    const { at, kinds, confirmedBy } = await lie(1);
    await confirmedBy(at + 1);
    expect(await kinds()).toEqual(['published', 'published', 'retracted', 'retracted']);
  });

  it('is outvoted by two others, which confirm the living fork', async () => {
    const { at, honest, report, kinds, said, confirmedBy } = await lie(3);
    report(at + 1, at, ...honest);
    confirm(at, ...honest);
    await confirmedBy(at);
    confirm(at + 1, ...honest);
    await confirmedBy(at + 1);
    expect(await kinds()).toEqual(['published', 'published']);
    const verdicts = (await said()).flatMap((one) => (one.kind === 'slots' ? [one.verdict] : []));
    expect(verdicts.flatMap(({ alive }) => alive)).toEqual(expect.arrayContaining([at, at + 1]));
    expect(verdicts.flatMap(({ dead }) => dead)).toEqual([]);
  });

  it('causes no retraction if the other one contradicts it, and is followed as far as that one agrees', async () => {
    const { at, honest, report, kinds, confirmedBy } = await lie(2);
    confirm(at, ...honest);
    report(at + 1, at, ...honest);
    confirm(at + 1, ...honest);
    await confirmedBy(at + 1);
    expect(await kinds()).toEqual(['published', 'published']);
  });
});
