import { associatedTokenProgram, computeBudgetProgram, systemProgram, token2022Program } from '@sluice/shared/solana/well-known.ts';
import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { curveOf, feeProgram, programId } from '@sluice/venues/pump/curve/program.ts';
import { createEventBytes, initialVirtualSol, initialVirtualToken, keyOf, signatureOf, tradeEventBytes } from './pump-frames.ts';

const router = 'GMgnVFR8Jb39LoXsEVzb3DvBy3ywCmdmJquHUy1Lrkqb';

/** Log lines of one program around its inner lines, as the runtime writes them. */
export function invoked(program: string, depth: number, lines: readonly string[], units = 2170): string[] {
  return [
    `Program ${program} invoke [${depth}]`,
    ...lines,
    `Program ${program} consumed ${units} of 1${units}0 compute units`,
    `Program ${program} success`,
  ];
}

function silent(program: string, depth: number): string[] {
  return [`Program ${program} invoke [${depth}]`, `Program ${program} success`];
}

export const dataLine = (event: Uint8Array): string => `Program data: ${Buffer.from(event).toString('base64')}`;

/** The 41 log lines of a buy through a router, as on mainnet in 2026-10; the event's path is `3.0`. */
export function routedTradeLogs(event: Uint8Array): string[] {
  const fees = invoked(feeProgram, 3, ['Program log: Instruction: GetFeesWithQuoteMint'], 3360);
  fees.splice(3, 0, `Program return: ${feeProgram} AAAAAAAAAABfAAAAAAAAAB4AAAAAAAAA`);
  const pump = invoked(
    programId,
    2,
    [
      'Program log: Instruction: Buy',
      ...fees,
      ...invoked(token2022Program, 3, ['Program log: Instruction: TransferChecked'], 2562),
      ...silent(systemProgram, 3),
      ...silent(systemProgram, 3),
      ...silent(systemProgram, 3),
      ...silent(systemProgram, 3),
      dataLine(event),
      ...invoked(programId, 3, []),
    ],
    71431,
  );
  return [
    ...silent(computeBudgetProgram, 1),
    ...silent(computeBudgetProgram, 1),
    ...invoked(associatedTokenProgram, 1, ['Program log: CreateIdempotent'], 5857),
    ...invoked(router, 1, ['Program log: Instruction: Buy', ...pump], 90272),
    ...silent(systemProgram, 1),
    ...silent(systemProgram, 1),
  ];
}

/** A `logsNotification` in the form of an RPC node. */
export function logsFrame(signature: string, slot: number, logs: readonly string[], subscription = 1, err: unknown = null): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    method: 'logsNotification',
    params: { result: { context: { slot }, value: { signature, err, logs } }, subscription },
  });
}

/** Slot of the first of `buyFrames`; each slot has 32 buys. */
export const firstBuySlot = 454_631_564;

/** A buy of coin number `index`. Each coin has its own trader. The reserves follow the curve's formula. */
export function buyFrame(signature: string, slot: number, index: number): Buffer {
  const solAmount = 10_000_000n + BigInt(index) * 1_003n;
  const virtualSol = initialVirtualSol + solAmount;
  const virtualToken = (initialVirtualSol * initialVirtualToken) / virtualSol + 1n;
  const event = tradeEventBytes({
    mint: keyOf(`mint ${index}`),
    trader: keyOf(`trader ${index}`),
    side: 'buy',
    solAmount,
    tokenAmount: initialVirtualToken - virtualToken,
    virtualSol,
    virtualToken,
    timestamp: 1_791_485_924 + index,
  });
  return Buffer.from(logsFrame(signature, slot, routedTradeLogs(event)));
}

/** The curve of a coin, by the name of its mint. */
export function curveBytesOf(mint: string): Buffer {
  return Buffer.from(decodeBase58(curveOf(encodeBase58(keyOf(mint))))!);
}

/** The event of a new coin, by the name of its mint. Its metadata have no address. */
export function creationBytes(mint: string): Buffer {
  return createEventBytes({
    name: mint,
    symbol: 'COIN',
    uri: '',
    mint: keyOf(mint),
    curve: curveBytesOf(mint),
    trader: keyOf('creator of coins'),
    timestamp: 1_791_485_924,
    tokenProgram: Buffer.from(decodeBase58(token2022Program)!),
  });
}

/** The creation of a coin. */
export function creationFrame(signature: string, slot: number, mint: string): Buffer {
  const lines = ['Program log: Instruction: CreateV2', dataLine(creationBytes(mint))];
  return Buffer.from(logsFrame(signature, slot, invoked(programId, 1, lines)));
}

/** `count` buys, each of another coin. */
export function buyFrames(count: number, label = 'buy'): Buffer[] {
  return Array.from({ length: count }, (_, index) => buyFrame(signatureOf(`${label} ${index}`), firstBuySlot + (index >> 5), index));
}
