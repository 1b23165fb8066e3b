import { BorshAccountsCoder, type Idl } from '@coral-xyz/anchor';
import { expect, test } from 'vitest';
import { globalConfig, programId as ammProgram, feeConfig as ammFeeConfig } from '@sluice/venues/pump/amm/program.ts';
import { eventCpiTag, feeConfig, globalAddress, programId as pumpProgram } from '@sluice/venues/pump/curve/program.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import { coinPriceOf } from '@sluice/ingest/pipeline/sol-usd.ts';
import { pumpAccounts, pumpAmmAccounts, pumpAmmEvents, pumpAmmIdl, pumpEvents, pumpIdl } from '../golden/anchor.ts';
import type { TransactionRecord } from './chain.ts';
import { feeConfigData } from './programs/fee-schedule.ts';
import { ammFees } from './programs/genesis/genesis-fees.ts';
import { ammConfigData, poolData, readAmmConfig, readPool } from './programs/pump-amm/state.ts';
import { curveBytes, curveData, globalData, readCurve, readGlobal } from './programs/pump/state.ts';
import { accountBytes } from './support/account-bytes.ts';
import { marketChain, quietChain } from './support/test-chain.ts';

const coders = new Map([
  [pumpProgram, pumpEvents],
  [ammProgram, pumpAmmEvents],
]);
const layouts = new Map([pumpIdl, pumpAmmIdl].map((idl) => [idl, layoutsOf(idl)]));

test('the settings of both programs decode with the published interface and encode to the same bytes', () => {
  const chain = quietChain();
  const global = accountBytes(chain, globalAddress);
  expect(global.length).toBe(1087);
  const decoded: Record<string, unknown> = pumpAccounts.decode('Global', global);
  expect(decoded['create_v2_enabled']).toBe(true);
  expect(encoded(pumpIdl, 'Global', decoded)).toEqual(global);
  expect(Buffer.from(globalData(readGlobal(global)))).toEqual(global);

  const config = accountBytes(chain, globalConfig);
  expect(config.length).toBe(949);
  expect(encoded(pumpAmmIdl, 'GlobalConfig', pumpAmmAccounts.decode('GlobalConfig', config))).toEqual(config);
  expect(Buffer.from(ammConfigData(readAmmConfig(config)))).toEqual(config);

  for (const address of [feeConfig, ammFeeConfig]) {
    const fees = accountBytes(chain, address);
    expect(fees.length).toBe(4097);
    const { bump, admin, fee_tiers: tiers } = pumpAccounts.decode('FeeConfig', fees);
    expect(tiers.length).toBe(address === feeConfig ? 1 : 25);
    if (address === ammFeeConfig) expect(Buffer.from(feeConfigData(bump, admin.toBase58(), ammFees))).toEqual(fees);
  }
});

test('curves and pools of a running market decode with the published interface', () => {
  const chain = marketChain('layouts', { completeEverySeconds: 15, boostedShare: 1 });
  for (let i = 0; i < 220; i++) chain.advance();
  let curves = 0;
  for (const [, { data }] of chain.accountsOwnedBy(pumpProgram)) {
    if (data.length !== curveBytes) continue;
    const fields = pumpAccounts.decode('BondingCurve', Buffer.from(data));
    expect(fields.token_total_supply.toString()).toBe('1000000000000000');
    expect(encoded(pumpIdl, 'BondingCurve', fields)).toEqual(Buffer.from(data.subarray(0, 125)));
    expect(curveData(readCurve(data))).toEqual(Uint8Array.from(data));
    curves++;
  }
  let pools = 0;
  for (const [, { data }] of chain.accountsOwnedBy(ammProgram)) {
    if (data.length !== 301) continue;
    const fields = pumpAmmAccounts.decode('Pool', Buffer.from(data));
    expect(encoded(pumpAmmIdl, 'Pool', fields)).toEqual(Buffer.from(data.subarray(0, 271)));
    expect(poolData(readPool(data))).toEqual(Uint8Array.from(data));
    pools++;
  }
  expect(curves).toBeGreaterThan(20);
  expect(pools).toBeGreaterThan(0);
});

test('every event of a running market decodes with the published interface, to the last byte, and is also sent by self-CPI', () => {
  const chain = marketChain('events', { completeEverySeconds: 12, tradesPerSecond: 12, boostedShare: 0.5 });
  const counts = new Map<string, number>();
  for (let i = 0; i < 300; i++) {
    for (const record of chain.advance().transactions) {
      if (record.err !== null) continue;
      const logged: string[] = [];
      const { truncated } = readLogs(record.logs, (programId, _path, data) => {
        if (coders.has(programId)) logged.push(Buffer.from(data).toString('hex'));
      });
      const called = calledEvents(record);
      // A boosted migration logs more than a node retains. Then only the calls are complete.
      if (!truncated) expect(called.map(({ data }) => data.toString('hex'))).toEqual(logged);
      for (const { programId, data } of called) {
        const event = coders.get(programId)?.decode(data.toString('base64')) ?? null;
        expect(event, `event of ${programId}`).not.toBeNull();
        if (event === null) continue;
        counts.set(event.name, (counts.get(event.name) ?? 0) + 1);
        expect(encoded(programId === pumpProgram ? pumpIdl : pumpAmmIdl, event.name, event.data)).toEqual(data);
      }
    }
  }
  for (const name of [
    'CreateEvent',
    'TradeEvent',
    'CompleteEvent',
    'CompletePumpAmmMigrationEvent',
    'CreatePoolEvent',
    'InitBoostEvent',
    'BuyEvent',
    'SellEvent',
  ]) {
    expect(counts.get(name), name).toBeGreaterThan(0);
  }
});

/** Events that the programs sent to themselves. */
function calledEvents(record: TransactionRecord): readonly { readonly programId: string; readonly data: Buffer }[] {
  return record.innerInstructions
    .flatMap(({ instructions }) => instructions)
    .filter(({ programId, data }) => coders.has(programId) && eventCpiTag.every((byte, i) => data[i] === byte))
    .map(({ programId, data }) => ({ programId, data: Buffer.from(data.subarray(eventCpiTag.length)) }));
}

interface Layout {
  readonly layout: { encode(data: unknown, into: Buffer): number };
}

/** Anchor's layouts of all accounts and events of a program. */
function layoutsOf(idl: Idl): ReadonlyMap<string, Layout> {
  const coder = new BorshAccountsCoder({ ...idl, accounts: [...(idl.accounts ?? []), ...(idl.events ?? [])] });
  return (coder as unknown as { accountLayouts: Map<string, Layout> }).accountLayouts;
}

/** Encodes by these layouts into a buffer that is long enough for the settings too. */
function encoded(idl: Idl, name: string, data: unknown): Buffer {
  const buffer = Buffer.alloc(8192);
  const length = layouts.get(idl)?.get(name)?.layout.encode(data, buffer) ?? 0;
  const type = [...(idl.accounts ?? []), ...(idl.events ?? [])].find((candidate) => candidate.name === name);
  return Buffer.concat([Buffer.from(type?.discriminator ?? []), buffer.subarray(0, length)]);
}

test('the SOL/USDC pool has the real layout, and its price drifts a little', () => {
  const chain = marketChain('price');
  const prices = new Set<number>();
  for (let i = 0; i < 100; i++) {
    chain.advance();
    const { address } = solPricePool;
    const { owner, data } = chain.account(address)!;
    const price = coinPriceOf({ owner, data })!.price;
    if (price === null) throw new Error('not a pool with a price');
    prices.add(price);
  }
  expect(accountBytes(chain, solPricePool.address).length).toBe(653);
  expect(prices.size).toBeGreaterThan(40);
  expect(Math.min(...prices)).toBeGreaterThan(140);
  expect(Math.max(...prices)).toBeLessThan(160);
});
