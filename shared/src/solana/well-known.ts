/** Programs, mints and sysvars of the network by their published addresses. */
export const systemProgram = '11111111111111111111111111111111';
export const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const token2022Program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
export const associatedTokenProgram = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
export const computeBudgetProgram = 'ComputeBudget111111111111111111111111111111';
export const metadataProgram = 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s';
export const rentSysvar = 'SysvarRent111111111111111111111111111111111';
export const instructionsSysvar = 'Sysvar1nstructions1111111111111111111111111';
export const wrappedSolMint = 'So11111111111111111111111111111111111111112';
export const usdcMint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const zeroAddress = '11111111111111111111111111111111';

/** Signature verifiers that the runtime itself runs: they log no `invoke` line. */
export const precompilePrograms: ReadonlySet<string> = new Set([
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
]);

/** Prefix of `getGenesisHash` of every simulated chain. No real cluster has it, so simulated events can be marked. */
export const simnetGenesisPrefix = 'SimuLatedChain';

export const lamportsPerSol = 1_000_000_000n;
export const solDecimals = 9;
export const usdcDecimals = 6;

/** The runtime's clock; changes with every slot. */
export const clockSysvar = 'SysvarC1ock11111111111111111111111111111111';
