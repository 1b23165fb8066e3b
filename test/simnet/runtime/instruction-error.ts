/** Instruction errors by their names in the RPC's JSON, with the text that the node logs. */
export const instructionErrorTexts = {
  GenericError: 'generic instruction error',
  InvalidArgument: 'invalid program argument',
  InvalidInstructionData: 'invalid instruction data',
  InvalidAccountData: 'invalid account data for instruction',
  AccountDataTooSmall: 'account data too small for instruction',
  InsufficientFunds: 'insufficient funds for instruction',
  IncorrectProgramId: 'incorrect program id for instruction',
  MissingRequiredSignature: 'missing required signature for instruction',
  AccountAlreadyInitialized: 'instruction requires an uninitialized account',
  UninitializedAccount: 'instruction requires an initialized account',
  UnbalancedInstruction: 'sum of account balances before and after instruction do not match',
  ModifiedProgramId: 'instruction illegally modified the program id of an account',
  ExternalAccountLamportSpend: 'instruction spent from the balance of an account it does not own',
  ExternalAccountDataModified: 'instruction modified data of an account it does not own',
  ReadonlyLamportChange: 'instruction changed the balance of a read-only account',
  ReadonlyDataModified: 'instruction modified data of a read-only account',
  NotEnoughAccountKeys: 'insufficient account keys for instruction',
  UnsupportedProgramId: 'Unsupported program id',
  CallDepth: 'Cross-program invocation call depth too deep',
  MissingAccount: 'An account required by the instruction is missing',
  ReentrancyNotAllowed: 'Cross-program invocation reentrancy not allowed for this instruction',
  InvalidSeeds: 'Provided seeds do not result in a valid address',
  InvalidRealloc: 'Failed to reallocate account data',
  ComputationalBudgetExceeded: 'Computational budget exceeded',
  PrivilegeEscalation: 'Cross-program invocation with unauthorized signer or writable account',
  ProgramFailedToComplete: 'Program failed to complete',
  Immutable: 'Account is immutable',
  IllegalOwner: 'Provided owner is not allowed',
  InvalidAccountOwner: 'Invalid account owner',
  ArithmeticOverflow: 'Program arithmetic overflowed',
} as const;

export type InstructionErrorName = keyof typeof instructionErrorTexts;
export type InstructionErrorJson = InstructionErrorName | { readonly Custom: number };

/**
 * A program's refusal. It is thrown because it must unwind every frame of the invocation stack, as an abort does in the real machine. The
 * runtime catches it in one place and turns it into a value.
 */
export class ProgramFailure extends Error {
  readonly error: InstructionErrorJson;

  constructor(error: InstructionErrorJson) {
    super(instructionErrorText(error));
    this.error = error;
  }
}

export function instructionErrorText(error: InstructionErrorJson): string {
  return typeof error === 'string' ? instructionErrorTexts[error] : `custom program error: 0x${error.Custom.toString(16)}`;
}

export function fail(error: InstructionErrorName): never {
  throw new ProgramFailure(error);
}

export function failCustom(code: number): never {
  throw new ProgramFailure({ Custom: code });
}
