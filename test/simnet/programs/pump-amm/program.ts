import { eventAuthority, eventCpiTag } from '@sluice/venues/pump/amm/program.ts';
import { anchorProgram } from '../anchor.ts';
import { initBoostInstruction } from './boost.ts';
import { createPoolInstruction } from './create-pool.ts';
import { ammErrors } from './errors.ts';
import { swapInstructions } from './trade.ts';

export const pumpAmm = anchorProgram({
  eventAuthority,
  eventCpiTag,
  errors: ammErrors,
  source: 'programs/pump-amm/src/lib.rs:1',
  loadedBytes: 5_000_000,
  instructions: [createPoolInstruction, initBoostInstruction, ...swapInstructions],
});
