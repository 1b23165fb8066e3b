import { eventCpiTag, feeProgram } from '@sluice/venues/pump/curve/program.ts';
import { feeEventAuthority } from './constants.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { addressBytes, derive } from '../layout/derive.ts';
import { anchorProgram, type AnchorContext } from './anchor.ts';
import { BorshReader, BorshWriter } from '../layout/borsh.ts';
import { feeConfigDiscriminator, ratesFor, readFeeConfig, type FeeRates } from './fee-schedule.ts';

const discriminator = Uint8Array.from(Buffer.from('9aed8a5ca202a2bb', 'hex'));
const getFeesUnits = 3_360;

export function feeConfigAddress(configProgram: string): { readonly address: string; readonly bump: number } {
  return derive(feeProgram, 'fee_config', addressBytes(configProgram));
}

/** Asks the fee program for the fees of a program's trade. */
function getFeesInstruction(configProgram: string, isPumpPool: boolean, marketCap: bigint, quoteMint: string): Instruction {
  return {
    programId: feeProgram,
    accounts: [
      { address: feeConfigAddress(configProgram).address, signer: false, writable: false },
      { address: configProgram, signer: false, writable: false },
    ],
    data: new BorshWriter().bytes(discriminator).bool(isPumpPool).u128(marketCap).address(quoteMint).done(),
  };
}

export function askFees(context: AnchorContext, isPumpPool: boolean, marketCap: bigint, quoteMint: string): FeeRates {
  context.raw.invoke(getFeesInstruction(context.programId, isPumpPool, marketCap, quoteMint));
  const returned = context.raw.returnData();
  if (returned?.programId !== feeProgram) throw new Error('the fee program returned nothing');
  const reader = new BorshReader(returned.data);
  return { lp: reader.u64(), protocol: reader.u64(), creator: reader.u64() };
}

function getFees(context: AnchorContext, args: BorshReader): void {
  context.derived('fee_config', feeConfigAddress(context.get('config_program_id').address).address);
  const config = context.owned('fee_config', feeConfigDiscriminator);
  const isPumpPool = args.bool();
  const marketCap = args.u128();
  const rates = ratesFor(config.read(readFeeConfig), isPumpPool, args.address(), marketCap);
  context.raw.setReturnData(new BorshWriter().u64(rates.lp).u64(rates.protocol).u64(rates.creator).done());
}

/** The fee program, as far as trades call it. */
export const pumpFees = anchorProgram({
  eventAuthority: feeEventAuthority,
  eventCpiTag,
  errors: {},
  source: 'programs/pump-fees/src/lib.rs:1',
  loadedBytes: 1_000_000,
  instructions: [
    { name: 'GetFeesWithQuoteMint', discriminator, accounts: ['fee_config', 'config_program_id'], units: getFeesUnits, run: getFees },
  ],
});
