import { eventAuthority, eventCpiTag } from '@sluice/venues/pump/curve/program.ts';
import { anchorProgram } from '../anchor.ts';
import { createInstructions } from './create.ts';
import { pumpErrors } from './errors.ts';
import { migrateInstructions } from './migrate.ts';
import { tradeInstructions } from './trade-instructions.ts';

export const pump = anchorProgram({
  eventAuthority,
  eventCpiTag,
  errors: pumpErrors,
  source: 'programs/pump/src/lib.rs:1',
  loadedBytes: 5_000_000,
  instructions: [...tradeInstructions, ...createInstructions, ...migrateInstructions],
});
