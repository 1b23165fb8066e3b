import { computeBudgetProgram, systemProgram } from '@sluice/shared/solana/well-known.ts';
import type { TransactionErrorJson } from '../chain.ts';

export interface ComputeBudget {
  readonly unitLimit: number;
  readonly microLamportsPerUnit: bigint;
  readonly loadedAccountsDataSizeLimit: number;
}

export type ComputeBudgetOutcome =
  | { readonly ok: true; readonly budget: ComputeBudget }
  | { readonly ok: false; readonly err: TransactionErrorJson };

const maxUnits = 1_400_000;
const defaultUnits = 200_000;
const builtinUnits = 3_000;
const maxLoadedAccountsDataSize = 64 * 1024 * 1024;
const minHeapBytes = 32 * 1024;
const maxHeapBytes = 256 * 1024;
const builtins: ReadonlySet<string> = new Set([systemProgram, computeBudgetProgram]);

type Setting = 'heap' | 'units' | 'price' | 'data';

function readSetting(data: Uint8Array): { readonly setting: Setting; readonly value: bigint } | null {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  if (data[0] === 1 && data.length >= 5) {
    const bytes = view.getUint32(1, true);
    if (bytes < minHeapBytes || bytes > maxHeapBytes || bytes % 1024 !== 0) return null;
    return { setting: 'heap', value: BigInt(bytes) };
  }
  if (data[0] === 2 && data.length >= 5) return { setting: 'units', value: BigInt(view.getUint32(1, true)) };
  if (data[0] === 3 && data.length >= 9) return { setting: 'price', value: view.getBigUint64(1, true) };
  if (data[0] === 4 && data.length >= 5) return { setting: 'data', value: BigInt(view.getUint32(1, true)) };
  return null;
}

/** What the ComputeBudget instructions of a message request, with the network's defaults and caps. */
export function computeBudgetOf(instructions: readonly { readonly programId: string; readonly data: Uint8Array }[]): ComputeBudgetOutcome {
  const asked = new Map<Setting, bigint>();
  let fallbackUnits = 0;
  for (const [index, instruction] of instructions.entries()) {
    fallbackUnits += builtins.has(instruction.programId) ? builtinUnits : defaultUnits;
    if (instruction.programId !== computeBudgetProgram) continue;
    const read = readSetting(instruction.data);
    if (read === null) return { ok: false, err: { InstructionError: [index, 'InvalidInstructionData'] } };
    if (asked.has(read.setting)) return { ok: false, err: { DuplicateInstruction: index } };
    asked.set(read.setting, read.value);
  }
  const dataSize = asked.get('data');
  if (dataSize === 0n) return { ok: false, err: 'InvalidLoadedAccountsDataSizeLimit' };
  return {
    ok: true,
    budget: {
      unitLimit: Math.min(Number(asked.get('units') ?? BigInt(fallbackUnits)), maxUnits),
      microLamportsPerUnit: asked.get('price') ?? 0n,
      loadedAccountsDataSizeLimit: Math.min(Number(dataSize ?? BigInt(maxLoadedAccountsDataSize)), maxLoadedAccountsDataSize),
    },
  };
}

/** Priority fee in lamports, rounded up. */
export function priorityFee(budget: ComputeBudget): bigint {
  return (budget.microLamportsPerUnit * BigInt(budget.unitLimit) + 999_999n) / 1_000_000n;
}
